"""Sutskever, Vinyals, Le 2014: the deep LSTM with the source in order and reversed, its perplexity,
beams of 1, 2 and 12, ensembles, one to three layers, long sentences; n-best lists of a
phrase-based system rescored.
"""

from __future__ import annotations

from papers import claim
from papers import phrase_based
from papers.corpora import LANGUAGES, read_multi30k
from papers.page import Page, over_seeds
from papers.resampling import Likelihoods, counts_of, likelihoods_of
from rnnsearch_tf.extras.moses.phrase_based import NBEST

BEAMS = 1, 2, 12
EVEN = 0.5
"""Weight of the LSTM in the score of a hypothesis, §3.2."""

LONG = 3
"""Sentences of Table 3."""

LARGEST = 5
"""Models of the largest ensemble, as in the paper."""

FIRST = "phrase-based-first"
"""Key of the output: the first hypotheses of the phrase-based system's lists."""

OF_FIRST_SEEDS = (
    " An ensemble is of the models of the first seeds, which differ in their initial weights and in"
    " the order of minibatches; it is made once."
)
PERPLEXITY = (
    "Perplexity is of the references of test_2016_flickr per word, as the paper's: the models"
    " write subwords, whose log-probabilities are added up; the words are those that BLEU counts"
    " (13a), and the end symbol is one. Training with label smoothing of 0.1 raises it."
)


def table_1(work, models) -> Page:
    """Perplexity, and BLEU by beam size; the first model reads the source in order, the second and
    its ensembles reversed.
    """
    forward, reverse = models
    of_one = {"forward": forward, "reversed": reverse}
    perplexities = {
        system: over_seeds(measured_perplexities(work, name)) for system, name in of_one.items()
    }
    systems = {system: measured_beams(work, name) for system, name in of_one.items()} | {
        _ensemble(seeds): [measured_beams_of(work, reverse, seeds)]
        for seeds in ensembles(work, reverse, "beams")
    }
    rows = [
        {"LSTM": system, "test perplexity": perplexities.get(system)}
        | {f"beam {beam}": over_seeds([each[str(beam)] for each in found]) for beam in BEAMS}
        for system, found in systems.items()
    ]
    paper = [
        {"LSTM": "forward, beam 12", "test perplexity": 5.8, "BLEU": 26.17},
        {"LSTM": "reversed, beam 12", "test perplexity": 4.7, "BLEU": 30.59},
        {"LSTM": "ensemble of 5, reversed, beam 1", "test perplexity": None, "BLEU": 33.00},
        {"LSTM": "ensemble of 2, reversed, beam 12", "test perplexity": None, "BLEU": 33.27},
        {"LSTM": "ensemble of 5, reversed, beam 2", "test perplexity": None, "BLEU": 34.50},
        {"LSTM": "ensemble of 5, reversed, beam 12", "test perplexity": None, "BLEU": 34.81},
    ]
    return Page(
        "Sutskever et al. 2014, Table 1: reversed source, beams, ensembles",
        rows,
        paper,
        [
            "BLEU (13a) on test_2016_flickr. The search ranks hypotheses by log-probability divided"
            f" by length; the paper's by log-probability.{OF_FIRST_SEEDS}",
            PERPLEXITY,
        ],
    )


def _ensemble(seeds):
    return f"ensemble of {len(seeds)}, reversed"


def ensembles(work, name, measurement: str) -> list:
    """[seeds of each ensemble] of a model's first two, three, … up to LARGEST seeds: those whose
    models are here, or of which a measurement was made before.
    """
    seeds = work.seeds_of(name)[:LARGEST]
    return [
        members
        for members in (seeds[:count] for count in range(2, len(seeds) + 1))
        if work.is_measured(f"{measurement}-{_key(name, members)}")
        or all(work.is_trained(name, seed) for seed in members)
    ]


def _key(name, seeds):
    """Of the measurements of a model, or of an ensemble of several seeds."""
    return f"{len(seeds)}-{name}-{seeds[0]}"


def each_seed(work, name) -> list:
    """[[seed]] of each model: groups of one."""
    return [[seed] for seed in work.seeds_of(name)]


def measured_beams(work, name) -> list:
    """[{beam as str: BLEU} of each seed]."""
    return [measured_beams_of(work, name, seeds) for seeds in each_seed(work, name)]


def measured_beams_of(work, name, seeds) -> dict:
    """{beam as str: BLEU} of a model of one seed, or of an ensemble of several."""
    return work.measured(f"beams-{_key(name, seeds)}", lambda: _by_beam(work, name, seeds))


def _by_beam(work, name, seeds):
    from rnnsearch_tf.evaluation.bleu import bleu

    _, references = read_multi30k(work.data, "test")
    return {
        beam: bleu(found["texts"], references).score
        for beam, found in translations(work, name, seeds).items()
    }


def translations(work, name, seeds) -> dict:
    """The test captions translated by a model of one seed, or by an ensemble of several.

    Returns:
        {beam as str: {"texts", "counts": see resampling.counts_of}}
    """

    def translate():
        sources, references = read_multi30k(work.data, "test")
        translator = work.translator(name, *seeds)
        kept = {}
        for beam in BEAMS:
            texts = [each.text for each in translator.translate(sources, beam_size=beam)]
            counts = counts_of(texts, references, tokenize="13a")
            kept[str(beam)] = {"texts": texts, "counts": counts}
        return kept

    return work.output(_captions(name, seeds), translate)


def _captions(name, seeds):
    return f"captions-{_key(name, seeds)}"


def kept_counts(work, name, groups, beam: str) -> list:
    """[Counts of each group of seeds whose translations were kept]: all of them, or none."""
    return claim.kept_counts(work, [_captions(name, seeds) for seeds in groups], beam)


def likelihoods(work, name) -> list:
    """[Likelihoods of the test captions' references, per word, for each seed]."""
    return [_likelihoods(work, name, seed) for seed in work.seeds_of(name)]


def _likelihoods(work, name, seed):
    def score():
        sources, references = read_multi30k(work.data, "test")
        scores = work.translator(name, seed).score(sources, references)
        words = [counts[-1] for counts in counts_of(references, references, tokenize="13a")]
        return likelihoods_of(scores, words)

    return Likelihoods(work.output(f"likelihoods-{name}-{seed}", score))


def measured_perplexities(work, name) -> list:
    """[test perplexity of each seed]."""

    def measure(work, name, seed):
        return float(_likelihoods(work, name, seed).perplexity()[0])

    return work.of_each_seed("perplexity", name, measure)


def depth(work, models) -> Page:
    """Perplexity and BLEU of LSTMs of one, two, … layers of the first seed, source reversed."""
    rows = [
        {
            "layers": layers,
            "test perplexity": measured_perplexities(work, name)[0],
            "BLEU, beam 12": measured_beams(work, name)[0]["12"],
        }
        for layers, name in enumerate(models, start=1)
    ]
    return Page(
        "Sutskever et al. 2014, §3.4: the number of layers",
        rows,
        text=[
            'The paper: "each additional layer reduced perplexity by nearly 10%". It has four'
            " layers of 1000 cells; these have 256, and all had the same number of updates. One"
            " model of each depth.",
            PERPLEXITY,
        ],
    )


def table_3(work, models) -> Page:
    """Long sentences, translated by the LSTM."""
    name, seed = models[0], work.seeds[0]

    def find():
        sources, references = read_multi30k(work.data, "test")
        longest = sorted(range(len(sources)), key=lambda i: -len(sources[i].split()))[:LONG]
        texts = translations(work, name, [seed])["12"]["texts"]
        return [
            {"source": sources[i], "translation": texts[i], "reference": references[i]}
            for i in longest
        ]

    return Page(
        "Sutskever et al. 2014, Table 3: long sentences",
        work.measured(f"long-sentences-{name}-{seed}", find),
        text=[f"The {LONG} longest captions of test_2016_flickr, beam 12."],
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
        " and gets a capital first letter." + OF_FIRST_SEEDS,
        f"The lists have up to {NBEST} derivations, of which several may have the same"
        " words; the paper's have 1000.",
        phrase_based.WEAKER,
    ]
    return Page("Sutskever et al. 2014, Table 2: n-best lists rescored", rows, paper, text)


def measured_rescoring(work, models) -> dict:
    """{system: [BLEU of each seed]}; an ensemble and the lists without rescoring once."""
    forward, reverse = models
    groups = {
        "rescored by forward": (forward, each_seed(work, forward)),
        "rescored by reversed": (reverse, each_seed(work, reverse)),
    } | {
        f"rescored by {_ensemble(seeds)}": (reverse, [seeds])
        for seeds in ensembles(work, reverse, "rescored")
    }
    alone = work.measured("phrase-based-nbest", lambda: _first_and_best(work))
    return (
        {"phrase-based": [alone["first"]]}
        | {
            system: [_rescored_bleu(work, name, seeds) for seeds in members]
            for system, (name, members) in groups.items()
        }
        | {"oracle": [alone["oracle"]]}
    )


def _rescored_bleu(work, name, seeds):
    return work.measured(f"rescored-{_key(name, seeds)}", lambda: _rescored(work, name, seeds))


def kept_counts_of_rescored(work, name) -> list:
    """[Counts of each seed's choice from the lists], [] unless all were kept."""
    return claim.kept_counts(
        work, [f"rescored-{_key(name, seeds)}" for seeds in each_seed(work, name)]
    )


def kept_counts_of_first(work) -> list:
    """[Counts of the lists' first hypotheses], [] if they were not kept."""
    return claim.kept_counts(work, [FIRST])


def _first_and_best(work):
    from rnnsearch_tf.extras.moses.oracle import choose

    lists, references = _test_lists(work)
    firsts, chosen = choose(lists, references, tokenize="none")
    work.output(FIRST, lambda: _kept(firsts, references))
    return {
        "first": phrase_based.bleu(firsts, references),
        "oracle": phrase_based.bleu(chosen, references),
    }


def _kept(tokens, references):
    return {"tokens": tokens, "counts": counts_of(tokens, references)}


def _rescored(work, name, seeds):
    from rnnsearch_tf.extras.moses.nbest import rescore

    lists, references = _test_lists(work)
    captions, _ = read_multi30k(work.data, "test")
    entries = [entry for each in lists for entry in each]
    texts = list(dict.fromkeys(entry.text for entry in entries))
    sentences = dict(zip(texts, _as_sentences(texts)))
    pairs = list(
        dict.fromkeys((captions[entry.sentence], sentences[entry.text]) for entry in entries)
    )
    scores = dict(zip(pairs, work.translator(name, *seeds).score(*map(list, zip(*pairs)))))

    def value(entry):
        return scores[captions[entry.sentence], sentences[entry.text]]

    best = {
        each[0].sentence: rescore(each, [value(entry) for entry in each], "LSTM", EVEN)[0].text
        for each in lists
    }
    chosen = [best.get(sentence, "") for sentence in range(len(references))]
    work.output(f"rescored-{_key(name, seeds)}", lambda: _kept(chosen, references))
    return phrase_based.bleu(chosen, references)


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
