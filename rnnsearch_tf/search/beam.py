"""STUB: the interface of the new search; the body follows.

    with hoist_weights(model.trainable_variables):      # search/hoisting.py, as today
        result = beam_search(model, source_ids, config, nbest=5, alignments=True)
        samples = sample(model, source_ids, seeds, config, temperature=1.0)    # search/sampling.py
        scores = model.score_targets(source_ids, target_ids)    # models: TranslationModel, Ensemble

`model` is any object with `start(source_ids)` and `step(previous_ids, state, memory)`. There are no
graphs.py, interface.py, scoring.py, topk.py, hypotheses.py, tensor_history.py any more, and no
option search.nbest: it is an argument of the call. `exists` and `NO_HYPOTHESIS` are in beam.py.
"""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig


class BeamResult(typing.NamedTuple):
    """The n-best list of every sentence, best first; an empty place has length 0."""

    ids: tf.Tensor  # int32 [B, N, I], END_ID included, then PAD_ID
    lengths: tf.Tensor  # int32 [B, N], END_ID counted
    log_probabilities: tf.Tensor  # float32 [B, N], natural log; NO_HYPOTHESIS if empty
    scores: tf.Tensor  # float32 [B, N], log-probability / length^A; the list is sorted by it
    token_log_probabilities: tf.Tensor  # float32 [B, N, I], 0 after the length
    finished: tf.Tensor  # bool [B, N], False: cut at the maximum length, without END_ID
    alignments: tf.Tensor  # float32 [B, N, I, J], 0 after the length; J is 0 unless asked for


def beam_search(
    model: Model,
    source_ids: tf.Tensor,
    config: SearchConfig,
    nbest: int = 1,
    alignments: bool = False,
) -> BeamResult:
    """The most probable outputs of every sentence.

    Args:
        model: has `start` and `step`.
        source_ids: int32 [B, J], each with the end symbol, padded with 0.
        config: the options; they are constants of the graph.
        nbest: length N of the lists, at most config.beam_size (UsageError).
        alignments: whether to keep the attention weights; False: `alignments` is [B, N, I, 0].
    """
    raise NotImplementedError


class Samples(typing.NamedTuple):
    """(in sampling.py) One output per row."""

    ids: tf.Tensor  # int32 [B, I], END_ID included, then PAD_ID
    lengths: tf.Tensor  # int32 [B], END_ID counted
    log_probabilities: tf.Tensor  # float32 [B], natural log under the model at temperature 1
    finished: tf.Tensor  # bool [B], False: cut at the maximum length, without END_ID


def sample(
    model: Model,
    source_ids: tf.Tensor,
    seeds: tf.Tensor,
    config: SearchConfig,
    temperature: float | tf.Tensor = 1.0,
) -> Samples:
    """(in sampling.py) One random output for every row; `seeds` are int64 [B]."""
    raise NotImplementedError


class TargetScores(typing.NamedTuple):
    """(in models/) Scores of given outputs."""

    log_probabilities: tf.Tensor  # float32 [B, I], natural log of each target token; 0 at padding
    alignments: tf.Tensor  # float32 [B, I, J]; 0 at padding; all 0 without attention


# models.TranslationModel.score_targets(source_ids, target_ids) -> TargetScores, of Ensemble too
