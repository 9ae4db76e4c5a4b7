"""Ids in, results out: one traced function for each kind of work.

A model is whatever has `start` and `step` (search/interface.py). Its source ids
are one tensor, or a tuple of them where an ensemble's members read the source
in different ways; `sources` says how many.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, SearchConfig
from rnnsearch_tf.hoisting import hoist_weights
from rnnsearch_tf.parallel import shard_count
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.interface import beam_step
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.scoring import force

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length: one trace serves them all."""


def search_graph(model, config: SearchConfig, sources=1, shortlist=None):
    """source_ids → BeamResult."""

    @tf.function(input_signature=[_source_ids(sources)])
    def search(source_ids):
        with _hoisted(model):
            return search_model(model, source_ids, _lengths(source_ids), config, shortlist, shard_count())

    return search


def search_model(model, source_ids, source_lengths, config: SearchConfig, shortlist=None, products=1):
    """Beam search of a batch, among all words or those that a :class:`~rnnsearch_tf.search.shortlist.Shortlist` allows.

    With a shortlist, or more than one product, the model also has ``output_weights``, whose result its steps take as an
    argument (see models/sequence_model.py).

    Args:
        products: int, what the largest product of a step is split into where there are few rows; see layers/output_matrix.py.
    """
    state, memory = model.start(source_ids)
    if shortlist is None:
        output = model.output_weights(products=products) if products > 1 else None
        return beam_search(state, memory, beam_step(model, output), source_lengths, config)
    words, biases = shortlist(tf.nest.flatten(source_ids)[0])
    output = model.output_weights(words)

    def step(previous_ids, state, memory):
        memory, biases = memory
        return beam_step(model, output, biases)(tf.gather(words, previous_ids), state, memory)

    result = beam_search(state, (memory, biases), step, source_lengths, config)
    return result._replace(ids=tf.gather(words, result.ids))


def force_graph(model, _, sources=1):
    """(source_ids, target_ids) → Forced."""

    @tf.function(input_signature=[_source_ids(sources), IDS])
    def score(source_ids, target_ids):
        with _hoisted(model):
            state, memory = model.start(source_ids)
            return force(state, memory, model.step, target_ids)

    return score


def sample_graph(model, config: SearchConfig, sources=1):
    """(source_ids, seeds, temperature) → Samples."""

    @tf.function(input_signature=[_source_ids(sources), tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64)])
    def draw(source_ids, seeds, temperature):
        with _hoisted(model):
            state, memory = model.start(source_ids)
            return sample(state, memory, model.step, _lengths(source_ids), seeds, config, temperature=temperature)

    return draw


def _hoisted(model):
    """The model's weights, read once for a whole search."""
    return hoist_weights(getattr(model, "trainable_variables", ()))


def _source_ids(sources):
    return IDS if sources == 1 else (IDS,) * sources


def _lengths(source_ids):
    """int32 [B]: ids of each row that are not padding, the end symbol counted; of the first way to read it."""
    return tf.math.count_nonzero(tf.nest.flatten(source_ids)[0] != PAD_ID, axis=1, dtype=tf.int32)
