"""Every option of the project, once: its default, its unit, its meaning, its limits.

One small dataclass per section of the YAML file; the data section is in ``data_options.py``.
``loading.py`` reads files and checks them against these declarations.
"""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.option import option
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

SYSTEMS = "rnnsearch", "rnnencdec", "encoder_decoder", "deep_lstm", "luong", "stacked", "cslm"
MAXOUT = ("rnnsearch", "rnnencdec", "encoder_decoder")
LAYERED = ("deep_lstm", "luong", "stacked")
ATTENDING = ("rnnsearch", "luong")
"""The systems with attention."""


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
        "entries, including the three special tokens: 30,001 are 29,998 words",
        unit="tokens",
        minimum=4,
    )
    vocabulary: str | None = option(
        None,
        "existing vocabulary file, one token a line, or a SentencePiece model; null: build one of"
        " vocabulary_size from the training text",
    )


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Architecture; sizes have the letters of Bahdanau et al. 2015. An option that the system does
    not have is at its default.
    """

    system: str = option(
        "rnnsearch",
        "rnnsearch, rnnencdec: Bahdanau et al. 2015; encoder_decoder: Cho et al. 2014a, Appendix A;"
        " deep_lstm: Sutskever et al. 2014; luong: Luong's attention; stacked: layers"
        " with skip connections; cslm: feed-forward language model of the target side (Cho et al."
        " 2014a, §4.1.2)",
        choices=SYSTEMS,
    )
    unit: str = option(
        "gru",
        "gru: the gated unit of Bahdanau et al. 2015; lstm: an LSTM",
        choices=("gru", "lstm"),
        systems=("rnnsearch", "rnnencdec", "luong", "stacked"),
    )
    forget_bias: float = option(
        0.0,
        "initial bias of the forget gate of every LSTM; 1 carries the state through long sentences"
        " from the start (Gers et al. 2000; Jozefowicz et al. 2015)",
        minimum=0.0,
        systems=("rnnsearch", "rnnencdec", *LAYERED),
    )
    peepholes: bool = option(
        False, "LSTM gates see the cell through diagonal weights (Graves 2013)", systems=LAYERED
    )
    layers: int = option(
        1,
        "recurrent layers of the encoder and of the decoder",
        unit="layers",
        minimum=1,
        systems=LAYERED,
    )
    reverse_source: bool = option(
        False, "read the source words last to first; the end symbol stays last", systems=LAYERED
    )
    attention: str = option(
        "content",
        "content: by the annotations (Bahdanau et al. 2015); gaussian_window: windows that move"
        " right (Graves 2013)",
        choices=("content", "gaussian_window"),
        systems=("rnnsearch",),
    )
    windows: int = option(
        10,
        "number of Gaussian windows with attention: gaussian_window",
        unit="windows",
        minimum=1,
        systems=("rnnsearch",),
    )
    attention_score: str = option(
        "general",
        "score of a state s and an annotation h: dot: sᵀ h; general: sᵀ W_a h; concat: v_aᵀ"
        " tanh(W_a [s ; h])",
        choices=("dot", "general", "concat"),
        systems=("luong",),
    )
    input_feeding: bool = option(
        False, "the decoder also reads the last attentional state ŝ_{t−1}", systems=("luong",)
    )
    ngram_order: int = option(
        7,
        "n: the predicted word and the n − 1 words before it",
        unit="words",
        minimum=2,
        systems=("cslm",),
    )
    second_hidden_size: int = option(
        1024,
        "second rectified layer; hidden_size is the first",
        unit="units",
        minimum=1,
        systems=("cslm",),
    )
    embedding_size: int = option(620, "word embedding, m", unit="units", minimum=1)
    hidden_size: int = option(
        1000, "gated units of the decoder and of each encoder direction, n", unit="units", minimum=1
    )
    alignment_size: int = option(
        1000,
        "hidden layer of the alignment model, n'; of luong with attention_score: concat",
        unit="units",
        minimum=1,
        systems=ATTENDING,
    )
    maxout_size: int = option(
        500, "maxout units of the deep output, l", unit="units", minimum=1, systems=MAXOUT
    )
    output_rank: int | None = option(
        620,
        "output matrix factored l → rank → V; null: one matrix l → V",
        unit="units",
        minimum=1,
        systems=MAXOUT,
    )
    decoder_order: str = option(
        "look_generate_update",
        "look_generate_update: y_i is predicted from s_{i-1}, then s_i = f(s_{i-1}, y_i, c_i) (the"
        " authors' program); paper: y_i is predicted from s_{i-1}, and s_i = f(s_{i-1}, y_{i-1},"
        " c_i) (Appendix A.2.2); look_update_generate: s_i = f(s_{i-1}, y_{i-1}, c_i), then y_i is"
        " predicted from s_i (eq. 4)",
        choices=("look_generate_update", "paper", "look_update_generate"),
        systems=("rnnsearch", "rnnencdec"),
    )
    biases: str = option(
        "groundhog",
        "groundhog: on the embeddings, the candidate states, s_0, the hidden term of the readout"
        " and the softmax; an LSTM has one on every gate, and the systems of layers none on the"
        " embeddings; none: as the formulas are printed",
        choices=("groundhog", "none"),
    )
    initialization: str = option(
        "paper",
        "paper: N(0, 0.01²), alignment N(0, 0.001²), orthogonal recurrent matrices, v_a and biases"
        " 0 (encoder_decoder: recurrent matrices times 0.01; cslm: all between −0.01 and 0.01);"
        " variance_preserving: embeddings of unit variance, Glorot uniform for v_a and every"
        " other matrix of the paper by its own sizes, orthogonal recurrent matrices; learns fastest"
        " here; uniform: every weight and bias between −0.08 and 0.08 (Sutskever et al. 2014)",
        choices=("paper", "variance_preserving", "uniform"),
    )
    tie_target_embeddings: bool = option(
        False,
        "use the target embedding as the output matrix; its input size (output_rank, else"
        " maxout_size, else hidden_size) must be embedding_size",
        systems=(*MAXOUT, "deep_lstm", "luong"),
    )
    scale_embeddings: bool = option(
        False,
        "multiply the embeddings of both sides by √embedding_size on lookup (Vaswani et al. 2017):"
        " words learn faster with Adam, and a tied embedding has the right scale for both uses",
    )
    embedding_dropout: float = option(
        0.0, "share of embedding components dropped in training", minimum=0.0, maximum=0.95
    )
    hidden_dropout: float = option(
        0.0,
        "share of components of annotations and decoder states dropped in training, before"
        " attention and deep output",
        minimum=0.0,
        maximum=0.95,
    )
    readout_dropout: float = option(
        0.0,
        "share of maxout outputs dropped in training",
        minimum=0.0,
        maximum=0.95,
        systems=(*MAXOUT, "luong"),
    )

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            systems = field.metadata["systems"]
            if systems and self.system not in systems:
                object.__setattr__(self, field.name, field.default)
        if self.tie_target_embeddings:
            self._check_tied()
        is_lstm = self.unit == "lstm" or self.system == "deep_lstm"
        if self.forget_bias and (not is_lstm or self.biases == "none"):
            raise UsageError(
                f"model.forget_bias: expected 0 without the biases of an LSTM, got"
                f" {self.forget_bias} beside unit={self.unit}, biases={self.biases}; leave it out"
            )

    def _check_tied(self) -> None:
        """Refuse a tied target embedding that does not fit the input size of the output."""
        name = "hidden_size"
        if self.system in MAXOUT:
            name = "output_rank" if self.output_rank else "maxout_size"
        if getattr(self, name) != self.embedding_size:
            raise UsageError(
                f"model.tie_target_embeddings: expected model.{name} = model.embedding_size ="
                f" {self.embedding_size}, got {getattr(self, name)}; set"
                f" model.{name}={self.embedding_size}"
            )


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """Objective, optimizer, duration, evaluations."""

    optimizer: str = option("adadelta", "update rule", choices=("adadelta", "adam", "sgd"))
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
    )
    loss_reduction: str = option(
        "sum",
        "loss that is minimized: sum: the sum of all tokens' losses in the batch (the authors'"
        " program); batch_mean: divided by sentences; token_mean: divided by target tokens",
        choices=("sum", "batch_mean", "token_mean"),
    )
    label_smoothing: float = option(
        0.0, "share of probability spread evenly over the vocabulary", minimum=0.0, maximum=0.95
    )
    non_finite_gradient: str = option(
        "error",
        "what to do if a gradient has NaN or Inf: error: stop training; decay_weights: use 0.1·θ as"
        " the gradient, as the authors' program did",
        choices=("error", "decay_weights"),
    )
    precision: str = option(
        "float32",
        "number format of the computation; mixed_bfloat16: matrix products in bfloat16, the rest in"
        " float32",
        choices=("float32", "mixed_bfloat16", "float64"),
    )
    epochs: int = option(5, "passes over the training text", unit="epochs", minimum=1)
    maximum_updates: int | None = option(
        None, "stop after this many updates", unit="updates", minimum=1
    )
    maximum_minutes: float | None = option(
        None,
        "stop after this much training time, including evaluations and the time before a resume",
        unit="minutes",
        above=0.0,
    )
    evaluate_every: int | None = option(
        None,
        "updates between evaluations on the development text, whose best BLEU selects the best"
        " weights (of a language model: the lowest loss); null: every epoch",
        unit="updates",
        minimum=1,
    )
    evaluate_sentences: int = option(
        1000, "development sentences per evaluation", unit="sentences", minimum=1
    )
    average: int = option(
        0,
        "number of last evaluations whose weights are averaged at the end; the average becomes the"
        " best weights if it scores better than each of them; 0: off",
        unit="evaluations",
        minimum=0,
    )
    checkpoint_every_minutes: float = option(
        10.0, "time between saved training states", unit="minutes", above=0.0
    )
    patience: int | None = option(
        None, "stop after this many evaluations without a better score; null: never", minimum=1
    )
    seed: int = option(
        1234, "seed of initialization, shuffling and dropout", minimum=0, maximum=2**32 - 1
    )


@dataclasses.dataclass(frozen=True)
class SearchConfig:
    """Beam search. The defaults are the usual rules; the configuration groundhog has the
    authors'.
    """

    beam_size: int = option(12, "hypotheses kept at each step", unit="hypotheses", minimum=1)
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
        systems=ATTENDING,
    )
    batch_size: int = option(64, "sentences translated at once", unit="sentences", minimum=1)


@dataclasses.dataclass(frozen=True)
class Config:
    """The whole configuration, with one attribute per section of the YAML file."""

    source: TextConfig = dataclasses.field(default_factory=TextConfig)
    target: TextConfig = dataclasses.field(default_factory=lambda: TextConfig(language="fr"))
    data: DataConfig = dataclasses.field(default_factory=DataConfig)
    model: ModelConfig = dataclasses.field(default_factory=ModelConfig)
    training: TrainingConfig = dataclasses.field(default_factory=TrainingConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)

    def __post_init__(self) -> None:
        if self.model.system not in ATTENDING:
            search = dataclasses.replace(self.search, replace_unknown=False)
            object.__setattr__(self, "search", search)
        training = self.training
        if training.schedule == "cosine" and not (
            training.maximum_updates or training.maximum_minutes
        ):
            raise UsageError(
                "training.schedule: cosine needs training.maximum_updates or"
                " training.maximum_minutes, got neither; set one"
            )
