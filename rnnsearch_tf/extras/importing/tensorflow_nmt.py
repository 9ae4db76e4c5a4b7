"""Models of tensorflow/nmt (github.com/tensorflow/nmt): ``translate.ckpt-N.index`` with its data,
``hparams``, and the two vocabularies.

The model is the system ``luong`` with input feeding and a linear ŝ_t = W_c [c_t ; s_t]; the source
is read without its end symbol. An LSTM's gates stand in the order input, candidate, forget, output,
and forget_bias is added when the program runs. The GRU is the paper's with the update gate's
meaning turned round: z there is 1 − z here, so that its weights change their sign. The scale g of
scaled_luong, and that and the norm of normed_bahdanau, are multiplied into W_a and v_a.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.arrays import ArrayFile
from rnnsearch_tf.extras.importing.foreign import ForeignModel, WeightMap, option, refuse_others
from rnnsearch_tf.extras.importing.tensorflow_file import CheckpointFile
from rnnsearch_tf.extras.importing.vocabularies import arrange_lines, id_of, with_begin

GATES = ("_input", "", "_forget", "_output")
"""Suffixes of an LSTM's gates here, in the order in which TensorFlow 1 stores them."""

SUPPORTED: Mapping[str, Sequence[Any]] = {
    "attention": ("luong", "scaled_luong", "bahdanau", "normed_bahdanau"),
    "attention_architecture": ("standard",),
    "encoder_type": ("uni", "bi"),
    "unit_type": ("lstm", "gru"),
    "output_attention": (True,),
    "language_model": (False,),
}
NEEDS = {
    "attention": "a model without attention: a bridge of its kind",
    "attention_architecture": "attention from the first layer of the decoder (GNMT)",
    "encoder_type": "one layer in both directions below others that read forward (GNMT)",
    "unit_type": "layer normalization in TensorFlow's form, or another unit",
    "output_attention": "an output layer of the decoder's state alone",
}
DEFAULTS: Mapping[str, Any] = {
    "attention_architecture": "standard",
    "encoder_type": "uni",
    "unit_type": "lstm",
    "forget_bias": 1.0,
    "pass_hidden_state": True,
    "share_vocab": False,
    "sos": "<s>",
    "eos": "</s>",
}
"""Options that early versions do not have, as the last one reads them."""

BAHDANAU = ("bahdanau", "normed_bahdanau")


def read(
    weights: AnyPath,
    options: tuple[AnyPath, Mapping[str, Any]],
    vocabularies: Sequence[tuple[AnyPath, Sequence[str]]],
) -> ForeignModel:
    """Describe a model of tensorflow/nmt.

    Args:
        weights: ``translate.ckpt-N.index``.
        options: path and contents of ``hparams``.
        vocabularies: path and lines of both vocabularies, source first.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    path, given = options
    hparams = with_later_names(given)
    refuse_others(hparams, SUPPORTED, path, NEEDS)
    n, encoder_layers, layers = (
        option(hparams, name, int, path)
        for name in ("num_units", "num_encoder_layers", "num_decoder_layers")
    )
    both = hparams["encoder_type"] == "bi"
    encoder_layers = encoder_layers // 2 if both else encoder_layers
    residual = _residual(hparams, path, both, encoder_layers, layers)
    attention = option(hparams, "attention", str, path)
    source, target = (
        arrange_lines(where, words, end=hparams["eos"], unknown="<unk>")
        for where, words in vocabularies
    )
    sizes = [len(words) for _, words in vocabularies]
    begin = id_of(*vocabularies[1], hparams["sos"])
    arrays = CheckpointFile(weights)
    reader = _Reader(arrays, hparams["unit_type"], n, option(hparams, "forget_bias", float, path))
    shared = option(hparams, "share_vocab", bool, path)
    embeddings = ["embeddings/encoder/embedding_encoder", "embeddings/decoder/embedding_decoder"]
    if shared:
        embeddings = ["embeddings/embedding_share"] * 2
    reader.take("E_source", embeddings[0], (sizes[0], n), source.rows)
    reader.take(
        "E_target", embeddings[1], (sizes[1], n), lambda E: with_begin(target.rows(E), E[begin])
    )
    top = "dynamic_seq2seq"
    h = 2 * n if both else n
    for k in range(encoder_layers):
        for direction, way in (("forward.", "fw"), ("backward.", "bw")) if both else (("", ""),):
            folder = f"bidirectional_rnn/{way}" if both else "rnn"
            reader.unit(
                f"encoder.{k + 1}.{direction}", f"{top}/encoder/{folder}", k, encoder_layers, n
            )
    for k in range(layers):
        entering = n if k else 2 * n
        reader.unit(f"decoder.{k + 1}.", f"{top}/decoder/attention", k, layers, entering)
    reader.take(
        "W_c",
        f"{top}/decoder/attention/attention_layer/kernel",
        (n + h, n),
        lambda W: np.concatenate([W[n:], W[:n]]),  # [query ; context] there
    )
    reader.attention(attention, f"{top}/decoder", h)
    reader.take("W_s", f"{top}/decoder/output_projection/kernel", (n, sizes[1]), target.columns)
    reader.weights["b_softmax"] = lambda: target.biases(np.zeros(sizes[1], np.float32))
    arrays.check(reader.shapes)
    passes = option(hparams, "pass_hidden_state", bool, path)
    bridge = "alternate" if both else "copy"
    values: dict[str, Any] = dict(
        system="luong",
        unit=reader.kind,
        layers=layers,
        encoder_directions="stacks" if both else "forward",
        bridge=bridge if passes else "zero",
        residual=residual,
        attention_score="concat" if attention in BAHDANAU else "general",
        attentional_activation="linear",
        input_feeding=True,
        embedding_size=n,
        begin_symbol=True,
        read_end_symbol=False,
        hidden_size=n,
        biases="all",
    )
    if encoder_layers != layers:
        values["encoder_layers"] = encoder_layers
    if attention in BAHDANAU:
        values["alignment_size"] = n
    return ForeignModel(
        program="tensorflow/nmt",
        values={"model": values, "search": dict(beam_size=10)},
        weights=reader.weights,
        source=source,
        target=target,
        parameters=arrays.count(reader.shapes),
        found=[
            f"{reader.kind.upper()}, {encoder_layers} and {layers} layers of {n} units, {attention}"
            f" attention to {h} values"
        ],
    )


def with_later_names(hparams: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the names and the defaults of the last version: the first ones had one
    number of layers for encoder and decoder.
    """
    given = {**DEFAULTS, **hparams}
    for kind in ("layers", "residual_layers"):
        for side in ("encoder", "decoder"):
            if f"num_{kind}" in given:
                given.setdefault(f"num_{side}_{kind}", given[f"num_{kind}"])
    return given


def _residual(
    hparams: Mapping[str, Any], path: AnyPath, both: bool, encoder_layers: int, layers: int
) -> bool:
    """Whether all layers from the second on are residual; refuse other numbers of them."""
    counts = [hparams.get(f"num_{side}_residual_layers") or 0 for side in ("encoder", "decoder")]
    counts[0] = counts[0] // 2 if both else counts[0]
    if counts == [0, 0]:
        return False
    if counts != [encoder_layers - 1, layers - 1]:
        raise UserError(
            f"{path}: num_encoder_residual_layers, num_decoder_residual_layers: expected all layers"
            f" but the first, got {counts[0]} of {encoder_layers} and {counts[1]} of {layers}: no"
            " system here computes it; it needs an option for each layer"
        )
    return True


class _Reader(WeightMap):
    """The WeightMap of cells of TensorFlow 1."""

    def __init__(self, arrays: ArrayFile, kind: str, n: int, forget_bias: float) -> None:
        super().__init__(arrays)
        self.kind = kind
        self.n = n
        self.forget_bias = forget_bias

    def unit(self, ours: str, folder: str, k: int, layers: int, input_size: int) -> None:
        """Layer k, counted from 0, of a stack of cells; a stack of one has no number."""
        cell = "basic_lstm_cell" if self.kind == "lstm" else "gru_cell"
        theirs = f"{folder}/multi_rnn_cell/cell_{k}/{cell}" if layers > 1 else f"{folder}/{cell}"
        if self.kind == "lstm":
            for number, gate in enumerate(GATES):
                bias = self.forget_bias if gate == "_forget" else 0.0
                self.gate(ours, gate, theirs, input_size, number, len(GATES), bias)
            return
        self.gate(ours, "", f"{theirs}/candidate", input_size, 0, 1)
        self.gate(ours, "_r", f"{theirs}/gates", input_size, 0, 2)
        self.gate(ours, "_z", f"{theirs}/gates", input_size, 1, 2, factor=-1.0)

    def gate(
        self,
        ours: str,
        gate: str,
        theirs: str,
        input_size: int,
        number: int,
        parts: int,
        bias: float = 0.0,
        factor: float = 1.0,
    ) -> None:
        """W, U and b of one gate of [x ; h] @ kernel + bias."""
        kernel, shape = f"{theirs}/kernel", (input_size + self.n, parts * self.n)
        part = functools.partial(_part, number=number, parts=parts, factor=factor)
        self.take(f"{ours}W{gate}", kernel, shape, functools.partial(part, end=input_size))
        self.take(f"{ours}U{gate}", kernel, shape, functools.partial(part, begin=input_size))
        self.take(
            f"{ours}b{gate}", f"{theirs}/bias", shape[1:], functools.partial(part, added=bias)
        )

    def attention(self, kind: str, decoder: str, h: int) -> None:
        """W_a, v_a and b_a of the score."""
        n = self.n
        memory = f"{decoder}/memory_layer/kernel"
        if kind == "luong":
            self.take("W_a", memory, (h, n), np.transpose)
            return
        if kind == "scaled_luong":
            g = f"{decoder}/attention/luong_attention/attention_g"
            self.take_all("W_a", {memory: (h, n), g: ()}, lambda K, g: g * K.T)
            return
        folder = f"{decoder}/attention/bahdanau_attention"
        query, v = f"{folder}/query_layer/kernel", f"{folder}/attention_v"
        self.take_all("W_a", {query: (n, n), memory: (h, n)}, lambda Q, K: np.concatenate([Q, K]))
        if kind == "bahdanau":
            self.take("v_a", v, (n,))
            return
        g = f"{folder}/attention_g"
        self.take_all("v_a", {v: (n,), g: ()}, lambda v, g: g * v / np.linalg.norm(v))
        self.take("b_a", f"{folder}/attention_b", (n,))


def _part(
    values: np.ndarray,
    number: int,
    parts: int,
    factor: float,
    begin: int | None = None,
    end: int | None = None,
    added: float = 0.0,
) -> np.ndarray:
    """The columns of one gate, of some rows of a kernel or of a bias."""
    rows = values[begin:end] if values.ndim > 1 else values
    return factor * (np.split(rows, parts, axis=-1)[number] + np.float32(added))
