"""The decoder's recurrence (Bahdanau et al. 2015, Appendix A.2.2), one step and all steps.

One step looks, then updates:

    c_i = Σ_j α_ij h_j                      attend(s_{i−1})
    s_i = gated unit(E y, s_{i−1}, c_i)     update

Which word y enters, y_i or y_{i−1}, is the option ``decoder_order``; the model decides it by
what it hands in as ``inputs``. Training runs :func:`decoder_step` over all target positions
(:func:`scan`); search takes the same function one step at a time.
"""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory, BahdanauAttention, alignment_hidden, attend
from rnnsearch_tf.layers.base import PaperLayer, add_bias, tensor
from rnnsearch_tf.layers.gated_unit import gated_unit, gated_unit_gradient
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import product, ready, weight_gradient


class StepWeights(NamedTuple):
    """The weights of one step, as tensors: W_a [n, n'], v_a [n', 1], C [2n, 3n], U [n, n], U_gates [n, 2n]."""

    W_a: tf.Tensor
    v_a: tf.Tensor
    C: tf.Tensor
    U: tf.Tensor
    U_gates: tf.Tensor


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Decoder(PaperLayer):
    """The attending recurrent decoder, without its output layer.

    Args:
        hidden_size: n.
        alignment_size: n'.
        biases: ``groundhog`` (candidate state and s_0), ``none`` or ``all``.
        initialization: ``paper`` or ``glorot``.
        seed: int.
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

    def build(self, embedding_size, annotation_size):
        n, seeds = self.hidden_size, Seeds(self.seed)
        other = lambda: initializer(self.initialization, "other", seeds.next())  # noqa: E731
        self.W = self.matrix("W", (embedding_size, 3 * n), other())  # [W | W_z | W_r]
        self.C = self.matrix("C", (annotation_size, 3 * n), other())  # [C | C_z | C_r]
        self.U = self.matrix("U", (n, n), initializer(self.initialization, "recurrent", seeds.next()))
        self.U_gates = self.matrix("U_gates", (n, 2 * n), initializer(self.initialization, "recurrent", seeds.next()))
        self.W_s = self.matrix("W_s", (annotation_size // 2, n), other())
        biased = self.biases != "none"
        self.b = self.vector("b", 3 * n if self.biases == "all" else n) if biased else None
        self.b_s = self.vector("b_s", n) if biased else None
        self.attention.build(n, annotation_size)
        self.built = True

    def initial_state(self, annotations):
        """s_0 = tanh(W_s ←h_1): annotations [B, J, 2n] → [B, n]."""
        backward_first = annotations[:, 0, annotations.shape[-1] // 2 :]
        return tf.tanh(add_bias(product(backward_first, tensor(self.W_s), self.product_dtype), self.b_s))

    def inputs(self, embeddings):
        """What the word brings to the unit: E y [..., m] → [W e | W_z e | W_r e] [..., 3n]."""
        projected = product(embeddings, tensor(self.W), self.product_dtype)
        if self.b is None:
            return projected
        return projected + tf.pad(tensor(self.b), [[0, 3 * self.hidden_size - self.b.shape[0]]])

    def first(self, annotations, memory):
        """The state before the first word: {"state": s_0 [B, n]}."""
        return {"state": self.initial_state(annotations)}

    def look(self, state, memory):
        """(context [B, K, 2n], alignment [B, K, J], state) for the state of K hypotheses a sentence."""
        return (*self.attention(state["state"], memory), state)

    def update(self, state, inputs, context):
        """The state s_i after a word, from s_{i−1} [B, K, n], inputs [B, K, 3n] and c_i [B, K, 2n]."""
        return {"state": update(state["state"], inputs, context, self.step_weights(), self.product_dtype)[0]}

    def call(self, inputs, state, memory):
        """All steps with given words (training, forced scoring).

        Args:
            inputs: float [B, I, 3n], from :meth:`inputs`.
            state: {"state": s_0 [B, n]}.
            memory: AttentionMemory.

        Returns:
            (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
            No gradient flows out of the alignments.
        """
        return scan(inputs, state["state"], memory, self.step_weights(), self.product_dtype)

    def step_weights(self):
        attention = self.attention
        return StepWeights(*map(tensor, (attention.W_a, attention.v_a, self.C, self.U, self.U_gates)))

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


def update(state, inputs, context, weights, dtype=None):
    """s_i of the gated unit (``gated_unit.py``) with a context.

    Returns:
        (new_state [B, K, n], gates): gates as in ``gated_unit``, each [B·K, n].
    """
    rows = tf.reshape(state, [-1, state.shape[-1]])
    unit_inputs = tf.reshape(inputs + product(context, weights.C, dtype), [-1, inputs.shape[-1]])
    new_state, gates = gated_unit(unit_inputs, rows, weights.U, weights.U_gates, dtype)
    return tf.reshape(new_state, tf.shape(state)), gates


def decoder_step(state, inputs, memory, weights, dtype=None):
    """Look, then update: (s_i, c_i, α_i, gates) from s_{i−1} and the word's inputs."""
    context, alignment = attend(state, memory, weights.W_a, weights.v_a, dtype)
    new_state, gates = update(state, inputs, context, weights, dtype)
    return new_state, context, alignment, gates


def scan(inputs, initial_state, memory, weights, dtype=None):
    """Run :func:`decoder_step` over all target positions, with a gradient that runs it back.

    As in the encoder, the hand-written gradient carries only the state's gradient through
    its loop; the gradients of the weights and of the annotations are single products over
    all positions afterwards. tanh(W_a s + U_a h) is computed again rather than kept: for
    one batch it would be I times as large as everything else together.

    Args:
        inputs: float [B, I, 3n].
        initial_state: float [B, n].
        memory: AttentionMemory.
        weights: StepWeights.
        dtype: operand dtype of the products.

    Returns:
        (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]).
    """

    @tf.custom_gradient
    def run(inputs, initial_state, annotations, projected_annotations, *weights):
        weights = StepWeights(*weights)
        weights = StepWeights(*ready(weights, dtype))._replace(v_a=weights.v_a)  # v_a meets no product in dtype
        remembered = AttentionMemory(annotations, projected_annotations, memory.mask)
        states, contexts, alignments, gates = _run_forward(inputs, initial_state, remembered, weights, dtype)

        def gradient(states_gradient, contexts_gradient, _):
            before = tf.concat([initial_state[tf.newaxis], states[:-1]], axis=0)  # s_{i−1}, time first
            forward = (before, contexts, alignments, gates)
            return _gradient(states_gradient, contexts_gradient, forward, remembered, weights, dtype)

        return (states, contexts, alignments), gradient

    time_first = run(
        tf.transpose(inputs, [1, 0, 2]), initial_state, memory.annotations, memory.projected_annotations, *weights
    )
    states, contexts, alignments = (tf.transpose(values, [1, 0, 2]) for values in time_first)
    return states, contexts, tf.stop_gradient(alignments)


def _run_forward(inputs, initial_state, memory, weights, dtype):
    """states, contexts, alignments and gates (z, r, h̃) of all steps, time first."""
    steps = tf.shape(inputs)[0]
    source = _unstack(inputs)
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]

    def step(i, state, *results):
        new_state, context, alignment, gates = decoder_step(
            state[:, tf.newaxis], source.read(i)[:, tf.newaxis], memory, weights, dtype
        )
        new_state = tf.ensure_shape(new_state[:, 0], state.shape)
        values = (new_state, context[:, 0], alignment[:, 0], *gates)
        return (i + 1, new_state, *(array.write(i, value) for array, value in zip(results, values)))

    _, _, *results = tf.while_loop(lambda i, *_: i < steps, step, (0, initial_state, *results), parallel_iterations=1)
    states, contexts, alignments, *gates = (array.stack() for array in results)
    return states, contexts, alignments, gates


def _gradient(states_gradient, contexts_gradient, forward, memory, weights, dtype):
    """Gradients of all arguments of ``run`` in :func:`scan`, in their order."""
    before, contexts, alignments, gates = forward
    size = weights.U.shape[0]
    queries = product(before, weights.W_a, dtype)  # [I, B, n']
    outer = (states_gradient, contexts_gradient)
    deltas, query_deltas, context_deltas, state_gradient, projected_gradient, v_a_gradient = _run_backward(
        outer, forward, queries, memory, weights, dtype
    )
    annotations_gradient = tf.einsum("ibj,ibd->bjd", alignments, context_deltas)  # through c_i = Σ_j α_ij h_j
    step_gradients = StepWeights(
        W_a=weight_gradient(before, query_deltas, dtype),
        v_a=v_a_gradient,
        C=weight_gradient(contexts, deltas, dtype),
        U=weight_gradient(gates[1] * before, deltas[..., :size], dtype),
        U_gates=weight_gradient(before, deltas[..., size:], dtype),
    )
    return deltas, state_gradient, annotations_gradient, projected_gradient, *step_gradients


def _run_backward(outer, forward, queries, memory, weights, dtype):
    """The loop from the last target position to the first.

    Returns:
        deltas [I, B, 3n] (∂L/∂inputs), query_deltas [I, B, n'] (∂L/∂(W_a s)), context_deltas
        [I, B, 2n] (∂L/∂c_i), ∂L/∂s_0 [B, n], ∂L/∂(U_a h) [B, J, n'], ∂L/∂v_a [n', 1].
    """
    before, _, alignments, gates = forward
    steps, size = tf.shape(before)[0], weights.U.shape[0]
    arrays = [_unstack(values) for values in (*outer, before, alignments, queries, *gates)]
    state_weights = tf.concat([weights.U_gates, weights.W_a], axis=1)  # all that multiplies s_{i−1}, for one product
    v_a = weights.v_a[:, 0]

    def step(i, carried, projected_sum, v_a_sum, deltas, query_deltas, context_deltas):
        outer_state, outer_context, state, alignment, query, *unit = (array.read(i) for array in arrays)
        delta, state_gradient = gated_unit_gradient(carried + outer_state, state, unit, weights.U, dtype)
        context_delta = outer_context + product(delta, weights.C, dtype, transpose_right=True)  # [B, 2n]
        alignment_gradient = tf.linalg.matvec(memory.annotations, context_delta)  # [B, J]
        weighted = alignment * alignment_gradient
        energy_delta = weighted - alignment * tf.reduce_sum(weighted, axis=-1, keepdims=True)  # [B, J]
        hidden = alignment_hidden(query[:, tf.newaxis], memory.projected_annotations)[:, 0]  # [B, J, n']
        hidden_delta = energy_delta[..., tf.newaxis] * (1 - hidden * hidden)  # but for the factor v_a
        query_delta = v_a * tf.reduce_sum(hidden_delta, axis=1)  # [B, n']
        state_delta = tf.concat([delta[:, size:], query_delta], axis=-1)
        state_gradient += product(state_delta, state_weights, dtype, transpose_right=True)
        return (
            i - 1,
            state_gradient,
            projected_sum + hidden_delta,
            v_a_sum + weight_gradient(hidden, energy_delta[..., tf.newaxis]),
            deltas.write(i, delta),
            query_deltas.write(i, query_delta),
            context_deltas.write(i, context_delta),
        )

    arrays_out = [tf.TensorArray(before.dtype, steps) for _ in range(3)]
    sums = (tf.zeros_like(before[0]), tf.zeros_like(memory.projected_annotations), tf.zeros_like(weights.v_a))
    _, state_gradient, projected_sum, v_a_gradient, *results = tf.while_loop(
        lambda i, *_: i >= 0, step, (steps - 1, *sums, *arrays_out), parallel_iterations=1
    )
    # s_0 receives what was carried; the outer gradient of s_i entered with step i + 1 as carried + outer.
    deltas, query_deltas, context_deltas = (array.stack() for array in results)
    return deltas, query_deltas, context_deltas, state_gradient, v_a * projected_sum, v_a_gradient


def _unstack(values):
    return tf.TensorArray(values.dtype, tf.shape(values)[0]).unstack(values)
