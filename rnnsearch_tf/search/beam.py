"""Beam search: the most probable outputs of every sentence of a batch.

A live hypothesis has no end symbol yet, a finished one ends with it. At each step every live
hypothesis of a sentence is extended by every word, and the beam keeps the best `beam_size` of

    hypotheses that finished before,
    hypotheses that finish at this step,
    hypotheses that stay live.

A fixed beam keeps a finished hypothesis as long as its score, which no longer changes, is good
enough. A shrinking beam (the authors' program) permanently loses one place for every finished
hypothesis. The best `beam_size` finished hypotheses are stored, also those that the beam drops.

A sentence is done when no live hypothesis is left, at its maximum length, or when no live
hypothesis can enter its n-best list any more. Sentences that are done are dropped from the batch.

Dimension letters: B sentences, b ≤ B sentences not dropped yet, K beam_size, N nbest, I target and
J source positions, V vocabulary; t columns: one before the first word, then the words so far.
"""

from __future__ import annotations

import numbers
import typing

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.backend import Nest

NO_HYPOTHESIS = -1e9
"""Log-probability and score of an empty place. Finite, so that no arithmetic on it gives NaN."""

ROOM = 20
"""Steps that every sentence may take beyond its source length."""


class Model(typing.Protocol):
    """What search uses of a model."""

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]:
        """(state, memory) for source ids int32 [B, J]: the decoder's state before the first word,
        and what the encoder made of the source; nests of tensors [B, ...].
        """

    def step(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """The next target position of K hypotheses of every sentence, each on its own.

        Args:
            previous_ids: int32 [B, K], the previous words; 0 before the first word.
            state: nest of tensors [B, K, ...]; B changes from step to step, K does not.
            memory: nest of tensors [B, ...], which the hypotheses of a sentence share.

        Returns:
            logits: float [B, K, V] of the next word; −inf forbids a word.
            alignment: float [B, K, J], attention weights of the source positions.
            state: the state after this step, with the structure of the argument.
        """


class BeamResult(typing.NamedTuple):
    """The n-best list of every sentence, best first; an empty place has length 0."""

    ids: tf.Tensor  # int32 [B, N, I], END_ID included, then PAD_ID
    lengths: tf.Tensor  # int32 [B, N], END_ID counted
    log_probabilities: tf.Tensor  # float32 [B, N], natural log; NO_HYPOTHESIS if empty
    scores: tf.Tensor  # float32 [B, N], log-probability / length^A; the list is sorted by it
    alignments: tf.Tensor  # float32 [B, N, I, J], zero after the length; J is 0 if not asked for
    finished: tf.Tensor  # bool [B, N], False: cut at the maximum length, without END_ID
    token_log_probabilities: tf.Tensor  # float32 [B, N, I], zero after the length


class Hypotheses(typing.NamedTuple):
    """The live or the finished hypotheses of every sentence, best first."""

    log_probabilities: tf.Tensor  # float32 [b, K]; NO_HYPOTHESIS: an empty place
    scores: tf.Tensor  # float32 [b, K], by which they are ranked; see penalize
    # float32 [b, K, t, 2 + J]: id, log-probability and alignment of each word; zeros before the
    # first word and after the last. One tensor, since a step costs by the number of operations.
    words: tf.Tensor


class Sentences(typing.NamedTuple):
    """The sentences that are not dropped yet."""

    rows: tf.Tensor  # int32 [b], their rows in the batch
    memory: Nest  # leaves [b, ...]
    minimum: tf.Tensor  # int32 [b], steps at which the end symbol is forbidden
    maximum: tf.Tensor  # int32 [b], steps allowed


class Beam(typing.NamedTuple):
    """What a step changes. A sentence is done when it has no live hypothesis."""

    state: Nest  # leaves [b, K, ...]
    live: Hypotheses
    finished: Hypotheses


def beam_search(
    model: Model,
    source_ids: tf.Tensor,
    config: SearchConfig,
    nbest: int = 1,
    alignments: bool = False,
) -> BeamResult:
    """The most probable outputs of every sentence, by beam search.

    Bahdanau et al. 2015, section 4.2 ("a beam search"). The result of a sentence does not depend on
    the others of its batch. Departure from the authors' program, which then searches again with a
    wider beam: if no hypothesis of a sentence has finished at the maximum length, the live ones are
    returned and marked in `finished`.

    Args:
        model: see :class:`Model`.
        source_ids: int32 [B, J], each row with the end symbol, padded with 0.
        config: the options; they are constants of the graph.
        nbest: length N of the lists, at most the beam size.
        alignments: whether to keep the attention weights of every word.

    Returns:
        BeamResult. On a tie, the hypothesis that finished first comes first.

    Raises:
        UsageError: nbest is larger than the beam.

    Example:
        >>> class Model:  # one word after the other, for <pad> </s> <unk> a b
        ...     def start(self, source_ids):
        ...         return tf.zeros_like(source_ids[:, 0]), ()
        ...     def step(self, previous_ids, state, memory):
        ...         words = tf.gather([[0.0, 0.4, 0.0, 0.5, 0.1]], tf.zeros_like(previous_ids))
        ...         return tf.math.log(words), words, state
        >>> config = SearchConfig(beam_size=2, length_penalty=0.0)
        >>> result = beam_search(Model(), tf.constant([[5, 1]]), config)
        >>> result.ids.numpy().tolist(), round(float(tf.exp(result.scores[0, 0])), 3)
        ([[[1]]], 0.4)
    """
    check_nbest(nbest, config)
    # b changes in the loop even if B is known when the graph is traced
    source_ids = tf.compat.v1.placeholder_with_default(source_ids, [None, None])
    all_rows = tf.range(tf.shape(source_ids)[0])
    state, memory = model.start(source_ids)
    sentences = Sentences(all_rows, memory, *length_limits(source_ids, config))
    beam = _first_beam(state, source_ids, config.beam_size, alignments)
    results = tf.nest.map_structure(lambda values: values[:, :nbest], beam.finished)

    def shapes(values: Nest) -> Nest:
        return tf.nest.map_structure(lambda leaf: tf.TensorShape([None, *leaf.shape[1:]]), values)

    def advance_and_drop(
        sentences: Sentences, beam: Beam, results: Hypotheses
    ) -> tuple[Sentences, Beam, Hypotheses]:
        """Take steps until an eighth of the sentences is done, and drop these. Dropping sentences
        copies the memory, which pays off only then.
        """
        enough = 7 * tf.size(sentences.rows)
        (beam,) = tf.while_loop(
            lambda beam: 8 * tf.math.count_nonzero(_goes_on(beam), dtype=tf.int32) > enough,
            lambda beam: [_advance(model, sentences, beam, config, nbest, alignments)],
            [beam],
            shape_invariants=[shapes(beam)],
            parallel_iterations=1,
        )
        # these sentences come after all, of which they replace their rows
        after = tf.size(all_rows) + tf.range(tf.size(sentences.rows))
        rows = tf.tensor_scatter_nd_update(all_rows, sentences.rows[:, tf.newaxis], after)
        longer = tf.shape(beam.finished.words)[2] - tf.shape(results.words)[2]
        padded = tf.pad(results.words, [[0, 0], [0, 0], [0, longer], [0, 0]])
        results = tf.nest.map_structure(
            lambda old, new: tf.gather(tf.concat([old, new[:, :nbest]], axis=0), rows),
            results._replace(words=padded),
            beam.finished,
        )
        left = tf.reshape(tf.where(_goes_on(beam)), [-1])
        return *tf.nest.map_structure(lambda x: tf.gather(x, left), (sentences, beam)), results

    _, _, results = tf.while_loop(
        lambda sentences, *_: tf.size(sentences.rows) > 0,
        advance_and_drop,
        (sentences, beam, results),
        shape_invariants=shapes((sentences, beam, results)),
        parallel_iterations=1,
    )
    return _result(results)


def check_nbest(nbest: int, config: SearchConfig) -> None:
    """Raise UsageError unless the beam can hold lists of this length."""
    if not (isinstance(nbest, numbers.Integral) and 1 <= nbest <= config.beam_size):
        raise UsageError(
            f"nbest: expected a whole number from 1 to search.beam_size = {config.beam_size}, got"
            f" {nbest!r}; a longer list needs a larger beam"
        )


def length_limits(source_ids: tf.Tensor, config: SearchConfig) -> tuple[tf.Tensor, tf.Tensor]:
    """(steps at which the end symbol is forbidden, steps allowed), int32 [B] each.

    ⌊minimum_length_ratio · J⌋ and ⌊maximum_length_ratio · J⌋, as in the authors' program.
    Departure: at least J + ROOM steps are allowed.
    """
    lengths = tf.math.count_nonzero(source_ids, axis=1)  # int64
    # in ten-thousandths: in binary, 0.29 · 100 is 28.999999999999996
    minimum, maximum = (
        lengths * round(10_000 * ratio) // 10_000
        for ratio in (config.minimum_length_ratio, config.maximum_length_ratio)
    )
    return tf.cast(minimum, tf.int32), tf.cast(tf.maximum(maximum, lengths + ROOM), tf.int32)


def _first_beam(state: Nest, source_ids: tf.Tensor, beam_size: int, alignments: bool) -> Beam:
    """One empty live hypothesis of each sentence; the other places of the beam are empty."""
    batch_size, positions = tf.unstack(tf.shape(source_ids))
    none = tf.fill([batch_size, beam_size], NO_HYPOTHESIS)
    column = tf.minimum(positions, 1)  # one; a size that the graph does not fix, since it grows
    words = tf.zeros([batch_size, beam_size, column, 2 + positions * alignments])
    finished = Hypotheses(none, none, words)
    first = tf.concat([tf.zeros_like(none[:, :1]), none[:, 1:]], axis=1)
    repeated = tf.nest.map_structure(
        lambda x: tf.repeat(x[:, tf.newaxis], beam_size, axis=1), state
    )
    return Beam(repeated, finished._replace(log_probabilities=first), finished)


def _goes_on(beam: Beam) -> tf.Tensor:
    """True for a sentence that is not done: bool [b]."""
    return exists(beam.live.log_probabilities[:, 0])


def _advance(
    model: Model,
    sentences: Sentences,
    beam: Beam,
    config: SearchConfig,
    nbest: int,
    alignments: bool,
) -> Beam:
    """Take one step of these sentences."""
    live, size = beam.live, config.beam_size
    length = tf.shape(live.words)[2]  # words after this step
    previous_ids = tf.cast(live.words[:, :, -1, 0], tf.int32)
    logits, alignment, state = model.step(previous_ids, beam.state, sentences.memory)
    alignment = tf.cast(alignment if alignments else alignment[..., :0], tf.float32)

    continuing, parents, ids, chosen, log_sum = best_continuations(
        logits, live.log_probabilities, UNKNOWN_ID + (not config.allow_unknown)
    )
    end = _log_probability(logits[:, :, END_ID], log_sum)
    may_end = (length > sentences.minimum)[:, tf.newaxis]
    ending = tf.where(may_end, or_none(live.log_probabilities + end), NO_HYPOTHESIS)

    # three times K hypotheses: finished before, finished now, live
    now = _words(tf.fill(tf.shape(end), END_ID), end, alignment)
    added = [tf.zeros_like(now), now, _words(ids, chosen, _take(alignment, parents))]
    words = [beam.finished.words, live.words, _take(live.words, parents)]
    words = [tf.concat(words, axis=1), tf.concat(added, axis=1)[:, :, tf.newaxis]]
    totals = tf.concat([beam.finished.log_probabilities, ending, continuing], axis=1)
    words = tf.concat(words, axis=2)
    new_scores = penalize(totals[:, size:], length, config)
    scores = tf.concat([beam.finished.scores, new_scores], axis=1)
    before = tf.range(3 * size) < size
    ranks = scores
    if config.shrinking_beam:  # a finished hypothesis keeps its place for good
        ranks = tf.where(before & exists(scores), -NO_HYPOTHESIS, scores)
    in_beam = tf.math.top_k(ranks, size).indices  # on a tie the earlier one wins
    kept = before | tf.reduce_any(in_beam[:, :, tf.newaxis] == tf.range(3 * size), axis=1)
    totals, scores = (tf.where(kept, values, NO_HYPOTHESIS) for values in (totals, scores))
    all_hypotheses = Hypotheses(totals, scores, words)

    best, places = tf.math.top_k(scores[:, : 2 * size], size)
    at_limit = length >= sentences.maximum  # [b]
    is_cut = at_limit & ~exists(best[:, 0])
    places = tf.where(is_cut[:, tf.newaxis], tf.range(2 * size, 3 * size), places)
    finished = _take(all_hypotheses, places)

    totals = totals[:, 2 * size :]
    settled = is_settled(totals[:, 0], best[:, nbest - 1], sentences.maximum, config)
    totals = tf.where((at_limit | settled)[:, tf.newaxis], NO_HYPOTHESIS, totals)
    live = Hypotheses(totals, scores[:, 2 * size :], words[:, 2 * size :])
    return Beam(_take(state, parents), live, finished)


def _words(ids: tf.Tensor, log_probabilities: tf.Tensor, alignment: tf.Tensor) -> tf.Tensor:
    """One word of each hypothesis, as in :class:`Hypotheses`: float32 [b, K, 2 + J]."""
    both = tf.stack([tf.cast(ids, tf.float32), log_probabilities], axis=-1)
    return tf.concat([both, alignment], axis=-1)


def is_settled(
    best: tf.Tensor, worst: tf.Tensor, maximum: tf.Tensor, config: SearchConfig
) -> tf.Tensor:
    """True where no live hypothesis can still enter the n-best list: bool [b]. This early stop is
    exact.

    L ≤ 0 is the log-probability of the best live hypothesis, M the maximum length, A the exponent
    of the length penalty.

    - Each step adds a logarithm ≤ 0 (it is clipped at 0). So a hypothesis that finishes later has
      log-probability L' ≤ L and length l ≤ M.
    - Its score is therefore L'/l^A ≤ L'/M^A ≤ L/M^A. Rounding to float32 is monotonic and keeps the
      order.
    - If the worst score of the n-best list is at least L/M^A, no later hypothesis can rank before
      it; on a tie the earlier one wins.
    """
    return exists(worst) & (worst >= penalize(best, maximum, config))


def penalize(log_probabilities: tf.Tensor, lengths: tf.Tensor, config: SearchConfig) -> tf.Tensor:
    """Scores, log-probability / length^A, where the length includes the end symbol; NO_HYPOTHESIS
    is kept.
    """
    if config.length_penalty == 0.0:
        return log_probabilities
    divisor = tf.pow(tf.cast(lengths, tf.float32), config.length_penalty)
    return tf.where(exists(log_probabilities), log_probabilities / divisor, NO_HYPOTHESIS)


def exists(log_probabilities: tf.Tensor) -> tf.Tensor:
    """True where a hypothesis exists: bool, same shape. False for NaN and −inf."""
    return log_probabilities > 0.5 * NO_HYPOTHESIS


def or_none(log_probabilities: tf.Tensor) -> tf.Tensor:
    """Replace the log-probability by NO_HYPOTHESIS where no hypothesis exists."""
    return tf.where(exists(log_probabilities), log_probabilities, NO_HYPOTHESIS)


def best_continuations(
    logits: tf.Tensor, live: tf.Tensor, first_word: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """The K best (hypothesis, word) pairs of each sentence, as of one top-k over all K·V pairs.

    On a CPU, `tf.math.top_k` over long rows is slow and `tf.reduce_max` is fast. So the vocabulary
    is split into n blocks, and top-k first selects K blocks by their maxima. They contain the K
    best pairs: a pair of another block is worse than at least K of these maxima.

    Args:
        logits: float [b, K, V].
        live: float32 [b, K], log-probabilities so far.
        first_word: lower ids are excluded.

    Returns:
        (log-probabilities, descending, NO_HYPOTHESIS where there are fewer pairs; continued
        hypotheses; words; their log-probabilities; log Σ exp of the logits), each [b, K].
    """
    size, vocabulary_size = logits.shape[1:]
    largest = tf.reduce_max(tf.nn.softmax(logits), axis=-1)  # probability, far from zero
    # a divisor needs no padding, which is a copy; the special tokens are in block 0
    block = next((size for size in range(256, 31, -1) if vocabulary_size % size == 0), 128)
    if padding := -vocabulary_size % block:
        logits = tf.pad(logits, [[0, 0], [0, 0], [0, padding]], constant_values=NO_HYPOTHESIS)
    n = logits.shape[2] // block
    blocks = tf.reshape(logits, [-1, size, n, block])
    maxima = tf.reduce_max(blocks, axis=-1)
    log_sum = tf.reduce_max(maxima, axis=-1) - tf.math.log(largest)
    first_maximum = tf.reduce_max(blocks[:, :, :1, first_word:], axis=-1)
    maxima = tf.concat([first_maximum, maxima[:, :, 1:]], axis=2)
    maxima = _log_probability(maxima, log_sum[..., tf.newaxis]) + live[..., tf.newaxis]
    places = tf.math.top_k(tf.reshape(or_none(maxima), [-1, size * n]), size).indices  # [b, K]
    parents = places // n

    blocks = _take(tf.reshape(blocks, [-1, size * n, block]), places)  # [b, K, block]
    values = _log_probability(blocks, _take(log_sum, parents)[..., tf.newaxis])
    words = (places % n * block)[..., tf.newaxis] + tf.range(block)
    totals = or_none(values + _take(live, parents)[..., tf.newaxis])
    totals = tf.where(words < first_word, NO_HYPOTHESIS, totals)
    totals, index = tf.math.top_k(tf.reshape(totals, [-1, size * block]), size)
    words, values = (_take(tf.reshape(x, [-1, size * block]), index) for x in (words, values))
    words = tf.where(exists(totals), words, PAD_ID)  # not a word of the padding
    return totals, _take(parents, index // block), words, values, log_sum


def _log_probability(logits: tf.Tensor, log_sum: tf.Tensor) -> tf.Tensor:
    """Log-probabilities, float32; clipped at 0, which rounding may exceed: the early stop relies on
    it.
    """
    return tf.minimum(tf.cast(logits - log_sum, tf.float32), 0.0)


def _take(values: Nest, places: tf.Tensor) -> Nest:
    """What is at these places [b, K] of values [b, ..., ...]."""
    return tf.nest.map_structure(lambda leaf: tf.gather(leaf, places, batch_dims=1), values)


def _result(results: Hypotheses) -> BeamResult:
    """The n-best lists, without the column before the first word."""
    found = exists(results.log_probabilities)[..., tf.newaxis, tf.newaxis]
    words = tf.where(found, results.words[:, :, 1:], 0.0)
    lengths = tf.math.count_nonzero(words[..., 0], axis=2, dtype=tf.int32)
    words = words[:, :, : tf.maximum(tf.reduce_max(lengths), 0)]  # 0 of no sentence
    ids = tf.cast(words[..., 0], tf.int32)
    return BeamResult(
        ids,
        lengths,
        results.log_probabilities,
        results.scores,
        words[..., 2:],
        tf.reduce_any(ids == END_ID, axis=2),
        words[..., 1],
    )
