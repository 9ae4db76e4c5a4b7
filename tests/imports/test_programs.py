"""Imported models against the programs that trained them: the same numbers, attention weights and
translations.
"""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.importing.check import read_sentences
from imported_models import (
    FIXTURES,
    beam_options,
    best_translations,
    files_of,
    of_fixture,
)
from tiny_rnnsearch import padded

NEAR = dict(rtol=0, atol=5e-5)  # float32 on both sides, another order of sums
WRITTEN = {"marian": dict(rtol=0, atol=2e-5)}  # it writes five decimals


def forced(imported):
    """(log-probabilities [B, I, V], alignments [B, I, J]) of all pairs, in one padded batch."""
    source, target = (padded(ids, 1) for ids in zip(*imported.pairs))
    model = imported.translator.model
    logits = model({"source_ids": source, "target_ids": target})
    alignments = None
    if model.has_attention:
        alignments = model.attended_pre_logits(source, target)[1].numpy()
    return tf.nn.log_softmax(logits).numpy(), alignments


def test_log_probabilities_and_attention(imported):
    scores, alignments = forced(imported)
    for row, (source, target) in enumerate(imported.pairs):
        words = scores[row, np.arange(len(target)), target]
        near = WRITTEN.get(imported.program, NEAR)
        np.testing.assert_allclose(words, imported.outputs[f"logprob_{row}"], **near)
        if imported.translator.model.has_attention:
            attention = imported.outputs[f"attention_{row}"]
            found = alignments[row, : len(target), : attention.shape[1]]
            np.testing.assert_allclose(found, attention, **NEAR)


def test_whole_distributions(imported):
    scores, _ = forced(imported)
    there = imported.foreign.target.theirs
    assert scores[:, :, 0].max() < -1e3  # the padding, which the other program does not have
    for row in range(3 if "log_softmax_0" in imported.outputs else 0):  # Marian writes none
        expected = imported.outputs[f"log_softmax_{row}"]
        found = scores[row, : len(expected), 1:]
        # GroundHog takes the logarithm of probabilities in float32, which may be 0
        found, expected = (np.maximum(values, -60.0) for values in (found, expected))
        np.testing.assert_allclose(found, expected[:, there[1:]], **NEAR)


def test_beam_search_finds_the_same_translations(imported):
    """Beam 5, ranked by the sum of the log-probabilities, as the fixtures were made.

    Not of OpenNMT-tf: the scores of its search are not the sums of its own log-probabilities (those
    that test_log_probabilities_and_attention compares), and so its choice differs.
    """
    if imported.program == "opennmt-tf":
        pytest.skip("OpenNMT-tf ranks by other scores than its own log-probabilities")
    sources = (imported.folder / "source.txt").read_text(encoding="utf-8").splitlines()
    best = best_translations(imported.folder)
    for number, source in enumerate(sources):
        search = beam_options(imported.program, len(imported.pairs[number][0]))
        found = imported.translator.translate([source], **search)[0]
        assert (found.text, -found.log_probability) == (
            best[number][0],
            pytest.approx(best[number][1], abs=5e-5),
        )


def test_a_run_of_the_command_translates_and_checks(tmp_path, capsys):
    folder, checked = tmp_path / "run", tmp_path / "checked.tsv"
    name = "nematus-wmt17"
    lines = (FIXTURES / name / "source.txt").read_text(encoding="utf-8").splitlines()[:3]
    imported = of_fixture(name)
    rows = []
    for number, line in enumerate(lines):
        words = imported.outputs[f"beam_{number}_0"][:-1]
        tokens = [imported.word_there("target", word) for word in words]
        cost = float(imported.outputs[f"beam_cost_{number}"][0])
        rows.append(f"{line}\t{' '.join(tokens)}\t{-cost}\n")
    checked.write_text("".join(rows), encoding="utf-8")
    arguments = ["import", "nematus", *files_of(name), "--check", str(checked), "--output"]
    settings = ["search.beam_size=5", "search.shrinking_beam=true", "search.search_again=false"]
    settings += ["search.length_penalty=0", "search.normalize_after=false"]
    flags = [word for setting in settings for word in ("--set", setting)]
    assert run([*arguments, str(folder), *flags]) == 0
    said = capsys.readouterr()
    assert said.out.startswith(f"{folder}\ncheck: 3 of 3 translations are equal")
    with np.load(files_of(name)[0]) as arrays:
        state = ("decoder_c_tt", "history_errs", "uidx", "zipped_params")
        total = sum(arrays[key].size for key in arrays if key not in state)
    assert f"parameters: {total:,} there" in said.err
    assert "those only here are biases and shifts of zero, rows of the padding" in said.err
    assert run(["translate", "--model", str(folder), str(FIXTURES / name / "source.txt")]) == 0
    translated = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[1] for line in rows] == translated[:3]

    checked.write_text(rows[0].replace("\t-", "\t-1"), encoding="utf-8")
    assert run([*arguments, str(tmp_path / "other"), *flags]) == 1
    assert "log-probabilities are not those of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\tb\nc\td\t-1\t-2\n", 2),  # two for the line, none for the one before
        ("a\tb\t-1\t-2\n", 1),
        ("a\tb\nc\td\t-1\n", 2),
        ("a\tb\t-1\nc\td\n", 2),
        ("a\tb\tx\n", 1),
        ("a\tb\tnan\n", 1),
        ("a\n", 1),
    ],
)
def test_lines_to_compare_have_one_form(tmp_path, text, line):
    path = tmp_path / "F"
    path.write_text(text)
    with pytest.raises(UserError, match=f"F:{line}: expected .source TAB .*, got '[ac].*'$"):
        read_sentences(path)


def test_lines_to_compare_are_read_before_a_run_is_written(tmp_path, capsys):
    checked, folder = tmp_path / "F", tmp_path / "run"
    checked.write_text("a\n")
    files = files_of("nematus-plain")
    command = ["import", "nematus", *files, "--check", str(checked), "--output", str(folder)]
    assert run(command) == 1
    assert "F:1: expected `source TAB translation`" in capsys.readouterr().err
    assert not folder.exists()


def test_lines_to_compare(tmp_path):
    path = tmp_path / "F"
    path.write_text("a\tb\t-1\nc\td\t-2.5\n")
    assert read_sentences(path) == (["a", "c"], ["b", "d"], [-1.0, -2.5])
    path.write_text("a\tb\nc\td\n")
    assert read_sentences(path) == (["a", "c"], ["b", "d"], [])
