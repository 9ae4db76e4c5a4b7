"""Models of tensorflow/nmt (github.com/tensorflow/nmt): ``translate.ckpt-N.index`` with its data,
``hparams``, and the two vocabularies.

Of the standard architecture, the model is the system ``luong`` with input feeding and a linear ŝ_t
= W_c [c_t ; s_t]; ``gnmt`` and ``gnmt_v2`` are the system ``gnmt``. The source is read without its
end symbol. An LSTM's gates stand in the order input, candidate, forget, output,
and forget_bias is added when the program runs. The GRU is the paper's with the update gate's
meaning turned round: z there is 1 − z here, so that its weights change their sign. The scale g of
scaled_luong, and that and the norm of normed_bahdanau, are multiplied into W_a and v_a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.arrays import ArrayFile
from rnnsearch_tf.extras.importing.foreign import (
    LENGTHS,
    ForeignModel,
    WeightMap,
    gate_part,
    not_taken_over,
    option,
    refuse_others,
)
from rnnsearch_tf.extras.importing.tensorflow_file import CheckpointFile
from rnnsearch_tf.extras.importing.vocabularies import arrange_lines, id_of, with_begin

GATES = ("_input", "", "_forget", "_output")
"""Suffixes of an LSTM's gates here, in the order in which TensorFlow 1 stores them."""

SUPPORTED: Mapping[str, Sequence[Any]] = {
    "attention": ("luong", "scaled_luong", "bahdanau", "normed_bahdanau"),
    "attention_architecture": ("standard", "gnmt", "gnmt_v2"),
    "encoder_type": ("uni", "bi", "gnmt"),
    "unit_type": ("lstm", "gru"),
    "language_model": (False,),
    "source_reverse": (False,),
}
NEEDS = {
    "attention": "a model without attention: a bridge of its kind",
    "unit_type": "layer normalization in TensorFlow's form, or another unit",
    "source_reverse": "the source reversed before it is read",
}
DEFAULTS: Mapping[str, Any] = {
    "attention_architecture": "standard",
    "encoder_type": "uni",
    "unit_type": "lstm",
    "output_attention": True,
    "forget_bias": 1.0,
    "pass_hidden_state": True,
    "share_vocab": False,
    "sos": "<s>",
    "eos": "</s>",
}
"""Options that early versions do not have, as the last one reads them."""

BAHDANAU = ("bahdanau", "normed_bahdanau")

HINTS = {
    "length_penalty_weight": (0.0, LENGTHS),
    "coverage_penalty_weight": (
        0.0,
        "the RUN has no coverage penalty, and with --set search.coverage_penalty=B that of finished"
        " translations",
    ),
}
"""Options of the search that have no equal here, see :func:`not_taken_over`."""

DIRECTIONS = {"uni": "forward", "bi": "stacks", "gnmt": "first"}
"""The option encoder_directions for each encoder_type."""

TOP = "dynamic_seq2seq"
"""Scope of all variables but the embeddings."""


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
    hparams = with_derived_options(given)
    refuse_others(hparams, SUPPORTED, path, NEEDS)
    n, encoder_layers, layers, first_residual = _sizes(hparams, path)
    encoder_type = hparams["encoder_type"]
    attention = option(hparams, "attention", str, path)
    source, target = (
        arrange_lines(where, words, end=hparams["eos"], unknown="<unk>")
        for where, words in vocabularies
    )
    counts = [len(words) for _, words in vocabularies]
    begin = id_of(*vocabularies[1], hparams["sos"])
    arrays = CheckpointFile(weights)
    reader = _Reader(arrays, hparams["unit_type"], n, option(hparams, "forget_bias", float, path))
    shared = option(hparams, "share_vocab", bool, path)
    embeddings = ["embeddings/encoder/embedding_encoder", "embeddings/decoder/embedding_decoder"]
    if shared:
        embeddings = ["embeddings/embedding_share"] * 2
    reader.take("E_source", embeddings[0], (counts[0], n), source.rows)
    reader.take(
        "E_target", embeddings[1], (counts[1], n), lambda E: with_begin(target.rows(E), E[begin])
    )
    reader.encoder(f"{TOP}/encoder", encoder_type, encoder_layers)
    h = 2 * n if encoder_type == "bi" else n
    decoder = f"{TOP}/decoder"
    if hparams["attention_architecture"] == "standard":
        reader.decoder(decoder, layers, h)
        around = f"{decoder}/attention"
        values = dict(system="luong", attentional_activation="linear", input_feeding=True)
        if not option(hparams, "output_attention", bool, path):
            values["predict_from"] = "state"
    else:
        around = reader.gnmt_decoder(decoder, layers, h)
        values = dict(system="gnmt")
        if hparams["attention_architecture"] == "gnmt_v2":
            values["upper_context"] = "current"
    reader.attention(attention, f"{decoder}/memory_layer/kernel", around, h)
    reader.take("W_s", f"{decoder}/output_projection/kernel", (n, counts[1]), target.columns)
    reader.weights["b_softmax"] = lambda: target.biases(np.zeros(counts[1], np.float32))
    bridge = "alternate" if encoder_type == "bi" else "copy"
    values |= dict(
        unit=reader.kind,
        layers=layers,
        encoder_directions=DIRECTIONS[encoder_type],
        bridge=bridge if option(hparams, "pass_hidden_state", bool, path) else "zero",
        attention_score="concat" if attention in BAHDANAU else "general",
        embedding_size=n,
        begin_symbol=True,
        read_end_symbol=False,
        hidden_size=n,
        biases="all",
    )
    if first_residual is not None:
        values |= dict(residual=True, first_residual=first_residual)
    if encoder_layers != layers:
        values["encoder_layers"] = encoder_layers
    if attention in BAHDANAU:
        values["alignment_size"] = n
    search, notes = searched(hparams, path)
    return ForeignModel(
        program="tensorflow/nmt",
        values={"model": values, "search": search},
        weights=reader.weights,
        source=source,
        target=target,
        parameters=arrays.count(reader.shapes),
        found=[
            f"{reader.kind.upper()}, {encoder_layers} and {layers} layers of {n} units,"
            f" {attention} attention to {h} values, {hparams['attention_architecture']}",
            *notes,
        ],
    )


def searched(hparams: Mapping[str, Any], path: AnyPath) -> tuple[dict[str, Any], list[str]]:
    """(options of the search, lines that say what of the other search is missing in them).

    Args:
        hparams: the options of the other program. Without infer_mode, as in its first versions, a
            beam_width above 0 asks for a beam.
        path: their file, for errors.

    Raises:
        UserError: beam_width is not a whole number.
    """
    given = {name: value for name, value in hparams.items() if value is not None}
    beam = option({"beam_width": 0} | given, "beam_width", int, path)
    mode = given.get("infer_mode", "beam_search")
    search = dict(beam_size=max(beam, 1) if mode == "beam_search" else 1, length_penalty=0.0)
    if mode == "beam_search" and beam > 0:
        return search, not_taken_over(given, HINTS)
    if mode == "sample":
        sampling = {"infer_mode": (0.0, "the RUN searches the most probable words")}
        return search, not_taken_over(given, sampling)
    return search, []


def with_derived_options(hparams: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the names and the defaults of the last version: the first ones had one
    number of layers for encoder and decoder. A file that only starts a training, such as those of
    standard_hparams, gets what the program derives from it.
    """
    given = {**DEFAULTS, **{name: value for name, value in hparams.items() if value is not None}}
    for kind in ("layers", "residual_layers"):
        for side in ("encoder", "decoder"):
            if f"num_{kind}" in given:
                given.setdefault(f"num_{side}_{kind}", given[f"num_{kind}"])
    sides = ("encoder", "decoder")
    found = [given.get(f"num_{side}_layers") for side in sides]
    layers = [number for number in found if isinstance(number, int)]
    if len(layers) < len(sides):
        return given  # refused where they are read
    if layers[0] != layers[1]:
        given["pass_hidden_state"] = False
    if given.get("residual"):
        residual = [max(each - 1, 0) for each in layers]
        if given["encoder_type"] == "gnmt":
            residual[0] = layers[0] - 2
            residual[1] = residual[0] if layers[0] == layers[1] else residual[1]
        for side, count in zip(sides, residual):
            given.setdefault(f"num_{side}_residual_layers", count)
    return given


def _sizes(hparams: Mapping[str, Any], path: AnyPath) -> tuple[int, int, int, int | None]:
    """(units, layers of each direction of the encoder, layers of the decoder, the first layer that
    is residual, or None); refuse residual layers that do not begin with the same layer.
    """
    units, encoder_layers, layers = (
        option(hparams, name, int, path)
        for name in ("num_units", "num_encoder_layers", "num_decoder_layers")
    )
    kind = hparams["encoder_type"]
    counts = [
        option({name: 0} | dict(hparams), name, int, path)
        for name in ("num_encoder_residual_layers", "num_decoder_residual_layers")
    ]
    if kind == "bi":
        encoder_layers //= 2
        counts[0] //= 2
    if counts == [0, 0]:
        return units, encoder_layers, layers, None
    for first in range(2, max(encoder_layers, layers) + 1):
        lowest = max(first, 3) if kind == "gnmt" else first  # of the encoder
        if counts == [max(encoder_layers + 1 - lowest, 0), max(layers + 1 - first, 0)]:
            return units, encoder_layers, layers, first
    raise UserError(
        f"{path}: num_encoder_residual_layers, num_decoder_residual_layers: expected the upper"
        f" layers, from the same one on, got {counts[0]} of {encoder_layers} and {counts[1]} of"
        f" {layers}: no system here computes it; it needs an option for each side"
    )


class _Reader(WeightMap):
    """The WeightMap of cells of TensorFlow 1."""

    def __init__(self, arrays: ArrayFile, kind: str, n: int, forget_bias: float) -> None:
        super().__init__(arrays)
        self.kind = kind
        self.n = n
        self.forget_bias = forget_bias

    def encoder(self, folder: str, kind: str, layers: int) -> None:
        """The encoder's layers: ``uni``, ``bi`` or ``gnmt``, whose first one is bidirectional."""
        ways = (("forward", "fw"), ("backward", "bw")) if kind != "uni" else ()
        both = layers if kind == "bi" else 1
        for way, theirs in ways:
            for k in range(both):
                place = f"{folder}/bidirectional_rnn/{theirs}"
                self.unit(f"encoder.{k + 1}.{way}.", _cell(place, k, both), self.n)
        if kind == "bi":
            return
        below = len(ways[:1])  # layers below those that only read forward
        for k in range(layers - below):
            entering = 2 * self.n if below and not k else self.n
            place = _cell(f"{folder}/rnn", k, layers - below)
            self.unit(f"encoder.{k + 1 + below}.", place, entering)

    def decoder(self, folder: str, layers: int, h: int) -> None:
        """The decoder's layers of the standard architecture, and W_c."""
        n = self.n
        for k in range(layers):
            place = _cell(f"{folder}/attention", k, layers)
            self.unit(f"decoder.{k + 1}.", place, n if k else 2 * n)
        self.take(
            "W_c",
            f"{folder}/attention/attention_layer/kernel",
            (n + h, n),
            lambda W: np.concatenate([W[n:], W[:n]]),  # [query ; context] there
        )

    def gnmt_decoder(self, folder: str, layers: int, h: int) -> str:
        """The decoder's layers of GNMT; returns the folder of the attention."""
        cells = f"{folder}/multi_rnn_cell"
        around = f"{cells}/cell_0_attention/attention"
        for k in range(layers):
            self.unit(f"decoder.{k + 1}.", f"{cells}/cell_{k}" if k else around, self.n + h)
        return around

    def unit(self, ours: str, folder: str, input_size: int) -> None:
        """The cell in a folder."""
        theirs = f"{folder}/{'basic_lstm_cell' if self.kind == 'lstm' else 'gru_cell'}"
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
        W = gate_part(number, parts, lambda rows: factor * rows[:input_size])
        U = gate_part(number, parts, lambda rows: factor * rows[input_size:])
        b = gate_part(number, parts, lambda values: factor * (values + np.float32(bias)))
        self.take(f"{ours}W{gate}", kernel, shape, W)
        self.take(f"{ours}U{gate}", kernel, shape, U)
        self.take(f"{ours}b{gate}", f"{theirs}/bias", shape[1:], b)

    def attention(self, kind: str, memory: str, around: str, h: int) -> None:
        """W_a, v_a and b_a of the score: the kernel that multiplies the annotations, and the folder
        of the other weights.
        """
        n = self.n
        if kind == "luong":
            self.take("W_a", memory, (h, n), np.transpose)
            return
        if kind == "scaled_luong":
            g = f"{around}/luong_attention/attention_g"
            self.take_all("W_a", {memory: (h, n), g: ()}, lambda K, g: g * K.T)
            return
        folder = f"{around}/bahdanau_attention"
        query, v = f"{folder}/query_layer/kernel", f"{folder}/attention_v"
        self.take_all("W_a", {query: (n, n), memory: (h, n)}, lambda Q, K: np.concatenate([Q, K]))
        if kind == "bahdanau":
            self.take("v_a", v, (n,))
            return
        g = f"{folder}/attention_g"
        self.take_all("v_a", {v: (n,), g: ()}, lambda v, g: g * v / np.linalg.norm(v))
        self.take("b_a", f"{folder}/attention_b", (n,))


def _cell(folder: str, k: int, layers: int) -> str:
    """The folder of cell k, counted from 0, of a stack; a stack of one has no numbers."""
    return f"{folder}/multi_rnn_cell/cell_{k}" if layers > 1 else folder
