"""Every option of the project, once: its default, its unit, its meaning, its limits.

One small dataclass per section of the YAML file; the data and the model sections are in
``data_options.py`` and ``model_options.py``. ``loading.py`` reads files and checks them against
these declarations; ``presets.py`` has the presets.
"""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.effects import check_effects, sections_of
from rnnsearch_tf.config.model_options import ModelConfig, check_model
from rnnsearch_tf.config.option import option
from rnnsearch_tf.config.presets import ATTENDING, TRANSLATING
from rnnsearch_tf.config.text_checks import check_training_text
from rnnsearch_tf.errors import UsageError

PAD_ID = 0
END_ID = 1
UNKNOWN_ID = 2
"""Ids of the special tokens, in both vocabularies. Id 0 is padding, and also serves as the
previous word at the first target position.
"""

SPECIAL_TOKENS = ("<pad>", "</s>", "<unk>")
"""The first three lines of every vocabulary file."""

LANGUAGE_CODE = r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*"


@dataclasses.dataclass(frozen=True)
class TextConfig:
    """How the text of one side becomes tokens, and tokens become ids."""

    language: str = option(
        "en",
        "language code of this side, such as es or pt-BR; selects the Moses rules: a language"
        " without any gets the common rules and English abbreviations; sentencepiece and space need"
        " none",
        pattern=LANGUAGE_CODE,
    )
    tokenization: str = option(
        "moses",
        "moses: Moses rules; space: the text is tokenized already, tokens are separated by spaces;"
        " sentencepiece: subword pieces of the raw text",
        choices=("moses", "space", "sentencepiece"),
    )
    lowercase: bool = option(False, "lower-case the text; the papers keep case")
    vocabulary_size: int = option(
        30_001,
        "entries, including the special tokens (the paper's shortlist: 30,001 symbols)",
        unit="tokens",
        minimum=4,
        only_with={"vocabulary": (None,)},
    )
    vocabulary: str | None = option(
        None,
        "existing vocabulary file, one token a line, or a SentencePiece model; null: build it from"
        " the training text",
    )


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """Objective, optimizer, duration, evaluations."""

    optimizer: str = option(
        "adadelta",
        "update rule",
        choices=("adadelta", "adam", "sgd"),
        facts=("saved",),
    )
    learning_rate: float = option(1.0, "step size", above=0.0)
    schedule: str = option(
        "constant",
        "learning rate over time: constant; cosine, down to 0 at the end of training (updates or"
        " minutes); halving, every half epoch from epoch 5 on (Sutskever et al. 2014)",
        choices=("constant", "cosine", "halving"),
    )
    warmup_updates: int = option(
        0, "updates over which the learning rate rises from 0", unit="updates", minimum=0
    )
    global_clipnorm: float | None = option(
        1.0,
        "clip the gradient of all parameters together to this L2 norm; null: no clipping",
        above=0.0,
        facts=("saved",),
    )
    loss_reduction: str = option(
        "sum",
        "loss that is minimized: sum: the sum of all tokens' losses in the batch (the authors'"
        " program); batch_mean: divided by sentences; token_mean: divided by target tokens",
        choices=("sum", "batch_mean", "token_mean"),
        facts=("saved",),
    )
    label_smoothing: float = option(
        0.0,
        "share of probability spread evenly over the vocabulary",
        minimum=0.0,
        maximum=0.95,
        facts=("saved",),
    )
    non_finite_gradient: str = option(
        "error",
        "what to do if a gradient has NaN or Inf: error: stop training; decay_weights: use 0.1·θ as"
        " the gradient, as the authors' program did",
        choices=("error", "decay_weights"),
        facts=("saved",),
    )
    precision: str = option(
        "float32",
        "number format of the computation; mixed_bfloat16: matrix products in bfloat16, the rest in"
        " float32",
        choices=("float32", "mixed_bfloat16", "float64"),
        facts=("saved",),
    )
    epochs: int = option(5, "passes over the training text", unit="epochs", minimum=1)
    maximum_updates: int | None = option(
        None,
        "stop after this many updates",
        unit="updates",
        minimum=1,
    )
    maximum_minutes: float | None = option(
        None,
        "stop after this much training time, including evaluations and the time before a resume",
        unit="minutes",
        above=0.0,
    )
    evaluate_every: int | None = option(
        None,
        "updates between evaluations on the development text; null: every epoch",
        unit="updates",
        minimum=1,
    )
    evaluate_sentences: int = option(
        1000,
        "development sentences per evaluation",
        unit="sentences",
        minimum=1,
        of_evaluations=True,
    )
    evaluate_beam_size: int = option(
        1,
        "beam size of the translations in an evaluation",
        minimum=1,
        of_evaluations=True,
        only_with={"model.system": TRANSLATING},
    )
    best_by: str = option(
        "bleu",
        "score that selects the best weights, also for patience: bleu: BLEU of the translated"
        " development text; loss: its loss per target token, in nats; a language model always uses"
        " loss",
        choices=("bleu", "loss"),
        of_evaluations=True,
        only_with={"model.system": TRANSLATING},
    )
    average: int = option(
        0,
        "number of last evaluations whose weights are averaged at the end; the average becomes the"
        " best weights if it scores better than each of them; 0: off",
        unit="evaluations",
        minimum=0,
        of_evaluations=True,
    )
    checkpoint_every_minutes: float = option(
        10.0, "time between saved training states", unit="minutes", above=0.0
    )
    patience: int | None = option(
        None,
        "stop after this many evaluations without a better score (best_by); null: never",
        minimum=1,
        of_evaluations=True,
    )
    seed: int = option(
        1234,
        "seed of initialization, shuffling and dropout",
        minimum=0,
        maximum=2**32 - 1,
        facts=("saved",),
    )


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Beam search. The defaults are the usual rules; the preset groundhog has the authors'."""

    beam_size: int = option(
        12,
        "hypotheses kept at each step",
        unit="hypotheses",
        minimum=1,
    )
    shrinking_beam: bool = option(
        False,
        "true: every finished hypothesis reduces the beam size by one (the authors' program);"
        " false: fixed beam size",
    )
    length_penalty: float = option(
        1.0,
        "hypotheses are ranked by log-probability / length^A, where the length includes the end"
        " symbol; 0: by log-probability",
        minimum=0.0,
    )
    minimum_length_ratio: float = option(
        0.0,
        "the end symbol is forbidden for the first ⌊ratio · source length⌋ steps; the source length"
        " includes the end symbol (authors: 0.5)",
        minimum=0.0,
        maximum=1000.0,
    )
    maximum_length_ratio: float = option(
        3.0,
        "most steps per source token, including the end symbol; but at least 20 more than the"
        " source has. A hypothesis that is cut there is returned only if none has finished",
        above=0.0,
        maximum=1000.0,
    )
    allow_unknown: bool = option(True, "false: never produce the unknown word")
    replace_unknown: bool = option(
        False,
        "replace each unknown word by the most attended source word (of a source cut into subwords:"
        " by the piece)",
        only_with={"model.system": ATTENDING},
    )
    batch_size: int = option(
        64,
        "sentences translated at once",
        unit="sentences",
        minimum=1,
    )

    def __post_init__(self) -> None:
        if self.minimum_length_ratio > self.maximum_length_ratio:
            raise UsageError(
                "search.minimum_length_ratio: expected at most search.maximum_length_ratio ="
                f" {self.maximum_length_ratio:g}, got {self.minimum_length_ratio:g}, which leaves"
                " no step for the end symbol; lower it"
            )


@dataclasses.dataclass(frozen=True)
class Config:
    """The whole configuration, with one attribute per section of the YAML file."""

    preset: str | None = option(
        None,
        "groundhog: settings of the authors' program; groundhog_phrases: its settings for phrase"
        " pairs (Cho et al. 2014a); paper: Appendix A of Bahdanau et al. 2015 as printed",
        choices=("groundhog", "groundhog_phrases", "paper"),
    )
    source: TextConfig = dataclasses.field(default_factory=TextConfig)
    target: TextConfig = dataclasses.field(default_factory=lambda: TextConfig(language="fr"))
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)

    def __post_init__(self) -> None:
        _check_together(self)


def _check_together(config: Config) -> None:
    """Checks that need more than one option."""
    training = config.training
    check_effects(sections_of(config))
    check_model(config.model)
    check_training_text(config.data)
    if training.average == 1:
        raise UsageError("training.average: expected 0, or 2 or more, got 1; raise it")
    if training.schedule == "cosine" and not (training.maximum_updates or training.maximum_minutes):
        raise UsageError(
            "training.schedule: cosine needs training.maximum_updates or training.maximum_minutes,"
            " got neither; set one"
        )
