"""Searches written from the rules alone: Python lists, one sentence at a time, NumPy float64, never
stopping early.
"""

import dataclasses
import math
from fractions import Fraction

END = 1
UNKNOWN = 2


@dataclasses.dataclass
class Hypothesis:
    words: list
    log_probability: float
    state: dict
    finished: bool = False

    def score(self, penalty):
        return self.log_probability / len(self.words) ** penalty


def limits(length, config):
    """(steps without the end symbol, steps at most), with the ratios as they are written and
    without the room of short sentences.
    """
    minimum, maximum = (
        Fraction(str(r)) for r in (config.minimum_length_ratio, config.maximum_length_ratio)
    )
    return math.floor(minimum * length), max(1, math.floor(maximum * length))


def words_allowed(toy, config):
    return [w for w in range(2, toy.vocabulary_size) if config.allow_unknown or w != UNKNOWN]


def best(hypotheses, penalty, count):
    return sorted(hypotheses, key=lambda h: -h.score(penalty))[:count]


def grow(toy, sentence, hypothesis, may_end, allowed):
    """(the hypothesis ended or None, its continuations)."""
    previous = hypothesis.words[-1] if hypothesis.words else 0
    log_probabilities, _, state = toy.next(sentence, previous, hypothesis.state)

    def longer(word, finished=False):
        total = hypothesis.log_probability + log_probabilities[word]
        return Hypothesis([*hypothesis.words, word], total, state, finished)

    return [longer(END, True)] if may_end else [], [longer(word) for word in allowed]


def brute_force(toy, sentence, config, nbest):
    """Every output there is, best first; the unfinished ones if none can finish."""
    minimum, maximum = limits(int(toy.source_lengths[sentence]), config)
    live = [Hypothesis([], 0.0, toy.first(sentence))]
    finished = []
    for time in range(maximum):
        grown = [grow(toy, sentence, h, time >= minimum, words_allowed(toy, config)) for h in live]
        finished += [h for ended, _ in grown for h in ended]
        live = [h for _, continued in grown for h in continued]
    return best(finished or live, config.length_penalty, nbest)


def beam(toy, sentence, config, nbest):
    """Beam search by the rules of SearchConfig."""
    minimum, maximum = limits(int(toy.source_lengths[sentence]), config)
    size = config.beam_size
    live = [Hypothesis([], 0.0, toy.first(sentence))]
    finished = []
    for time in range(maximum):
        grown = [grow(toy, sentence, h, time >= minimum, words_allowed(toy, config)) for h in live]
        candidates = [h for ended, _ in grown for h in ended] + [
            h for _, continued in grown for h in continued
        ]
        if config.shrinking_beam:
            kept = best(candidates, 0.0, size - len(finished))
        else:
            kept = [
                h
                for h in best(finished + candidates, config.length_penalty, size)
                if h not in finished
            ]
        finished = finished + [h for h in kept if h.finished]
        if not config.shrinking_beam:
            finished = best(finished, config.length_penalty, size)
        live = [h for h in kept if not h.finished]
        if not live:
            break
    return best(finished or live, config.length_penalty, nbest)


def greedy(toy, sentence, config):
    """The likeliest word of each step, until the end or the limit: (words, log-probability)."""
    minimum, maximum = limits(int(toy.source_lengths[sentence]), config)
    words = []
    total = 0.0
    state = toy.first(sentence)
    while len(words) < maximum and END not in words:
        log_probabilities, _, state = toy.next(sentence, words[-1] if words else 0, state)
        allowed = words_allowed(toy, config) + ([END] if len(words) >= minimum else [])
        words.append(max(allowed, key=lambda w: log_probabilities[w]))
        total += log_probabilities[words[-1]]
    return words, total
