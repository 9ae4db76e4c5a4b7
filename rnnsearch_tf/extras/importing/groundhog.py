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


def _unit(ours: str, embedder: str, transition: str) -> dict[str, tuple[str, ...]]:
    """The ARRAYS of a unit."""
    arrays: dict[str, tuple[str, ...]] = {f"{ours}b": (f"b_0_{embedder}_input_embdr_0", "n")}
    for gate, letter, word in (("", "W", "input"), ("_z", "G", "update"), ("_r", "R", "reset")):
        arrays[f"{ours}W{gate}"] = f"W_0_{embedder}_{word}_embdr_0", "rank", "n"
        arrays[f"{ours}U{gate}"] = f"{letter}_{transition}_transition_0", "n", "n"
    return arrays


ARRAYS = {
    "E_source": ("W_0_enc_approx_embdr", "source", "rank"),
    "b_E_source": ("b_0_enc_approx_embdr", "rank"),
    "E_target": ("W_0_dec_approx_embdr", "target", "rank"),
    "b_E_target": ("b_0_dec_approx_embdr", "rank"),
    **_unit("encoder.forward.", "enc", "enc"),
    **_unit("", "dec", "dec"),
    "C": ("W_0_dec_dec_inputter_0", "context", "n"),
    "C_z": ("W_0_dec_dec_updater_0", "context", "n"),
    "C_r": ("W_0_dec_dec_reseter_0", "context", "n"),
    "W_s": ("W_0_dec_initializer_0", "n", "n"),
    "b_s": ("b_0_dec_initializer_0", "n"),
    "U_o": ("W_0_dec_hid_readout_0", "n", "n"),
    "b_o": ("b_0_dec_hid_readout_0", "n"),
    "V_o": ("W_0_dec_prev_readout_0", "rank", "n"),
    "C_o": ("W_0_dec_repr_readout", "context", "n"),
    "W_o1": ("W1_dec_deep_softmax", "maxout", "rank"),
    "W_o2": ("W2_dec_deep_softmax", "rank", "target"),
    "b_softmax": ("b_dec_deep_softmax", "target"),
}
"""{name here: (name there, its sizes)}."""

SEARCH_ARRAYS = {
    **_unit("encoder.backward.", "back_enc", "back_enc"),
    "U_a": ("A_dec_transition_0", "context", "n"),
    "W_a": ("B_dec_transition_0", "n", "n"),
    "v_a": ("D_dec_transition_0", "n", "one"),
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
        arrays.check({ARRAYS[f"E_{side}"][0]: (size, rank)})
        sides.append(arrange(as_words(words, where), size, end, unknown, where))
    source, target = sides
    sizes = {
        "n": dim,
        "rank": rank,
        "context": 2 * dim if attends else dim,
        "maxout": dim // 2,
        "source": len(source.tokens) - 1,
        "target": len(target.tokens) - 1,
        "one": 1,
    }
    changes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "E_source": source.rows,
        "E_target": target.rows,
        "W_o2": target.columns,
        "b_softmax": target.biases,
        "v_a": lambda values: values[:, 0],
    }
    weights_here = WeightMap(arrays)
    for ours, (theirs, *shape) in (ARRAYS | (SEARCH_ARRAYS if attends else {})).items():
        change = changes.get(ours, lambda values: values)
        weights_here.take(ours, theirs, tuple(sizes[each] for each in shape), change)
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
