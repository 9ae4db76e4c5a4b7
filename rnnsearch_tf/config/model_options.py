"""The options of the model section; ``options.py`` has the others."""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.option import option
from rnnsearch_tf.config.presets import ATTENDING_LAYERS, LAYERED, MAXOUT, SYSTEMS, TRANSLATING


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Architecture; sizes have the letters of Bahdanau et al. 2015. ``only_with`` lists the systems
    that have an option.
    """

    system: str = option(
        "rnnsearch",
        "rnnsearch, rnnencdec: Bahdanau et al. 2015; encoder_decoder: Cho et al. 2014a, Appendix A;"
        " deep_lstm: Sutskever et al. 2014; luong: Luong's attention; gnmt: Wu et al. 2016 as"
        " tensorflow/nmt has it; stacked: layers with skip connections; cslm: feed-forward language"
        " model of the target side (Cho et al. 2014a, §4.1.2)",
        choices=SYSTEMS,
    )
    unit: str = option(
        "gru",
        "gru: the gated unit of Bahdanau et al. 2015; gru_reset_after: cuDNN's; lstm: an LSTM",
        choices=("gru", "gru_reset_after", "lstm"),
        only_with={"system": ("rnnsearch", "rnnencdec", *ATTENDING_LAYERS, "stacked")},
    )
    layer_normalization: bool = option(
        False,
        "normalize the matrix products of every recurrent unit (Ba et al. 2016)",
        only_with={"system": ("rnnsearch", "rnnencdec", *LAYERED)},
    )
    normalized: str = option(
        "recurrent",
        "with layer_normalization: recurrent: each gate by itself, gains only; all: also attention,"
        " s_0 and the deep output, all gates of a product together, gains and shifts (Nematus);"
        " together: as all, the candidate together with the gates (Marian)",
        choices=("recurrent", "all", "together"),
        only_with={
            "system": ("rnnsearch",),
            "layer_normalization": (True,),
            "attention": ("content",),
        },
    )
    forget_bias: float = option(
        0.0,
        "initial bias of every recurrent unit towards keeping its state; 1 carries the state"
        " through long sentences from the start. It is the bias of an LSTM's forget gate (Gers et"
        " al. 2000; Jozefowicz et al. 2015) or, with biases: all, of a gated unit's update gate",
        minimum=0.0,
        only_with=(
            {"system": TRANSLATING, "biases": ("all",)},
            {"system": ("deep_lstm",), "biases": ("groundhog", "all")},
            {
                "system": ("rnnsearch", "rnnencdec", *ATTENDING_LAYERS, "stacked"),
                "unit": ("lstm",),
                "biases": ("groundhog", "all"),
            },
        ),
    )
    peepholes: bool = option(
        False,
        "LSTM gates see the cell through diagonal weights (Graves 2013)",
        only_with=(
            {"system": (*ATTENDING_LAYERS, "stacked"), "unit": ("lstm",)},
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
    encoder_directions: str = option(
        "forward",
        "forward: the encoder reads forward; layers: in both directions, each layer reads both of"
        " the layer below (PyTorch); stacks: in both directions, one stack each (tensorflow/nmt);"
        " first: only the first layer in both directions (Wu et al. 2016)",
        choices=("forward", "layers", "stacks", "first"),
        only_with={"system": ATTENDING_LAYERS, "reverse_source": (False,)},
    )
    encoder_size: int | None = option(
        None,
        "units of each direction of the encoder; null: hidden_size",
        unit="units",
        minimum=1,
        only_with={"system": ATTENDING_LAYERS, "encoder_directions": ("layers", "stacks")},
    )
    encoder_layers: int | None = option(
        None,
        "layers of the encoder, if it has another number; null: layers",
        unit="layers",
        minimum=1,
        only_with={"system": ATTENDING_LAYERS},
    )
    bridge: str = option(
        "copy",
        "first states of the decoder's layers: copy: the last state of the encoder's layer of the"
        " same number (of a bidirectional layer, the backward one's); zero; top: the last state of"
        " the encoder's top layer; tanh: a tanh layer of that; alternate: the last states of its"
        " forward and backward layers in turn; dense: a linear layer of all last states;"
        " dense_tanh: its tanh",
        choices=("copy", "zero", "top", "tanh", "alternate", "dense", "dense_tanh"),
        only_with={"system": ATTENDING_LAYERS},
    )
    residual: bool = option(
        False,
        "add the input of a layer to its output, from the layer first_residual on (Wu et al. 2016)",
        only_with={"system": ("deep_lstm", *ATTENDING_LAYERS)},
    )
    first_residual: int = option(
        2,
        "number of the first residual layer; with encoder_directions: first, the encoder's is at"
        " least the third (Wu et al. 2016: 3)",
        unit="layers",
        minimum=2,
        only_with={"residual": (True,)},
    )
    attention: str = option(
        "content",
        "content: by the annotations (Bahdanau et al. 2015); coverage: also by earlier attention"
        " weights (See et al. 2017); gaussian_window: windows that move right (Graves 2013)",
        choices=("content", "coverage", "gaussian_window"),
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
        only_with={"system": ATTENDING_LAYERS},
    )
    input_feeding: bool = option(
        False,
        "the decoder also reads the last attentional state ŝ_{t−1}",
        only_with={"system": ("luong",)},
    )
    attentional_bias: bool = option(
        False,
        "add a bias inside of ŝ_t = tanh(W_c [c_t ; s_t])",
        only_with={"system": ("luong",)},
    )
    attentional_activation: str = option(
        "tanh",
        "ŝ_t = tanh(W_c [c_t ; s_t]); linear: ŝ_t = W_c [c_t ; s_t] (tensorflow/nmt)",
        choices=("tanh", "linear"),
        only_with={"system": ("luong",)},
    )
    predict_from: str = option(
        "attentional",
        "attentional: p(y_t) = softmax(W_s ŝ_t); state: softmax(W_s s_t), and ŝ_t is only fed back"
        " (tensorflow/nmt: output_attention=false)",
        choices=("attentional", "state"),
        only_with={"system": ("luong",), "input_feeding": (True,)},
    )
    upper_context: str = option(
        "previous",
        "context that the decoder's layers above the first read: previous: c_{t−1}, as the first"
        " does (Wu et al. 2016; gnmt of tensorflow/nmt); current: c_t (gnmt_v2)",
        choices=("previous", "current"),
        only_with={"system": ("gnmt",)},
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
    source_embedding_size: int | None = option(
        None,
        "word embedding of the source side, if it has another size; null: embedding_size",
        unit="units",
        minimum=1,
        only_with={"system": LAYERED},
    )
    begin_symbol: bool = option(
        False,
        "a learned vector stands before the first target word; false: zeros",
        only_with={"system": LAYERED},
    )
    read_end_symbol: bool = option(
        True,
        "false: the encoder does not read the end symbol of the source (OpenNMT, tensorflow/nmt)",
        only_with={"system": LAYERED},
    )
    hidden_size: int = option(
        1000, "gated units of the decoder and of each encoder direction, n", unit="units", minimum=1
    )
    alignment_size: int = option(
        1000,
        "hidden layer of the alignment model, n'",
        unit="units",
        minimum=1,
        only_with=(
            {"system": ("rnnsearch",), "attention": ("content", "coverage")},
            {"system": ATTENDING_LAYERS, "attention_score": ("concat",)},
        ),
    )
    maxout_size: int = option(
        500,
        "units of the deep output, l, maxout or tanh",
        unit="units",
        minimum=1,
        only_with={"system": MAXOUT},
    )
    readout: str = option(
        "maxout",
        "units of the deep output: maxout: the larger of two sums (Bahdanau et al. 2015); tanh: the"
        " hyperbolic tangent of one sum",
        choices=("maxout", "tanh"),
        only_with={"system": ("rnnsearch", "rnnencdec")},
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
        " predicted from s_i (eq. 4); conditional: attention stands between two units, which read"
        " y_{i-1} and c_i, then y_i is predicted from s_i (the conditional GRU of Nematus)",
        choices=("look_generate_update", "paper", "look_update_generate", "conditional"),
        only_with={"system": ("rnnsearch", "rnnencdec")},
    )
    decoder_transitions: int = option(
        2,
        "units one after the other for each target word, with attention after the first; above 2:"
        " deep transition (Miceli Barone et al. 2017)",
        unit="units",
        minimum=2,
        only_with={"system": ("rnnsearch",), "decoder_order": ("conditional",)},
    )
    encoder_transitions: int = option(
        1,
        "units one after the other for each source word, in each direction; above 1: deep"
        " transition (Miceli Barone et al. 2017)",
        unit="units",
        minimum=1,
        only_with={"system": ("rnnsearch",)},
    )
    first_state: str = option(
        "backward",
        "s_0 of the decoder: backward: tanh(W_s ←h_1); mean: tanh(W_s · the mean of the h_j)",
        choices=("backward", "mean"),
        only_with={"system": ("rnnsearch",)},
    )
    biases: str = option(
        "groundhog",
        "groundhog: on the embeddings, the candidate states, s_0, the hidden term of the readout"
        " and the softmax; none: as the formulas are printed; all: also on the gates and the"
        " alignment model. Unless none, an LSTM has one on every gate, and the systems of layers"
        " have none on the embeddings",
        choices=("groundhog", "none", "all"),
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
        only_with={"system": (*MAXOUT, "deep_lstm", *ATTENDING_LAYERS)},
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
    """Raise UsageError if options of the model do not fit each other."""
    check_bridge(model)
    check_conditional(model)
    check_residual(model)
    check_tied(model)


def check_conditional(model: ModelConfig) -> None:
    """Raise UsageError if a model without attention has the order with attention between units."""
    if model.decoder_order == "conditional" and model.system != "rnnsearch":
        raise UsageError(
            "model.decoder_order: conditional has attention between two units, expected"
            f" model.system=rnnsearch beside it, got {model.system}; set"
            " model.decoder_order=look_update_generate"
        )


def check_bridge(model: ModelConfig) -> None:
    """Raise UsageError if the states of encoder and decoder do not fit the bridge or the score."""
    if model.system not in ATTENDING_LAYERS:
        return
    width = model.hidden_size
    if model.encoder_directions in ("layers", "stacks"):
        width = 2 * (model.encoder_size or model.hidden_size)
    n = model.hidden_size
    sizes = {"copy": (n,), "top": (n, 2 * n), "alternate": (2 * n,)}.get(model.bridge, (width,))
    if width not in sizes:
        raise UsageError(
            f"model.bridge: {model.bridge} needs encoder states of"
            f" {' or '.join(map(str, sizes))} units, both directions together, beside"
            f" model.hidden_size={n}, got {width}; set model.encoder_size, or model.bridge=tanh"
        )
    encoder_layers = model.encoder_layers or model.layers
    if model.encoder_directions == "first" and encoder_layers < 2:
        raise UsageError(
            "model.encoder_directions: first needs at least 2 layers of the encoder, got"
            f" {encoder_layers}; set model.layers=2"
        )
    least = {"copy": model.layers, "alternate": (model.layers + 1) // 2}.get(model.bridge, 1)
    if encoder_layers < least or model.bridge == "copy" and encoder_layers != model.layers:
        raise UsageError(
            f"model.bridge: {model.bridge} needs {least} layers of the encoder beside"
            f" model.layers={model.layers}, got {encoder_layers}; set model.encoder_layers={least}"
        )
    if model.attention_score == "dot" and width != n:
        raise UsageError(
            f"model.attention_score: dot needs annotations of model.hidden_size={n} units, got"
            f" {width}; set model.attention_score=general"
        )


def check_residual(model: ModelConfig) -> None:
    """Raise UsageError if the first residual layer is above the top layer. (Its default, 2, is
    allowed in a single layer, where it has no effect.)
    """
    most = max(model.layers, model.encoder_layers or model.layers, 2)
    if model.residual and most < model.first_residual:
        raise UsageError(
            "model.first_residual: expected at most the number of layers, model.layers ="
            f" {model.layers}, got {model.first_residual}; set model.layers, or"
            " model.residual=false"
        )


def check_tied(model: ModelConfig) -> None:
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
