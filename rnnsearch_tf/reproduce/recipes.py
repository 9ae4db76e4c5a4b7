"""The models of the small scale, each meant for at most 20 minutes of one CPU core; items share them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a model of the experiments is trained.

    Attributes:
        configuration: name of a shipped configuration.
        changes: ``section.key=value`` of what differs from it.
        corpus: ``joined``: Multi30k's captions joined to long texts, see corpora.py; ``captions``: as they are; ``phrasebook``: built in.
        longest: words a side of a joined training pair may have.
        member: of an ensemble, from 0. They differ in nothing but the seed; those after the first are trained for the first seed only.
        minutes: of one core, about.
        guided: weight of guided alignment. The links are the built-in corpus's own, of joined texts fast_align's.
    """

    configuration: str
    changes: tuple = ()
    corpus: str = "joined"
    longest: int = 50
    member: int = 0
    minutes: int = 20
    guided: float = 0.0


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
    for score in ("dot", "general", "concat"):
        for ending, feeding in (("", "false"), ("-feeding", "true")):
            changes = f"model.attention_score={score}", f"model.input_feeding={feeding}"
            yield f"phrasebook-{score}{ending}", Recipe("phrasebook-luong", changes, "phrasebook", minutes=5)


def _attending():
    yield "phrasebook-rnnsearch", Recipe("phrasebook", (), "phrasebook", minutes=2)
    yield "phrasebook-coverage", Recipe("phrasebook", ("model.attention=coverage",), "phrasebook", minutes=3)
    for system in ("lstm", "windows"):
        yield f"phrasebook-{system}", Recipe(f"phrasebook-{system}", (), "phrasebook", minutes=3)


def _subwords():
    changes = *WORDS, UPDATES[50], "source.tokenization=sentencepiece", "target.tokenization=sentencepiece"
    for ending, drawn in (("", ()), ("-sampling", ("source.sampling=0.3", "target.sampling=0.3"))):
        yield f"subwords-50{ending}", Recipe("multi30k-en-fr-words", (*changes, *drawn))


MEMBER_SEEDS = 1000
"""How far apart the seeds of an ensemble's members are: further than anyone asks for seeds."""

GUIDED = "rnnsearch-50", *(f"phrasebook-{system}" for system in ("rnnsearch", "lstm", "coverage", "windows", "general", "general-feeding"))
"""Models that are trained with guided alignment too."""

RECIPES = dict([*_bahdanau(), *_sutskever(), *_attending(), *_luong(), *_subwords()])
RECIPES |= {f"{name}-guided": dataclasses.replace(RECIPES[name], guided=1.0) for name in GUIDED}
