"""Beam search, scoring and sampling as `tf.function`s: ids in, results out.

A model is any object with `start` and `step` (search/interface.py). Its source ids are one tensor,
or a tuple of `sources` tensors where the members of an ensemble tokenize the source differently.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import PAD_ID, SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.constrained import Phrases, constrained_search
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.scoring import score_targets
from rnnsearch_tf.text.phrases import word_joints

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length, so that a function is traced once."""


def search_graph(model, config: SearchConfig, sources=1, shortlist=None, split_k=1):
    """source_ids → BeamResult; arguments as of :func:`search_model`."""

    def search(source_ids):
        return search_model(model, source_ids, _lengths(source_ids), config, shortlist, split_k)

    return _graph(model, sources, search)


def constrained_search_graph(model, config: SearchConfig, sources, shortlist, split_k, target_text):
    """(source_ids, ids of phrases int32 [B, P, L] as of text/phrases.py) → BeamResult; see
    :func:`search_model`.
    """
    joints = word_joints(target_text)

    def search(source_ids, phrase_ids):
        return search_model(
            model,
            source_ids,
            _lengths(source_ids),
            config,
            shortlist,
            split_k,
            Phrases(phrase_ids, *joints),
        )

    return _graph(model, sources, search, tf.TensorSpec([None, None, None], tf.int32))


def search_model(
    model,
    source_ids,
    source_lengths,
    config: SearchConfig,
    shortlist=None,
    split_k=1,
    phrases: Phrases | None = None,
    alignments=True,
):
    """Beam search of a batch, among all words or those that a
    :class:`~rnnsearch_tf.search.shortlist.Shortlist` allows.

    With a shortlist, or a split, the model also has ``output_weights``, whose result its steps take
    as an argument (see models/translation_model.py).

    Args:
        split_k: int, what the largest product of a step is split into where there are few rows; see
            layers/output.py.
        phrases: Phrases that have to stand in the outputs; a shortlist allows their words too.
            None: there are none.
        alignments: bool; False: the result's are [B, N, I, 0], and the search does not keep those
            of every hypothesis and step, which are most of its memory. The coverage penalty needs
            them.
    """
    state, memory = model.start(source_ids)
    searched = functools.partial(_search, alignments=alignments)
    if shortlist is None:
        step = (
            functools.partial(model.step, output=model.output_weights(split_k=split_k))
            if split_k > 1
            else model.step
        )
        return searched(state, memory, step, source_lengths, config, phrases)
    words, biases = shortlist(tf.nest.flatten(source_ids)[0], phrases and phrases.flat_ids)
    output = model.output_weights(words)

    def step(previous_ids, state, memory):
        memory, biases = memory
        return model.step(tf.gather(words, previous_ids), state, memory, output, biases)

    result = searched(
        state, (memory, biases), step, source_lengths, config, phrases and phrases.among(words)
    )
    return result._replace(
        ids=tf.gather(words, result.ids) if phrases is None else phrases.ids_of(result.ids, words)
    )


def _search(state, memory, step, source_lengths, config, phrases, alignments):
    step = step if alignments or config.coverage_penalty else _without_alignments(step)
    if phrases is None:
        return beam_search(state, memory, step, source_lengths, config)
    return constrained_search(state, memory, step, source_lengths, phrases, config)


def _without_alignments(step):
    def step_without(previous_ids, state, memory):
        logits, alignment, state = step(previous_ids, state, memory)
        return logits, alignment[..., :0], state

    return step_without


def hoist_weights(variables, values=None):
    """A context in which these variables have constant values, read in the graph that is being
    traced.

    Search calls a model's step inside ``tf.while_loop``. Without this every step would read and
    cast every weight again. The layers get the values by Keras's own ``StatelessScope``.

    Args:
        variables: list of Keras variables.
        values: list of tensors, of the same shapes and dtypes, to take in their place: an exported
            model stores its weights elsewhere, maybe in fewer bits. None: the variables' own.

    Example::

        @tf.function
        def translate(source_ids):
            with hoist_weights(model.trainable_variables):
                return search_model(model, source_ids, ...)
    """
    values = [tf.convert_to_tensor(value) for value in (variables if values is None else values)]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def score_targets_graph(model, _, sources=1):
    """(source_ids, target_ids) → TargetScores."""

    def score(source_ids, target_ids):
        return score_targets(*model.start(source_ids), model.step, target_ids)

    return _graph(model, sources, score, IDS)


def sample_graph(model, config: SearchConfig, sources=1):
    """(source_ids, seeds, temperature) → Samples."""

    def draw(source_ids, seeds, temperature):
        return sample(
            *model.start(source_ids),
            model.step,
            _lengths(source_ids),
            seeds,
            config,
            temperature=temperature,
        )

    return _graph(
        model, sources, draw, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64)
    )


def _graph(model, sources, function, *further):
    """The function of source ids, and of inputs of the further specifications, as a graph that
    reads every weight once.
    """

    @tf.function(
        autograph=False, input_signature=[IDS if sources == 1 else (IDS,) * sources, *further]
    )
    @functools.wraps(function)
    def graph(*inputs):
        with hoist_weights(model.trainable_variables):
            return function(*inputs)

    return graph


def _lengths(source_ids):
    """Source lengths int32 [B], the end symbol counted; by the first tokenization where there are
    several.
    """
    return tf.math.count_nonzero(tf.nest.flatten(source_ids)[0] != PAD_ID, axis=1, dtype=tf.int32)
