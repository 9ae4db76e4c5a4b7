"""Models of Nematus (github.com/EdinburghNLP/nematus) and of the dl4mt tutorial that it began as:
``model.npz``, its options ``model.npz.json`` and the two vocabularies, as the systems of Edinburgh
at WMT 2016 and 2017 are published; or a checkpoint of its TensorFlow versions with ``model.json``.

The model is RNNsearch with ``decoder_order: conditional`` and its reset gate after the product:

    h_j      two directions of gated units; deep transition repeats the unit without an input
    s_0      = tanh(W_s · mean of the h_j + b_s)
    s'_i     = unit(E y_{i−1}, s_{i−1}),  α_i from s'_i,  s_i = unit(c_i, s'_i)
    t_i      = tanh(U_o s_i + V_o E y_{i−1} + C_o c_i + b_o)
    p(y_i)   = softmax(W_o t_i + b),  W_o = Eᵀ if the embeddings are tied

With layer_normalisation, every product is normalized (``normalized: all``): a gain and a shift of
each, with the bias inside. Nematus stores the gates as [reset | update]. Its constant c_tt, added
to every energy, changes no attention weight and is left out. Dropout of early versions multiplied
activations by 1 − p when it translated; here the weights are multiplied.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.arrays import ArrayFile, Change
from rnnsearch_tf.extras.importing.foreign import (
    ForeignModel,
    WeightMap,
    gate_part,
    option,
    refuse_others,
)
from rnnsearch_tf.extras.importing.nematus_tensorflow import is_smoothed, variable_names
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.tensorflow_file import CheckpointFile
from rnnsearch_tf.extras.importing.vocabularies import Rows, arrange, as_words

END_ID = 0

SUPPORTED: Mapping[str, tuple[Sequence[Any], str]] = {
    "encoder": (("gru",), "another recurrent unit"),
    "decoder": (("gru_cond",), "another recurrent unit"),
    "enc_depth": ((1,), "layers with residual connections above the encoder"),
    "dec_depth": ((1,), "layers with residual connections above the decoder"),
    "factors": ((1,), "an embedding of several factors of a word"),
    "weight_normalisation": ((False,), "weight normalization"),
    "deep_fusion_lm": ((False,), "a language model beside the decoder"),
    "tie_encoder_decoder_embeddings": ((False,), "one embedding for both languages"),
    # from here on, of the TensorFlow versions
    "model_type": (("rnn",), "a Transformer"),
    "rnn_enc_depth": ((1,), "layers with residual connections above the encoder"),
    "rnn_dec_depth": ((1,), "layers with residual connections above the decoder"),
    "output_hidden_activation": (("tanh",), "another function before the output matrix"),
    "softmax_mixture_size": ((1,), "a mixture of several softmax layers"),
    "rnn_lexical_model": ((False,), "a lexical model beside the decoder"),
    "layer_normalization_type": (("layernorm",), "a normalization without the mean"),
}
"""{option: (values that can be imported, what another one would need)}."""

LATER_NAMES = {
    "dim_word": ("embedding_size",),
    "dim": ("state_size",),
    "n_words_src": ("source_vocab_sizes", "source_vocab_size"),
    "n_words": ("target_vocab_size",),
    "enc_recurrence_transition_depth": ("rnn_enc_transition_depth",),
    "dec_base_recurrence_transition_depth": ("rnn_dec_base_transition_depth",),
    "layer_normalisation": ("rnn_layer_normalization", "use_layer_norm"),
}
"""Names of options in the TensorFlow versions."""

DEFAULTS = {
    "enc_recurrence_transition_depth": 1,
    "dec_base_recurrence_transition_depth": 2,
    "tie_decoder_embeddings": False,
    "layer_normalisation": False,
    "model_version": 0.0,
    "use_dropout": False,
    "dropout_embedding": 0.0,
    "dropout_hidden": 0.0,
    "dropout_source": 0.0,
    "dropout_target": 0.0,
}
"""Options that early versions do not have, as later versions read them."""


def read(
    weights: AnyPath,
    options: tuple[AnyPath, Mapping[str, Any]],
    vocabularies: Sequence[tuple[AnyPath, Mapping[Any, Any]]],
) -> ForeignModel:
    """Describe a model of Nematus.

    Args:
        weights: ``model.npz``, or ``model-N.index`` with its data beside it.
        options: path and contents of ``model.npz.json`` (or ``.pkl``), or ``model.json``.
        vocabularies: path and contents of both ``vocab.*.json``, source first.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    path, given = options
    of_theano = "embedding_size" not in given
    for name, (values, need) in SUPPORTED.items():
        refuse_others(given, {name: values}, path, {name: need})
    given = as_theano(given, path)
    in_tensorflow = str(weights).endswith(".index")
    if in_tensorflow:
        checkpoint = CheckpointFile(weights)
        reader = Reader(checkpoint, given, variable_names(checkpoint, given))
    else:
        reader = Reader(NpzFile(weights), given)
    reader.biased_transitions = of_theano
    reader.check_embeddings()
    sizes = [given[name] for name in ("n_words_src", "n_words")]
    source, target = (
        _arranged(words, size, where) for size, (where, words) in zip(sizes, vocabularies)
    )
    search = dict(length_penalty=1.0, normalize_after=True)
    foreign = conditional_gru("Nematus", reader, source, target, search)
    if in_tensorflow and is_smoothed(given):
        found = [f"{line}, averages of the weights" for line in foreign.found]
        return dataclasses.replace(foreign, found=found)
    return foreign


def conditional_gru(
    program: str, reader: Reader, source: Rows, target: Rows, search: Mapping[str, Any]
) -> ForeignModel:
    """Describe a model with the layers of Nematus.

    Args:
        program: that trained it.
        reader: of its weights, with its options in the terms of Nematus, checked.
        source, target: the vocabularies.
        search: options of the search that does what the program's does by default.

    Raises:
        UserError: options and weights do not belong together.
    """
    given, arrays = reader.options, reader.arrays
    m, n = given["dim_word"], given["dim"]
    sizes = given["n_words_src"], given["n_words"]
    encoder_transitions = given["enc_recurrence_transition_depth"]
    decoder_transitions = given["dec_base_recurrence_transition_depth"]
    tied, normalizes = given["tie_decoder_embeddings"], given["layer_normalisation"]
    embedding, hidden = reader.kept("dropout_embedding"), reader.kept("dropout_hidden")
    target_words = embedding * reader.kept("dropout_target")

    reader.take(
        "E_source", "Wemb", (sizes[0], m), lambda E: source.rows(E) * reader.kept("dropout_source")
    )
    reader.take("E_target", "Wemb_dec", (sizes[1], m), target.rows)
    for direction, prefix in (("forward", "encoder"), ("backward", "encoder_r")):
        ours = f"encoder.{direction}."
        reader.unit(ours, f"{prefix}_", "", n, input_size=m, kept=embedding)
        for k in range(1, encoder_transitions):
            reader.unit(f"{ours}{k + 1}.", f"{prefix}_", f"_drt_{k}", n)
    reader.layer("W_s", "b_s", "ff_state", (2 * n, n), hidden)
    reader.unit("", "decoder_", "", n, input_size=m, kept=target_words)
    for k in range(1, decoder_transitions):
        reader.unit_after_attention(f"{k + 1}.", "" if k == 1 else f"_drt_{k - 1}", n)
    reader.take("W_a", "decoder_W_comb_att", (n, 2 * n), lambda W: W * hidden)
    reader.take("U_a", "decoder_Wc_att", (2 * n, 2 * n), lambda W: W * hidden)
    reader.take("b_a", "decoder_b_att", (2 * n,))
    reader.normalization("W_a", "decoder_W_comb_att", 2 * n)
    reader.normalization("U_a", "decoder_Wc_att", 2 * n)
    reader.take("v_a", "decoder_U_att", (2 * n, 1), lambda W: W[:, 0] * hidden)
    reader.layer("U_o", "b_o", "ff_logit_lstm", (n, m), hidden)
    reader.layer("V_o", "b_V", "ff_logit_prev", (m, m), target_words)
    reader.layer("C_o", "b_C", "ff_logit_ctx", (2 * n, m), hidden)
    if not normalizes:  # one bias is enough
        biases = [reader.weights.pop(name) for name in ("b_o", "b_V", "b_C")]
        reader.weights["b_o"] = lambda: np.sum([bias() for bias in biases], axis=0)
    output = reader.kept("dropout_output")
    if tied and output != 1.0:  # the embedding is not scaled
        tied = False
        reader.take("W_o", "Wemb_dec", (sizes[1], m), lambda E: target.columns(E.T) * output)
    elif not tied:
        reader.output_matrix((m, sizes[1]), lambda W: target.columns(W) * output)
    reader.take("b_softmax", "ff_logit_b", (sizes[1],), target.biases)
    model = dict(
        system="rnnsearch",
        unit="gru_reset_after",
        decoder_order="conditional",
        decoder_transitions=decoder_transitions,
        encoder_transitions=encoder_transitions,
        layer_normalization=normalizes,
        normalized=reader.normalized if normalizes else "recurrent",
        first_state="mean",
        readout="tanh",
        biases="all",
        embedding_size=m,
        hidden_size=n,
        alignment_size=2 * n,
        maxout_size=m,
        output_rank=None,
        tie_target_embeddings=tied,
    )
    return ForeignModel(
        program=program,
        values={"model": model, "search": dict(search)},
        weights=reader.weights,
        source=source,
        target=target,
        parameters=arrays.count(reader.shapes),
        found=[
            f"conditional GRU, {n} units, embeddings of {m},"
            f" {encoder_transitions} and {decoder_transitions} transitions a word"
            + ", tied embeddings" * tied
            + ", layer normalization" * normalizes,
        ],
    )


def as_theano(options: Mapping[str, Any], path: AnyPath) -> dict[str, Any]:
    """Options under the names of the Theano form, with defaults.

    Args:
        options: those of the model.
        path: their file, for errors.

    Raises:
        UserError: one that the model depends on is missing or has another type.
    """
    given = dict(DEFAULTS)
    if "embedding_size" in options:  # no TensorFlow version has the early dropout
        given["model_version"] = 0.1
    given |= {name: value for name, value in options.items() if value is not None}
    # dl4mt, which lacks this option, drops half of the values before the output matrix
    dl4mt = options.get("dropout_hidden") is None
    given["dropout_output"] = 0.5 if dl4mt else given["dropout_hidden"]
    sizes = given.get("source_vocab_sizes")
    if isinstance(sizes, Sequence) and len(sizes) == 1:
        given["source_vocab_sizes"] = sizes[0]
    for name in (*LATER_NAMES, *DEFAULTS):
        spelled = [later for later in LATER_NAMES.get(name, ()) if later in options]
        given[name] = option(given, (*spelled, name)[0], type(DEFAULTS.get(name, 0)), path)
    return given


def _arranged(words: Mapping[Any, Any], size: int, path: AnyPath) -> Rows:
    """The Rows of a vocabulary. Version 0.4 wrote the unknown word as 2, after <GO>."""
    ids = as_words(words, path)
    return arrange(ids, size, END_ID, 2 if ids.get("<UNK>") == 2 else 1, path)


class Reader(WeightMap):
    """The WeightMap of the layers of Nematus.

    Attributes:
        options: of the model, by Nematus's names.
        normalized: the option ``normalized`` of a model with layer normalization.
        biased_transitions: whether the second and later transitions of the encoder have biases.
    """

    normalized = "all"
    biased_transitions = True

    def __init__(
        self, arrays: ArrayFile, options: Mapping[str, Any], stored: Callable[[str], str] = str
    ) -> None:
        super().__init__(arrays, stored)
        self.options = options

    def check_embeddings(self) -> None:
        """Compare the embeddings with the options, before vocabularies of their sizes are made.

        Raises:
            UserError: an embedding is missing or has another shape.
        """
        for name, size in (("Wemb", "n_words_src"), ("Wemb_dec", "n_words")):
            shape = self.options[size], self.options["dim_word"]
            self.arrays.check({self.stored(name): shape})

    def kept(self, name: str) -> float:
        """The factor that replaces a dropout when the program translates: 1 − p in versions that
        do not divide by it in training.
        """
        if not self.options["use_dropout"] or self.options["model_version"] >= 0.1:
            return 1.0
        return 1.0 - self.options[name]

    def output_matrix(self, shape: tuple[int, int], change: Change) -> None:
        """W_o [m, V] of a model whose embeddings are not tied."""
        self.take("W_o", "ff_logit_W", shape, change)

    def normalization(self, ours: str, theirs: str, size: int) -> None:
        """The gain and the shift of a product, if the model has layer normalization."""
        if self.options["layer_normalisation"]:
            self.take(f"{ours}_gain", f"{theirs}_lns", (size,))
            self.take(f"{ours}_shift", f"{theirs}_lnb", (size,))

    def layer(self, W: str, b: str, theirs: str, shape: tuple[int, int], kept: float) -> None:
        """A dense layer: W, b and the normalization of its product."""
        self.take(W, f"{theirs}_W", shape, lambda values: values * kept)
        self.take(b, f"{theirs}_b", shape[1:])
        if self.options["layer_normalisation"]:
            self.take(f"{W}_gain", f"{theirs}_ln_s", shape[1:])
            self.take(f"{W}_shift", f"{theirs}_ln_b", shape[1:])

    def product(
        self, ours: str, gates: str, candidate: str, rows: int, n: int, kept: float
    ) -> None:
        """The matrices [reset | update] and that of the candidate, with their normalizations."""
        self.gates(ours, gates, (rows, n), kept)
        self.take(ours, candidate, (rows, n), lambda W: W * kept)
        if self.options["layer_normalisation"]:
            for here, there in (("gain", "lns"), ("shift", "lnb")):
                self.gates(ours, f"{gates}_{there}", (n,), 1.0, f"_{here}")
                self.take(f"{ours}_{here}", f"{candidate}_{there}", (n,))

    def gates(
        self, letter: str, theirs: str, shape: tuple[int, ...], factor: float, end: str = ""
    ) -> None:
        """Map [reset | update] to two weights."""
        for number, gate in enumerate(("_r", "_z")):
            self.take(
                letter + gate + end,
                theirs,
                (*shape[:-1], 2 * shape[-1]),
                gate_part(number, 2, lambda values: values * factor),
            )

    def unit(
        self, ours: str, theirs: str, suffix: str, n: int, input_size: int = 0, kept: float = 1.0
    ) -> None:
        """A unit whose candidate has its bias outside of the reset gate, and its input, if any."""
        if input_size:
            self.product(f"{ours}W", f"{theirs}W", f"{theirs}Wx", input_size, n, kept)
        hidden = self.kept("dropout_hidden")
        self.product(f"{ours}U", f"{theirs}U{suffix}", f"{theirs}Ux{suffix}", n, n, hidden)
        if input_size or self.biased_transitions:
            self.gates(f"{ours}b", f"{theirs}b{suffix}", (n,), 1.0)
            self.take(f"{ours}b", f"{theirs}bx{suffix}", (n,))

    def unit_after_attention(self, ours: str, suffix: str, n: int) -> None:
        """A unit of the decoder that reads no word: its reset gate also scales the bias, and the
        normalization of the product of the state has the biases inside.
        """
        hidden = self.kept("dropout_hidden")
        self.product(f"{ours}U", f"decoder_U_nl{suffix}", f"decoder_Ux_nl{suffix}", n, n, hidden)
        gates = "b_U" if self.options["layer_normalisation"] else "b"
        self.gates(f"{ours}{gates}", f"decoder_b_nl{suffix}", (n,), 1.0)
        self.take(f"{ours}b_U", f"decoder_bx_nl{suffix}", (n,))
        if not suffix:
            self.product(f"{ours}C", "decoder_Wc", "decoder_Wcx", 2 * n, n, hidden)
