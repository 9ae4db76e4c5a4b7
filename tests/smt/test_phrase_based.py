"""The phrase-based system: trained on the built-in corpus, where sil-machine is installed (`pip
install ".[smt]"`).
"""

import gzip
import importlib.util
import itertools
import json
import math
import types

import numpy as np
import pytest
import sacrebleu

from rnnsearch_tf.data.phrase_table import read_table
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.moses import phrase_based
from rnnsearch_tf.extras.moses.nbest import read_nbest
from rnnsearch_tf.extras.moses.phrase_based import (
    FEATURES,
    SKIPPED,
    Derivation,
    PhraseBased,
    _read_thot_table,
    _write_tokens,
)

PAIRS = 300


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    pytest.importorskip("thot", reason="the extra smt is not installed")
    folder = tmp_path_factory.mktemp("phrase-based")
    for name, lines in zip(("source", "target"), phrasebook(PAIRS, 1, "train")):
        lines = (f"{line.lower()}\n".replace(" ", "\t", 1) for line in lines)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    (folder / "model").mkdir()
    return PhraseBased.train(folder / "model", folder / "source", folder / "target")


def held_out(count):
    return [[line.lower() for line in side] for side in phrasebook(count, 1, "test")]


def test_derivations_translate_every_word_and_are_scored_by_their_features(system):
    sources, references = held_out(20)
    lists = system.nbest(sources, 5)
    for source, entries in zip(sources, lists):
        scores = [float(np.dot(each.features, system.weights)) for each in entries]
        assert scores == sorted(scores, reverse=True) and 1 <= len(entries) <= 5
        for each in entries:
            for side, words in enumerate((source.split(), each.text.split())):
                places = [
                    place
                    for pair in each.phrases
                    for place in range(pair[side][0], pair[side][1] + 1)
                ]
                assert sorted(places) == list(range(len(words)))
    firsts = [entries[0].text for entries in lists]
    assert sacrebleu.corpus_bleu(firsts, [references], tokenize="none", force=True).score > 20


def test_distortion_is_the_number_of_words_jumped_over(system):
    jumped = []
    for entry in itertools.chain.from_iterable(system.nbest(held_out(30)[0], 20)):
        spans = [(-1, -1), *(source for source, _ in entry.phrases)]
        jumps = [start - end - 1 for (_, end), (start, _) in itertools.pairwise(spans)]
        jumped.append(sum(map(abs, jumps)))
        assert entry.features[FEATURES.index("Distortion")] == pytest.approx(-jumped[-1], abs=0.01)
        covered = np.cumsum([end - start + 1 for start, end in spans[1:]])
        left_out = np.maximum.accumulate([end + 1 for _, end in spans[1:]]) - covered
        assert max(left_out) <= SKIPPED
    assert 0 in jumped and len(set(jumped)) > 2


def test_the_distortion_of_thot_is_a_number_of_words():
    """By hand: 5 words at log 0.001 each; "noir" comes after "chat" and jumps back."""
    found = types.SimpleNamespace(
        target=["le", "chat", "noir"],
        target_segment_cuts=[1, 2, 3],
        source_segmentation=[(1, 1), (3, 3), (2, 2)],
        score_components=[1.0, 2, 3, 5 * math.log(0.001), 5, 6, 7, 8],
    )
    derivation = phrase_based._derivation(found)
    assert derivation.features == pytest.approx((1, 2, 3, -5, 5, 6, 7, 8))
    assert derivation.phrases == (((0, 0), (0, 0)), ((2, 2), (1, 1)), ((1, 1), (2, 2)))


def test_tuning_does_not_lose_bleu_and_is_kept(system):
    sources, references = held_out(15)
    before = [entries[0].text for entries in system.nbest(sources, 10)]
    lists = system.tune(sources, references, size=10, rounds=1)

    def score(texts):
        return sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score

    assert score([entries[0].text for entries in lists]) >= score(before) - 1e-9
    again = PhraseBased(system.folder)
    assert (
        again.is_tuned
        and again.weights == pytest.approx(system.weights)
        and np.abs(again.weights).sum() == pytest.approx(1)
    )
    assert [entries[0].text for entries in again.nbest(sources, 10)] == [
        entries[0].text for entries in lists
    ]
    assert list(json.loads((system.folder / "weights.json").read_text(encoding="utf-8"))) == list(
        FEATURES
    )


def test_a_system_that_is_trained_again_is_not_tuned(tmp_path):
    pytest.importorskip("thot", reason="the extra smt is not installed")
    for name, lines in zip(("source", "target"), phrasebook(PAIRS, 1, "train")):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "weights.json").write_text(json.dumps(dict.fromkeys(FEATURES, 0.5)))
    system = PhraseBased.train(tmp_path, tmp_path / "source", tmp_path / "target")
    assert not system.is_tuned and not PhraseBased(tmp_path).is_tuned
    assert system.weights[-1] == 0


def test_any_white_space_separates_tokens_as_in_training(system):
    source = held_out(1)[0][0]
    spaced = source.replace(" ", "\u00a0", 1).replace(" ", "\t", 1) + "\n"
    assert system.nbest([spaced], 5) == system.nbest([source], 5)


def test_a_failed_tuning_or_training_changes_nothing(system, monkeypatch):
    before = system.weights.copy()
    lines = [entries[0] for entries in system.nbest(held_out(5)[0], 1)]

    def fails(*_):
        raise KeyboardInterrupt

    rounds = iter([phrase_based.tune, fails])
    with monkeypatch.context() as patch:
        patch.setattr(phrase_based, "tune", lambda *arguments: next(rounds)(*arguments))
        with pytest.raises(KeyboardInterrupt):
            system.tune(*held_out(8), size=10, rounds=2)
    assert system.weights.tolist() == before.tolist()
    files = [system.folder.parent / side for side in ("source", "target")]
    with monkeypatch.context() as patch:
        patch.setattr(PhraseBased, "_train", fails)
        with pytest.raises(KeyboardInterrupt):
            PhraseBased.train(system.folder, *files)
    again = PhraseBased(system.folder)
    assert again.weights.tolist() == before.tolist()
    assert [entries[0] for entries in again.nbest(held_out(5)[0], 1)] == lines
    assert {path.name for path in system.folder.iterdir()} <= {*phrase_based.PARTS, "weights.json"}


def test_the_table_is_of_relative_frequencies_and_word_translations(system, tmp_path):
    path = tmp_path / "table"
    path.write_text("".join(system.table()), encoding="utf-8")
    of_source = {}
    rows = []
    for pair in read_table(path):
        source, target, scores, links, counts = (field.decode() for field in pair.fields)
        of_target, source_count, joint = map(float, counts.split())
        of_source.setdefault(source, []).append(joint)
        rows.append((source, target, list(map(float, scores.split())), source_count))
        assert float(scores.split()[0]) == pytest.approx(joint / of_target, rel=1e-4)
        assert all(0 < float(score) <= 1 + 1e-6 for score in scores.split())
        for link in links.split():
            j, i = map(int, link.split("-"))
            assert j < len(source.split()) and i < len(target.split())
    for source, target, scores, source_count in rows:
        assert source_count == pytest.approx(sum(of_source[source]), rel=1e-4)
    best = {}
    for source, target, scores, _ in rows:
        best[source] = max(best.get(source, (0.0, "")), (scores[3], target))
    single = {source: target for source, (_, target) in best.items() if len(source.split()) == 1}
    # lex(t|s) of words that have one translation
    assert sum(best[word][0] > 0.5 for word in single) > len(single) / 3


def test_a_line_of_the_nbest_list_is_moses_s(tmp_path):
    derivation = Derivation(
        "le chat noir", tuple(map(float, range(8))), (((0, 0), (0, 0)), ((1, 2), (1, 2)))
    )
    line = derivation.nbest_line(3, [0.5, 0, 0, 0, 0, 0, 0, 1.0])
    assert (
        line == "3 ||| le chat noir ||| WordPenalty= 0 LM= 1 TargetPhraseLength= 2 Distortion= 3"
        " SourcePhraseLength= 4 SourceGivenTarget= 5 TargetGivenSource= 6 SentenceLength= 7 |||"
        " 7.000000 ||| 0=0 1-2=1-2\n"
    )
    (tmp_path / "nbest").write_text(line, encoding="utf-8")
    [[entry]] = read_nbest(tmp_path / "nbest")
    assert entry.text == "le chat noir" and entry.score == 7.0 and entry.fields[4] == b"0=0 1-2=1-2"


def test_the_separator_of_the_fields_is_no_word_of_a_line(tmp_path):
    derivation = Derivation("a ||| b", (0.0,) * 8, (((0, 2), (0, 2)),))
    (tmp_path / "nbest").write_text(derivation.nbest_line(0, [1.0] * 8), encoding="utf-8")
    [[entry]] = read_nbest(tmp_path / "nbest")
    assert entry.text == "a | | | b" and entry.fields[4] == b"0-2=0-2"


def test_missing_packages_are_named_with_their_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UserError,
        match=(
            r"a phrase-based system: expected the package sil-machine, found none; pip install"
            r" \"rnnsearch-tf\[smt\]\""
        ),
    ):
        PhraseBased.train(tmp_path, "source", "target")


def test_the_separator_of_tables_is_no_token(tmp_path):
    (tmp_path / "text").write_text("a b\na ||| b\n")
    with pytest.raises(UserError, match=r"text:2: expected tokens, got \|\|\|, which separates"):
        _write_tokens(tmp_path / "text", tmp_path / "copy")
    (tmp_path / "text").write_text("a |||b | | |\n")
    _write_tokens(tmp_path / "text", tmp_path / "copy")


def test_a_line_is_a_row_whatever_it_has(tmp_path):
    """sil-machine reads a table: what is before a tab is the key of the row."""
    (tmp_path / "text.gz").write_bytes(gzip.compress("2\td\ra\xa0é \n\n x\n".encode()))
    assert _write_tokens(tmp_path / "text.gz", tmp_path / "copy") == 3
    assert (tmp_path / "copy").read_bytes() == "2 d a é\n\nx\n".encode()
    (tmp_path / "text").write_bytes(b"a\n\xff\n")
    with pytest.raises(UserError, match="text:2: expected UTF-8, got byte 0xff"):
        _write_tokens(tmp_path / "text", tmp_path / "copy")


def test_texts_of_unequal_length_are_refused(tmp_path, monkeypatch):
    """And an earlier system in the folder is kept."""
    monkeypatch.setattr(phrase_based, "require", lambda *_: None)
    (tmp_path / "source").write_text("a\nb\nc\n")
    (tmp_path / "target").write_text("a\nb\n")
    weights = tmp_path / "weights.json"
    weights.write_text(json.dumps(dict.fromkeys(FEATURES, 0.5)))
    with pytest.raises(UserError, match="expected as many lines in both files, got 3 in .*source"):
        PhraseBased.train(tmp_path, tmp_path / "source", tmp_path / "target")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "target", "weights.json"]


@pytest.mark.parametrize("references", [[], ["x"], ["x", "y", "z"]])
def test_the_development_text_is_checked_before_it_is_translated(tmp_path, monkeypatch, references):
    monkeypatch.setattr(PhraseBased, "nbest", None)
    sources = ["a", "b"] if references else []
    with pytest.raises(
        UserError,
        match=f"tune: .* got {len(sources)} sources and {len(references)} references",
    ):
        PhraseBased(tmp_path).tune(sources, references)


def test_a_folder_without_a_system_is_named(tmp_path):
    system = PhraseBased(tmp_path / "typo")
    for use in (lambda: system.nbest(["a"]), lambda: list(system.table())):
        with pytest.raises(
            UserError, match=r"typo: expected a folder that PhraseBased\.train wrote"
        ):
            use()


@pytest.mark.parametrize("content", ["{", "[1, 2]", '{"LM": 1}', "{}"])
def test_damaged_weights_are_named(tmp_path, content):
    (tmp_path / "weights.json").write_text(content)
    with pytest.raises(UserError, match=r"weights\.json: expected the 8 weights that tune wrote"):
        PhraseBased(tmp_path)


def test_phrases_that_stand_for_nothing_are_no_phrase_pairs(tmp_path):
    (tmp_path / "ttable").write_text(
        "deux ||| two ||| 4.0 3.0\n<UNUSED_WORD> ||| two ||| 0 23.0\n", encoding="utf-8"
    )
    assert list(_read_thot_table(tmp_path / "ttable")) == [("two", "deux", 4.0, 3.0)]
