"""The decoder's recurrence (Bahdanau et al. 2015, Appendix A.2.2), one step and all steps.

One step looks, then updates:

    c_i = Σ_j α_ij h_j                      look
    s_i = gated unit(E y, s_{i−1}, c_i)     update

The unit sees c_i only through C c_i, which is Σ_j α_ij C h_j: C meets every annotation once
a sentence, in one large product, and a step sums up the results (:meth:`Decoder.summands`).

Which word y enters, y_i or y_{i−1}, is the option ``decoder_order``; the model decides it by
what it hands in as ``inputs``. Training takes all target positions in one loop (:func:`scan`), search
one at a time.
"""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory, BahdanauAttention, alignment_hidden, attend
from rnnsearch_tf.layers.base import PaperLayer, padded, real_positions, tensor
from rnnsearch_tf.layers.gated_unit import gated_unit, gated_unit_after, gated_unit_gradient
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import batched_product, product, ready, weight_gradient


class StepWeights(NamedTuple):
    """The weights of one step, as tensors: W_a [n, n'], v_a [n', 1], U [n, n], U_gates [n, 2n]."""

    W_a: tf.Tensor
    v_a: tf.Tensor
    U: tf.Tensor
    U_gates: tf.Tensor


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Decoder(PaperLayer):
    """The attending recurrent decoder, without its output layer.

    Args:
        hidden_size: n.
        alignment_size: n'.
        biases: ``groundhog`` (candidate state and s_0), ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int.

    Call arguments:
        embeddings: float [B, I, m]: the word that enters the unit at each target position.
        annotations: float [B, J, 2n]: h_j.
        annotations_mask: bool [B, J], True at real positions; None: the mask that Keras carries along with the
            annotations, or all are real.

    Returns:
        (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
    """

    def __init__(self, hidden_size, alignment_size, biases="groundhog", initialization="paper", seed=0, **keywords):
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.alignment_size = alignment_size
        self.biases = biases
        self.initialization = initialization
        self.seed = seed
        self.attention = BahdanauAttention(
            alignment_size, biases, initialization, Seeds(seed + 1).next(), dtype=self.dtype_policy, name="attention"
        )

    def build(self, embeddings_shape, annotations_shape):
        embedding_size, annotation_size = embeddings_shape[-1], annotations_shape[-1]
        n, seeds = self.hidden_size, Seeds(self.seed)
        self.output_size = n
        other = lambda terms=1: initializer(self.initialization, "other", seeds.next(), columns=n, terms=terms)  # noqa: E731
        self.W = self.matrix("W", (embedding_size, 3 * n), other(3))  # [W | W_z | W_r]; of W e + U s + C c
        self.C = self.matrix("C", (annotation_size, 3 * n), other(3))  # [C | C_z | C_r]
        self.U = self.matrix("U", (n, n), initializer(self.initialization, "recurrent", seeds.next()))
        self.U_gates = self.matrix("U_gates", (n, 2 * n), initializer(self.initialization, "recurrent", seeds.next()))
        self.W_s = self.matrix("W_s", (annotation_size // 2, n), other())
        biased = self.biases != "none"
        self.b = self.vector("b", 3 * n if self.biases == "all" else n) if biased else None
        self.b_s = self.vector("b_s", n) if biased else None
        self.attention.build((None, None, n), annotations_shape)
        self.built = True

    def initial_state(self, annotations):
        """s_0 = tanh(W_s ←h_1): annotations [B, J, 2n] → [B, n]."""
        backward_first = annotations[:, 0, annotations.shape[-1] // 2 :]
        return tf.tanh(product(backward_first, tensor(self.W_s), self.product_dtype, bias=tensor(self.b_s)))

    def inputs(self, embeddings):
        """What the word brings to the unit: E y [..., m] → [W e | W_z e | W_r e] [..., 3n]."""
        return product(embeddings, tensor(self.W), self.product_dtype, bias=padded(self.b, 3 * self.hidden_size))

    def first(self, annotations, memory):
        """The state before the first word: {"state": s_0 [B, n]}."""
        return {"state": self.initial_state(annotations)}

    def summands(self, annotations):
        """What attention sums up for the unit: h_j [..., 2n] → [C h_j | C_z h_j | C_r h_j] [..., 3n]; so too of a c_i."""
        return product(annotations, tensor(self.C), self.product_dtype)

    def look(self, state, memory):
        """(Σ_j α_ij · annotation j of the memory [B, K, …], alignment [B, K, J], state) for the state of K hypotheses a sentence."""
        return (*self.attention.look(state["state"], memory)[:2], state)

    def update(self, state, inputs, summed):
        """The state s_i after a word, from s_{i−1} [B, K, n], inputs [B, K, 3n] and C c_i [B, K, 3n], see :meth:`summands`."""
        rows, unit_inputs = (tf.reshape(values, [-1, values.shape[-1]]) for values in (state["state"], inputs + summed))
        new_state, _ = gated_unit(unit_inputs, rows, tensor(self.U), tensor(self.U_gates), self.product_dtype)
        return {"state": tf.reshape(new_state, tf.shape(state["state"]))}

    def call(self, embeddings, annotations, annotations_mask=None):
        memory = self.attention.memory(annotations, real_positions(annotations, annotations_mask))
        return self.all_steps(self.inputs(embeddings), self.first(annotations, memory), memory)

    def all_steps(self, inputs, state, memory):
        """All steps with given words (training), from a state and a memory of their own dropout.

        Args:
            inputs: float [B, I, 3n], from :meth:`inputs`.
            state: {"state": s_0 [B, n]}.
            memory: AttentionMemory.

        Returns:
            (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
        """
        summed_up = memory._replace(annotations=self.summands(memory.annotations))
        weights = StepWeights(*map(tensor, (self.attention.W_a, self.attention.v_a, self.U, self.U_gates)))
        states, alignments = scan(inputs, state["state"], summed_up, weights, self.product_dtype)
        return states, batched_product(alignments, memory.annotations, self.product_dtype), alignments

    def paper_weights(self):
        """This layer's weights by the paper's letters."""
        n, numpy = self.hidden_size, keras.ops.convert_to_numpy
        W, C, U_gates = numpy(self.W), numpy(self.C), numpy(self.U_gates)
        weights = {f"{name}{gate}": block[:, k * n : (k + 1) * n]
                   for name, block in (("W", W), ("C", C)) for k, gate in enumerate(("", "_z", "_r"))}
        weights |= {"U": numpy(self.U), "U_z": U_gates[:, :n], "U_r": U_gates[:, n:], "W_s": numpy(self.W_s)}
        if self.b is not None:
            b = numpy(self.b)
            weights |= {key: b[k * n : (k + 1) * n] for k, key in enumerate(("b", "b_z", "b_r")) if k * n < len(b)}
            weights["b_s"] = numpy(self.b_s)
        return weights | self.attention.paper_weights()

    def get_config(self):
        own = ("hidden_size", "alignment_size", "biases", "initialization", "seed")
        return super().get_config() | {name: getattr(self, name) for name in own}


def scan(inputs, initial_state, memory, weights, dtype=None):
    """Look and update at all target positions, with a gradient that runs it back.

    As in the encoder, the hand-written gradient carries only the state's gradient through
    its loop; the gradients of the weights and of the summands are single products over
    all positions afterwards. tanh(W_a s + U_a h) is computed again rather than kept: for
    one batch it would be I times as large as everything else together.

    Args:
        inputs: float [B, I, 3n].
        initial_state: float [B, n].
        memory: AttentionMemory, with :meth:`Decoder.summands` [B, J, 3n] for annotations.
        weights: StepWeights.
        dtype: operand dtype of the products.

    Returns:
        (states [B, I, n], alignments [B, I, J]).
    """

    @tf.custom_gradient
    def run(inputs, initial_state, summands, projected_annotations, *weights):
        weights, summands = StepWeights(*weights), ready(summands, dtype)
        weights = StepWeights(*ready(weights, dtype))._replace(v_a=weights.v_a)  # v_a meets no product in dtype
        remembered = AttentionMemory(summands, projected_annotations, memory.mask)
        states, alignments, queries, gates = _run_forward(inputs, initial_state, remembered, weights, dtype)

        def gradient(states_gradient, alignments_gradient):
            before = tf.concat([initial_state[tf.newaxis], states[:-1]], axis=0)  # s_{i−1}, time first
            forward = (before, alignments, queries, gates)
            return _gradient((states_gradient, alignments_gradient), forward, remembered, weights, dtype)

        return (states, alignments), gradient

    time_first = run(
        tf.transpose(inputs, [1, 0, 2]), initial_state, memory.annotations, memory.projected_annotations, *weights
    )
    return [tf.transpose(values, [1, 0, 2]) for values in time_first]


def _run_forward(inputs, initial_state, memory, weights, dtype):
    """states, alignments, queries W_a s_{i−1} and gates (z, r, h̃) of all steps, time first."""
    steps = tf.shape(inputs)[0]
    state_weights = _state_weights(weights)
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]

    def step(i, state, *results):
        state_gates, query = tf.split(product(state, state_weights, dtype), _sizes(weights), axis=-1)
        summed, alignment = attend(query[:, tf.newaxis], memory, weights.v_a, dtype)
        new_state, gates = gated_unit_after(inputs[i] + summed[:, 0], state_gates, state, weights.U, dtype)
        new_state = tf.ensure_shape(new_state, state.shape)
        values = (new_state, alignment[:, 0], query, *gates)
        return (i + 1, new_state, *(array.write(i, value) for array, value in zip(results, values)))

    _, _, *results = tf.while_loop(lambda i, *_: i < steps, step, (0, initial_state, *results), parallel_iterations=1)
    states, alignments, queries, *gates = (array.stack() for array in results)
    return states, alignments, queries, gates


def _state_weights(weights):
    """All that multiplies s_{i−1} as it is, for one product: [U_z | U_r | W_a] [n, 2n + n']."""
    return tf.concat([weights.U_gates, weights.W_a], axis=1)


def _sizes(weights):
    return [weights.U_gates.shape[-1], weights.W_a.shape[-1]]


def _gradient(outer, forward, memory, weights, dtype):
    """Gradients of all arguments of ``run`` in :func:`scan`, in their order."""
    before, alignments, _, gates = forward
    size = weights.U.shape[0]
    deltas, query_deltas, state_gradient, projected_gradient, v_a_gradient = _run_backward(
        outer, forward, memory, weights, dtype
    )
    sentence_first = [tf.transpose(values, [1, 0, 2]) for values in (alignments, deltas)]
    summands_gradient = batched_product(*sentence_first, dtype, transpose_left=True)  # through Σ_j α_ij C h_j
    step_gradients = StepWeights(
        W_a=weight_gradient(before, query_deltas, dtype),
        v_a=v_a_gradient,
        U=weight_gradient(gates[1] * before, deltas[..., :size], dtype),
        U_gates=weight_gradient(before, deltas[..., size:], dtype),
    )
    return deltas, state_gradient, summands_gradient, projected_gradient, *step_gradients


def _run_backward(outer, forward, memory, weights, dtype):
    """The loop from the last target position to the first.

    The softmax's gradient sums to zero over j, so of ∂L/∂e_ij · (1 − tanh²) only the part with tanh² has to be summed.

    Returns:
        deltas [I, B, 3n] (∂L/∂inputs), query_deltas [I, B, n'] (∂L/∂(W_a s)), ∂L/∂s_0 [B, n],
        ∂L/∂(U_a h) [B, J, n'], ∂L/∂v_a [n', 1].
    """
    before, alignments, queries, gates = forward
    steps, size = tf.shape(before)[0], weights.U.shape[0]
    kept = (*outer, before, alignments, queries, *gates)
    state_weights, v_a = _state_weights(weights), weights.v_a[:, 0]
    # TensorFlow's float32 product of few rows takes twice as long where it has to transpose its right side itself.
    turn = dtype is None
    state_weights = tf.transpose(state_weights) if turn else state_weights

    def step(i, carried, energy_sum, square_sum, v_a_sum, deltas, query_deltas):
        outer_state, outer_alignment, state, alignment, query, *unit = (values[i] for values in kept)
        delta, state_gradient = gated_unit_gradient(carried + outer_state, state, unit, weights.U, dtype)
        through_sum = batched_product(delta[:, tf.newaxis], memory.annotations, dtype, transpose_right=True)
        weighted = alignment * (outer_alignment + through_sum[:, 0])
        energy_delta = weighted - alignment * tf.reduce_sum(weighted, axis=-1, keepdims=True)  # [B, J]
        hidden = alignment_hidden(query[:, tf.newaxis], memory.projected_annotations)[:, 0]  # [B, J, n']
        squares = energy_delta[..., tf.newaxis] * (hidden * hidden)
        query_delta = -v_a * tf.reduce_sum(squares, axis=1)  # [B, n']
        state_delta = tf.concat([delta[:, size:], query_delta], axis=-1)
        state_gradient += product(state_delta, state_weights, dtype, transpose_right=not turn)
        return (
            i - 1,
            state_gradient,
            energy_sum + energy_delta,
            square_sum + squares,
            v_a_sum + weight_gradient(hidden, energy_delta[..., tf.newaxis]),
            deltas.write(i, delta),
            query_deltas.write(i, query_delta),
        )

    arrays_out = [tf.TensorArray(before.dtype, steps) for _ in range(2)]
    sums = (alignments[0], memory.projected_annotations, weights.v_a)
    start = (steps - 1, tf.zeros_like(before[0]), *map(tf.zeros_like, sums), *arrays_out)
    _, state_gradient, energy_sum, square_sum, v_a_gradient, *results = tf.while_loop(
        lambda i, *_: i >= 0, step, start, parallel_iterations=1
    )
    # s_0 receives what was carried; the outer gradient of s_i entered with step i + 1 as carried + outer.
    deltas, query_deltas = (array.stack() for array in results)
    projected_gradient = v_a * (energy_sum[..., tf.newaxis] - square_sum)
    return deltas, query_deltas, state_gradient, projected_gradient, v_a_gradient
