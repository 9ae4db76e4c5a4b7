"""Sutskever, Vinyals, Le 2014: the deep LSTM with the source in order and reversed, beams of 1, 2
and 12, an ensemble; n-best lists of a phrase-based system rescored.
"""

from __future__ import annotations

from papers import phrase_based
from papers.corpora import LANGUAGES, read_multi30k
from papers.page import Page, over_seeds
from papers.resampling import Counts, counts_of
from rnnsearch_tf.extras.moses.phrase_based import NBEST

BEAMS = 1, 2, 12
EVEN = 0.5
"""Weight of the LSTM in the score of a hypothesis, §3.2."""

OF_ONE_SEED = " The ensemble is made once, not for each seed."


def table_1(work, models) -> Page:
    """BLEU by beam size; the first model reads the source in order, the ensemble reversed."""
    rows = [
        {"LSTM": system}
        | {f"beam {beam}": over_seeds([each[str(beam)] for each in found]) for beam in BEAMS}
        for system, found in measured_systems(work, models).items()
    ]
    paper = [
        {"LSTM": "forward, beam 12", "BLEU": 26.17},
        {"LSTM": "reversed, beam 12", "BLEU": 30.59},
        {"LSTM": "ensemble of 5, reversed, beam 1", "BLEU": 33.00},
        {"LSTM": "ensemble of 2, reversed, beam 12", "BLEU": 33.27},
        {"LSTM": "ensemble of 5, reversed, beam 2", "BLEU": 34.50},
        {"LSTM": "ensemble of 5, reversed, beam 12", "BLEU": 34.81},
    ]
    return Page(
        "Sutskever et al. 2014, Table 1: reversed source, beams, ensembles",
        rows,
        paper,
        [f"BLEU (13a) on test_2016_flickr.{OF_ONE_SEED}"],
    )


def measured_systems(work, models) -> dict:
    """{system: [{beam as str: BLEU} of each seed]} of the forward and the reversed LSTM; with the
    first seed only, of the ensemble and the best of its models.
    """
    forward, *ensemble = models
    systems = {"forward": [forward], "reversed": ensemble[:1]}
    found = {
        system: [measured_beams(work, names, seed) for seed in work.seeds_of(names[0])]
        for system, names in systems.items()
    }
    members = [measured_beams(work, [name], work.seeds[0]) for name in ensemble]
    return found | {
        "the best of the ensemble": [max(members, key=lambda each: each["12"])],
        f"ensemble of {len(ensemble)}, reversed": [measured_beams(work, ensemble, work.seeds[0])],
    }


def measured_beams(work, names, seed) -> dict:
    """{beam as str: BLEU} of a model, or of an ensemble of several."""
    return work.measured(
        f"beams-{len(names)}-{names[0]}-{seed}", lambda: _by_beam(work, names, seed)
    )


def table_2(work, models) -> Page:
    """BLEU of a phrase-based system whose n-best lists are rescored by LSTMs; models as in
    :func:`table_1`.
    """
    found = measured_rescoring(work, models)
    rows = [{"system": system, "BLEU": over_seeds(values)} for system, values in found.items()]
    paper = [
        {"system": "phrase-based", "BLEU": 33.30},
        {"system": "rescored by forward", "BLEU": 35.61},
        {"system": "rescored by reversed", "BLEU": 35.85},
        {"system": "rescored by ensemble of 5, reversed", "BLEU": 36.5},
        {"system": "oracle", "BLEU": "~45"},
    ]
    text = [
        "BLEU of lower-cased tokens on test_2016_flickr. The score of a hypothesis is the even"
        " average of the phrase-based system's score, whose weights sum to 1, and the LSTM's"
        " log-probability. The LSTMs were trained on cased text, so each hypothesis is detokenized"
        " and gets a capital first letter." + OF_ONE_SEED,
        f"The lists have up to {NBEST} derivations, of which several may have the same"
        " words; the paper's have 1000.",
        phrase_based.WEAKER,
    ]
    return Page("Sutskever et al. 2014, Table 2: n-best lists rescored", rows, paper, text)


def measured_rescoring(work, models) -> dict:
    """{system: [BLEU of each seed]}; the ensemble with the first seed only, the lists without
    rescoring once.
    """
    forward, *ensemble = models

    def measure(names, seed):
        return work.measured(
            f"rescored-{len(names)}-{names[0]}-{seed}", lambda: _rescored(work, names, seed)
        )

    alone = work.measured("phrase-based-nbest", lambda: _first_and_best(work))
    return {
        "phrase-based": [alone["first"]],
        "rescored by forward": [measure([forward], seed) for seed in work.seeds_of(forward)],
        "rescored by reversed": [
            measure(ensemble[:1], seed) for seed in work.seeds_of(ensemble[0])
        ],
        f"rescored by ensemble of {len(ensemble)}, reversed": [measure(ensemble, work.seeds[0])],
        "oracle": [alone["oracle"]],
    }


def _first_and_best(work):
    from rnnsearch_tf.extras.moses.oracle import choose

    lists, references = _test_lists(work)
    firsts, chosen = choose(lists, references, tokenize="none")
    return {
        "first": phrase_based.bleu(firsts, references),
        "oracle": phrase_based.bleu(chosen, references),
    }


def _rescored(work, names, seed):
    from rnnsearch_tf.extras.moses.nbest import rescore

    lists, references = _test_lists(work)
    captions, _ = read_multi30k(work.data, "test")
    entries = [entry for each in lists for entry in each]
    texts = list(dict.fromkeys(entry.text for entry in entries))
    sentences = dict(zip(texts, _as_sentences(texts)))
    pairs = list(
        dict.fromkeys((captions[entry.sentence], sentences[entry.text]) for entry in entries)
    )
    scores = dict(zip(pairs, work.translator(names, seed).score(*map(list, zip(*pairs)))))

    def value(entry):
        return scores[captions[entry.sentence], sentences[entry.text]]

    best = {
        each[0].sentence: rescore(each, [value(entry) for entry in each], "LSTM", EVEN)[0].text
        for each in lists
    }
    return phrase_based.bleu(
        [best.get(sentence, "") for sentence in range(len(references))], references
    )


def _test_lists(work):
    """(n-best lists, references as tokens)."""
    from rnnsearch_tf.extras.moses.nbest import read_nbest

    folder = work.phrase_based()
    return list(read_nbest(folder / "nbest.test")), phrase_based.text(folder, "test", LANGUAGES[1])


def _as_sentences(lines) -> list:
    """French tokens as captions: detokenized, with a capital first letter."""
    import tensorflow as tf

    from rnnsearch_tf.text.moses import detokenize

    texts = (
        text.decode("utf-8")
        for text in detokenize(tf.strings.split(tf.constant(lines)), LANGUAGES[1]).numpy()
    )
    return [text[:1].upper() + text[1:] for text in texts]


def _by_beam(work, names, seed):
    from rnnsearch_tf.evaluation.bleu import bleu

    _, references = read_multi30k(work.data, "test")
    return {
        beam: bleu(found["texts"], references).score
        for beam, found in translations(work, names, seed).items()
    }


def translations(work, names, seed) -> dict:
    """The test captions translated by a model, or by an ensemble of several.

    Returns:
        {beam as str: {"texts", "counts": see resampling.counts_of}}
    """

    def translate():
        sources, references = read_multi30k(work.data, "test")
        translator = work.translator(names, seed)
        kept = {}
        for beam in BEAMS:
            texts = [each.text for each in translator.translate(sources, beam_size=beam)]
            counts = counts_of(texts, references, tokenize="13a")
            kept[str(beam)] = {"texts": texts, "counts": counts}
        return kept

    return work.output(_key(names, seed), translate)


def _key(names, seed):
    return f"captions-{len(names)}-{names[0]}-{seed}"


def kept_counts(work, names, beam: str) -> list:
    """[Counts of each seed whose translations were kept]: all seeds, or none."""
    kept = [work.kept_output(_key(names, seed)) for seed in work.seeds_of(names[-1])]
    return [] if None in kept else [Counts(each[beam]["counts"]) for each in kept]
