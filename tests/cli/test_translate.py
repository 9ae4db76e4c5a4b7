"""translate: one line for one line, every output type, every option, against the Translator's own
answers.
"""

import gzip
import io
import json

import numpy as np
import pytest

LINES = [
    "The door is white.",
    "",
    "Where is the white cat?",
    "zebra xylophone",
    "   ",
    "She goes to the hotel.",
]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "source.txt"
    path.write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    return path


def test_one_line_for_one_line_the_empty_ones_included(rnnsearch, run_folder, source, translator):
    out, err = rnnsearch("translate", "--model", run_folder, source)
    assert out == [translation.text for translation in translator.translate(LINES)]
    assert [bool(line) for line in out] == [True, False, True, True, False, True]
    assert err == ""


def test_gz_in_and_out_standard_input_and_several_files(
    rnnsearch, run_folder, source, tmp_path, monkeypatch
):
    expected, _ = rnnsearch("translate", "--model", run_folder, source)
    packed = tmp_path / "source.gz"
    result = tmp_path / "result.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    out, _ = rnnsearch("translate", "--model", run_folder, "--output", result, packed)
    assert out == []
    assert gzip.decompress(result.read_bytes()).decode().splitlines() == expected
    monkeypatch.setattr("sys.stdin", packed.open())
    out, _ = rnnsearch("translate", "--model", run_folder, "-", packed)
    assert out == expected * 2


def test_options_reach_the_search(rnnsearch, run_folder, source, translator):
    out, _ = rnnsearch(
        "translate",
        "--model",
        run_folder,
        *("--beam-size", 2, "--json", "--n-best", 2, "--probabilities"),
        *("--set", "search.length_penalty=0", "--set", "search.allow_unknown=false"),
        *("--set", "search.batch_size=3", source),
    )
    expected = translator.translate(
        LINES, beam_size=2, length_penalty=0.0, allow_unknown=False, nbest=2
    )
    for line, translation in zip(map(json.loads, out), expected, strict=True):
        assert line["text"] == translation.text and line["tokens"] == translation.tokens
        assert line["source_tokens"] == translation.source_tokens
        assert (
            line["score"] == line["log_probability"] == pytest.approx(translation.score, rel=1e-6)
        )
        assert [h["text"] for h in line["nbest"]] == [h.text for h in translation.nbest]
        assert "<unk>" not in line["tokens"]
        assert "alignment" not in line
        for hypothesis, expected in zip(line["nbest"], translation.nbest):
            assert hypothesis["probability"] == pytest.approx(expected.probability, abs=1e-4)
            found = [token for token, _ in hypothesis["token_probabilities"]]
            assert found == expected.tokens


def test_moses_nbest_lists(rnnsearch, run_folder, source, translator):
    out, _ = rnnsearch("translate", "--model", run_folder, "--n-best", 3, "--alignment", source)
    expected = translator.translate(LINES, nbest=3)
    rows = [line.split(" ||| ") for line in out]
    assert [int(row[0]) for row in rows] == [n for n, t in enumerate(expected) for _ in t.nbest]
    for row, hypothesis in zip(rows, [h for t in expected for h in t.nbest], strict=True):
        assert len(row) == 5
        assert row[1] == hypothesis.text
        name, value, length_name, length = row[2].split()
        assert (name, length_name, int(length)) == (
            "LogProbability=",
            "Length=",
            len(hypothesis.tokens) + hypothesis.finished,
        )
        assert float(value) == pytest.approx(hypothesis.log_probability, abs=1e-4)
        assert float(row[3]) == pytest.approx(hypothesis.score, abs=1e-4)
        if hypothesis.tokens:
            assert float(value) / int(length) == pytest.approx(float(row[3]), abs=1e-4)
    # best first
    assert sorted(float(row[3]) for row in rows[:3]) == [float(row[3]) for row in rows[2::-1]]


def test_alignments_beside_the_text(rnnsearch, run_folder, source, translator):
    words = ["translate", "--model", run_folder, "--alignment", source]
    hard, _ = rnnsearch(*words)
    soft, _ = rnnsearch(*words, "--json")
    for line, numbers, translation in zip(hard, soft, translator.translate(LINES), strict=True):
        text, links = line.split("\t")
        numbers = json.loads(numbers)
        assert text == numbers["text"] == translation.text
        links = [tuple(map(int, link.split("-"))) for link in links.split()]
        # every target word once
        assert sorted(i for _, i in links) == list(range(len(translation.tokens)))
        matrix = np.array(numbers["alignment"]).reshape(translation.alignment.shape)
        np.testing.assert_allclose(matrix, translation.alignment, atol=1e-4)
        for j, i in links:
            assert matrix[i, j] == matrix[i, :-1].max()


def test_unknown_words_are_replaced(rnnsearch, run_folder, source, translator):
    out, _ = rnnsearch("translate", "--model", run_folder, "--replace-unknown", source)
    replaced, plain = (translator.translate(LINES, replace_unknown=r) for r in (True, False))
    assert out == [each.text for each in replaced] != [each.text for each in plain]


def test_a_terminal_is_told_what_to_type(rnnsearch, run_folder, source, monkeypatch):
    """At once, and not where text comes from a file."""

    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    monkeypatch.setattr(
        "sys.stdin", Terminal(io.BufferedReader(io.BytesIO(b"The door is white.\n")))
    )
    told = f"loading {run_folder}; then type a sentence and press Enter; Ctrl-D ends\n"
    out, err = rnnsearch("translate", "--model", run_folder)
    assert len(out) == 1 and err.startswith(told)
    _, err = rnnsearch("translate", "--model", run_folder, source)
    assert "type a sentence" not in err


def test_an_overlong_sentence_is_cut_with_a_warning(rnnsearch, run_folder, tmp_path):
    path = tmp_path / "long"
    path.write_text("cat " * 5000 + "\n")
    out, err = rnnsearch("translate", "--model", run_folder, "--beam-size", 1, path)
    assert len(out) == 1 and out[0]
    [cut] = err.splitlines()
    assert cut == (
        "rnnsearch: warning: 1 source sentence(s) were cut to 50 tokens, the maximum length:"
        f" {'cat ' * 15} …"
    )
