"""Recurrent models of Marian (marian-nmt.github.io): ``model.npz``, which contains its options, and
the vocabularies ``vocab.*.yml``.

The types ``amun`` and ``nematus`` are the model of Nematus, see ``nematus.py``, with its names; the
output matrix is stored transposed, but not in early versions. A vector is a matrix of one row. Type
``s2s`` with one layer of gated units on each side is the same model with other names and another
layer normalization (``normalized: together``):

    LN(x W) = γ ∘ (x W − mean) / √(variance + 1e-9)       W: candidate and gates of a product
    b after it: with x W in units that read a word; with s U in the later ones of the decoder; at
    a unit of the encoder that reads no word, beside LN(h U)

With tied-embeddings-all, source and target embedding are copies of one matrix.
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.config.yaml_files import MOST_CHARACTERS, parse_yaml
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing import nematus
from rnnsearch_tf.extras.importing.arrays import Change, Shape
from rnnsearch_tf.extras.importing.foreign import ForeignModel, gate_part, option, refuse_others
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.vocabularies import arrange

OPTIONS = "special:model.yml"
"""Name of the array with the options."""

CELLS = {"amun": "gru", "nematus": "gru-nematus", "s2s": "gru"}
"""The recurrent unit of each type of model."""

DEFAULTS = {
    "enc-cell-depth": 1,
    "dec-cell-base-depth": 2,
    "layer-normalization": False,
    "tied-embeddings": False,
    "tied-embeddings-all": False,
}
"""Options that early versions do not have."""

NAMES: Mapping[str, tuple[str, type]] = {
    "dim_word": ("dim-emb", int),
    "dim": ("dim-rnn", int),
    "enc_recurrence_transition_depth": ("enc-cell-depth", int),
    "dec_base_recurrence_transition_depth": ("dec-cell-base-depth", int),
    "layer_normalisation": ("layer-normalization", bool),
    "tie_decoder_embeddings": ("tied-embeddings", bool),
}
"""{option of Nematus: the same of Marian, its type}."""

LAYERS = {"ff_state": "decoder_ff_state_{}"} | {
    f"ff_logit_{word}": f"decoder_ff_logit_l1_{{}}{number}"
    for number, word in enumerate(("prev", "lstm", "ctx"))
}
"""{dense layer of Nematus: names of its arrays in type s2s}."""

GATES = ("_r", "_z", "")
"""Suffixes of the gates here, in the order in which Marian stores them."""


def read(
    weights: AnyPath, vocabularies: Sequence[tuple[AnyPath, Mapping[str, int]]]
) -> ForeignModel:
    """Describe a recurrent model of Marian.

    Args:
        weights: ``model.npz``.
        vocabularies: path and words of both ``vocab.*.yml``, source first, or of one for both
            sides.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    arrays = NpzFile(weights)
    where = f"{weights}: {OPTIONS}"
    options = DEFAULTS | parse_yaml(arrays.text(OPTIONS, MOST_CHARACTERS), where)
    refuse_others(options, {"type": tuple(CELLS)}, where, {"type": "another architecture"})
    kind = option(options, "type", str, where)
    for name, (values, need) in _supported(kind).items():
        refuse_others(options, {name: values}, where, {name: need})
    sizes = option(options, "dim-vocabs", list, where)
    if len(sizes) != 2 or not all(type(size) is int for size in sizes):
        raise UserError(f"{where}: dim-vocabs: expected two numbers, got {reprlib.repr(sizes)}")
    given = {ours: option(options, *theirs, where) for ours, theirs in NAMES.items()}
    given |= {"n_words_src": sizes[0], "n_words": sizes[1]}
    one_embedding = option(options, "tied-embeddings-all", bool, where)
    if one_embedding and sizes[0] != sizes[1]:
        raise UserError(
            f"{where}: dim-vocabs: expected two equal numbers beside tied-embeddings-all, got"
            f" {sizes!r}; do options and weights belong together?"
        )
    given["tie_decoder_embeddings"] |= one_embedding
    terms = nematus.DEFAULTS | given
    reader = _Reader(arrays, terms)
    if kind == "s2s":
        reader = _S2SReader(arrays, terms, lambda name: _s2s_name(name, one_embedding))
    reader.check_embeddings()
    first, *rest = vocabularies
    source, target = (
        arrange(words, size, words.get("</s>", 0), words.get("<unk>", 1), path)
        for size, (path, words) in zip(sizes, [first, *(rest or [first])])
    )
    search = dict(
        beam_size=12,
        length_penalty=0.0,
        shrinking_beam=True,
        search_again=False,
        allow_unknown=False,
    )
    return nematus.conditional_gru("Marian", reader, source, target, search)


def _supported(kind: str) -> dict[str, tuple[Sequence[Any], str]]:
    """{option: (values that can be imported, what another one would need)} of a type of model."""
    return {
        "enc-cell": ((CELLS[kind],), "another recurrent unit"),
        "dec-cell": ((CELLS[kind],), "another recurrent unit"),
        "enc-depth": ((1,), "layers above the encoder"),
        "dec-depth": ((1,), "layers above the decoder"),
        "enc-type": (("bidirectional",), "another order of the encoder's layers"),
        "layer-normalization": ((False,) if kind == "amun" else (False, True), "another layer"),
        "right-left": ((False,), "the target side reversed"),
        "tied-embeddings-src": ((False,), "one embedding for both languages"),
        "tied-embeddings-all": (
            (False, True) if kind == "s2s" else (False,),
            "one embedding for both languages",
        ),
        "output-omit-bias": ((False,), "a softmax without biases"),
    }


class _Reader(nematus.Reader):
    """The WeightMap of the types amun and nematus."""

    def take(self, ours: str, theirs: str, shape: Shape, change: Change = np.asarray) -> None:
        stored = shape if len(shape) > 1 else (1, *shape)
        super().take(ours, theirs, stored, lambda values: change(values.reshape(shape)))

    def output_matrix(self, shape: tuple[int, int], change: Change) -> None:
        for name in ("ff_logit_W", "decoder_ff_logit_l2_W"):  # early versions: not transposed
            if name in self.arrays:
                self.take("W_o", name, shape, change)
                return
        self.take("W_o", "decoder_ff_logit_l2_Wt", shape[::-1], lambda W: change(W.T))


class _S2SReader(_Reader):
    """The WeightMap of the type s2s."""

    normalized = "together"

    def normalization(self, ours: str, theirs: str, size: int) -> None:
        if self.options["layer_normalisation"]:
            number = {"U_a": 1, "W_a": 2}[ours]
            self.take(f"{ours}_gain", f"decoder_att_gamma{number}", (size,))
            if ours == "U_a":
                self.weights["U_a_shift"] = self.weights.pop("b_a")

    def layer(self, W: str, b: str, theirs: str, shape: tuple[int, int], kept: float) -> None:
        name = LAYERS[theirs]
        self.take(W, name.format("W"), shape)
        if self.options["layer_normalisation"]:
            self.take(f"{W}_gain", name.format("gamma"), shape[1:])
            b = f"{W}_shift"
        self.take(b, name.format("b"), shape[1:])

    def product(
        self, ours: str, gates: str, candidate: str, rows: int, n: int, kept: float
    ) -> None:
        self.gates(ours, gates, (rows, n), kept)
        self.take(ours, candidate, (rows, n))
        if self.options["layer_normalisation"]:
            unit, letter = self.stored(gates).rsplit("_", 1)
            gamma = f"{unit}_gamma{'WU'.index(letter) + 1}"
            for number, gate in enumerate(GATES):
                self.take(f"{ours}{gate}_gain", gamma, (3 * n,), gate_part(number, 3))

    def unit(
        self, ours: str, theirs: str, suffix: str, n: int, input_size: int = 0, kept: float = 1.0
    ) -> None:
        super().unit(ours, theirs, suffix, n, input_size, kept)
        if input_size:
            self._bias_after(f"{ours}b", f"{ours}W")

    def unit_after_attention(self, ours: str, suffix: str, n: int) -> None:
        super().unit_after_attention(ours, suffix, n)
        self._bias_after(f"{ours}b_U", f"{ours}U")

    def _bias_after(self, bias: str, product: str) -> None:
        """Make the bias a shift, if there is layer normalization."""
        if self.options["layer_normalisation"]:
            for gate in GATES:
                self.weights[f"{product}{gate}_shift"] = self.weights.pop(f"{bias}{gate}")


def _s2s_name(theirs: str, one_embedding: bool) -> str:
    """The name in type s2s of an array of a unit, an embedding, which both languages may share, or
    the biases of the softmax.
    """
    if theirs in ("Wemb", "Wemb_dec"):
        side = "decoder_" if theirs == "Wemb_dec" else "encoder_"
        return "Wemb" if one_embedding else f"{side}Wemb"
    if theirs == "ff_logit_b":
        return "decoder_ff_logit_l2_b"
    found = re.fullmatch(r"(encoder(?:_r)?|decoder)_([UWb]x?|Wcx?)(_nl)?(?:_drt_(\d+))?", theirs)
    if found is None:
        return theirs
    side, letter, later, transition = found.groups()
    number = 1 + int(transition or 0)
    if side == "decoder":
        after_attention = bool(later) or letter.startswith("Wc")
        return f"decoder_cell{number + after_attention}_{letter.replace('c', '')}"
    side = side.replace("encoder", "encoder_bi")
    return f"{side}_{letter}" if number == 1 else f"{side}_cell{number}_{letter}"
