"""Beam search: a `tf.while_loop` over a step function, for all sentences of a batch at once, with
core operations only.

A finished hypothesis ends with the end symbol; a live hypothesis has none yet. At each step every
live hypothesis of a sentence is extended by every word. The beam then keeps the best `beam_size`
of:

    hypotheses that finished before
    hypotheses that finish at this step
    hypotheses that stay live

A fixed beam keeps a finished hypothesis as long as its score, which no longer changes, is good
enough. A shrinking beam (the authors' program) permanently loses one place for every finished
hypothesis. The best `beam_size` finished hypotheses are stored, including those that the beam has
dropped.

A sentence is done when no live hypothesis is left, at its maximum length, or when no live
hypothesis can still beat the finished ones. If none has finished by then, its unfinished hypotheses
are returned.

Dimension letters: B sentences, K beam_size, N nbest, I target and J source positions, V vocabulary,
b ≤ B sentences not dropped yet, k hypotheses of a sentence before a step: 1 before the first word,
then K.
"""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.search.hypotheses import (
    GreedyHistory,
    History,
    add_hypotheses,
    empty_history,
    loop_shapes,
    maximum_lengths,
    minimum_lengths,
    set_shapes,
)
from rnnsearch_tf.search.interface import Step
from rnnsearch_tf.search.topk import (
    NO_HYPOTHESIS,
    NextWords,
    best_continuations,
    continuations_by,
    exists,
    next_words,
)


class BeamResult(typing.NamedTuple):
    """The n-best list of every sentence, best first; an empty place has length 0."""

    ids: tf.Tensor  # int32 [B, N, I], END_ID included, then PAD_ID
    lengths: tf.Tensor  # int32 [B, N], END_ID counted
    # float32 [B, N], natural log, END_ID included; NO_HYPOTHESIS if empty
    log_probabilities: tf.Tensor
    scores: tf.Tensor  # float32 [B, N], log-probability / length^A; the list is sorted by it
    alignments: tf.Tensor  # float32 [B, N, I, J], zero after the length
    finished: tf.Tensor  # bool [B, N], False: cut at the maximum length, without END_ID


class Finished(typing.NamedTuple):
    """The best K finished hypotheses of every sentence; their values no longer change."""

    keys: tf.Tensor  # float32 [B, K], descending: the score by which the search ranks
    log_probabilities: tf.Tensor  # float32 [B, K]
    lengths: tf.Tensor  # int32 [B, K]
    places: tf.Tensor  # int32 [B, K], index in the beam of the hypothesis it ends


class Outcome(typing.NamedTuple):
    """The final hypotheses of all sentences."""

    live: tf.Tensor  # float32 [B, K], log-probabilities of unfinished hypotheses, descending
    finished: Finished


class Sentences(typing.NamedTuple):
    """The sentences that are not done. It changes only when sentences are dropped."""

    rows: tf.Tensor  # int32 [b], their rows in the batch
    memory: Nest  # leaves [b, ...]
    minimum: tf.Tensor  # int32 [b], steps at which the end symbol is forbidden
    maximum: tf.Tensor  # int32 [b], steps allowed


class Beam(typing.NamedTuple):
    """The state of the search; it changes at every step."""

    time: tf.Tensor  # int32, number of steps so far
    previous_ids: tf.Tensor  # int32 [b, k]
    state: Nest  # leaves [b, k, ...]
    live: tf.Tensor  # float32 [b, K], descending
    finished: Finished  # [b, K]
    done: tf.Tensor  # bool [b]
    history: History | GreedyHistory


class Rules(typing.NamedTuple):
    """The options and values derived from them."""

    config: SearchConfig
    # live hypotheses are extended by this id and those above: all words except <pad>, </s> and,
    # unless it is allowed, <unk>
    first_word: int


def beam_search(
    state: Nest,
    memory: Nest,
    step: Step,
    source_lengths: tf.Tensor,
    config: SearchConfig,
    history: typing.Any = None,
) -> BeamResult:
    """The most probable outputs of every sentence, by beam search.

    Bahdanau et al. 2015, section 4.2 ("a beam search"). The options are documented in
    :class:`~rnnsearch_tf.config.SearchConfig`. The result of a sentence does not depend on the
    others of its batch. Departure from the authors' program, which then searches again with a
    wider beam: if no hypothesis of a sentence has finished, the unfinished ones are returned and
    marked in `finished`.

    Args:
        state: nest of tensors [B, ...], initial state of the decoder.
        memory: nest of tensors [B, ...]; it is not repeated for each hypothesis.
        step: see :class:`~rnnsearch_tf.search.interface.Step`.
        source_lengths: int32 [B], including the end symbol.
        config: the options; they are constants of the graph.
        history: an empty record of the steps, like History; None: one of TensorArrays.

    Returns:
        BeamResult, sorted by score. Ties go to the hypothesis that finished first, then to the one
        earlier in the beam.

    Example:
        >>> def step(previous_ids, state, memory):  # constant, for <pad> </s> <unk> a b
        ...     places = tf.shape(previous_ids)
        ...     words = tf.math.log(tf.constant([0.0, 0.4, 0.0, 0.5, 0.1]))
        ...     tile = lambda row: tf.tile(row[None, None], [places[0], places[1], 1])
        ...     return tile(words), tile(tf.constant([0.7, 0.3])), state
        >>> config = SearchConfig(beam_size=2, length_penalty=0.0)
        >>> result = beam_search(tf.zeros([1, 1]), tf.zeros([1, 1]), step, tf.constant([2]), config)
        >>> result.ids.numpy().tolist(), round(float(tf.exp(result.scores[0, 0])), 3)
        ([[[1]]], 0.4)
    """
    source_lengths = tf.cast(source_lengths, tf.int32)
    rules = Rules(config, UNKNOWN_ID if config.allow_unknown else UNKNOWN_ID + 1)
    maximum = maximum_lengths(source_lengths, config)
    sentences = Sentences(
        tf.range(tf.size(maximum)), memory, minimum_lengths(source_lengths, config), maximum
    )
    beam = _start(state, tf.shape(source_lengths)[0], rules, history)
    outcome, beam = _search(sentences, beam, step, rules)
    return _result(outcome, beam.history, beam.time, maximum, rules)


def _search(sentences: Sentences, beam: Beam, step: Step, rules: Rules) -> tuple[Outcome, Beam]:
    """(outcome, last beam) of a batch; sentences that are done are dropped."""
    sentences = _with_dynamic_shapes(sentences)
    beam = Beam._make((beam.time, *_with_dynamic_shapes(beam[1:-1]), beam.history))
    outcome = Outcome(beam.live, beam.finished)
    beam = _advance(sentences, beam, step, rules)  # first word outside of the loop: k is 1
    *_, beam, outcome = tf.while_loop(
        lambda sentences, *_: tf.size(sentences.rows) > 0,
        lambda sentences, beam, outcome: _drop_done(
            sentences, _advance_all(sentences, beam, step, rules), outcome
        ),
        (sentences, beam, outcome),
        shape_invariants=(
            loop_shapes(sentences),
            _shapes(beam),
            tf.nest.map_structure(lambda values: values.shape, outcome),
        ),
        parallel_iterations=1,
    )
    return outcome, beam


def _with_dynamic_shapes(values: Nest) -> Nest:
    """Hide the static sizes that vary in the loop; TensorFlow's graph optimizer would otherwise
    treat them as fixed.
    """
    hide = tf.compat.v1.placeholder_with_default
    return tf.nest.map_structure(hide, values, loop_shapes(values))


def _start(state: Nest, batch_size: tf.Tensor, rules: Rules, history: typing.Any) -> Beam:
    """The initial beam: one live, empty hypothesis per sentence (k = 1)."""
    beam_size = rules.config.beam_size
    none = tf.fill([batch_size, beam_size], NO_HYPOTHESIS)  # [B, K]
    zeros = tf.zeros([batch_size, beam_size], tf.int32)
    live = tf.concat([tf.zeros([batch_size, 1]), none[:, 1:]], axis=1)
    finished = Finished(none, none, zeros, zeros)
    done = tf.zeros([batch_size], tf.bool)
    first = tf.fill([batch_size, 1], PAD_ID)
    state, history = add_hypotheses(state), history or empty_history(beam_size)
    return Beam(tf.constant(0), first, state, live, finished, done, history)


def _shapes(beam: Beam) -> Beam:
    """Shape invariants of a beam in a loop in which b varies."""
    history = type(beam.history)(*(tf.TensorShape(None) for _ in beam.history))
    return Beam._make((beam.time.shape, *loop_shapes(beam[1:-1]), history))


def _advance_all(sentences: Sentences, beam: Beam, step: Step, rules: Rules) -> Beam:
    """Take steps until an eighth of the sentences is done. Dropping sentences copies the memory,
    which pays off only then.
    """
    enough = 7 * tf.size(sentences.rows)

    def most_remain(beam: Beam) -> tf.Tensor:
        return 8 * tf.math.count_nonzero(~beam.done, dtype=tf.int32) > enough

    (beam,) = tf.while_loop(
        most_remain,
        lambda beam: [_advance(sentences, beam, step, rules)],
        [beam],
        shape_invariants=[_shapes(beam)],
        parallel_iterations=1,
    )
    return beam


def _drop_done(
    sentences: Sentences, beam: Beam, outcome: Outcome
) -> tuple[Sentences, Beam, Outcome]:
    """Drop the sentences that are done: (sentences, beam, outcome of all sentences)."""
    places = sentences.rows[:, tf.newaxis]
    outcome = tf.nest.map_structure(
        lambda old, values: tf.tensor_scatter_nd_update(old, places, values),
        outcome,
        Outcome(beam.live, beam.finished),
    )
    remaining = tf.reshape(tf.where(~beam.done), [-1])

    def take(structure: Nest) -> Nest:
        return tf.nest.map_structure(lambda leaf: tf.gather(leaf, remaining), structure)

    sentences = take(sentences)
    return sentences, Beam._make((beam.time, *take(beam[1:-1]), beam.history)), outcome


def _advance(sentences: Sentences, beam: Beam, step: Step, rules: Rules) -> Beam:
    """Take one step of these sentences."""
    advance = _advance_greedy if rules.config.beam_size == 1 else _advance_beam
    return advance(sentences, beam, step, rules)


def _advance_beam(sentences: Sentences, beam: Beam, step: Step, rules: Rules) -> Beam:
    """Keep the best continuations of all hypotheses of a sentence."""
    logits, alignment, state = step(beam.previous_ids, beam.state, sentences.memory)
    words = next_words(logits)
    width = beam.previous_ids.shape[1]  # k
    live = tf.where(beam.done[:, tf.newaxis], NO_HYPOTHESIS, beam.live)[:, :width]
    # [b, K]
    continuing, parents, chosen = best_continuations(
        words, live, rules.config.beam_size, rules.first_word
    )
    ending = ending_now(words, live, beam, sentences)  # [b, k]
    history = beam.history.write(beam.time, sentences.rows, parents, chosen, alignment)

    length = beam.time + 1
    continuing, finished = _prune_beam(beam.finished, ending, continuing, length, width, rules)
    live = tf.where(beam.done[:, tf.newaxis], beam.live, continuing)
    done = beam.done | is_done(live, finished, length, sentences.maximum, rules)
    state = tf.nest.map_structure(lambda leaf: tf.gather(leaf, parents, batch_dims=1), state)
    return Beam(length, chosen, state, live, finished, done, history)


def _advance_greedy(sentences: Sentences, beam: Beam, step: Step, rules: Rules) -> Beam:
    """:func:`_advance_beam` for a beam of one: the hypothesis finishes if no word is more
    likely than the end symbol.
    """
    logits, alignment, state = step(beam.previous_ids, beam.state, sentences.memory)
    words = next_words(logits)
    continuing, _, chosen = best_continuations(words, beam.live, 1, rules.first_word)  # [b, 1]
    ending = ending_now(words, beam.live, beam, sentences)
    done = beam.done[:, tf.newaxis]
    history = beam.history.write(
        beam.time, sentences.rows, tf.zeros_like(chosen), chosen, alignment
    )

    length = beam.time + 1
    key = penalize(ending, length, rules.config.length_penalty)
    ends = exists(ending) & (key >= penalize(continuing, length, rules.config.length_penalty))
    ends_now = ends & ~done
    new = Finished(key, ending, length, 0)
    finished = Finished._make(tf.where(ends_now, *pair) for pair in zip(new, beam.finished))
    live = tf.where(done, beam.live, tf.where(ends, NO_HYPOTHESIS, continuing))
    done = beam.done | is_done(live, finished, length, sentences.maximum, rules)
    state = set_shapes(state, loop_shapes(beam.state))
    return Beam(length, chosen, state, live, finished, done, history)


def ending_now(words: NextWords, live: tf.Tensor, beam: Beam, sentences: Sentences) -> tf.Tensor:
    """Log-probabilities [b, k] of the hypotheses extended by the end symbol; NO_HYPOTHESIS where
    the minimum length forbids it.
    """
    early = (beam.time < sentences.minimum)[:, tf.newaxis]
    return tf.where(early, NO_HYPOTHESIS, continuations_by(words, live, END_ID))


def _prune_beam(
    finished: Finished,
    ending: tf.Tensor,
    continuing: tf.Tensor,
    length: tf.Tensor,
    width: int,
    rules: Rules,
) -> tuple[tf.Tensor, Finished]:
    """Prune the beam after the step to `length` words: of finished, ending and continuing
    hypotheses keep the best K. Returns (log-probabilities of the continuing hypotheses, finished
    hypotheses).
    """
    beam_size = rules.config.beam_size
    new = tf.concat([ending, continuing], axis=1)  # [b, k + K]
    new_keys = penalize(new, length, rules.config.length_penalty)
    # on a tie the earlier one wins
    keys = tf.concat([finished_ranks(finished, rules), new_keys], axis=1)
    best = tf.math.top_k(keys, beam_size).indices  # [b, K]
    # the hypotheses that were finished before have the indices below K, which match none
    kept = best[:, :, tf.newaxis] == beam_size + tf.range(width + beam_size)
    in_beam = tf.reduce_any(kept, axis=1)  # [b, k + K]: whether a new hypothesis is kept
    continuing = tf.where(in_beam, new, NO_HYPOTHESIS)[:, width:]

    ending_keys = tf.where(in_beam, new_keys, NO_HYPOTHESIS)[:, :width]
    return continuing, add_finished(finished, ending, ending_keys, length)


def finished_ranks(finished: Finished, rules: Rules) -> tf.Tensor:
    """The keys [b, K] by which finished hypotheses compete for the beam. In a shrinking beam they
    outrank all others, so that each keeps its slot for good.
    """
    return (
        tf.where(exists(finished.keys), -NO_HYPOTHESIS, NO_HYPOTHESIS)
        if rules.config.shrinking_beam
        else finished.keys
    )


def add_finished(
    finished: Finished, ending: tf.Tensor, ending_keys: tf.Tensor, length: tf.Tensor
) -> Finished:
    """The best K of the finished hypotheses and of those that finish at this step with `length`
    words; the key NO_HYPOTHESIS marks an empty place.
    """
    keys, order = tf.math.top_k(
        tf.concat([finished.keys, ending_keys], axis=1), finished.keys.shape[1]
    )
    lengths = tf.fill(tf.shape(ending), length)
    places = tf.zeros_like(ending, tf.int32) + tf.range(tf.shape(ending)[1])
    joined = zip(finished[1:], (ending, lengths, places))
    return Finished(
        keys, *(tf.gather(tf.concat(pair, axis=1), order, batch_dims=1) for pair in joined)
    )


def is_done(
    live: tf.Tensor, finished: Finished, time: tf.Tensor, maximum: tf.Tensor, rules: Rules
) -> tf.Tensor:
    """True for a sentence whose n-best list can no longer change: bool [b]."""
    return ~exists(live[:, 0]) | (time >= maximum) | is_settled(live, finished, maximum, rules)


def is_settled(live: tf.Tensor, finished: Finished, maximum: tf.Tensor, rules: Rules) -> tf.Tensor:
    """True where no live hypothesis can still enter the n-best list: bool [b]. This early stop is
    exact.

    L ≤ 0 is the log-probability of the best live hypothesis, M the maximum length, A the exponent
    of the length penalty.

    - Each step adds a logarithm ≤ 0 (topk.py clips it at 0). So a hypothesis that finishes later
      has log-probability L' ≤ L and length l ≤ M.
    - Its key is therefore L'/l^A ≤ L'/M^A ≤ L/M^A. Rounding to float32 is monotonic and keeps the
      order.
    - If the N-th best finished key is at least L/M^A, no later hypothesis can rank before those N;
      on a tie the earlier one wins.
    """
    worst = finished.keys[:, rules.config.nbest - 1]
    return exists(worst) & (worst >= penalize(live[:, 0], maximum, rules.config.length_penalty))


def penalize(log_probabilities: tf.Tensor, lengths: tf.Tensor, exponent: float) -> tf.Tensor:
    """Length penalty: log-probability / length^exponent, where the length includes the end symbol;
    NO_HYPOTHESIS is kept.
    """
    if exponent == 0.0:
        return log_probabilities
    divisor = tf.pow(tf.cast(lengths, tf.float32), exponent)
    return tf.where(exists(log_probabilities), log_probabilities / divisor, NO_HYPOTHESIS)


def _result(
    outcome: Outcome,
    history: History | GreedyHistory,
    steps: tf.Tensor,
    maximum: tf.Tensor,
    rules: Rules,
) -> BeamResult:
    """The n-best lists: finished hypotheses, or unfinished ones of a sentence that has none."""
    unfinished = Finished(
        outcome.live, outcome.live, maximum[:, tf.newaxis], tf.range(rules.config.beam_size)
    )
    any_finished = exists(outcome.finished.keys[:, :1])  # [B, 1]
    found = Finished(*(tf.where(any_finished, *pair) for pair in zip(outcome.finished, unfinished)))
    log_probabilities = tf.where(exists(found.keys), found.log_probabilities, NO_HYPOTHESIS)
    scores = penalize(log_probabilities, tf.maximum(found.lengths, 1), rules.config.length_penalty)
    scores, order = tf.math.top_k(scores, rules.config.nbest)  # [B, N]
    log_probabilities, lengths, places = (
        tf.gather(x, order, batch_dims=1) for x in (log_probabilities, found.lengths, found.places)
    )

    present = exists(scores)
    lengths = tf.where(present, lengths, 0)
    ended = any_finished & present
    ids, alignments = history.read(steps, lengths, places, ended)
    return BeamResult(ids, lengths, log_probabilities, scores, alignments, ended)
