"""Beam search for outputs in which given phrases stand: dynamic beam allocation, all sentences of a
batch at once.

Post and Vilar 2018, *Fast Lexically Constrained Decoding with Dynamic Beam Allocation for Neural
Machine Translation*; in one piece for all hypotheses of a batch as in Hu et al. 2019, *Improved
Lexically Constrained Decoding for Translation and Monolingual Rewriting*.

The candidates of a step are the best continuations of all hypotheses together, the best
continuation of each, and each hypothesis continued by the next word of each phrase that it lacks.
The places of the beam are dealt out by how many words of phrases a hypothesis still needs: first
the best candidate of each number, the fewest first, then the second best of each, and so on. The
end symbol is a candidate only where no phrase is missing. Finished hypotheses compete with the
candidates of every number: once they fill the beam, the search is over. For a sentence without
phrases these are the rules of beam.py, and the result is the same.

A phrase is met once its words have occurred one after the other, wherever that was; one occurrence
may serve two phrases that overlap. A hypothesis stands in every phrase at once, so that where the
beginning of a phrase repeats inside it (a a b), the longest beginning that the last words agree
with counts. With subwords, a phrase whose last word goes on in the next piece is not met by it:
"chat" not by "chaton".

The maximum length grows by the words of the phrases. No hypothesis is kept that could not take in
what it needs before it: so every output has all phrases, finished or not. Departure from the
papers, which let a hypothesis run out of room.

The words of a sentence's phrases stand one after the other in a row of T: a table [P, L] would be
as large as the most phrases and the longest phrase of the whole batch together, for every
candidate.

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
    """What has to stand in the outputs.

    An id of V or above is a word that the vocabulary lacks: the model takes it for the unknown
    word, the search tells it from others.
    """

    ids: tf.Tensor  # int32 [B, P, L], words of each phrase, PAD_ID after the last
    # bool [V], whether a piece goes on in the word that the piece before it left open
    begins_within: tf.Tensor
    ends_within: tf.Tensor  # bool [V], whether a piece leaves its word open

    @property
    def flat_ids(self) -> tf.Tensor:
        """int32 [B, P·L]."""
        return tf.reshape(self.ids, [tf.shape(self.ids)[0], tf.reduce_prod(tf.shape(self.ids)[1:])])

    def among(self, words: tf.Tensor) -> Phrases:
        """The phrases for a search among some words only, int32 [S], ascending, PAD_ID and theirs
        among them: ids are places there.
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
        """The ids of such places, int32 of any shape."""
        offset = places - tf.size(words)
        return tf.where(
            offset < 0,
            tf.gather(words, tf.where(offset < 0, places, 0)),
            tf.size(self.begins_within) + offset,
        )


class Constraints(typing.NamedTuple):
    """The phrases, as the search uses them. Does not change from word to word."""

    ids: tf.Tensor  # int32 [b, T], at least one; PAD_ID after the last
    numbers: tf.Tensor  # int32 [b, T], each word's number in its phrase, from 1; 0 after the last
    phrases: tf.Tensor  # int32 [b, T], the phrase of each word; 0 after the last
    starts: tf.Tensor  # int32 [b, P], the place of each phrase's first word
    lengths: tf.Tensor  # int32 [b, P]
    begins_within: tf.Tensor  # bool [b, T], begins_within of each word
    ends_within: tf.Tensor  # bool [b, P], ends_within of the last word


class Progress(typing.NamedTuple):
    """How far a hypothesis is in each phrase."""

    # bool [b, k, T]: its last n words are the first n of the phrase, n the word's number
    # (Baeza-Yates and Gonnet 1992)
    matching: tf.Tensor
    # bool [b, k, P], whatever comes next; what its last word completes can still be part of a
    # longer word
    met: tf.Tensor


class Candidates(typing.NamedTuple):
    """Continuations of the hypotheses of a sentence."""

    totals: tf.Tensor  # float32 [b, N], log-probabilities; NO_HYPOTHESIS: none
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
    """The most probable outputs that have every phrase, by beam search.

    Arguments and result are those of :func:`~rnnsearch_tf.search.beam.beam_search`, and

    Args:
        phrases: Phrases; the outputs have their ids, those of V and above too. A beam should have
            more hypotheses than the phrases of a sentence have words: in a narrower one they get
            worse places.

    Example:
        >>> def step(previous_ids, state, memory):  # always the same, of <pad> </s> <unk> a b
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
    """values int32 [b, P, L] where they are real, one after the other: int32 [b, T], T at least 1,
    zeros after the last.
    """
    counts = tf.math.count_nonzero(real, axis=[1, 2])
    row = tf.RaggedTensor.from_row_lengths(tf.boolean_mask(values, real), counts).to_tensor()
    return tf.pad(row, [[0, 0], [0, tf.cast(tf.shape(row)[1] == 0, tf.int32)]])


def _look_up(table: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """The table [V] at the ids; False for a word that the vocabulary lacks."""
    known = ids < tf.size(table)
    return known & tf.gather(table, tf.where(known, ids, 0))


def _advance(
    sentences: Sentences, beam: Beam, step: Step, rules: Rules, begins_within: tf.Tensor
) -> Beam:
    """One step of these sentences; see ``_advance`` in beam.py."""
    (memory, constraints), (state, progress) = sentences.memory, beam.state

    def to_model_ids(ids: tf.Tensor) -> tf.Tensor:
        return tf.where(ids < tf.size(begins_within), ids, UNKNOWN_ID)

    logits, alignment, state = step(to_model_ids(beam.previous_ids), state, memory)
    words = next_words(logits)
    # k
    places = beam.previous_ids.shape[1]
    length = beam.time + 1
    live = tf.where(beam.done[:, tf.newaxis], NO_HYPOTHESIS, beam.live)[:, :places]
    complete = _needed(progress, constraints) == 0  # [b, k]
    ending = tf.where(complete, ending_now(words, live, beam, sentences), NO_HYPOTHESIS)

    candidates = _candidates(words, live, progress, constraints, to_model_ids, rules)
    extended = _extend(progress, constraints, candidates, _look_up(begins_within, candidates.words))
    needed = _needed(extended, constraints)  # [b, N]
    totals = tf.where(
        length + needed <= sentences.maximum[:, tf.newaxis], candidates.totals, NO_HYPOTHESIS
    )

    ending_keys, keys = (penalize(x, length, rules.penalty) for x in (ending, totals))
    kept = _allocate(
        finished_ranks(beam.finished, rules), ending_keys, keys, needed, rules.config.beam_size
    )
    ending_kept = kept[:, :places]
    kept = kept[:, places:]
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
    state = tf.nest.map_structure(lambda leaf: tf.gather(leaf, parents, batch_dims=1), state)
    return Beam(
        length, chosen, (state, Progress(*map(take_kept, extended))), live, finished, done, history
    )


def _candidates(
    words: NextWords,
    live: tf.Tensor,
    progress: Progress,
    constraints: Constraints,
    to_model_ids: Callable[[tf.Tensor], tf.Tensor],
    rules: Rules,
) -> Candidates:
    """All continuations that may get a place, none of them twice: K + k + k·P."""
    best = Candidates(*best_continuations(words, live, rules.config.beam_size, rules.first_word))
    each_totals, each_words = best_of_each(words, live, rules.first_word)
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
    """Of each phrase [b, k, P]: whether its last word was just said, whether it is missing, and how
    many of its words were just said.
    """
    matched = _longest_match(progress.matching, constraints)
    just_complete = matched == constraints.lengths[:, tf.newaxis]  # an empty phrase always is
    return just_complete, ~(progress.met | just_complete), matched


def _longest_match(matching: tf.Tensor, constraints: Constraints) -> tf.Tensor:
    """The largest number of an agreeing word [b, k, T] in each phrase: int32 [b, k, P], 0 where
    none agrees.
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
    """Words of phrases that a hypothesis needs before it may end: int32 [b, k].

    Phrases are counted one after the other, but what is said already of one of them. If its next
    piece goes on in the word before, the phrases that this word has just completed are lost.
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
    """The progress [b, N] of the candidates, whose last words go on in the word before or not."""
    progress = Progress(*(tf.gather(x, candidates.parents, batch_dims=1) for x in progress))
    just_complete, _, _ = _phrase_status(progress, constraints)
    lost = constraints.ends_within[:, tf.newaxis] & continues_word[..., tf.newaxis]
    word_before = tf.concat(
        [tf.zeros_like(progress.matching[..., :1]), progress.matching[..., :-1]], axis=2
    )
    prefix_matched = word_before | (constraints.numbers == 1)[:, tf.newaxis]
    word_matches = constraints.ids[:, tf.newaxis] == candidates.words[..., tf.newaxis]
    return Progress(prefix_matched & word_matches, progress.met | (just_complete & ~lost))


def _allocate(
    finished_keys: tf.Tensor,
    ending_keys: tf.Tensor,
    keys: tf.Tensor,
    needed: tf.Tensor,
    beam_size: int,
) -> tf.Tensor:
    """Which hypotheses that end and which candidates get a place: bool [b, k + N].

    The rank of a candidate is how many are better among the finished hypotheses and the candidates
    that need as many words; on a tie the earlier is better. Places go by rank, and within a rank to
    those that need fewer words.
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
    """True at [m, n] where n < m, for values [b, M]: bool [M, M]."""
    places = tf.range(tf.shape(values)[1])
    return places < places[:, tf.newaxis]


def _next_word(values: tf.Tensor, matched: tf.Tensor, constraints: Constraints) -> tf.Tensor:
    """values [b, T] of the word after those matched [b, k, P], of a complete phrase those of its
    last word: [b, k, P].
    """
    places = tf.minimum(matched, tf.maximum(constraints.lengths - 1, 0)[:, tf.newaxis])
    last = tf.shape(values)[1] - 1  # an empty phrase may start after the last word
    return tf.gather(
        values, tf.minimum(constraints.starts[:, tf.newaxis] + places, last), batch_dims=1
    )
