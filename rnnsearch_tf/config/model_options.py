"""The options of the model section; ``options.py`` has the others."""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.option import option
from rnnsearch_tf.config.presets import LAYERED, MAXOUT, SYSTEMS


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Architecture; sizes have the letters of Bahdanau et al. 2015. ``only_with`` lists the systems
    that have an option.
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
        only_with={"system": ("rnnsearch", "rnnencdec", "luong", "stacked")},
    )
    forget_bias: float = option(
        0.0,
        "initial bias of the forget gate of every LSTM; 1 carries the state through long sentences"
        " from the start (Gers et al. 2000; Jozefowicz et al. 2015)",
        minimum=0.0,
        only_with=(
            {"system": ("deep_lstm",), "biases": ("groundhog",)},
            {
                "system": ("rnnsearch", "rnnencdec", "luong", "stacked"),
                "unit": ("lstm",),
                "biases": ("groundhog",),
            },
        ),
    )
    peepholes: bool = option(
        False,
        "LSTM gates see the cell through diagonal weights (Graves 2013)",
        only_with=(
            {"system": ("luong", "stacked"), "unit": ("lstm",)},
            {"system": ("deep_lstm",)},
        ),
    )
    layers: int = option(
        1,
        "recurrent layers of the encoder and of the decoder",
        unit="layers",
        minimum=1,
        only_with={"system": LAYERED},
    )
    reverse_source: bool = option(
        False,
        "read the source words last to first; the end symbol stays last",
        only_with={"system": LAYERED},
    )
    attention: str = option(
        "content",
        "content: by the annotations (Bahdanau et al. 2015); gaussian_window: windows that move"
        " right (Graves 2013)",
        choices=("content", "gaussian_window"),
        only_with={"system": ("rnnsearch",)},
    )
    windows: int = option(
        10,
        "number of Gaussian windows with attention: gaussian_window",
        unit="windows",
        minimum=1,
        only_with={"system": ("rnnsearch",), "attention": ("gaussian_window",)},
    )
    attention_score: str = option(
        "general",
        "score of a state s and an annotation h: dot: sᵀ h; general: sᵀ W_a h; concat: v_aᵀ"
        " tanh(W_a [s ; h])",
        choices=("dot", "general", "concat"),
        only_with={"system": ("luong",)},
    )
    input_feeding: bool = option(
        False,
        "the decoder also reads the last attentional state ŝ_{t−1}",
        only_with={"system": ("luong",)},
    )
    ngram_order: int = option(
        7,
        "n: the predicted word and the n − 1 words before it",
        unit="words",
        minimum=2,
        only_with={"system": ("cslm",)},
    )
    second_hidden_size: int = option(
        1024,
        "second rectified layer; hidden_size is the first",
        unit="units",
        minimum=1,
        only_with={"system": ("cslm",)},
    )
    embedding_size: int = option(620, "word embedding, m", unit="units", minimum=1)
    hidden_size: int = option(
        1000, "gated units of the decoder and of each encoder direction, n", unit="units", minimum=1
    )
    alignment_size: int = option(
        1000,
        "hidden layer of the alignment model, n'",
        unit="units",
        minimum=1,
        only_with=(
            {"system": ("rnnsearch",), "attention": ("content",)},
            {"system": ("luong",), "attention_score": ("concat",)},
        ),
    )
    maxout_size: int = option(
        500,
        "maxout units of the deep output, l",
        unit="units",
        minimum=1,
        only_with={"system": MAXOUT},
    )
    output_rank: int | None = option(
        620,
        "output matrix factored l → rank → V; null: one matrix l → V",
        unit="units",
        minimum=1,
        only_with={"system": MAXOUT},
    )
    decoder_order: str = option(
        "look_generate_update",
        "look_generate_update: y_i is predicted from s_{i-1}, then s_i = f(s_{i-1}, y_i, c_i) (the"
        " authors' program); paper: y_i is predicted from s_{i-1}, and s_i = f(s_{i-1}, y_{i-1},"
        " c_i) (Appendix A.2.2); look_update_generate: s_i = f(s_{i-1}, y_{i-1}, c_i), then y_i is"
        " predicted from s_i (eq. 4)",
        choices=("look_generate_update", "paper", "look_update_generate"),
        only_with={"system": ("rnnsearch", "rnnencdec")},
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
        " 0; variance_preserving: embeddings of unit variance, Glorot uniform for v_a and every"
        " other matrix of the paper by its own sizes, orthogonal recurrent matrices; learns fastest"
        " here; uniform: every weight and bias between −0.08 and 0.08 (Sutskever et al. 2014)",
        choices=("paper", "variance_preserving", "uniform"),
    )
    tie_target_embeddings: bool = option(
        False,
        "use the target embedding as the output matrix; its input size (output_rank, else"
        " maxout_size, else hidden_size) must be embedding_size",
        only_with={"system": (*MAXOUT, "deep_lstm", "luong")},
    )
    scale_embeddings: bool = option(
        False,
        "multiply the embeddings of both sides by √embedding_size on lookup (Vaswani et al. 2017):"
        " words learn faster with Adam, and a tied embedding has the right scale for both uses",
    )
    embedding_dropout: float = option(
        0.0,
        "share of embedding components dropped in training",
        minimum=0.0,
        maximum=0.95,
        facts=("free_of_weights",),
    )
    hidden_dropout: float = option(
        0.0,
        "share of components of annotations and decoder states dropped in training, before"
        " attention and deep output",
        minimum=0.0,
        maximum=0.95,
        facts=("free_of_weights",),
    )
    readout_dropout: float = option(
        0.0,
        "share of maxout outputs dropped in training",
        minimum=0.0,
        maximum=0.95,
        only_with={"system": (*MAXOUT, "luong")},
        facts=("free_of_weights",),
    )


def check_model(model: ModelConfig) -> None:
    """Raise UsageError if a tied target embedding does not fit the input size of the output."""
    name = (
        "hidden_size"
        if model.system not in MAXOUT
        else "output_rank"
        if model.output_rank
        else "maxout_size"
    )
    if model.tie_target_embeddings and getattr(model, name) != model.embedding_size:
        raise UsageError(
            f"model.tie_target_embeddings: expected model.{name} = model.embedding_size ="
            f" {model.embedding_size}, got {getattr(model, name)}; set"
            f" model.{name}={model.embedding_size}"
        )
