"""The phrase-based system of papers/: trained on the built-in corpus, where sil-machine is
installed (`pip install ".[smt]"`).
"""

import itertools
import math
import types

import numpy as np
import pytest
import sacrebleu

from papers import phrase_based
from papers.common import Experiment
from papers.phrase_based import FEATURES, SKIPPED, Derivation, PhraseBased
from rnnsearch_tf.extras.moses.nbest import read_nbest


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    pytest.importorskip("thot", reason="the extra smt is not installed")
    return Experiment(tmp_path_factory.mktemp("phrase-based"), quick=True)


@pytest.fixture(scope="module")
def folder(work):
    return phrase_based.system(work)


def test_derivations_translate_every_word_and_are_scored_by_their_features(folder):
    system = PhraseBased(folder)
    sources, references = (phrase_based.text(folder, "test", e)[:20] for e in ("en", "fr"))
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


def test_distortion_is_the_number_of_words_jumped_over(folder):
    jumped = []
    sources = phrase_based.text(folder, "test", "en")[:30]
    for entry in itertools.chain.from_iterable(PhraseBased(folder).nbest(sources, 20)):
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


def test_tuning_does_not_lose_bleu(folder):
    sources, references = (phrase_based.text(folder, "development", e) for e in ("en", "fr"))
    tuned = PhraseBased(folder)
    plain = PhraseBased(folder)
    plain.weights = phrase_based.scaled(phrase_based.INITIAL_WEIGHTS)

    def score(system):
        texts = [entries[0].text for entries in system.nbest(sources, 10)]
        return sacrebleu.corpus_bleu(texts, [references], tokenize="none", force=True).score

    assert score(tuned) >= score(plain) - 1e-9
    assert np.abs(tuned.weights).sum() == pytest.approx(1)


def test_the_table_is_of_relative_frequencies(folder):
    of_source = {}
    rows = list(phrase_based.rows(folder))
    for row in rows:
        of_source[row.source] = of_source.get(row.source, 0.0) + row.probability
    assert all(total == pytest.approx(1, abs=1e-3) for total in of_source.values())
    assert all(0 < row.probability <= 1 and row.count > 0 for row in rows)


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
    assert entry.text == "le chat noir" and entry.score == 7.0 and entry.fields[4] == "0=0 1-2=1-2"


def test_phrases_that_stand_for_nothing_are_no_phrase_pairs(tmp_path):
    (tmp_path / "ttable").write_text(
        "deux ||| two ||| 4.0 3.0\n<UNUSED_WORD> ||| two ||| 0 23.0\n", encoding="utf-8"
    )
    assert list(phrase_based.thot_table(tmp_path / "ttable")) == [("two", "deux", 4.0, 3.0)]
