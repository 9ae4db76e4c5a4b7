"""The models of the small scale, each meant for at most 20 minutes of one CPU core, and those of the paper's; items share them."""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.reproduce.bahdanau2015 import PAPER_TABLE_2


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a model of the experiments is trained.

    Attributes:
        configuration: name of a shipped configuration.
        changes: ``section.key=value`` of what differs from it.
        corpus: ``joined``: Multi30k's captions joined to long texts, see corpora.py; ``captions``: as they are; ``phrasebook``: built in;
            ``wmt14``: see wmt14.py.
        longest: words a side of a training pair may have, of joined ones and of WMT'14.
        member: of an ensemble, from 0. They differ in nothing but the seed; those after the first are trained for the first seed only.
        minutes: of the cores of the scale, about.
        gigabytes: of its RUN, about.
    """

    configuration: str
    changes: tuple = ()
    corpus: str = "joined"
    longest: int = 50
    member: int = 0
    minutes: int = 20
    gigabytes: float = 0.1


WORDS = (
    "source.vocabulary_size=5000", "target.vocabulary_size=5000", "data.maximum_source_length=90", "data.maximum_target_length=90",
    "training.average=0", "training.evaluate_every=300",
)  # fmt: skip
"""Whole words, and so few that some are unknown, as in the papers. Tokens are more than words, by punctuation."""

UPDATES = {30: "training.maximum_updates=2400", 50: "training.maximum_updates=1500"}
"""As many as fit the time; fewer of longer sentences, as in Table 2."""

LSTM = "multi30k-en-fr-deep-lstm"
LSTM_CHANGES = "training.maximum_updates=10600", "training.evaluate_every=1000"


def _bahdanau():
    without_attention = "model.system=rnnencdec", "model.alignment_size=1000"  # it has none: the default
    for system, changes in (("rnnencdec", without_attention), ("rnnsearch", ())):
        for longest, updates in UPDATES.items():
            yield f"{system}-{longest}", Recipe("multi30k-en-fr-words", (*WORDS, updates, *changes), longest=longest)


def _sutskever():
    yield "lstm-forward", Recipe(LSTM, (*LSTM_CHANGES, "model.reverse_source=false"), "captions")
    for member in range(3):
        yield f"lstm-reversed{f'-{member + 1}' if member else ''}", Recipe(LSTM, LSTM_CHANGES, "captions", member=member)


def _luong():
    yield "phrasebook-rnnsearch", Recipe("phrasebook", (), "phrasebook", minutes=2)
    for score in ("dot", "general", "concat"):
        for ending, feeding in (("", "false"), ("-feeding", "true")):
            changes = f"model.attention_score={score}", f"model.input_feeding={feeding}"
            yield f"phrasebook-{score}{ending}", Recipe("phrasebook-luong", changes, "phrasebook", minutes=5)


MEMBER_SEEDS = 1000
"""How far apart the seeds of an ensemble's members are: further than anyone asks for seeds."""

RECIPES = dict([*_bahdanau(), *_sutskever(), *_luong()])

OPERATIONS = {"rnnencdec-30": 272e9, "rnnsearch-30": 399e9, "rnnencdec-50": 377e9, "rnnsearch-50": 555e9}
"""Of one update (benchmarks/products.py): 80 pairs of 18 tokens a side where the longest have 30, of 25 where they have 50, as is assumed."""

RATE = 0.4e12 * 0.76
"""Operations a second of two cores in float32, as docs/scaling.md has them."""


def _paper():
    for name, updates, *_ in PAPER_TABLE_2:
        changes = "training.epochs=100", f"training.maximum_updates={updates}"  # the updates end it
        minutes = round(updates * OPERATIONS[name] / RATE / 60)
        yield name, Recipe(name, changes, "wmt14", int(name.rpartition("-")[2]), minutes=minutes, gigabytes=3.0)


PAPER_RECIPES = dict(_paper())
"""Section 4.2 and Table 2: minibatches of 80, Adadelta, words up to 30 and 50, as the shipped configurations have them."""
