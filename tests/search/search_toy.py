"""A small recurrent model with attention, twice: as a TensorFlow step for a batch, and in NumPy for
one hypothesis, both float64.

Everything depends on the whole history: the next word, and the alignment too, so
that a state or an alignment that followed the wrong hypothesis gives other numbers.
"""

import numpy as np
import tensorflow as tf

END = 1
UNKNOWN = 2


class Toy:
    """Random weights; `source_lengths` are the sentences of its one batch."""

    def __init__(
        self,
        seed=0,
        vocabulary_size=5,
        source_lengths=(2, 3, 5),
        size=6,
        spread=2.0,
        end_bias=0.0,
        end_at=None,
    ):
        random = np.random.default_rng(seed)
        self.size = size
        self.vocabulary_size = vocabulary_size
        self.end_at = end_at
        self.source_lengths = np.array(source_lengths, np.int32)
        self.E = random.normal(size=(vocabulary_size, size))
        self.W, self.C = random.normal(size=(2, size, size))
        self.O = random.normal(size=(size, vocabulary_size)) * spread
        self.b = np.where(np.arange(vocabulary_size) == END, end_bias, 0.0)
        self.sources = [random.normal(size=(length, size)) for length in source_lengths]

    # One hypothesis of one sentence, float64.
    def first(self, sentence):
        return {"hidden": np.tanh(self.sources[sentence].mean(axis=0)), "time": 0}

    def next(self, sentence, previous_id, state):
        keys = self.sources[sentence]
        hidden = state["hidden"]
        energies = keys @ hidden
        alignment = np.exp(energies - energies.max())
        alignment /= alignment.sum()
        word = self.E[previous_id] if previous_id else 0.0
        hidden = np.tanh(hidden @ self.W + word + (alignment @ keys) @ self.C)
        logits = hidden @ self.O + self.b
        if self.end_at is not None:  # a model that never pads, and always ends in time
            logits[0] = -1e9
            if state["time"] + 1 == self.end_at:
                logits = np.where(np.arange(self.vocabulary_size) == END, logits, -1e9)
        log_probabilities = logits - logits.max()
        log_probabilities -= np.log(np.exp(log_probabilities).sum())
        return log_probabilities, alignment, {"hidden": hidden, "time": state["time"] + 1}

    # A batch.
    def source_ids(self, sentences=None, extra_padding=0):
        """Source ids of some sentences: the number of the sentence, plus 2, at every word."""
        sentences = range(len(self.sources)) if sentences is None else sentences
        lengths = self.source_lengths[list(sentences)]
        ids = np.zeros((len(lengths), max(lengths) + extra_padding), np.int32)
        for row, sentence in zip(ids, sentences):
            row[: self.source_lengths[sentence]] = sentence + 2
        return tf.constant(ids)

    def start(self, source_ids):
        """Padded with noise that the mask must hide."""
        longest = max(self.source_lengths) + 5
        keys = np.full((len(self.sources), longest, self.size), 7.0)
        for row, source in zip(keys, self.sources):
            row[: len(source)] = source
        first = np.stack([self.first(sentence)["hidden"] for sentence in range(len(keys))])
        sentences = source_ids[:, 0] - 2
        state = {
            "hidden": tf.gather(tf.constant(first, tf.float64), sentences),
            "time": tf.zeros_like(sentences),
        }
        keys = tf.gather(tf.constant(keys, tf.float64), sentences)[:, : tf.shape(source_ids)[1]]
        return state, {"keys": keys, "mask": source_ids > 0}

    def step(self, previous_ids, state, memory):
        def constant(x):
            return tf.constant(x, tf.float64)

        energies = tf.einsum("bkd,bjd->bkj", state["hidden"], memory["keys"])
        alignment = tf.nn.softmax(
            tf.where(memory["mask"][:, None], energies, tf.constant(-1e9, tf.float64))
        )
        word = (
            tf.gather(constant(self.E), previous_ids)
            * tf.cast(previous_ids > 0, tf.float64)[..., None]
        )
        context = tf.einsum("bkj,bjd->bkd", alignment, memory["keys"])
        hidden = tf.tanh(state["hidden"] @ constant(self.W) + word + context @ constant(self.C))
        logits = hidden @ constant(self.O) + constant(self.b)
        time = state["time"] + 1
        if self.end_at is not None:
            ids = tf.range(self.vocabulary_size)
            logits = tf.where(
                (ids == 0) | ((time == self.end_at)[..., None] & (ids != END)),
                tf.constant(-1e9, tf.float64),
                logits,
            )
        return tf.nn.log_softmax(logits), alignment, {"hidden": hidden, "time": time}

    def follow(self, sentence, ids):
        """(log-probability of each word, alignment of each word) of a given output."""
        state = self.first(sentence)
        previous = 0
        log_probabilities = []
        alignments = []
        for word in ids:
            step, alignment, state = self.next(sentence, previous, state)
            log_probabilities.append(step[word])
            alignments.append(alignment)
            previous = word
        return np.array(log_probabilities), np.array(alignments)
