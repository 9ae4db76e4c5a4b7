"""Beam search, scoring and sampling as `tf.function`s: ids in, results out.

A model is any object with `start`, `step` and `trainable_variables` (search/interface.py). Its
source ids are one tensor, or a tuple of `sources` tensors where the members of an ensemble tokenize
the source differently.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID, SearchConfig
from rnnsearch_tf.search.beam import BeamResult, beam_search
from rnnsearch_tf.search.constrained import Phrases, constrained_search
from rnnsearch_tf.search.interface import Model, Step
from rnnsearch_tf.search.sampling import Samples, sample
from rnnsearch_tf.search.scoring import TargetScores, score_targets
from rnnsearch_tf.search.shortlist import Shortlist
from rnnsearch_tf.text.phrases import word_joints

if typing.TYPE_CHECKING:
    from rnnsearch_tf.text.pipeline import Text

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length; a function with this signature is traced once."""


Graph: typing.TypeAlias = Callable[..., typing.Any]
"""A ``tf.function`` of source ids and further inputs."""


def search_graph(
    model: Model,
    config: SearchConfig,
    sources: int = 1,
    shortlist: Shortlist | None = None,
    split_k: int = 1,
) -> Graph:
    """The function source_ids → BeamResult; for the arguments see :func:`search_model`."""

    def search(source_ids: Nest) -> BeamResult:
        return search_model(
            model, source_ids, source_lengths(source_ids), config, shortlist, split_k
        )

    return _graph(model, sources, search)


def constrained_search_graph(
    model: Model,
    config: SearchConfig,
    sources: int,
    shortlist: Shortlist | None,
    split_k: int,
    target_text: Text,
) -> Graph:
    """The function (source_ids, phrase_ids) → BeamResult; phrase_ids are int32 [B, P, L], see
    text/phrases.py; for the arguments see :func:`search_model`.
    """
    joints = word_joints(target_text)

    def search(source_ids: Nest, phrase_ids: tf.Tensor) -> BeamResult:
        return search_model(
            model,
            source_ids,
            source_lengths(source_ids),
            config,
            shortlist,
            split_k,
            Phrases(phrase_ids, *joints),
        )

    return _graph(model, sources, search, tf.TensorSpec([None, None, None], tf.int32))


def search_model(
    model: Model,
    source_ids: Nest,
    source_lengths: tf.Tensor,
    config: SearchConfig,
    shortlist: Shortlist | None = None,
    split_k: int = 1,
    phrases: Phrases | None = None,
    alignments: bool = True,
    **loop: typing.Any,
) -> BeamResult:
    """Beam search of a batch over all words, or over the words that a
    :class:`~rnnsearch_tf.search.shortlist.Shortlist` allows.

    With a shortlist or a split product, the model must have ``output_weights``, whose result its
    steps take as an argument (see models/translation_model.py).

    Args:
        split_k: int, number of products into which the largest product of a step is split if it has
            few rows, see layers/output.py; a shortlist's product is not split.
        phrases: Phrases that the outputs must contain; a shortlist also allows their words. None:
            no phrases.
        alignments: bool. False: the alignments of the result are [B, N, I, 0], and the search does
            not store those of every hypothesis and step, which are most of its memory. The coverage
            penalty needs them.
        loop: `history` of :func:`~rnnsearch_tf.search.beam.beam_search`; not with phrases.
    """
    assert phrases is None or not loop, "a search for phrases has no such loop"
    state, memory = model.start(source_ids)
    searched = functools.partial(_search, alignments=alignments, loop=loop)
    if shortlist is None:
        step = (
            functools.partial(model.step, output=model.output_weights(split_k=split_k))
            if split_k > 1
            else model.step
        )
        return searched(state, memory, step, source_lengths, config, phrases)
    words, biases = shortlist(tf.nest.flatten(source_ids)[0], phrases and phrases.flat_ids)
    output = model.output_weights(words)

    def shortlist_step(
        previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        memory, biases = memory
        return model.step(tf.gather(words, previous_ids), state, memory, output, biases)

    known_phrases = phrases and phrases.among(words)
    result = searched(
        state, (memory, biases), shortlist_step, source_lengths, config, known_phrases
    )
    return result._replace(
        ids=tf.gather(words, result.ids) if phrases is None else phrases.ids_of(result.ids, words)
    )


def _search(
    state: Nest,
    memory: Nest,
    step: Step,
    source_lengths: tf.Tensor,
    config: SearchConfig,
    phrases: Phrases | None,
    alignments: bool,
    loop: dict[str, typing.Any],
) -> BeamResult:
    step = step if alignments or config.coverage_penalty else _without_alignments(step)
    if phrases is None:
        return beam_search(state, memory, step, source_lengths, config, **loop)
    return constrained_search(state, memory, step, source_lengths, phrases, config)


def _without_alignments(step: Step) -> Step:
    def step_without(
        previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        logits, alignment, state = step(previous_ids, state, memory)
        return logits, alignment[..., :0], state

    return step_without


def hoist_weights(
    variables: Sequence[keras.Variable], values: Sequence[tf.Tensor] | None = None
) -> AbstractContextManager[typing.Any]:
    """A context in which these variables have constant values, read in the graph that is being
    traced.

    Search calls the step of a model inside ``tf.while_loop``. Without this context, every step
    would read and cast every weight again. Keras's ``StatelessScope`` passes the values to the
    layers.

    Args:
        variables: list of Keras variables.
        values: list of tensors with the same shapes and dtypes to use instead: an exported model
            stores its weights elsewhere, possibly in fewer bits. None: the values of the variables.

    Example::

        @tf.function
        def translate(source_ids):
            with hoist_weights(model.trainable_variables):
                return search_model(model, source_ids, ...)
    """
    values = [tf.convert_to_tensor(value) for value in (variables if values is None else values)]
    return keras.StatelessScope(list(zip(variables, values)), initialize_variables=False)


def score_targets_graph(model: Model, _: SearchConfig | None, sources: int = 1) -> Graph:
    """The function (source_ids, target_ids) → TargetScores. The second argument is ignored: a
    Translator calls every function that builds a graph with a SearchConfig.
    """

    def score(source_ids: Nest, target_ids: tf.Tensor) -> TargetScores:
        return score_targets(*model.start(source_ids), model.step, target_ids)

    return _graph(model, sources, score, IDS)


def sample_graph(model: Model, config: SearchConfig, sources: int = 1) -> Graph:
    """The function (source_ids, seeds, temperature) → Samples."""

    def draw(source_ids: Nest, seeds: tf.Tensor, temperature: tf.Tensor) -> Samples:
        return sample(
            *model.start(source_ids),
            model.step,
            source_lengths(source_ids),
            seeds,
            config,
            temperature=temperature,
        )

    return _graph(
        model, sources, draw, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64)
    )


def _graph(
    model: Model, sources: int, function: Callable[..., typing.Any], *further: tf.TensorSpec
) -> Graph:
    """A ``tf.function`` of source ids and inputs with the further specifications, which reads every
    weight once.
    """

    @tf.function(
        autograph=False, input_signature=[IDS if sources == 1 else (IDS,) * sources, *further]
    )
    @functools.wraps(function)
    def graph(*inputs: Nest) -> typing.Any:
        with hoist_weights(model.trainable_variables):
            return function(*inputs)

    return graph


def source_lengths(source_ids: Nest) -> tf.Tensor:
    """Source lengths int32 [B], including the end symbol; if there are several tokenizations, of
    the first.
    """
    return tf.math.count_nonzero(tf.nest.flatten(source_ids)[0] != PAD_ID, axis=1, dtype=tf.int32)
