"""The models of the small scale, trained for at most 20 minutes on one CPU core (the deep LSTMs and
the phrase scorer for about an hour, by the authors' recipe for two), and those of the paper's
scale. Items share models.
"""

from __future__ import annotations

import dataclasses

from papers.bahdanau2015 import PAPER_TABLE_2


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The training of one model of the experiments.

    Attributes:
        configuration: name of a shipped configuration.
        changes: settings that differ from it, ``section.key=value``.
        corpus: ``joined``: Multi30k's captions joined to long texts, see corpora.py; ``captions``:
            single captions; ``documents``: paragraphs, see documents.py; ``phrasebook``: built in;
            ``phrases``: the phrase-based system's table, see phrase_based.py; ``tatoeba``: a
            sample of everyday sentences, see corpora.write_sample; ``wmt14``: see wmt14.py.
        longest: maximum number of words on a side of a training pair, in joined texts and WMT'14.
        first_seed: whether it is trained with the first seed only.
        minutes: approximate training time on the cores of the scale.
        gigabytes: approximate size of its RUN.
        guided: weight of guided alignment. The built-in corpus has links of its own; those of
            joined texts are fast_align's.
        pairs: number of training pairs of a sample.
    """

    configuration: str
    changes: tuple = ()
    corpus: str = "joined"
    longest: int = 50
    first_seed: bool = False
    minutes: int = 20
    gigabytes: float = 0.1
    guided: float = 0.0
    pairs: int = 0


WORDS = (
    "source.vocabulary_size=5000",
    "target.vocabulary_size=5000",
    "data.maximum_source_length=90",
    "data.maximum_target_length=90",
    "data.batch_size=40",
    "training.learning_rate=2.0e-3",
    *(f"model.{where}_dropout=0.2" for where in ("embedding", "hidden", "readout")),
    "training.average=0",
    "training.evaluate_sentences=500",
)
"""Whole words, with vocabularies so small that some words are unknown, as in the papers. Lengths
are in tokens, which include punctuation.

What learns fast in a few passes: RESULTS.md, "What was tried beside the recipes".
"""

UPDATES = {
    "rnnencdec-30": 4800,
    "rnnsearch-30": 2700,
    "rnnencdec-50": 3200,
    "rnnsearch-50": 1800,
    "rnnsearch-50-longer": 3600,
}
"""Updates that fit into ten minutes, so that all models have the same training time, as in §4.2:
fewer with longer sentences and with attention, as in Table 2.

The last model is trained twice as long. In the paper it was trained until development BLEU stopped
improving (Table 1), 2.3 times as long; here and in PAPER_RECIPES the updates end it too.
"""


def _updates(number):
    """Settings for a number of updates, with eight evaluations."""
    return f"training.maximum_updates={number}", f"training.evaluate_every={number // 8}"


# alignment_size has no effect here, so it is at its default
_WITHOUT_ATTENTION = "model.system=rnnencdec", "model.alignment_size=1000"


FEW_WORDS = "source.vocabulary_size=5000", "target.vocabulary_size=5000"
LOWER_CASED_WORDS = (
    *(
        f"{side}.{setting}"
        for side in ("source", "target")
        for setting in ("tokenization=moses", "lowercase=true")
    ),
    *FEW_WORDS,
)


def _bahdanau():
    for name, updates in UPDATES.items():
        system, longest, *longer = name.split("-")
        changes = _WITHOUT_ATTENTION if system == "rnnencdec" else ()
        yield (
            name,
            Recipe(
                "multi30k-en-fr-words",
                (*WORDS, *_updates(updates), *changes),
                longest=int(longest),
                minutes=20 if longer else 10,
                first_seed=bool(longer),
            ),
        )


def _sutskever():
    lstm = Recipe("multi30k-en-fr-deep-lstm", (), "captions", minutes=48)
    yield "lstm-forward", dataclasses.replace(lstm, changes=("model.reverse_source=false",))
    yield "lstm-reversed", lstm
    for name, layers, minutes in (("lstm-1-layer", 1, 32), ("lstm-3-layers", 3, 64)):
        changes = (f"model.layers={layers}",)
        yield (
            name,
            dataclasses.replace(lstm, changes=changes, first_seed=True, minutes=minutes),
        )


BUILT_IN = (
    *(f"{side}.vocabulary_size=1000" for side in ("source", "target")),
    "data.corpus=phrasebook",
    *(
        f"data.{part}_{side}=null"
        for part in ("train", "development")
        for side in ("source", "target")
    ),
    "data.folder=null",
)
"""The built-in corpus, without its size."""


AUTHORS_LIMITS = (
    "training.epochs=1000",
    "training.evaluate_every=1000",
    "training.evaluate_beam_size=1",
    "training.evaluate_sentences=500",
    "training.patience=5",
)


def _sizes(embedding, hidden, attends=True):
    """Sizes of a model of preset groundhog; the rank of its output is that of the embeddings."""
    return (
        f"model.embedding_size={embedding}",
        f"model.hidden_size={hidden}",
        *([f"model.alignment_size={embedding}"] if attends else []),
        f"model.maxout_size={embedding}",
        f"model.output_rank={embedding}",
    )


def _authors():
    """The recipe of the authors' program, preset groundhog, at small sizes, beside ours: on the
    built-in corpus at the sizes of phrasebook, and on captions. Trained until five evaluations
    bring no better BLEU of the development text, or until the limit of updates or minutes.
    """
    # text and sizes of our configurations: phrasebook, phrasebook-rnnencdec
    for system, pairs, hidden in (("rnnsearch", 4000, 96), ("rnnencdec", 40_000, 192)):
        sizes = _sizes(64, hidden, attends=system == "rnnsearch")
        text = *BUILT_IN, f"data.phrasebook_size={pairs}"
        changes = (*text, *sizes, *AUTHORS_LIMITS, "training.maximum_minutes=25")
        yield (
            f"phrasebook-{system}-authors",
            Recipe(f"{system}-50", changes, "phrasebook", minutes=25),
        )
    texts = tuple(
        f"data.{part}_{side}={file}.{language}.gz"
        for part, file in (("train", "train"), ("development", "val"))
        for side, language in (("source", "en"), ("target", "fr"))
    )
    for system, ours, minutes in (("rnnsearch", (), 110), ("rnnencdec", _WITHOUT_ATTENTION, 70)):
        sizes = _sizes(128, 192, attends=system == "rnnsearch")
        changes = (
            *LOWER_CASED_WORDS,
            *texts,
            *sizes,
            *AUTHORS_LIMITS,
            "training.maximum_updates=24000",
        )
        yield (
            f"captions-{system}-authors",
            Recipe(f"{system}-50", changes, "captions", minutes=minutes),
        )
        updates = 2 * UPDATES[f"{system}-50"]
        yield (
            f"captions-{system}",
            Recipe("multi30k-en-fr-words", (*WORDS, *_updates(updates), *ours), "captions"),
        )


def _documents():
    """RNNsearch-50 and RNNencdec-50 on paragraphs, with twice the updates."""
    for name in ("rnnsearch", "rnnencdec"):
        updates = 2 * UPDATES[f"{name}-50"]
        changes = (*WORDS, *_updates(updates), *(_WITHOUT_ATTENTION if name == "rnnencdec" else ()))
        yield (
            f"documents-{name}",
            Recipe("multi30k-en-fr-words", changes, "documents", minutes=20),
        )


SAMPLE_UPDATES = {5_000: 4000, 20_000: 8000, 80_000: 12000, 160_000: 16000}
"""{training pairs of Tatoeba: updates}."""


def _scaling():
    """RNNsearch and RNNencdec on samples of Tatoeba; more dropout for less text."""
    for pairs, updates in SAMPLE_UPDATES.items():
        for system, ours in (("rnnsearch", ()), ("rnnencdec", _WITHOUT_ATTENTION)):
            dropout = (0.3, 0.4, 0.3) if pairs <= 20_000 else (0.2, 0.3, 0.2)
            changes = (
                *(
                    f"model.{where}_dropout={rate}"
                    for where, rate in zip(("embedding", "hidden", "readout"), dropout)
                ),
                *_updates(updates),
                "training.evaluate_sentences=500",
                "training.average=0",
                *ours,
            )
            yield (
                f"tatoeba-{system}-{pairs}",
                Recipe(
                    "multi30k-en-fr-words",
                    changes,
                    "tatoeba",
                    first_seed=True,
                    minutes=updates // 600,
                    pairs=pairs,
                ),
            )


PHRASES = (
    "source.tokenization=space",
    "target.tokenization=space",
    *FEW_WORDS,
    "data.corpus=phrase_table",
    "data.train_source=null",
    "data.train_target=null",
    "data.phrase_table=phrase-table.gz",
    "data.development_source=development.en",
    "data.development_target=development.fr",
    "data.maximum_source_length=11",
    "data.maximum_target_length=11",
    "data.batch_size=64",
    "training.label_smoothing=0",
    "training.schedule=constant",
    "training.maximum_updates=60000",
    "training.evaluate_every=2000",
    "training.evaluate_sentences=2000",
    "training.best_by=loss",
    "training.patience=3",
    "model.embedding_dropout=0.2",
    "model.hidden_dropout=0.2",
    "model.readout_dropout=0.2",
)
"""Each distinct pair is used equally often, whatever its count. The maximum lengths include the end
symbol: 5 % of the pairs, of more than 10 words on a side, are left out. Labels are not smoothed,
because scores must be probabilities.

With a learning rate that falls to 0 the loss would stop falling whatever is left to learn, so the
rate is constant. At the end the weights of the last evaluations are averaged, and kept if their
loss is lower.
"""


def _cho():
    yield "phrase-scorer", Recipe("multi30k-en-fr-encoder-decoder", PHRASES, "phrases", minutes=60)
    # for its loss, which decides when to stop: long before the falling learning rate does
    development = "data.development_source=val.en.gz", "data.development_target=val.fr.gz"
    yield (
        "cslm",
        Recipe(
            "multi30k-fr-cslm",
            (
                *LOWER_CASED_WORDS,
                *development,
                "training.maximum_updates=9000",
                "training.patience=3",
            ),
            "captions",
            minutes=10,
        ),
    )


def _luong():
    for score in ("dot", "general", "concat"):
        for ending, feeding in (("", "false"), ("-feeding", "true")):
            changes = f"model.attention_score={score}", f"model.input_feeding={feeding}"
            yield (
                f"phrasebook-{score}{ending}",
                Recipe("phrasebook-luong", changes, "phrasebook", minutes=5),
            )
        changes = (
            f"model.attention_score={score}",
            "training.maximum_updates=6000",
            "training.evaluate_every=1000",
            "training.evaluate_sentences=500",
            "training.average=0",
        )
        yield f"captions-{score}", Recipe("multi30k-en-fr-luong", changes, "captions", minutes=20)


def _attending():
    yield "phrasebook-rnnsearch", Recipe("phrasebook", (), "phrasebook", minutes=2)
    yield "phrasebook-rnnencdec", Recipe("phrasebook-rnnencdec", (), "phrasebook", minutes=8)
    yield (
        "phrasebook-coverage",
        Recipe("phrasebook", ("model.attention=coverage",), "phrasebook", minutes=3),
    )
    for system in ("lstm", "windows"):
        yield f"phrasebook-{system}", Recipe(f"phrasebook-{system}", (), "phrasebook", minutes=3)


def _subwords():
    changes = (
        *WORDS,
        *_updates(UPDATES["rnnsearch-50"]),
        "source.tokenization=sentencepiece",
        "target.tokenization=sentencepiece",
    )
    yield "subwords-50", Recipe("multi30k-en-fr-words", changes, minutes=10)


GUIDED = (
    "rnnsearch-50",
    *(
        f"phrasebook-{system}"
        for system in ("rnnsearch", "lstm", "coverage", "windows", "general", "general-feeding")
    ),
)
"""Models that are also trained with guided alignment."""

RECIPES = dict(
    [
        *_bahdanau(),
        *_documents(),
        *_scaling(),
        *_authors(),
        *_sutskever(),
        *_cho(),
        *_attending(),
        *_luong(),
        *_subwords(),
    ]
)
RECIPES |= {f"{name}-guided": dataclasses.replace(RECIPES[name], guided=1.0) for name in GUIDED}

OPERATIONS = {
    "rnnencdec-30": 272e9,
    "rnnsearch-30": 399e9,
    "rnnencdec-50": 377e9,
    "rnnsearch-50": 555e9,
    "rnnsearch-50-longer": 555e9,
}
"""Operations of one update (benchmarks/products.py) of 80 pairs, with an assumed average of 18
tokens a side for a maximum of 30, and 25 for 50.
"""

RATE = 0.4e12 * 0.76
"""Operations per second of two cores in float32, see docs/scaling.md."""


def _paper():
    for name, updates, *_ in PAPER_TABLE_2:
        changes = (
            "training.epochs=100",
            f"training.maximum_updates={updates}",
        )  # the updates end the training
        minutes = round(updates * OPERATIONS[name] / RATE / 60)
        configuration = name.removesuffix("-longer")
        longest = int(configuration.rpartition("-")[2])
        yield (
            name,
            Recipe(
                configuration,
                changes,
                "wmt14",
                longest,
                minutes=minutes,
                gigabytes=3.7,
                first_seed=name != configuration,
            ),
        )


PAPER_RECIPES = dict(_paper())
"""Section 4.2 and Table 2: minibatches of 80, Adadelta, up to 30 and 50 words, as in the shipped
configurations.
"""
