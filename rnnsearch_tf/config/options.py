"""Every option of the project, once: its default, its unit, its meaning, its limits.

One small dataclass per section of the YAML file; those of the data and of the model
sections stand in ``data_options.py`` and ``model_options.py``. ``loading.py`` reads and checks
files against what is declared here; ``presets.py`` has the presets.
"""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.config.effects import GIVEN, check_effects, sections_of
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.data_options import CorpusConfig, DataConfig  # noqa: F401
from rnnsearch_tf.config.model_options import ModelConfig, check_tied
from rnnsearch_tf.config.option import option

# PRESETS: read from here by those who read options
from rnnsearch_tf.config.presets import (  # noqa: F401
    ATTENDING,
    LAYERED,
    MAXOUT,
    PRESETS,
    SYSTEMS,
    TRANSLATING,
)
from rnnsearch_tf.config.training_text import (
    check_guided_alignment,
    check_sampling,
    check_training_text,
)
from rnnsearch_tf.files.untrusted import MOST_TOKENS

PAD_ID = 0
END_ID = 1
UNKNOWN_ID = 2
"""Ids of the special tokens, in both vocabularies. Id 0 pads, and stands for
"no word" where the previous word of the first target position is asked for."""

SPECIAL_TOKENS = ("<pad>", "</s>", "<unk>")
"""The first three lines of every vocabulary file."""


LANGUAGE_CODE = r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*"


@dataclasses.dataclass(frozen=True)
class TextConfig:
    """How the text of one side becomes tokens, and tokens become ids."""

    language: str = option(
        "en",
        "code of this side's language, such as es or pt-BR; decides the Moses rules: a language"
        " that Moses has none of gets those common to all, and English abbreviations; sentencepiece"
        " and space need none",
        pattern=LANGUAGE_CODE,
        facts=("makes_tokens",),
    )
    tokenization: str = option(
        "moses",
        "moses: Moses rules, no escaping, no aggressive hyphens; space: the text is tokenized"
        " already, tokens are separated by spaces; sentencepiece: subword pieces of the raw text",
        choices=("moses", "space", "sentencepiece"),
        facts=("makes_tokens",),
    )
    unicode_form: str = option(
        "NFC",
        "Unicode normal form taken first",
        choices=("NFC", "NFKC", "none"),
        facts=("makes_tokens",),
    )
    lowercase: bool = option(
        False,
        "lower-case the text; the papers keep case",
        facts=("makes_tokens",),
    )
    remove_invisible: bool = option(
        False,
        "take out characters that nobody sees: soft hyphens, zero-width spaces, byte-order marks"
        " within a line, direction marks, C1 controls (U+200C and U+200D stay); `rnnsearch init`"
        " and the shipped configurations set it, a model trained without it keeps false",
        facts=("makes_tokens",),
    )
    vocabulary_size: int = option(
        30_001,
        "entries, the special tokens included (the paper's shortlist: 30,001 symbols)",
        unit="tokens",
        minimum=4,
        maximum=MOST_TOKENS,
        only_with={"vocabulary": (None,)},
        facts=("makes_vocabulary",),
    )
    minimum_count: int = option(
        1,
        "words rarer than this in the training text stay out (not for sentencepiece)",
        minimum=1,
        only_with={"tokenization": ("moses", "space"), "vocabulary": (None,)},
        facts=("makes_vocabulary",),
    )
    sampling: float | None = option(
        None,
        "subword regularization (Kudo 2018; only for sentencepiece): in training a word is cut into"
        " other pieces every time, segmentation x with a chance in proportion to p(x) to the power"
        " of this; 0.3 is strong, 1 weak; null: always the likeliest",
        minimum=0.0,
        only_with={"tokenization": ("sentencepiece",)},
        facts=("free_of_weights",),
    )
    vocabulary: str | None = option(
        None,
        "ready vocabulary file, one token a line, or a SentencePiece model; null builds it from the"
        " training text",
        facts=("makes_vocabulary",),
    )


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """Objective, optimizer, how long, how often to look."""

    optimizer: str = option(
        "adadelta",
        "update rule",
        choices=("adadelta", "adam", "sgd"),
        facts=("saved",),
    )
    learning_rate: float = option(1.0, "step size", above=0.0)
    rho: float = option(
        0.95,
        "Adadelta: decay of its running averages",
        minimum=0.0,
        maximum=1.0,
        only_with={"optimizer": ("adadelta",)},
        facts=("saved",),
    )
    epsilon: float = option(
        1e-6,
        "Adadelta or Adam: added for numerical stability",
        above=0.0,
        only_with={"optimizer": ("adadelta", "adam")},
        facts=("saved",),
    )
    beta_1: float = option(
        0.9,
        "Adam: decay of the gradient's average",
        minimum=0.0,
        maximum=1.0,
        only_with={"optimizer": ("adam",)},
        facts=("saved",),
    )
    beta_2: float = option(
        0.999,
        "Adam: decay of the squared gradient's average",
        minimum=0.0,
        maximum=1.0,
        only_with={"optimizer": ("adam",)},
        facts=("saved",),
    )
    momentum: float = option(
        0.0,
        "SGD: momentum",
        minimum=0.0,
        maximum=1.0,
        only_with={"optimizer": ("sgd",)},
        facts=("saved",),
    )
    schedule: str = option(
        "constant",
        "learning rate over time: constant; cosine, down to 0 at the end of training (updates or"
        " minutes); halving, every half epoch from halve_after on (Sutskever et al. 2014)",
        choices=("constant", "cosine", "halving"),
    )
    halve_after: float = option(
        5.0,
        "under schedule: halving, when the learning rate is first halved",
        unit="epochs",
        minimum=0.0,
        only_with={"schedule": ("halving",)},
    )
    warmup_updates: int = option(
        0, "updates over which the learning rate rises from 0", unit="updates", minimum=0
    )
    global_clipnorm: float | None = option(
        1.0,
        "the gradient over all parameters together is cut to this L2 norm; null: not cut",
        above=0.0,
        facts=("saved",),
    )
    loss_reduction: str = option(
        "sum",
        "what the gradient is of: sum of all words' losses in the batch (the authors' program); "
        "batch_mean: divided by sentences; token_mean: divided by target tokens",
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
    guided_alignment_weight: float = option(
        0.0,
        "w: a target word costs w · (− Σ_j A_ij log α_ij) besides, where it looks elsewhere than"
        " its links A say (guided alignment, Chen et al. 2016); 0: without",
        minimum=0.0,
        only_with={"model.system": ATTENDING},
        facts=("saved",),
    )
    worker_gradients: str = option(
        "exact",
        "how several workers send each other large gradients: exact, as they are computed;"
        " bfloat16, rounded, half the bytes; their sum is rounded again at every worker",
        choices=("exact", "bfloat16"),
    )
    accumulate: int = option(
        1,
        "batches whose gradients are averaged into one update",
        unit="batches",
        minimum=1,
        facts=("saved",),
    )
    non_finite_gradient: str = option(
        "error",
        "when a gradient has NaN or Inf: error stops training; skip leaves the weights as they are"
        " for that update; decay_weights takes 0.1·θ for gradient, as the authors' program did",
        choices=("error", "skip", "decay_weights"),
        renamed={"shrink": "decay_weights"},
        facts=("saved",),
    )
    precision: str = option(
        "float32",
        "numbers computed with; mixed_bfloat16: matrix products in bfloat16, the rest in float32",
        choices=("float32", "mixed_bfloat16", "float64"),
        facts=("saved",),
    )
    epochs: int = option(5, "passes over the training text", unit="epochs", minimum=1)
    maximum_updates: int | None = option(
        None,
        "stop after this many updates",
        unit="updates",
        minimum=1,
        facts=("limits_training",),
    )
    maximum_minutes: float | None = option(
        None,
        "stop after this much training time, evaluation and resumed parts included",
        unit="minutes",
        above=0.0,
        facts=("limits_training",),
    )
    evaluate_every: int | None = option(
        None,
        "updates between evaluations on the development text; null: every epoch",
        unit="updates",
        minimum=1,
    )
    evaluate_sentences: int = option(
        1000, "development sentences used for it", unit="sentences", minimum=1, of_evaluations=True
    )
    evaluate_beam_size: int = option(
        1,
        "beam size of those translations",
        minimum=1,
        of_evaluations=True,
        only_with={"model.system": TRANSLATING},
    )
    best_by: str = option(
        "bleu",
        "what decides which weights are the best, and patience: bleu: of the translated development"
        " text; loss: of a target word of it, in nats; a language model always goes by loss",
        choices=("bleu", "loss"),
        of_evaluations=True,
        only_with={"model.system": TRANSLATING},
    )
    keep_evaluated: int = option(
        4,
        "weights kept of the last evaluations, in RUN/evaluated, for `rnnsearch average`; 0: none",
        unit="files",
        minimum=0,
    )
    average: int = option(
        0,
        "at the end the weights of so many of the last evaluations are averaged, and are the best"
        " if they score better than each by itself; at most keep_evaluated; 0: not",
        unit="evaluations",
        minimum=0,
        of_evaluations=True,
    )
    evaluate_after: int = option(
        0,
        "no evaluation before this many updates, but for that at the end; at most maximum_updates",
        unit="updates",
        minimum=0,
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
    tensorboard: bool = option(
        False, "write TensorBoard events, with attention images, to RUN/tensorboard"
    )
    deterministic: bool = option(
        False,
        "only operations whose result is always the same, also with several threads (on the same"
        " machine); not with maximum_minutes",
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
    """Beam search. The defaults are the usual rules; preset groundhog has the authors'."""

    beam_size: int = option(
        12,
        "hypotheses kept at each step",
        unit="hypotheses",
        minimum=1,
        flag="--beam-size",
    )
    nbest: int = option(1, "translations returned per sentence, at most beam_size", minimum=1)
    shrinking_beam: bool = option(
        False,
        "true: every finished hypothesis takes its place out of the beam (the authors' program);"
        " false: fixed beam",
    )
    search_again: bool = option(
        True,
        "under shrinking_beam, a sentence none of whose hypotheses finished is searched again, with"
        " the unknown word allowed, then with a wider beam (the authors' program)",
        only_with={"shrinking_beam": (True,)},
    )
    length_penalty: float = option(
        1.0,
        "hypotheses are ranked by log-probability / length^A, the end symbol counted; 0: by"
        " log-probability",
        minimum=0.0,
        flag="--length-penalty",
    )
    normalize_after: bool = option(
        False,
        "true: search by plain log-probability and apply length_penalty only to rank the finished"
        " hypotheses",
        only_with={"shrinking_beam": (False,), "length_penalty": GIVEN},
    )
    coverage_penalty: float = option(
        0.0,
        "B: the finished hypotheses are ranked with B · Σ_j log(min(Σ_i α_ij, 1)) added, so that"
        " source words never attended to cost (Wu et al. 2016, eq. 14); 0: without",
        minimum=0.0,
        only_with={"model.system": ATTENDING},
        flag="--coverage-penalty",
    )
    minimum_length_ratio: float = option(
        0.0,
        "the end symbol is forbidden for the first ⌊ratio · source length⌋ steps, end symbol"
        " counted (authors: 0.5)",
        minimum=0.0,
    )
    maximum_length_ratio: float = option(
        3.0, "at most this many steps per source token, end symbol counted", above=0.0
    )
    extra_length: int = option(0, "steps allowed beyond that", unit="tokens", minimum=0)
    allow_unknown: bool = option(
        True, "false: the unknown word is never produced, but where search_again allows it"
    )
    replace_unknown: bool = option(
        False,
        "each unknown word becomes the most attended source word, or its translation in the"
        " lexicon",
        only_with={"model.system": ATTENDING},
    )
    lexicon: str | None = option(
        None,
        "file of `source-word target-word` lines for replace_unknown",
        only_with={"replace_unknown": (True,)},
        facts=("is_file",),
        flag="--lexicon",
    )
    shortlist: str | None = option(
        None,
        "file of `source-word target-word probability` lines, as `rnnsearch shortlist` writes it:"
        " every sentence is searched among the likely translations of its words and the frequent"
        " words alone (Jean et al. 2015), which is faster and may cost BLEU; log-probabilities are"
        " then those of a softmax over these words",
        facts=("is_file",),
        flag="--shortlist",
    )
    shortlist_frequent: int = option(
        1_000,
        "under shortlist, the first so many words of the target vocabulary are always allowed",
        unit="words",
        minimum=0,
        only_with={"shortlist": GIVEN},
        flag="--shortlist-frequent",
    )
    shortlist_translations: int = option(
        20,
        "under shortlist, likely translations of each source word",
        unit="words",
        minimum=1,
        only_with={"shortlist": GIVEN},
        flag="--shortlist-translations",
    )
    batch_size: int = option(
        64,
        "sentences translated at once",
        unit="sentences",
        minimum=1,
        flag="--batch-size",
    )

    def __post_init__(self):
        if self.nbest > self.beam_size:
            raise UsageError(
                f"search.nbest: expected at most search.beam_size = {self.beam_size}, got"
                f" {self.nbest}; raise the beam size"
            )


@dataclasses.dataclass(frozen=True)
class Config:
    """The whole configuration: one attribute per section of the YAML file."""

    preset: str | None = option(
        None,
        "groundhog: what the authors' program did; paper: Appendix A of the paper as printed",
        choices=("groundhog", "paper"),
    )
    source: TextConfig = dataclasses.field(default_factory=TextConfig)
    target: TextConfig = dataclasses.field(default_factory=lambda: TextConfig(language="fr"))
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)

    def __post_init__(self):
        _check_together(self)


def _check_together(config: Config) -> None:
    """Checks that need more than one option."""
    training = config.training
    check_effects(sections_of(config))
    check_tied(config.model)
    check_training_text(config.data)
    check_guided_alignment(config)
    check_sampling(config)
    if training.deterministic and training.maximum_minutes:
        minutes = training.maximum_minutes
        raise UsageError(
            "training.deterministic: expected no training.maximum_minutes beside it, got"
            f" {minutes}; set maximum_updates"
        )
    if training.average == 1 or training.average > training.keep_evaluated:
        raise UsageError(
            "training.average: expected 0, or from 2 to training.keep_evaluated ="
            f" {training.keep_evaluated}, got {training.average}; raise training.keep_evaluated too"
        )
    if training.maximum_updates and training.evaluate_after > training.maximum_updates:
        raise UsageError(
            "training.evaluate_after: expected at most training.maximum_updates ="
            f" {training.maximum_updates}, with which training ends, got {training.evaluate_after};"
            " lower it"
        )
    if training.schedule == "cosine" and not (training.maximum_updates or training.maximum_minutes):
        raise UsageError(
            "training.schedule: cosine needs training.maximum_updates or training.maximum_minutes,"
            " got neither; set one"
        )
