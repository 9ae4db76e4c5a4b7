"""Recurrent models of Joey NMT (github.com/joeynmt/joeynmt): ``best.ckpt``, ``config.yaml`` and the
vocabularies ``src_vocab.txt`` and ``trg_vocab.txt``.

The model is the system ``luong``: the query of the attention is the decoder's state at the same
position; ŝ_t = tanh(W_c [c_t ; s_t] + b_c) predicts the word and, with input_feeding, enters the
next step. Its units are PyTorch's: gates in the order r, z, n of a GRU and i, f, g, o of an LSTM,
each with two biases. The decoder's first word is the begin symbol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.foreign import (
    LENGTHS,
    ForeignModel,
    WeightMap,
    gate_part,
    not_taken_over,
    option,
    refuse_others,
)
from rnnsearch_tf.extras.importing.torch_file import TorchFile
from rnnsearch_tf.extras.importing.vocabularies import arrange_lines, id_of, with_begin

GATES = {"gru": ("_r", "_z", ""), "lstm": ("_input", "_forget", "", "_output")}
"""Suffixes of the gates here, in the order in which PyTorch stores them."""

UNITS = {"gru": "gru_reset_after", "lstm": "lstm"}
SCORES = {"bahdanau": "concat", "luong": "general"}
BRIDGES = {"bridge": "tanh", "last": "top", "zero": "zero", "zeros": "zero"}
_OF_BOTH = {"type": ("recurrent",), "rnn_type": tuple(UNITS), "activation": ("tanh",)}
SUPPORTED: Sequence[Mapping[str, Sequence[Any]]] = (
    _OF_BOTH,
    _OF_BOTH | {"attention": tuple(SCORES), "init_hidden": tuple(BRIDGES)},
)
"""Options of encoder and decoder."""

NEEDS = {"type": "a Transformer", "activation": "another activation function"}
DEFAULTS: Sequence[Mapping[str, Any]] = (
    {"rnn_type": "gru", "num_layers": 1, "bidirectional": True},
    {
        "rnn_type": "gru",
        "num_layers": 1,
        "attention": "bahdanau",
        "init_hidden": "bridge",
        "input_feeding": True,
    },
)
HINTS = {
    "alpha": (0.0, LENGTHS),
    "beam_alpha": (0.0, LENGTHS),
    "no_repeat_ngram_size": (0.0, "--set search.no_repeat_ngram=N does so here"),
    "repetition_penalty": (1.0, "no option here does so"),
}
"""Options of the search that have no equal here, see :func:`not_taken_over`."""

SPECIALS = dict(unk_token="<unk>", bos_token="<s>", eos_token="</s>")
"""Names of the special symbols in the configuration, and their defaults."""


def read(
    weights: AnyPath,
    options: tuple[AnyPath, Mapping[str, Any]],
    vocabularies: Sequence[tuple[AnyPath, Sequence[str]]],
) -> ForeignModel:
    """Describe a recurrent model of Joey NMT.

    Args:
        weights: ``*.ckpt``.
        options: path and contents of ``config.yaml``.
        vocabularies: path and lines of ``src_vocab.txt`` and ``trg_vocab.txt``.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    path, config = options
    model = option(config, "model", dict, path)
    sides = [option(model, side, dict, path) for side in ("encoder", "decoder")]
    for side, supported in zip(sides, SUPPORTED):
        refuse_others(side, supported, path, NEEDS)
    encoder, decoder = ({**given, **side} for given, side in zip(DEFAULTS, sides))
    kind = option(decoder, "rnn_type", str, path)
    layers = option(decoder, "num_layers", int, path)
    n = option(decoder, "hidden_size", int, path)
    both = option(encoder, "bidirectional", bool, path)
    size = option(encoder, "hidden_size", int, path)
    _check_sides(encoder, decoder, path)
    h = 2 * size if both else size
    data = option({"data": {}} | dict(config), "data", dict, path)
    names = SPECIALS | option({"special_symbols": {}} | data, "special_symbols", dict, path)
    source, target = (
        arrange_lines(where, words, names["eos_token"], names["unk_token"])
        for where, words in vocabularies
    )
    sizes = [len(words) for _, words in vocabularies]
    begin = id_of(*vocabularies[1], names["bos_token"])
    embeddings = [option(side, "embeddings", dict, path) for side in (encoder, decoder)]
    if model.get("tied_embeddings", False):  # one object, with the encoder's options
        embeddings[1] = embeddings[0]
    m = [option(given, "embedding_dim", int, path) for given in embeddings]
    scales = [
        width**0.5 if given.get("scale", False) else 1.0 for given, width in zip(embeddings, m)
    ]
    tied = bool(model.get("tied_softmax", False))
    if tied and scales[1] != 1.0:
        raise UserError(
            f"{path}: decoder.embeddings.scale: expected false beside tied_softmax, got true: no"
            " system here computes it; it needs a scale of one embedding alone"
        )
    arrays = TorchFile(weights, "model_state")
    reader = WeightMap(arrays)
    reader.take(
        "E_source", "src_embed.lut.weight", (sizes[0], m[0]), lambda E: source.rows(E) * scales[0]
    )
    reader.take(
        "E_target",
        "trg_embed.lut.weight",
        (sizes[1], m[1]),
        lambda E: with_begin(target.rows(E), E[begin]) * scales[1],
    )
    feeding = option(decoder, "input_feeding", bool, path)
    ways = {"forward.": "", "backward.": "_reverse"} if both else {"": ""}
    for k in range(layers):
        for ours, theirs in ways.items():
            place = f"encoder.rnn.{{}}_l{k}{theirs}"
            _take_layer(reader, kind, f"encoder.{k + 1}.{ours}", place, h if k else m[0], size)
        below = n if k else m[1] + n * feeding
        _take_layer(reader, kind, f"decoder.{k + 1}.", f"decoder.rnn.{{}}_l{k}", below, n)
    reader.take(
        "W_c",
        "decoder.att_vector_layer.weight",
        (n, n + h),
        lambda W: np.concatenate([W[:, n:].T, W[:, :n].T]),  # [query ; context] there
    )
    reader.take("b_c", "decoder.att_vector_layer.bias", (n,))
    attention = option(decoder, "attention", str, path)
    if attention == "bahdanau":
        reader.take_all(
            "W_a",
            {
                "decoder.attention.query_layer.weight": (n, n),
                "decoder.attention.key_layer.weight": (n, h),
            },
            lambda query, key: np.concatenate([query.T, key.T]),
        )
        reader.take("v_a", "decoder.attention.energy_layer.weight", (1, n), lambda v: v[0])
    else:
        reader.take("W_a", "decoder.attention.key_layer.weight", (n, h))
    bridge = BRIDGES[option(decoder, "init_hidden", str, path)]
    if bridge == "tanh":
        reader.take("W_b", "decoder.bridge_layer.weight", (n, h), np.transpose)
        reader.take("b_b", "decoder.bridge_layer.bias", (n,))
    if not tied:
        reader.take(
            "W_s", "decoder.output_layer.weight", (sizes[1], n), lambda W: target.columns(W.T)
        )
    reader.weights["b_softmax"] = lambda: target.biases(np.zeros(sizes[1], np.float32))
    values: dict[str, Any] = dict(
        system="luong",
        unit=UNITS[kind],
        layers=layers,
        encoder_directions="layers" if both else "forward",
        bridge=bridge,
        attention_score=SCORES[attention],
        input_feeding=feeding,
        attentional_bias=True,
        embedding_size=m[1],
        source_embedding_size=None if m[0] == m[1] else m[0],
        begin_symbol=True,
        hidden_size=n,
        biases="all",
        tie_target_embeddings=tied,
    )
    if both:
        values["encoder_size"] = size
    if attention == "bahdanau":
        values["alignment_size"] = n
    search, notes = searched(config, path)
    return ForeignModel(
        program="Joey NMT",
        values={"model": values, "search": search},
        weights=reader.weights,
        source=source,
        target=target,
        parameters=arrays.count(reader.shapes),
        found=[
            f"{kind.upper()}, {layers} layers of {n} units, {attention} attention to {h} values,"
            f" input feeding {'on' if feeding else 'off'}",
            *notes,
        ],
    )


def searched(config: Mapping[str, Any], path: AnyPath) -> tuple[dict[str, Any], list[str]]:
    """(options of the search, lines that say what of the other search is missing in them).

    Args:
        config: the contents of ``config.yaml``; its section testing has the options.
        path: the file, for errors.

    Raises:
        UserError: an option has another type.
    """
    has_section = config.get("testing") is not None
    testing = option(config, "testing", dict, path) if has_section else {}
    given = {name: value for name, value in testing.items() if value is not None}
    beam = option({"beam_size": 1} | given, "beam_size", int, path)
    search: dict[str, Any] = dict(beam_size=max(beam, 1), length_penalty=0.0)
    if not option({"generate_unk": True} | given, "generate_unk", bool, path):
        search["allow_unknown"] = False
    return search, not_taken_over(given, HINTS)


def _take_layer(
    weights: WeightMap, kind: str, ours: str, theirs: str, input_size: int, n: int
) -> None:
    """Make the weights of a layer of one direction; `theirs` has a place for the array's name."""
    gates = GATES[kind]
    width = len(gates) * n
    W, U, b, b_U = map(theirs.format, ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
    for number, gate in enumerate(gates):
        columns = gate_part(number, len(gates), np.transpose)
        weights.take(f"{ours}W{gate}", W, (width, input_size), columns)
        weights.take(f"{ours}U{gate}", U, (width, n), columns)
        if kind == "gru" and gate == "":
            # the reset gate scales U h + b_U
            weights.take(f"{ours}b", b, (width,), columns)
            weights.take(f"{ours}b_U", b_U, (width,), columns)
        else:
            both = gate_part(number, len(gates), np.add)
            weights.take_all(f"{ours}b{gate}", {b: (width,), b_U: (width,)}, both)


def _check_sides(encoder: Mapping[str, Any], decoder: Mapping[str, Any], path: AnyPath) -> None:
    """Refuse an encoder that is unlike the decoder."""
    names = {"rnn_type": "", "num_layers": ""}
    if not encoder["bidirectional"]:
        names["hidden_size"] = " in an encoder of one direction,"
    for name, where in names.items():
        if encoder[name] != decoder[name]:
            raise UserError(
                f"{path}: encoder.{name}: expected that of the decoder, {decoder[name]},{where} got"
                f" {encoder[name]}: no system here computes it; it needs an option of one side"
            )
