"""Models of GroundHog (github.com/lisa-groundhog/GroundHog, experiments/nmt), the program of
Bahdanau et al. 2015: ``search_model.npz`` (RNNsearch), ``encdec_model.npz`` (RNNencdec),
``phrase_model.npz``.

The preset ``groundhog`` has all of its equations; only names and the order of the words differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.foreign import ForeignModel, WeightMap, option, refuse_others
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.vocabularies import arrange, as_words

SUPPORTED: dict[str, Sequence[Any]] = {
    "enc_rec_layer": ("RecurrentLayer",),
    "dec_rec_layer": ("RecurrentLayer", "RecurrentLayerWithSearch"),
    "rec_layer": ("RecurrentLayer",),
    "enc_rec_gating": (True,),
    "enc_rec_reseting": (True,),
    "dec_rec_gating": (True,),
    "dec_rec_reseting": (True,),
    "encoder_stack": (1,),
    "decoder_stack": (1,),
    "bigram": (True,),
    "bias_code": (True,),
    "decoding_inputs": (True,),
    "deep_out": (True,),
    "check_first_word": (True,),
    "maxout_part": (2,),
    "unary_activ": ("Maxout(2)",),
    "rank_n_activ": ("lambda x: x",),
    "activ": ("lambda x: TT.tanh(x)",),
    "enc_activ": ("lambda x: TT.tanh(x)",),
    "dec_activ": ("lambda x: TT.tanh(x)",),
    "dropout": (1.0,),
    "dropout_rec": (1.0,),
    **{
        f"{side}rec_{gate}": ("lambda x: TT.nnet.sigmoid(x)",)
        for side in ("", "enc_", "dec_")
        for gate in ("gater", "reseter")
    },
}
NEEDS = {
    "dropout": "values that are multiplied when it translates",
    "dropout_rec": "values that are multiplied when it translates",
    "enc_rec_layer": "another recurrent unit",
    "dec_rec_layer": "another recurrent unit",
    "encoder_stack": "a stack of encoders below attention",
    "decoder_stack": "a stack of decoders",
}

ANNOTATIONS = (
    "other components of the annotations than both directions (RNNsearch) or the last state"
    " (RNNencdec)"
)


def _unit(ours: str, embedder: str, transition: str) -> dict[str, str]:
    """{name here: name there} of a unit's weights."""
    names = {f"{ours}b": f"b_0_{embedder}_input_embdr_0"}
    for gate, letter, word in (("", "W", "input"), ("_z", "G", "update"), ("_r", "R", "reset")):
        names[f"{ours}W{gate}"] = f"W_0_{embedder}_{word}_embdr_0"
        names[f"{ours}U{gate}"] = f"{letter}_{transition}_transition_0"
    return names


NAMES = {
    "E_source": "W_0_enc_approx_embdr",
    "b_E_source": "b_0_enc_approx_embdr",
    "E_target": "W_0_dec_approx_embdr",
    "b_E_target": "b_0_dec_approx_embdr",
    **_unit("encoder.forward.", "enc", "enc"),
    **_unit("", "dec", "dec"),
    "C": "W_0_dec_dec_inputter_0",
    "C_z": "W_0_dec_dec_updater_0",
    "C_r": "W_0_dec_dec_reseter_0",
    "W_s": "W_0_dec_initializer_0",
    "b_s": "b_0_dec_initializer_0",
    "U_o": "W_0_dec_hid_readout_0",
    "b_o": "b_0_dec_hid_readout_0",
    "V_o": "W_0_dec_prev_readout_0",
    "C_o": "W_0_dec_repr_readout",
    "W_o1": "W1_dec_deep_softmax",
    "W_o2": "W2_dec_deep_softmax",
    "b_softmax": "b_dec_deep_softmax",
}
SEARCH_NAMES = {
    **_unit("encoder.backward.", "back_enc", "back_enc"),
    "U_a": "A_dec_transition_0",
    "W_a": "B_dec_transition_0",
    "v_a": "D_dec_transition_0",
}
"""Those of RNNsearch alone."""


def read(
    weights: AnyPath,
    options: tuple[AnyPath, Mapping[str, Any]],
    vocabularies: Sequence[tuple[AnyPath, Mapping[Any, Any]]],
) -> ForeignModel:
    """Describe a model of GroundHog.

    Args:
        weights: ``*_model.npz``.
        options: path and contents of ``*_state.pkl``.
        vocabularies: path and contents of both ``vocab.*.pkl``, source first.

    Raises:
        UserError: the files do not belong together, or the model cannot be imported.
    """
    path, state = options
    refuse_others(state, SUPPORTED, path, NEEDS)
    attends = option(state, "search", bool, path)
    components = {  # of the annotations; all have the same shape
        "forward": (attends,),
        "backward": (attends,),
        "last_forward": (not attends,),
        "last_backward": (False,),
    }
    refuse_others(state, components, path, dict.fromkeys(components, ANNOTATIONS))
    arrays = NpzFile(weights)
    dim = option(state, "dim", int, path)
    rank = option(state, "rank_n_approx", int, path)
    sides = []
    for (where, words), side in zip(vocabularies, ("source", "target")):
        size, end, unknown = (
            option(state, f"{name}_{side}", int, path) for name in ("n_sym", "null_sym", "unk_sym")
        )
        # before a vocabulary of this size is made
        arrays.check({NAMES[f"E_{side}"]: (size, rank)})
        sides.append(arrange(as_words(words, where), size, end, unknown, where))
    source, target = sides
    names = NAMES | (SEARCH_NAMES if attends else {})
    shapes = _shapes(names, dim, rank, len(source.tokens) - 1, len(target.tokens) - 1, attends)
    changes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "E_source": source.rows,
        "E_target": target.rows,
        "W_o2": target.columns,
        "b_softmax": target.biases,
        "v_a": lambda values: values[:, 0],
    }
    weights_here = WeightMap(arrays)
    for ours, theirs in names.items():
        weights_here.take(ours, theirs, shapes[theirs], changes.get(ours, lambda values: values))
    model = dict(
        system="rnnsearch" if attends else "rnnencdec",
        embedding_size=rank,
        hidden_size=dim,
        maxout_size=dim // 2,
        output_rank=rank,
    )
    if attends:
        model["alignment_size"] = dim
    return ForeignModel(
        program="GroundHog",
        values={"preset": "groundhog", "model": model},
        weights=weights_here.weights,
        source=source,
        target=target,
        parameters=arrays.count(weights_here.shapes),
        found=[
            f"{'RNNsearch' if attends else 'RNNencdec'}, {dim} units, embeddings of {rank}",
        ],
    )


def _shapes(
    names: Mapping[str, str], n: int, rank: int, source: int, target: int, attends: bool
) -> dict[str, tuple[int, ...]]:
    """The shape of every array, by its name there."""
    context = 2 * n if attends else n
    rows = {"W": rank, "U": n, "C": context}
    shapes: dict[str, tuple[int, ...]] = {}
    for ours, theirs in names.items():
        letter = ours.rpartition(".")[2]
        if letter[0] in "WUC" and letter.partition("_")[2] in ("", "z", "r"):
            shapes[theirs] = (rows[letter[0]], n)
    others = {
        "E_source": (source, rank),
        "E_target": (target, rank),
        "b_E_source": (rank,),
        "b_E_target": (rank,),
        "encoder.forward.b": (n,),
        "encoder.backward.b": (n,),
        "b": (n,),
        "W_s": (n, n),
        "b_s": (n,),
        "U_o": (n, n),
        "b_o": (n,),
        "V_o": (rank, n),
        "C_o": (context, n),
        "W_o1": (n // 2, rank),
        "W_o2": (rank, target),
        "b_softmax": (target,),
        "U_a": (context, n),
        "W_a": (n, n),
        "v_a": (n, 1),
    }
    return shapes | {names[ours]: shape for ours, shape in others.items() if ours in names}
