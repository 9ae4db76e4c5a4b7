"""Recurrent models of OpenNMT-tf 2 (github.com/OpenNMT/OpenNMT-tf): ``ckpt-N.index`` with its data,
the model's description (``model_description.py`` of its folder), and the two vocabularies.

The model is the system ``luong`` with input feeding; the source is read without its end symbol,
unless the option read_end_symbol is set. Its units are those of Keras: gates in the order input,
forget, candidate, output of an LSTM and z, r, candidate of a GRU. The last row of every embedding
is the unknown word's. The description is a Python program: it is parsed, not run, for the arguments
of RNNEncoder and AttentionalRNNDecoder, or for the name of a model of the catalogue.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.foreign import ForeignModel, WeightMap, gate_part, refuse_others
from rnnsearch_tf.extras.importing.tensorflow_file import CheckpointFile
from rnnsearch_tf.extras.importing.vocabularies import arrange_lines, id_of, with_begin

GATES = {"gru": ("_z", "_r", ""), "lstm": ("_input", "_forget", "", "_output")}
"""Suffixes of the gates here, in the order in which Keras stores them."""

UNITS = {"gru": "gru_reset_after", "lstm": "lstm"}
CELLS = {"LSTMCell": "lstm", "GRUCell": "gru"}
SCORES = {"LuongAttention": "general", "BahdanauAttention": "concat"}
BRIDGES = {
    "CopyBridge": "copy",
    "ZeroBridge": "zero",
    "DenseBridge": "dense",
    "DenseBridge(tanh)": "dense_tanh",
    "DenseBridge(activation=tanh)": "dense_tanh",
}
ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "RNNEncoder": dict(
        num_layers=None,
        num_units=None,
        bidirectional=False,
        residual_connections=False,
        dropout=0.3,
        reducer="ConcatReducer",
        cell_class="LSTMCell",
    ),
    "AttentionalRNNDecoder": dict(
        num_layers=None,
        num_units=None,
        bridge_class="ZeroBridge",
        attention_mechanism_class="LuongAttention",
        cell_class="LSTMCell",
        dropout=0.3,
        residual_connections=False,
        first_layer_attention=False,
        attention_layer_activation="tanh",
    ),
}
"""The classes of encoder and decoder, and their arguments in their order with the defaults."""


def _of_catalogue(
    layers: int, units: int, bidirectional: bool = False, **decoder: Any
) -> Sequence[Mapping[str, Any]]:
    """The arguments of encoder and decoder of a model of the catalogue."""
    size = units // 2 if bidirectional else units
    return (
        dict(num_layers=layers, num_units=size, bidirectional=bidirectional),
        dict(num_layers=layers, num_units=units, bridge_class="CopyBridge", **decoder),
    )


CATALOGUE = {
    "LuongAttention": _of_catalogue(4, 1000),
    "NMTSmallV1": _of_catalogue(2, 512, attention_layer_activation=None),
    "NMTMediumV1": _of_catalogue(4, 512, bidirectional=True, attention_layer_activation=None),
    "NMTBigV1": _of_catalogue(4, 1024, bidirectional=True, attention_layer_activation=None),
}

END = (
    "the source is read without </s>; if the configuration has source_sequence_controls with end:"
    " true, import with --set model.read_end_symbol=true"
)
"""What the files of a model do not say."""

SUPPORTED: Sequence[Mapping[str, Sequence[Any]]] = (
    {
        "cell_class": tuple(CELLS),
        "reducer": ("ConcatReducer",),
        "residual_connections": (True, False),
    },
    {
        "cell_class": tuple(CELLS),
        "bridge_class": tuple(BRIDGES),
        "attention_mechanism_class": tuple(SCORES),
        "attention_layer_activation": ("tanh",),
        "first_layer_attention": (False,),
    },
)
NEEDS = {
    "reducer": "the sum of both directions",
    "first_layer_attention": "attention from the first layer of the decoder (GNMT)",
    "cell_class": "another recurrent unit",
}


def parse_description(path: AnyPath, text: str) -> list[dict[str, Any]]:
    """The arguments of encoder and decoder in a description of a model.

    Args:
        path: its file, for errors.
        text: the Python program; it is not run.

    Raises:
        UserError: it is not Python, names neither a recurrent encoder and decoder nor a model of
            the catalogue, names several that differ, or has arguments as `*` or `**`.
    """
    try:
        return _arguments(path, ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(
            f"{path}: expected the description of a model in Python, got: {error}"
        ) from None


def _arguments(path: AnyPath, tree: ast.AST) -> list[dict[str, Any]]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {_name(call) for call in calls}
    # the program itself writes the name of a model of the catalogue as a string
    named = {
        node.value if isinstance(node, ast.Constant) else _name(node) for node in ast.walk(tree)
    }
    models = [name for name in CATALOGUE if name in named]
    # LuongAttention is the name of an attention, too, which stands beside an encoder
    if models and not any(name.endswith(("Encoder", "Decoder")) for name in called):
        if len(models) > 1:
            raise UserError(
                f"{path}: expected one model of the catalogue, got {', '.join(models)}; keep only"
                " the name of this model"
            )
        model = CATALOGUE[models[0]]
        return [{**default, **side} for default, side in zip(ARGUMENTS.values(), model)]
    found = []
    for name, default in ARGUMENTS.items():
        sides = [_given(path, name, default, call) for call in calls if _name(call) == name]
        if not sides:
            others = sorted(other for other in called if other.endswith(name[-len("Encoder") :]))
            raise UserError(
                f"{path}: expected a model with {' and '.join(ARGUMENTS)}, or one of the catalogue"
                f" ({', '.join(CATALOGUE)}), found no {', but '.join([name, *others])}"
            )
        if any(side != sides[0] for side in sides):
            raise UserError(
                f"{path}: expected one {name}, got {len(sides)} with other arguments; keep only"
                " that of this model"
            )
        found.append({**default, **sides[0]})
    return found


def _given(path: AnyPath, name: str, names: Iterable[str], call: ast.Call) -> dict[str, Any]:
    """The arguments of a call of the class `name`, whose arguments have these names."""
    hidden = [ast.unparse(each) for each in call.args if isinstance(each, ast.Starred)]
    hidden += [f"**{ast.unparse(each.value)}" for each in call.keywords if each.arg is None]
    if hidden:
        raise UserError(
            f"{path}: {name}: expected the name and value of every argument, got"
            f" {', '.join(hidden)[:60]}; write them out"
        )
    given = dict(zip(names, map(_value, call.args)))
    given |= {keyword.arg: _value(keyword.value) for keyword in call.keywords if keyword.arg}
    # None is the default of the program, but for an activation
    return {
        key: value
        for key, value in given.items()
        if value is not None or key == "attention_layer_activation"
    }


def _name(node: ast.AST | None) -> str:
    """The last part of a name: ``LSTMCell`` of ``tf.keras.layers.LSTMCell`` and of a call of it."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _value(node: ast.AST) -> Any:
    """A constant, or the name of a class or function."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call):
        arguments = [_name(each) or ast.dump(each) for each in node.body.args]
        arguments += [
            f"{each.arg}={_name(each.value) or ast.dump(each.value)}" for each in node.body.keywords
        ]
        return f"{_name(node.body)}({', '.join(arguments)})" if arguments else _name(node.body)
    return _name(node) or ast.dump(node)


def read(
    weights: AnyPath,
    description: tuple[AnyPath, str],
    vocabularies: Sequence[tuple[AnyPath, Sequence[str]]],
) -> ForeignModel:
    """Describe a recurrent model of OpenNMT-tf.

    Args:
        weights: ``ckpt-N.index``.
        description: path and contents of ``model_description.py``.
        vocabularies: path and lines of both vocabularies, source first.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    path, text = description
    encoder, decoder = parse_description(path, text)
    for side, supported in zip((encoder, decoder), SUPPORTED):
        refuse_others(side, supported, path, NEEDS)
    _check_sides(encoder, decoder, path)
    kind = CELLS[decoder["cell_class"]]
    both = encoder["bidirectional"]
    n, size = decoder["num_units"], encoder["num_units"]
    h = 2 * size if both else size
    source, target = (
        arrange_lines(where, words, end="</s>", unknown=None) for where, words in vocabularies
    )
    sizes = [len(words) + 1 for _, words in vocabularies]  # and the unknown word
    begin = id_of(*vocabularies[1], "<s>")
    arrays = CheckpointFile(weights)
    names = [
        f"model/examples_inputter/{side}_inputter/embedding" for side in ("features", "labels")
    ]
    # of one embedding of both languages, one name has the variable
    names = [
        other if other in arrays and name not in arrays else name
        for name, other in zip(names, names[::-1])
    ]
    m = [(0, *arrays.shapes.get(name, ()))[-1] for name in names]
    reader = WeightMap(arrays)
    reader.take("E_source", names[0], (sizes[0], m[0]), source.rows)
    reader.take(
        "E_target", names[1], (sizes[1], m[1]), lambda E: with_begin(target.rows(E), E[begin])
    )
    ways = {f"{way}.": f"{way}_layer/" for way in ("forward", "backward")} if both else {"": ""}
    for k in range(encoder["num_layers"]):
        for ours, theirs in ways.items():
            folder = f"model/encoder/rnn/rnn/{theirs}cell/cells/{k}"
            below = size if k else m[0]
            _take_layer(reader, kind, f"encoder.{k + 1}.{ours}", folder, below, size)
    for k in range(decoder["num_layers"]):
        folder = f"model/decoder/cell/_cell/cells/{k}"
        _take_layer(reader, kind, f"decoder.{k + 1}.", folder, n if k else m[1] + n, n)
    reader.take(
        "W_c",
        "model/decoder/cell/_attention_layers/0/kernel",
        (n + h, n),
        lambda W: np.concatenate([W[n:], W[:n]]),  # [query ; context] there
    )
    memory = "model/decoder/attention_mechanism/memory_layer/kernel"
    score = SCORES[decoder["attention_mechanism_class"]]
    if score == "concat":
        query = "model/decoder/attention_mechanism/query_layer/kernel"
        reader.take_all("W_a", {query: (n, n), memory: (h, n)}, lambda Q, K: np.concatenate([Q, K]))
        reader.take("v_a", "model/decoder/attention_mechanism/attention_v", (n,))
    else:
        reader.take("W_a", memory, (h, n), np.transpose)
    bridge = BRIDGES[decoder["bridge_class"]]
    if bridge.startswith("dense"):
        states = 2 if kind == "lstm" else 1
        rows, columns = encoder["num_layers"] * states * h, decoder["num_layers"] * states * n
        reader.take("W_b", "model/decoder/bridge/linear/kernel", (rows, columns))
        reader.take("b_b", "model/decoder/bridge/linear/bias", (columns,))
    tied = "model/decoder/output_layer/kernel" not in arrays
    if not tied:
        reader.take("W_s", "model/decoder/output_layer/kernel", (n, sizes[1]), target.columns)
    bias = "model/decoder/output_layer/bias"
    if bias in arrays:
        reader.take("b_softmax", bias, (sizes[1],), target.biases)
    else:  # output_layer_bias=False
        reader.weights["b_softmax"] = lambda: target.biases(np.zeros(sizes[1], np.float32))
    if encoder["residual_connections"] and m[0] == size:
        raise UserError(
            f"{path}: residual_connections: expected source embeddings of another size than the"
            f" encoder's num_units, got {size} for both, so that its first layer is residual, too:"
            " no system here computes it; it needs a residual first layer"
        )
    values: dict[str, Any] = dict(
        system="luong",
        unit=UNITS[kind],
        layers=decoder["num_layers"],
        encoder_directions="stacks" if both else "forward",
        bridge=bridge,
        residual=decoder["residual_connections"],
        attention_score=score,
        attentional_activation=decoder["attention_layer_activation"] or "linear",
        input_feeding=True,
        embedding_size=m[1],
        source_embedding_size=None if m[0] == m[1] else m[0],
        begin_symbol=True,
        read_end_symbol=False,
        hidden_size=n,
        biases="all",
        tie_target_embeddings=tied,
    )
    if both:
        values["encoder_size"] = size
    if encoder["num_layers"] != decoder["num_layers"]:
        values["encoder_layers"] = encoder["num_layers"]
    if score == "concat":
        values["alignment_size"] = n
    return ForeignModel(
        program="OpenNMT-tf",
        values={"model": values, "search": dict(beam_size=5, length_penalty=0.0)},
        weights=reader.weights,
        source=source,
        target=target,
        parameters=arrays.count(reader.shapes),
        found=[
            f"{kind.upper()}, {encoder['num_layers']} and {decoder['num_layers']} layers of {n}"
            f" units, {decoder['attention_mechanism_class']} to {h} values,"
            f" {decoder['bridge_class']}",
            END,
        ],
    )


def _check_sides(encoder: Mapping[str, Any], decoder: Mapping[str, Any], path: AnyPath) -> None:
    """Refuse an encoder that is unlike the decoder."""
    for side in (encoder, decoder):
        for name in ("num_layers", "num_units"):
            if not isinstance(side.get(name), int) or side[name] < 1:
                raise UserError(
                    f"{path}: {name}: expected a whole number, got {side.get(name)}; write the"
                    " number where it is a name"
                )
    names = ["cell_class", "residual_connections"]
    names += [] if encoder["bidirectional"] else ["num_units"]
    for name in names:
        if encoder[name] != decoder[name]:
            raise UserError(
                f"{path}: RNNEncoder: {name}: expected that of the decoder, {decoder[name]}, got"
                f" {encoder[name]}: no system here computes it; it needs an option of one side"
            )


def _take_layer(
    weights: WeightMap, kind: str, ours: str, folder: str, input_size: int, n: int
) -> None:
    """Make the weights of a layer of one direction; the program wraps it for dropout and residual
    connections.
    """
    if f"{folder}/layer/kernel" in weights.arrays:
        folder = f"{folder}/layer"
    gates = GATES[kind]
    width = len(gates) * n
    biases = (2, width) if kind == "gru" else (width,)
    for number, gate in enumerate(gates):
        columns = gate_part(number, len(gates))
        weights.take(f"{ours}W{gate}", f"{folder}/kernel", (input_size, width), columns)
        weights.take(f"{ours}U{gate}", f"{folder}/recurrent_kernel", (n, width), columns)
        if kind == "gru" and gate == "":
            # the reset gate scales U h + b_U
            first = gate_part(number, len(gates), lambda both: both[0])
            weights.take(f"{ours}b", f"{folder}/bias", biases, first)
            second = gate_part(number, len(gates), lambda both: both[1])
            weights.take(f"{ours}b_U", f"{folder}/bias", biases, second)
        else:
            total = gate_part(number, len(gates), lambda b: np.atleast_2d(b).sum(axis=0))
            weights.take(f"{ours}b{gate}", f"{folder}/bias", biases, total)
