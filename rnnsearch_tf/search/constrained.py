"""Beam search for outputs that contain given phrases: dynamic beam allocation, for all sentences of
a batch at once.

Post and Vilar 2018, *Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural
Machine Translation*; vectorized over all hypotheses of a batch as in Hu et al. 2019, *Improved
Lexically Constrained Decoding for Translation and Monolingual Rewriting*.

The candidates of a step are the best continuations of all hypotheses together, the best
continuation of each, and each hypothesis continued by the next word of each phrase that it lacks.
Candidates are grouped by the number of phrase words that they still need. The places of the beam go
first to the best candidate of each group, starting with the fewest words, then to the second best
of each group, and so on. The end symbol is a candidate only if no phrase is missing. Finished
hypotheses compete with the candidates of every group; once they fill the beam, the search ends. For
a sentence without phrases, the rules and the result are those of beam.py.

A phrase is met once its words have occurred consecutively, at any position; one occurrence may be
part of two overlapping phrases. The progress in every phrase is tracked at the same time. If the
beginning of a phrase repeats inside it (a a b), the longest prefix that matches the last words
counts. With subwords, a phrase is not met if its last word continues in the next piece: "chaton"
does not contain "chat".

search.no_repeat_ngram forbids repetitions, but no word that a phrase needs next.

The maximum length is extended by the number of words of the phrases. A hypothesis is dropped if the
words that it still needs do not fit, so every output, finished or not, has all phrases. Departure
from the papers, in which a hypothesis may run out of steps.

The words of the phrases of a sentence are concatenated into a row of T. A table [P, L] for every
candidate would be as large as the largest number of phrases times the longest phrase of the batch.

Dimension letters: as in beam.py; P phrases and L words of the longest phrase, T words of all
phrases of a sentence, N candidates of a step.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.search.beam import (
    Beam,
    BeamResult,
    Rules,
    Sentences,
    add_finished,
    beam_search,
    ending_now,
    finished_ranks,
    is_done,
    penalize,
)
from rnnsearch_tf.search.interface import Step
from rnnsearch_tf.search.repetition import without_repetitions
from rnnsearch_tf.search.topk import (
    NO_HYPOTHESIS,
    NextWords,
    best_continuations,
    best_of_each,
    continuations_with,
    exists,
    next_words,
)


class Phrases(typing.NamedTuple):
    """The phrases that the outputs must contain.

    An id of V or above is a word that the vocabulary lacks: the model reads it as the unknown word,
    but search distinguishes it from others.
    """

    ids: tf.Tensor  # int32 [B, P, L], words of each phrase, PAD_ID after the last
    # bool [V], whether a piece continues the word of a piece before it that may be continued
    begins_within: tf.Tensor
    ends_within: tf.Tensor  # bool [V], whether the word of a piece may be continued

    @property
    def flat_ids(self) -> tf.Tensor:
        """The ids of all phrases of a sentence: int32 [B, P·L]."""
        return tf.reshape(self.ids, [tf.shape(self.ids)[0], tf.reduce_prod(tf.shape(self.ids)[1:])])

    def among(self, words: tf.Tensor) -> Phrases:
        """The phrases for a search over some words only; their ids become indices into these words.

        Args:
            words: int32 [S], ascending, including PAD_ID and the words of the phrases.
        """
        offset = self.ids - tf.size(self.begins_within)
        size = tf.size(words)
        places = tf.reshape(tf.searchsorted(words, tf.reshape(self.ids, [-1])), tf.shape(self.ids))
        return Phrases(
            tf.where(offset < 0, places, size + offset),
            tf.gather(self.begins_within, words),
            tf.gather(self.ends_within, words),
        )

    def ids_of(self, places: tf.Tensor, words: tf.Tensor) -> tf.Tensor:
        """The inverse of :meth:`among`: ids of these indices, int32 of any shape."""
        offset = places - tf.size(words)
        return tf.where(
            offset < 0,
            tf.gather(words, tf.where(offset < 0, places, 0)),
            tf.size(self.begins_within) + offset,
        )


class Constraints(typing.NamedTuple):
    """The phrases in the form that search uses; they do not change from step to step."""

    ids: tf.Tensor  # int32 [b, T], T ≥ 1; PAD_ID after the last word
    numbers: tf.Tensor  # int32 [b, T], index of each word in its phrase, from 1; 0 after the last
    phrases: tf.Tensor  # int32 [b, T], index of the phrase of each word; 0 after the last
    starts: tf.Tensor  # int32 [b, P], index in T of the first word of each phrase
    lengths: tf.Tensor  # int32 [b, P]
    begins_within: tf.Tensor  # bool [b, T], begins_within of each word
    ends_within: tf.Tensor  # bool [b, P], ends_within of the last word


class Progress(typing.NamedTuple):
    """The progress of a hypothesis in each phrase."""

    # bool [b, k, T]: whether the last n words of the hypothesis are the first n of the phrase,
    # where n is the number of the word (Baeza-Yates and Gonnet 1992)
    matching: tf.Tensor
    # bool [b, k, P]: whether the phrase is met for good; a phrase completed by the last word is not
    # yet, because that word may be continued
    met: tf.Tensor


class Candidates(typing.NamedTuple):
    """Continuations of the hypotheses of each sentence."""

    totals: tf.Tensor  # float32 [b, N], log-probabilities; NO_HYPOTHESIS if there is none
    parents: tf.Tensor  # int32 [b, N]
    words: tf.Tensor  # int32 [b, N]


def constrained_search(
    state: Nest,
    memory: Nest,
    step: Step,
    source_lengths: tf.Tensor,
    phrases: Phrases,
    config: SearchConfig,
) -> BeamResult:
    """The most probable outputs that contain every phrase, by beam search.

    Arguments and result are those of :func:`~rnnsearch_tf.search.beam.beam_search`, and also:

    Args:
        phrases: Phrases; the outputs contain their ids, including those of V and above. The beam
            size should exceed the number of words in the phrases of a sentence; with a smaller beam
            the phrases get worse places.

    Example:
        >>> def step(previous_ids, state, memory):  # constant, for <pad> </s> <unk> a b
        ...     places = tf.shape(previous_ids)
        ...     words = tf.math.log(tf.constant([0.0, 0.4, 0.0, 0.5, 0.1]))
        ...     tile = lambda row: tf.tile(row[None, None], [places[0], places[1], 1])
        ...     return tile(words), tile(tf.constant([0.7, 0.3])), state
        >>> config, whole_words = SearchConfig(beam_size=4, length_penalty=0.0), tf.fill([5], False)
        >>> phrases = Phrases(tf.constant([[[4]]]), whole_words, whole_words)
        >>> found = constrained_search(
        ...     tf.zeros([1, 1]), tf.zeros([1, 1]), step, tf.constant([2]), phrases, config
        ... )
        >>> found.ids.numpy().tolist()
        [[[4, 1]]]
    """
    constraints = _constraints(phrases)
    nothing = Progress(
        tf.fill(tf.shape(constraints.ids), False), tf.fill(tf.shape(constraints.lengths), False)
    )
    advance = functools.partial(_advance, begins_within=phrases.begins_within)
    extra_steps = tf.reduce_sum(constraints.lengths, axis=1)
    return beam_search(
        (state, nothing),
        (memory, constraints),
        step,
        source_lengths,
        config,
        advance=advance,
        extra_steps=extra_steps,
    )


def _constraints(phrases: Phrases) -> Constraints:
    lengths = tf.math.count_nonzero(phrases.ids, axis=2, dtype=tf.int32)
    last = tf.gather(phrases.ids, tf.maximum(lengths - 1, 0), batch_dims=2)
    numbers = tf.zeros_like(phrases.ids) + tf.range(1, tf.shape(phrases.ids)[2] + 1)
    phrase_numbers = tf.zeros_like(phrases.ids) + tf.range(tf.shape(phrases.ids)[1])[:, tf.newaxis]
    concatenate = functools.partial(_concatenate_phrases, real=phrases.ids != PAD_ID)
    ids = concatenate(phrases.ids)
    begins_within = _look_up(phrases.begins_within, ids)
    ends_within = _look_up(phrases.ends_within, last)
    starts = tf.cumsum(lengths, axis=1, exclusive=True)
    return Constraints(
        ids,
        concatenate(numbers),
        concatenate(phrase_numbers),
        starts,
        lengths,
        begins_within,
        ends_within,
    )


def _concatenate_phrases(values: tf.Tensor, real: tf.Tensor) -> tf.Tensor:
    """Concatenate the real values int32 [b, P, L] of all phrases of a sentence: int32 [b, T], T ≥
    1, zeros after the last.
    """
    counts = tf.math.count_nonzero(real, axis=[1, 2])
    row = tf.RaggedTensor.from_row_lengths(tf.boolean_mask(values, real), counts).to_tensor()
    return tf.pad(row, [[0, 0], [0, tf.cast(tf.shape(row)[1] == 0, tf.int32)]])


def _look_up(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Values of the table bool [V] at the ids; False for a word that the vocabulary lacks."""
    known = ids < tf.size(table)
    return known & tf.gather(table, tf.where(known, ids, 0))


def _advance(
    sentences: Sentences, beam: Beam, step: Step, rules: Rules, begins_within: tf.Tensor
) -> Beam:
    """Take one step of these sentences; see ``_advance`` in beam.py."""
    (memory, constraints), (state, progress) = sentences.memory, beam.state

    def to_model_ids(ids: tf.Tensor) -> tf.Tensor:
        return tf.where(ids < tf.size(begins_within), ids, UNKNOWN_ID)

    logits, alignment, state = step(to_model_ids(beam.previous_ids), state, memory)
    words = next_words(logits)
    free, written = without_repetitions(
        words, beam.written, beam.previous_ids, rules.config.no_repeat_ngram
    )
    width = beam.previous_ids.shape[1]  # k
    length = beam.time + 1
    live = tf.where(beam.done[:, tf.newaxis], NO_HYPOTHESIS, beam.live)[:, :width]
    complete = _needed(progress, constraints) == 0  # [b, k]
    ending = tf.where(complete, ending_now(words, live, beam, sentences), NO_HYPOTHESIS)

    candidates = _candidates(words, free, live, progress, constraints, to_model_ids, rules)
    extended = _extend(progress, constraints, candidates, _look_up(begins_within, candidates.words))
    needed = _needed(extended, constraints)  # [b, N]
    totals = tf.where(
        length + needed <= sentences.maximum[:, tf.newaxis], candidates.totals, NO_HYPOTHESIS
    )

    ending_keys, keys = (penalize(x, length, rules.penalty) for x in (ending, totals))
    kept = _prune_by_phrases(
        finished_ranks(beam.finished, rules), ending_keys, keys, needed, rules.config.beam_size
    )
    ending_kept = kept[:, :width]
    kept = kept[:, width:]
    finished = add_finished(
        beam.finished, ending, tf.where(ending_kept, ending_keys, NO_HYPOTHESIS), length
    )
    # [b, K]
    continuing, order = tf.math.top_k(tf.where(kept, totals, NO_HYPOTHESIS), rules.config.beam_size)

    def take_kept(values: tf.Tensor) -> tf.Tensor:
        return tf.gather(values, order, batch_dims=1)

    parents = take_kept(candidates.parents)
    chosen = take_kept(candidates.words)
    history = beam.history.write(beam.time, sentences.rows, parents, chosen, alignment)

    live = tf.where(beam.done[:, tf.newaxis], beam.live, continuing)
    done = beam.done | is_done(live, finished, length, sentences.maximum, rules)
    state, written = tf.nest.map_structure(
        lambda leaf: tf.gather(leaf, parents, batch_dims=1), (state, written)
    )
    state = state, Progress(*map(take_kept, extended))
    return Beam(length, chosen, state, live, finished, done, written, history)


def _candidates(
    words: NextWords,
    free: NextWords,
    live: tf.Tensor,
    progress: Progress,
    constraints: Constraints,
    to_model_ids: Callable[[tf.Tensor], tf.Tensor],
    rules: Rules,
) -> Candidates:
    """All continuations that may get a place, without duplicates: K + k + k·P.

    `free` are the words without those that would repeat tokens, `words` all of them: the next word
    of a phrase is always allowed.
    """
    best = Candidates(*best_continuations(free, live, rules.config.beam_size, rules.first_word))
    each_totals, each_words = best_of_each(free, live, rules.first_word)
    hypotheses = tf.zeros_like(each_words) + tf.range(tf.shape(each_words)[1])  # [b, k]

    _, missing, matched = _phrase_status(progress, constraints)  # [b, k, P]
    wanted = _next_word(constraints.ids, matched, constraints)  # [b, k, P]
    wanted_totals = tf.where(
        missing, continuations_with(words, live, to_model_ids(wanted)), NO_HYPOTHESIS
    )
    wanted_parents = tf.zeros_like(wanted) + hypotheses[..., tf.newaxis]

    def flat(values: tf.Tensor) -> tf.Tensor:
        return tf.reshape(values, [tf.shape(values)[0], -1])

    further = zip(
        (each_totals, hypotheses, each_words), map(flat, (wanted_totals, wanted_parents, wanted))
    )
    totals, parents, chosen = (
        tf.concat([first, *more], axis=1) for first, more in zip(best, further)
    )

    def same(values: tf.Tensor) -> tf.Tensor:
        return values[:, tf.newaxis] == values[:, :, tf.newaxis]

    duplicate = tf.reduce_any(
        same(parents) & same(chosen) & _is_earlier(totals) & exists(totals)[:, tf.newaxis], axis=2
    )
    return Candidates(tf.where(duplicate, NO_HYPOTHESIS, totals), parents, chosen)


def _phrase_status(
    progress: Progress, constraints: Constraints
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """For each phrase [b, k, P]: whether the last word completes it, whether it is missing, and how
    many of its words the last words match.
    """
    matched = _longest_match(progress.matching, constraints)
    just_complete = matched == constraints.lengths[:, tf.newaxis]  # an empty phrase always is
    return just_complete, ~(progress.met | just_complete), matched


def _longest_match(matching: tf.Tensor, constraints: Constraints) -> tf.Tensor:
    """The largest number of a matching word [b, k, T] in each phrase: int32 [b, k, P], 0 if no word
    matches.
    """
    batch_size, places = tf.unstack(tf.shape(matching)[:2])
    count = tf.shape(constraints.lengths)[1]
    segments = (
        tf.reshape(tf.range(batch_size * places), [batch_size, places, 1]) * count
        + constraints.phrases[:, tf.newaxis]
    )
    numbers = tf.where(matching, constraints.numbers[:, tf.newaxis], 0)
    most = tf.math.unsorted_segment_max(numbers, segments, batch_size * places * count)
    return tf.reshape(tf.maximum(most, 0), [batch_size, places, count])


def _needed(progress: Progress, constraints: Constraints) -> tf.Tensor:
    """Number of phrase words that a hypothesis needs before it may end: int32 [b, k].

    It is the sum of the lengths of the missing phrases, less the words already produced of one of
    them. If the next piece of that phrase continues the last word, the phrases that this word has
    just completed are lost and are added again.
    """
    just_complete, missing, matched = _phrase_status(progress, constraints)
    lengths = tf.zeros_like(matched) + constraints.lengths[:, tf.newaxis]

    def total(mask: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.where(mask, lengths, 0), axis=2)

    open_words = just_complete & ~progress.met & constraints.ends_within[:, tf.newaxis]
    lost = tf.where(
        _next_word(constraints.begins_within, matched, constraints),
        total(open_words)[..., tf.newaxis],
        0,
    )
    return total(missing) - tf.reduce_max(
        tf.where(missing, tf.maximum(matched - lost, 0), 0), axis=2
    )


def _extend(
    progress: Progress, constraints: Constraints, candidates: Candidates, continues_word: tf.Tensor
) -> Progress:
    """The progress [b, N] of the candidates, given whether their words continue the word before."""
    progress = Progress(*(tf.gather(x, candidates.parents, batch_dims=1) for x in progress))
    just_complete, _, _ = _phrase_status(progress, constraints)
    lost = constraints.ends_within[:, tf.newaxis] & continues_word[..., tf.newaxis]
    word_before = tf.concat(
        [tf.zeros_like(progress.matching[..., :1]), progress.matching[..., :-1]], axis=2
    )
    prefix_matched = word_before | (constraints.numbers == 1)[:, tf.newaxis]
    word_matches = constraints.ids[:, tf.newaxis] == candidates.words[..., tf.newaxis]
    return Progress(prefix_matched & word_matches, progress.met | (just_complete & ~lost))


def _prune_by_phrases(
    finished_keys: tf.Tensor,
    ending_keys: tf.Tensor,
    keys: tf.Tensor,
    needed: tf.Tensor,
    beam_size: int,
) -> tf.Tensor:
    """Whether each ending hypothesis and each candidate gets a place: bool [b, k + N].

    The rank of a candidate is the number of better ones among the finished hypotheses and the
    candidates that need the same number of words; on a tie the earlier one is better. Places are
    assigned by rank, and within a rank to those that need fewer words.
    """
    ended = tf.concat([finished_keys, ending_keys], axis=1)
    all_keys = tf.concat([ended, keys], axis=1)  # [b, M], M = K + k + N
    needed = tf.pad(needed, [[0, 0], [tf.shape(ended)[1], 0]])
    is_ended = tf.range(tf.shape(all_keys)[1]) < tf.shape(ended)[1]  # [M]

    def row(x: tf.Tensor) -> tf.Tensor:
        return x[:, tf.newaxis]

    def column(x: tf.Tensor) -> tf.Tensor:
        return x[:, :, tf.newaxis]

    better = (row(all_keys) > column(all_keys)) | (
        (row(all_keys) == column(all_keys)) & _is_earlier(all_keys)
    )
    rivals = is_ended | (row(needed) == column(needed))  # [b, M, M]
    ranks = tf.math.count_nonzero(better & rivals, axis=2, dtype=tf.int32)
    turns = ranks * (1 + tf.reduce_max(needed, axis=1, keepdims=True)) + needed
    turns = tf.where(exists(all_keys), turns, turns.dtype.max)
    last = -tf.math.top_k(-turns, beam_size).values[:, -1:]
    return (exists(all_keys) & (turns <= last))[:, tf.shape(finished_keys)[1] :]


def _is_earlier(values: tf.Tensor) -> tf.Tensor:
    """True at [m, n] if n < m, for values [b, M]: bool [M, M]."""
    places = tf.range(tf.shape(values)[1])
    return places < places[:, tf.newaxis]


def _next_word(values: tf.Tensor, matched: tf.Tensor, constraints: Constraints) -> tf.Tensor:
    """Values [b, T] of the word after the `matched` words [b, k, P]; for a complete phrase, of its
    last word: [b, k, P].
    """
    places = tf.minimum(matched, tf.maximum(constraints.lengths - 1, 0)[:, tf.newaxis])
    last = tf.shape(values)[1] - 1  # an empty phrase may start after the last word
    return tf.gather(
        values, tf.minimum(constraints.starts[:, tf.newaxis] + places, last), batch_dims=1
    )
