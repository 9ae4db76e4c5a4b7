"""RNNsearch in one file: the model of Bahdanau, Cho and Bengio (2015) with nothing around it.

Read it from top to bottom, with Appendix A of the paper beside it. It has the embedding, the
gated unit, the bidirectional encoder, attention, the deep output with maxout, the loss, and greedy
search. Weights have the paper's letters, stored input size first, so that "W x" is `x @ W`. Biases
are left out, as in the paper's formulas.

With decoder_order=paper, biases=none and output_rank=null the package computes the same numbers
(tests/equations/test_one_file.py compares them), faster. It adds everything that this file leaves
out: batches bucketed by length, mixed precision, beam search, text, and other systems.

    python notebooks/rnnsearch_in_one_file.py      learns to reverse short sequences, about a minute

Shapes: B sentences, J source positions, I target positions; m embedding, n hidden, n' alignment,
l maxout units, V words. Ids: 0 pads, 1 ends a sentence.
"""

import keras
import numpy as np
import tensorflow as tf

PAD = 0
END = 1


class GatedUnit(keras.layers.Layer):
    """The gated hidden unit (A.1.1); its inputs are a word and, in the decoder, a context c.

    z = σ(W_z x + U_z h + C_z c)             how much of the state is new
    r = σ(W_r x + U_r h + C_r c)             how much of the old state the candidate sees
    h~ = tanh(W x + U (r ∘ h) + C c)
    h' = (1 − z) ∘ h + z ∘ h~
    """

    def __init__(self, input_size, hidden_size, context_size=None):
        super().__init__()
        gates = ("", "_z", "_r")
        words = (input_size, hidden_size)
        states = (hidden_size, hidden_size)
        self.W = {gate: self.add_weight(shape=words, name=f"W{gate}") for gate in gates}
        self.U = {
            gate: self.add_weight(shape=states, initializer="orthogonal", name=f"U{gate}")
            for gate in gates
        }
        self.C = None
        if context_size:
            contexts = (context_size, hidden_size)
            self.C = {gate: self.add_weight(shape=contexts, name=f"C{gate}") for gate in gates}

    def input_term(self, gate, x, c):
        """W x + C c for one gate: [B, n]."""
        total = x @ self.W[gate]
        if self.C is not None:
            total += c @ self.C[gate]
        return total

    def call(self, x, h, c=None):
        z = tf.sigmoid(self.input_term("_z", x, c) + h @ self.U["_z"])
        r = tf.sigmoid(self.input_term("_r", x, c) + h @ self.U["_r"])
        candidate = tf.tanh(self.input_term("", x, c) + (r * h) @ self.U[""])
        return (1 - z) * h + z * candidate


class Encoder(keras.layers.Layer):
    """Annotations h_j = [→h_j ; ←h_j] of a source sentence (§3.2, eq. 7): [B, J, 2n]."""

    def __init__(self, embedding_size, hidden_size):
        super().__init__()
        self.hidden_size = hidden_size
        self.forward = GatedUnit(embedding_size, hidden_size)
        self.backward = GatedUnit(embedding_size, hidden_size)

    def read(self, unit, words, mask, positions):
        """The states of one direction, in the order of the sentence: [B, J, n]."""
        h = tf.zeros([tf.shape(words)[0], self.hidden_size])
        states = [None] * len(positions)
        for j in positions:
            # padding keeps the state as it was
            h = tf.where(mask[:, j, None], unit(words[:, j], h), h)
            states[j] = h
        return tf.stack(states, axis=1)

    def call(self, words, mask):
        positions = list(range(words.shape[1]))
        forward = self.read(self.forward, words, mask, positions)
        backward = self.read(self.backward, words, mask, positions[::-1])
        return tf.concat([forward, backward], axis=-1)


class Attention(keras.layers.Layer):
    """Where the decoder looks (§3.1 and A.1.2).

    e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)      how well position j fits the next word
    α_ij = exp(e_ij) / Σ_k exp(e_ik)             the alignment (eq. 6), padding left out
    c_i  = Σ_j α_ij h_j                          the context (eq. 5)
    """

    def __init__(self, state_size, annotation_size, alignment_size):
        super().__init__()
        self.W_a = self.add_weight(shape=(state_size, alignment_size), name="W_a")
        self.U_a = self.add_weight(shape=(annotation_size, alignment_size), name="U_a")
        self.v_a = self.add_weight(shape=(alignment_size, 1), name="v_a")

    def call(self, s, annotations, mask):
        query = (s @ self.W_a)[:, None, :]  # [B, 1, n']
        keys = annotations @ self.U_a  # [B, J, n']; the same for every i, computed anew for clarity
        energies = (tf.tanh(query + keys) @ self.v_a)[:, :, 0]  # [B, J]
        energies = tf.where(mask, energies, -1e9)
        alignment = tf.nn.softmax(energies, axis=-1)  # [B, J]
        context = tf.reduce_sum(alignment[:, :, None] * annotations, axis=1)  # [B, 2n]
        return context, alignment


class DeepOutput(keras.layers.Layer):
    """Logits of the next word (A.2.2).

    t~_i = U_o s + V_o E y_{i−1} + C_o c_i       2l values
    t_i,k = max(t~_i,2k−1 , t~_i,2k)             maxout: l values
    p(y_i) ∝ exp(y_iᵀ W_o t_i)
    """

    def __init__(self, state_size, embedding_size, context_size, maxout_size, vocabulary_size):
        super().__init__()
        self.maxout_size = maxout_size
        self.U_o = self.add_weight(shape=(state_size, 2 * maxout_size), name="U_o")
        self.V_o = self.add_weight(shape=(embedding_size, 2 * maxout_size), name="V_o")
        self.C_o = self.add_weight(shape=(context_size, 2 * maxout_size), name="C_o")
        self.W_o = self.add_weight(shape=(maxout_size, vocabulary_size), name="W_o")

    def call(self, s, previous_word, c):
        t = s @ self.U_o + previous_word @ self.V_o + c @ self.C_o  # [B, 2l]
        pairs = tf.reshape(t, [-1, self.maxout_size, 2])
        return tf.reduce_max(pairs, axis=-1) @ self.W_o  # [B, V]


class RNNSearch(keras.Model):
    """Encoder, attention, decoder and deep output together (Appendix A.2)."""

    def __init__(self, source_size, target_size, m=32, n=64, alignment_size=64, maxout_size=32):
        super().__init__()
        self.E_source = self.add_weight(shape=(source_size, m), initializer="normal", name="E_x")
        self.E_target = self.add_weight(shape=(target_size, m), initializer="normal", name="E_y")
        self.encoder = Encoder(m, n)
        self.W_s = self.add_weight(shape=(n, n), name="W_s")
        self.attention = Attention(n, 2 * n, alignment_size)
        self.unit = GatedUnit(m, n, context_size=2 * n)
        self.output_layer = DeepOutput(n, m, 2 * n, maxout_size, target_size)
        self.hidden_size = n

    def start(self, source_ids):
        """Read the source: (s_0 [B, n], annotations [B, J, 2n], mask [B, J])."""
        mask = source_ids != PAD
        annotations = self.encoder(tf.gather(self.E_source, source_ids), mask)
        backward_at_first_word = annotations[:, 0, self.hidden_size :]  # ←h_1
        s = tf.tanh(backward_at_first_word @ self.W_s)  # s_0 = tanh(W_s ←h_1)
        return s, annotations, mask

    def step(self, previous_ids, s, annotations, mask):
        """One target position: (logits [B, V], alignment [B, J], s_i [B, n])."""
        word = tf.gather(self.E_target, previous_ids)
        # before the first word there is none: the zero vector
        word = tf.where(previous_ids[:, None] == PAD, 0.0, word)
        c, alignment = self.attention(s, annotations, mask)
        logits = self.output_layer(s, word, c)  # y_i is read out of s_{i−1}
        return logits, alignment, self.unit(word, s, c)  # s_i = f(s_{i−1}, y_{i−1}, c_i)

    def call(self, inputs):
        """Logits of every target word, given those before it (teacher forcing): [B, I, V]."""
        source_ids, target_ids = inputs
        s, annotations, mask = self.start(source_ids)
        previous_ids = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]])  # y_0 is no word
        logits = []
        for i in range(target_ids.shape[1]):
            logits_i, _, s = self.step(previous_ids[:, i], s, annotations, mask)
            logits.append(logits_i)
        return tf.stack(logits, axis=1)

    def translate(self, source_ids, maximum_length):
        """Greedy search: the likeliest word at each position. Ids and alignments of each."""
        s, annotations, mask = self.start(source_ids)
        previous_ids = tf.zeros([tf.shape(source_ids)[0]], tf.int32)
        finished = tf.zeros_like(previous_ids, tf.bool)
        ids = []
        alignments = []
        for _ in range(maximum_length):
            logits, alignment, s = self.step(previous_ids, s, annotations, mask)
            previous_ids = tf.argmax(logits, axis=-1, output_type=tf.int32)
            previous_ids = tf.where(finished, PAD, previous_ids)
            finished |= previous_ids == END
            ids.append(previous_ids)
            alignments.append(alignment)
        return tf.stack(ids, axis=1), tf.stack(alignments, axis=1)


def loss(target_ids, logits):
    """−log p(y | x) of the batch's target words, their mean in nats; padding does not count."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(target_ids, logits)  # [B, I]
    real = tf.cast(target_ids != PAD, losses.dtype)
    return tf.reduce_sum(losses * real) / tf.reduce_sum(real)


def reversed_sequences(count, rng, shortest=2, longest=8, words=8):
    """A toy task: the target is the source backwards. Ids int32 [count, longest + 1]."""
    sources = np.zeros((count, longest + 1), np.int32)
    targets = np.zeros_like(sources)
    for row in range(count):
        length = rng.integers(shortest, longest + 1)
        sentence = rng.integers(2, 2 + words, length)
        sources[row, : length + 1] = [*sentence, END]
        targets[row, : length + 1] = [*sentence[::-1], END]
    return sources, targets


def main(updates=300):
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    model = RNNSearch(source_size=10, target_size=10)
    optimizer = keras.optimizers.Adam(0.005, global_clipnorm=1.0)

    @tf.function
    def update(source_ids, target_ids):
        with tf.GradientTape() as tape:
            value = loss(target_ids, model([source_ids, target_ids]))
        gradients = tape.gradient(value, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return value

    for number in range(1, updates + 1):
        value = update(*reversed_sequences(64, rng))
        if number % 100 == 0:
            print(f"update {number}: loss {value:.3f} nats a word")
    sources, targets = reversed_sequences(200, rng)
    ids, alignments = model.translate(sources, sources.shape[1])
    right = np.all(ids == targets, axis=1).mean()
    print(f"{right:.0%} of 200 new sequences are reversed without a mistake")
    print(f"{sources[0]} → {ids[0].numpy()}, and where the model looked at each step:")
    print(np.round(alignments[0].numpy(), 1))
    return right


if __name__ == "__main__":
    main()
