"""Bahdanau, Cho, Bengio 2015: RNNencdec and RNNsearch, trained on sentences of up to 30 and up to
50 words.

At the small scale a test text with all lengths is made from test_2016_flickr: its sentences one by
one, joined in twos, and so on up to fives (corpora.py). At the paper's scale it is newstest2014.
BLEU is of tokens, as in the paper (multi-bleu.perl), lower-cased if the models are.
"""

from __future__ import annotations

import functools
import itertools
import random
import types

import numpy as np

from rnnsearch_tf.config import END_ID, SPECIAL_TOKENS
from rnnsearch_tf.files.reading import read_all
from papers import claim
from papers import phrase_based
from papers.corpora import LANGUAGES
from papers.page import Page, over_seeds
from papers.resampling import counts_of

BEAM = 12
SCORED = 500
"""Number of sentences of each text whose negative log-likelihood is measured."""

SHOWN_LENGTHS = 10, 20
SHOWN = 4
SHOWN_SEED = 1
"""Fewest and most words of the sentences whose alignments are plotted, their number, and the seed
with which they are drawn: "randomly selected samples among the sentences without any unknown words
and of length between 10 and 20 words from the test set".
"""

PHRASE_BASED = "table1-phrase-based"
PHRASE_BASED_TEXTS = "translations-phrase-based"
"""Keys of the measurement of the phrase-based system and of its translations."""

ENOUGH = 50
"""Number of sentences of a length that makes its BLEU meaningful."""

PAPER_TABLE_1 = [
    ("rnnencdec-30", 13.93, 24.19),
    ("rnnsearch-30", 21.50, 31.44),
    ("rnnencdec-50", 17.82, 26.71),
    ("rnnsearch-50", 26.75, 34.16),
    ("rnnsearch-50-longer", 28.45, 36.15),
    ("Moses", 33.30, 35.63),
]
PAPER_TABLE_2 = [
    ("rnnencdec-30", 846_000, 6.4, 109.0, 28.1, 53.0),
    ("rnnsearch-30", 471_000, 3.6, 113.0, 26.7, 47.2),
    ("rnnencdec-50", 600_000, 4.5, 108.0, 44.0, 43.6),
    ("rnnsearch-50", 288_000, 2.2, 111.0, 40.7, 38.1),
    ("rnnsearch-50-longer", 667_000, 5.0, 252.0, 36.7, 35.2),
]


def test_text(work):
    """(sources, references)."""
    return tuple(map(read_all, work.texts.test()))


def translations(work, name, seed, forbid_unknown=False) -> dict:
    """The translated test text.

    Returns:
        {"tokens": separated by spaces, "source_lengths": in tokens, "counts": see
        resampling.counts_of, "units": the unit of each sentence, or None if each is one,
        "single_sentences": as of the texts}. Claims need no more than this.

    BLEU is of the tokens that the model wrote. They cannot be recovered from the detokenized text:
    Moses's rules split off a full stop inside a line only if a capital follows, and these models
    write lower case.
    """

    def translate():
        from rnnsearch_tf.evaluation.words import tokenized

        sources, references = test_text(work)
        translator = work.translator(name, seed)
        changes = {"allow_unknown": False} if forbid_unknown else {}
        found = translator.translate(sources, beam_size=BEAM, **changes)
        texts = [" ".join(each.tokens) for each in found]
        side = translator.target_text
        return {
            "tokens": texts,
            "source_lengths": [len(each.source_tokens) for each in found],
            **_counted(work, texts, tokenized(side, references), side.config.lowercase),
        }

    return work.output(_key(name, seed, forbid_unknown), translate)


def _key(name, seed, forbid_unknown=False):
    return f"translations{'-no-unk' if forbid_unknown else ''}-{name}-{seed}"


def _counted(work, texts, references, lowercase):
    return {
        "counts": counts_of(texts, references, lowercase),
        "units": work.texts.units,
        "single_sentences": work.texts.single_sentences,
    }


def kept_counts(work, name, forbid_unknown=False) -> list:
    """[Counts of each seed whose translations were kept]: all seeds, or none."""
    return claim.kept_counts(
        work, [_key(name, seed, forbid_unknown) for seed in work.seeds_of(name)]
    )


def kept_counts_of_phrases(work) -> list:
    """[Counts of the phrase-based system], or none."""
    return claim.kept_counts(work, [PHRASE_BASED_TEXTS])


def kept_units(work, name):
    """The unit of each sentence of the test text, to be resampled; None if each is one, or if
    nothing was kept.
    """
    kept = work.kept_output(_key(name, work.seeds[0]))
    return None if kept is None else kept["units"]


def kept_single_sentences(work, name):
    """Number of sentences of the test text that are one caption; None if nothing was kept."""
    kept = work.kept_output(_key(name, work.seeds[0]))
    return None if kept is None else kept["single_sentences"]


def kept_lengths(work, name) -> np.ndarray:
    """Source length of each sentence of the test text, in words; empty if nothing was kept."""
    kept = work.kept_output(_key(name, work.seeds[0]))
    return np.array([] if kept is None else kept["source_lengths"])


def kept_ends(work, name, buckets) -> tuple:
    """(positions of the shortest, of the longest sentences) of lengths with ENOUGH of them.

    Args:
        name: a model.
        buckets: of measured_lengths, for one seed.
    """
    lengths = kept_lengths(work, name)
    if not len(lengths):
        return [], []
    first, *_, last = with_enough_sentences(buckets)
    return tuple(_within(lengths, end) for end in (first, last))


def known(work, models) -> list:
    """Positions of the test pairs in which all of these models know all words, so that all models
    are scored on the same pairs.
    """
    from rnnsearch_tf.evaluation.words import unknown_words

    def find():
        translators = (work.translator(name, work.seeds[0]) for name in models)
        counts = [
            unknown_words(each.source_text, each.target_text, *test_text(work))
            for each in translators
        ]
        return [number for number, unknown in enumerate(zip(*counts)) if not any(unknown)]

    return work.measured(f"known-{'-'.join(models)}", find)


def table_1(work, models) -> Page:
    """BLEU of all sentences, and of those without unknown words, where the decoder may not write
    one.
    """
    columns = {
        "all": "All",
        "short": "single captions",
        "no_unk": "No UNK",
        "no_unk_sentences": "sentences without UNK",
    }

    def row(name, found):
        return {"model": name} | {
            columns[key]: over_seeds([each[key] for each in found])
            for key in columns
            if key in found[0]
        }

    rows = [row(name, measured_bleu(work, name, models)) for name in models]
    text = [phrase_based.MISSING] if work.scale.phrase_based else []
    if work.is_measured(PHRASE_BASED) or work.can_have_phrase_based():
        rows.append(row(phrase_based.NAME, [measured_phrase_based(work, models)]))
        text = [f"{phrase_based.WEAKER} The networks learned from joined captions."]
    text.append(
        "BLEU of tokens. Sentences without UNK are those in which all models know all words; there"
        " the networks may not write UNK, as in the paper."
    )
    paper = [dict(zip(("model", "All", "No UNK"), row)) for row in PAPER_TABLE_1]
    return Page("Bahdanau et al. 2015, Table 1: BLEU", rows, paper, text)


def measured_phrase_based(work, models) -> dict:
    """The measurements of :func:`measured_bleu` for the phrase-based system."""
    return work.measured(PHRASE_BASED, lambda: _phrase_based(work, models))


def _phrase_based(work, models):
    sources, references = (
        phrase_based.tokens(lines, language) for lines, language in zip(test_text(work), LANGUAGES)
    )

    def translate():
        texts = phrase_based.translated(work.phrase_based(), sources)
        return {"tokens": texts, **_counted(work, texts, references, lowercase=False)}

    texts = work.output(PHRASE_BASED_TEXTS, translate)["tokens"]
    few = known(work, models)

    def score(chosen):
        if not len(chosen):
            return None
        return phrase_based.bleu([texts[i] for i in chosen], [references[i] for i in chosen])

    return {
        "all": score(range(len(texts))),
        "short": score(range(work.texts.single_sentences)),
        "no_unk": score(few),
        "no_unk_sentences": len(few),
    }


def measured_bleu(work, name, models) -> list:
    """[{"all", "short" (if the text has single sentences), "no_unk" (BLEU), "no_unk_sentences"} of
    each seed] of one of the models.
    """
    return work.of_each_seed("table1", name, functools.partial(_table_1_of, models=models))


def _table_1_of(work, name, seed, models):
    texts = translations(work, name, seed)["tokens"]
    forbidden = translations(work, name, seed, True)["tokens"]
    few = known(work, models)
    _, references = test_text(work)

    def score(texts, chosen):
        return _bleu(work, name, seed, [texts[i] for i in chosen], [references[i] for i in chosen])

    single = work.texts.single_sentences
    short = {} if single is None else {"short": score(texts, range(single))}
    return {
        "all": score(texts, range(len(texts))),
        **short,
        "no_unk": score(forbidden, few),
        "no_unk_sentences": len(few),
    }


def _bleu(work, name, seed, texts, references):
    from rnnsearch_tf.evaluation.bleu import bleu
    from rnnsearch_tf.evaluation.words import tokenized

    if not texts:
        return None
    side = work.translator(name, seed).target_text
    return bleu(
        texts, tokenized(side, references), tokenize="none", lowercase=side.config.lowercase
    ).score


def table_2(work, models) -> Page:
    """Training time of the models, and their negative log-likelihoods."""
    rows = []
    for name in models:
        found = work.of_each_seed("table2", name, _table_2_of)
        rows.append(
            {"model": name}
            | {column: over_seeds([each[column] for each in found]) for column in found[0]}
        )
    paper = [dict(zip(rows[0], row)) for row in PAPER_TABLE_2]
    return Page(
        "Bahdanau et al. 2015, Table 2: training",
        rows,
        paper,
        [
            "NLL: mean negative log-likelihood of a sentence, in nats, of the first"
            f" {SCORED} pairs of each text. Training pairs have at most 30 or 50 words; the"
            " development text, the same for all models, has longer ones, too."
        ],
    )


def _table_2_of(work, name, seed):
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.training.learning_rate import epochs_done

    translator = work.translator(name, seed)
    state = work.trained(name, seed)
    config = work.config(name, seed, prepared=False)
    nll = {}
    learned_from = (
        pair for pair in open_corpus(config, "train") if _fits(translator, config.data, pair)
    )
    for pairs, key in (
        (learned_from, "training NLL"),
        (open_corpus(config, "development"), "development NLL"),
    ):
        sources, targets = map(list, zip(*itertools.islice(pairs, SCORED)))
        nll[key] = -float(np.mean(translator.score(sources, targets)))
    hours = None if state["seconds"] is None else state["seconds"] / 3600
    epochs = None if state["seconds"] is None else epochs_done(types.SimpleNamespace(**state))
    return {"updates": state["batches"], "epochs": epochs, "hours": hours} | nll


def _fits(translator, data, pair):
    """Whether training takes a pair."""
    texts = (translator.source_text, translator.target_text)
    limits = (data.maximum_source_length, data.maximum_target_length)
    return all(
        int(text.tokenize([line]).row_lengths()[0]) <= limit
        for text, line, limit in zip(texts, pair, limits)
    )


def figure_2(work, models) -> Page:
    """BLEU by the length of the source sentence."""
    rows = []
    curves = {}
    for name in models:
        found = measured_lengths(work, name)
        buckets = found[0]
        values = [[each[k]["bleu"] for each in found] for k in range(len(buckets))]
        rows.append({"model": name} | dict(zip(map(_range, buckets), map(over_seeds, values))))
        shown = with_enough_sentences(buckets)
        curves[name] = (
            [bucket["shortest"] + 4.5 for bucket in shown],
            [values[buckets.index(bucket)] for bucket in shown],
        )
    for counts in kept_counts_of_phrases(work):
        lengths = kept_lengths(work, models[-1])
        scores = [
            float(counts.only(_within(lengths, bucket)).bleu()[0]) if bucket["sentences"] else None
            for bucket in buckets
        ]
        rows.append({"model": phrase_based.NAME} | dict(zip(map(_range, buckets), scores)))
        places, _ = curves[models[-1]]
        curves[phrase_based.NAME] = places, [scores[buckets.index(bucket)] for bucket in shown]
    numbers = ", ".join(f"{_range(bucket)} tokens {bucket['sentences']}" for bucket in buckets)
    means = (
        " Its curves are means over the seeds, its bars their standard deviations."
        if len(found) > 1
        else ""
    )
    text = [
        f"BLEU of tokens. Sentences of each length: {numbers}. Tokens include punctuation; the"
        " limits of 30 and 50 in training are of words between spaces. The picture shows the"
        f" lengths with at least {ENOUGH} sentences.{means}"
    ]
    if phrase_based.NAME in curves:
        text.append(phrase_based.WEAKER)
    picture = curves_figure({"tokens of the source sentence": curves})
    return Page(
        "Bahdanau et al. 2015, Figure 2: BLEU by sentence length",
        rows,
        [],
        text,
        {"curves": picture},
    )


def _range(bucket):
    """The lengths of a bucket as text."""
    return f"{bucket['shortest']}–{bucket['longest']}"


def _within(lengths, bucket):
    """Positions of the sentences of a bucket."""
    return np.flatnonzero((lengths >= bucket["shortest"]) & (lengths <= bucket["longest"]))


def plain(name) -> str:
    """The name of a model for a legend.

    Example:
        >>> plain("rnnsearch-50"), plain("lstm-reversed")
        ('RNNsearch-50', 'LSTM reversed')
    """
    for short, long in (
        ("rnnsearch", "RNNsearch"),
        ("rnnencdec", "RNNencdec"),
        ("lstm-", "LSTM "),
    ):
        name = name.replace(short, long)
    return name


def curves_figure(panels, label="BLEU"):
    """Plot curves side by side; systems with attention are solid, the others dashed.

    Args:
        panels: {label of the x axis: {system: (list of x values, list of values)}}; a value that is
            a list, one for each seed, is drawn as its mean with its standard deviation.
        label: of the y axis.

    Returns:
        matplotlib Figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(panels), 4), layout="constrained")
    for axes, (below, curves) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items()
    ):
        axes.set(xlabel=below, ylabel=label)
        for name, (places, values) in curves.items():
            of_seeds = [np.atleast_1d(value) for value in values]
            spread = [np.std(each, ddof=1) if len(each) > 1 else 0 for each in of_seeds]
            axes.errorbar(
                places,
                [float(np.mean(each)) for each in of_seeds],
                spread if any(spread) else None,
                linestyle="-" if name.startswith("rnnsearch") else "--",
                marker="o",
                markersize=3,
                capsize=2,
                label=plain(name),
            )
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def with_enough_sentences(buckets) -> list:
    """The lengths with at least ENOUGH sentences; all lengths if there are none."""
    return [bucket for bucket in buckets if bucket["sentences"] >= ENOUGH] or buckets


def measured_lengths(work, name) -> list:
    """[buckets by length, see evaluation.bleu.by_length, of each seed]."""
    return work.of_each_seed("figure2", name, _figure_2_of)


def _figure_2_of(work, name, seed):
    from rnnsearch_tf.evaluation.bleu import by_length
    from rnnsearch_tf.evaluation.words import tokenized

    found = translations(work, name, seed)
    side = work.translator(name, seed).target_text
    return by_length(
        found["tokens"],
        tokenized(side, test_text(work)[1]),
        found["source_lengths"],
        lowercase=side.config.lowercase,
        tokenize="none",
    )


def figure_3(work, models) -> Page:
    """Attention weights of translations."""
    from rnnsearch_tf.extras.plots.alignment import alignment_figure

    pictures = {}
    rows = []
    [drawn] = work.of_each_seed("figure3-known", models[0], _figure_3_of)
    for number, each in enumerate(drawn, start=1):
        pictures[str(number)] = alignment_figure(
            np.array(each["alignment"]), each["source_tokens"], each["tokens"]
        )
        rows.append(
            {"picture": number, "source": each["source"], "translation": each["translation"]}
        )
    fewest, most = SHOWN_LENGTHS
    text = [
        "Source words are along the top, target words down the side; α_ij from 0 (black) to 1"
        f" (white). As in the paper, the sentences are drawn from those of {fewest} to {most} words"
        " without any unknown word."
    ]
    return Page("Bahdanau et al. 2015, Figure 3: alignments", rows, [], text, pictures)


def _figure_3_of(work, name, seed):
    """[{"source", "translation", and for the picture "source_tokens", "tokens", "alignment"}] of
    SHOWN sentences.
    """
    sources, _ = test_text(work)
    fewest, most = SHOWN_LENGTHS
    end = [SPECIAL_TOKENS[END_ID]]
    fitting = [
        sources[number]
        for number in known(work, [name])
        if fewest <= len(sources[number].split()) <= most
    ]
    chosen = random.Random(SHOWN_SEED).sample(fitting, min(SHOWN, len(fitting)))
    return [
        {
            "source": source,
            "translation": found.text,
            "source_tokens": found.source_tokens + end,
            "tokens": found.tokens + end,
            "alignment": np.round(found.alignment.astype(float), 4).tolist(),
        }
        for source, found in zip(
            chosen,
            work.translator(name, seed).translate(chosen, beam_size=BEAM, allow_unknown=False),
        )
    ]


def table_3(work, models) -> Page:
    """Long sentences, translated by each model."""
    rows = work.measured(
        f"table3-{'-'.join(models)}-{work.seeds[0]}", lambda: _table_3(work, models)
    )
    return Page("Bahdanau et al. 2015, Table 3: long sentences", rows)


def _table_3(work, models):
    sources, references = test_text(work)
    longest = sorted(range(len(sources)), key=lambda i: -len(sources[i].split()))[:3]
    found = {
        name: (
            work.translator(name, work.seeds[0]).translate(
                [sources[i] for i in longest], beam_size=BEAM
            )
        )
        for name in models
    }
    return [
        {"source": sources[i], "reference": references[i]}
        | {name: each[number].text for name, each in found.items()}
        for number, i in enumerate(longest)
    ]
