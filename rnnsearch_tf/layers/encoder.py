"""The bidirectional encoder (Bahdanau et al. 2015, §3.2 and Appendix A.2.1).

    →h_j = gated unit(E x_j, →h_{j−1}),   ←h_j = gated unit(E x_j, ←h_{j+1}),   h_j = [→h_j ; ←h_j]

Both directions share one word embedding, start from zero, and run in one loop.
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import HiddenLayer, padded, real_positions, tensor
from rnnsearch_tf.layers.gated_unit import gated_unit, gated_unit_gradient
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import batched_product, product, ready

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class BiGRUEncoder(HiddenLayer):
    """Annotations of a source sentence by two gated recurrent networks.

    Args:
        hidden_size: n, units of each direction.
        biases: ``groundhog`` (candidate state only), ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int.

    Call arguments:
        embeddings: float [B, J, m]: source words.
        mask: bool [B, J], True at real positions. A padded position keeps the state as it
            was, so padding changes nothing. None: the mask of ``mask_zero``, which Keras hands on, or all are real.

    Returns:
        annotations float [B, J, 2n], forward half first. ←h_1 is ``annotations[:, 0, n:]``.
    """

    def build(self, embeddings_shape):
        m, n = embeddings_shape[-1], self.hidden_size
        self.output_size = 2 * n
        seeds = Seeds(self.seed)
        other = initializer(self.initialization, "other", seeds.next(), columns=n, terms=2)  # W e + U h
        self.W = self.matrix("W", (len(DIRECTIONS), m, 3 * n), other)  # [W | W_z | W_r] of each direction
        self.U = self.matrix("U", (len(DIRECTIONS), n, n), initializer(self.initialization, "recurrent", seeds.next()))
        self.U_gates = self.matrix(
            "U_gates", (len(DIRECTIONS), n, 2 * n), initializer(self.initialization, "recurrent", seeds.next())
        )
        width = {"none": 0, "groundhog": n, "all": 3 * n}[self.biases]
        self.b = self.matrix("b", (len(DIRECTIONS), 1, width), initializer(self.initialization, "bias", seeds.next())) if width else None

    def call(self, embeddings, mask=None):
        mask = real_positions(embeddings, mask)
        rows = tf.transpose(embeddings, [1, 0, 2])  # time first: [J, B, m]
        b = padded(self.b, 3 * self.hidden_size)  # [2, 1, 3n]
        biases, inputs = [None, None] if b is None else tf.unstack(tf.squeeze(b, axis=1)), []
        for W, bias, direction in zip(tf.unstack(tensor(self.W)), biases, DIRECTIONS):
            projected = product(rows, W, self.product_dtype, bias=bias)  # [J, B, 3n]
            inputs.append(tf.reverse(projected, [0]) if direction == "backward" else projected)
        inputs = tf.stack(inputs, axis=1)  # [J, 2, B, 3n]; the backward one runs from the last position
        real = tf.transpose(tf.cast(mask, inputs.dtype))[:, :, tf.newaxis]  # [J, B, 1]
        real = tf.stack([real, tf.reverse(real, [0])], axis=1)  # [J, 2, B, 1]
        states = recurrence(inputs, real, tensor(self.U), tensor(self.U_gates), self.product_dtype)  # [J, 2, B, n]
        forward, backward = tf.unstack(states, axis=1)
        annotations = tf.concat([forward, tf.reverse(backward, [0])], axis=-1)  # [J, B, 2n]
        return tf.transpose(annotations, [1, 0, 2])

    def compute_mask(self, embeddings, mask=None):
        """The annotations have the mask of the words."""
        return mask

    def paper_weights(self):
        """This layer's weights by the paper's letters, see ``RNNSearch.paper_weights``."""
        n, weights = self.hidden_size, {}
        for index, direction in enumerate(DIRECTIONS):
            blocks = {"W": self.W, "U": self.U, "U_gates": self.U_gates}
            blocks = {letter: keras.ops.convert_to_numpy(value)[index] for letter, value in blocks.items()}
            W, U_gates = blocks["W"], blocks["U_gates"]
            named = {"W": W[:, :n], "W_z": W[:, n : 2 * n], "W_r": W[:, 2 * n :]}
            named |= {"U": blocks["U"], "U_z": U_gates[:, :n], "U_r": U_gates[:, n:]}
            if self.b is not None:
                b = keras.ops.convert_to_numpy(self.b)[index, 0]
                named |= {key: b[k * n : (k + 1) * n] for k, key in enumerate(("b", "b_z", "b_r")) if k * n < len(b)}
            weights |= {f"encoder.{direction}.{letter}": value for letter, value in named.items()}
        return weights


def recurrence(inputs, real, U, U_gates, dtype=None, first=None):
    """Run the gated unit over time, with a gradient that runs it back.

    The gradient is written by hand: its loop carries the state's gradient only, and each
    weight's gradient is one product over all positions after the loop, in place of one
    small product and one sum a step.

    Args:
        inputs: float [J, D, B, 3n], time first; D networks side by side.
        real: float [J, D, B, 1]: 1 at real positions, 0 where the state is kept as it was.
        U: float [D, n, n].
        U_gates: float [D, n, 2n].
        dtype: operand dtype of the products.
        first: float [D, B, n], the state before the first position; None: zero.

    Returns:
        states float [J, D, B, n].
    """
    size = U.shape[-1]

    @tf.custom_gradient
    def run(inputs, U, U_gates, first):
        U, U_gates = ready((U, U_gates), dtype)
        states, *gates = _run_forward(inputs, real, first, U, U_gates, dtype)

        def gradient(states_gradient):
            before = tf.concat([first[tf.newaxis], states[:-1]], axis=0)  # h' of every step
            deltas, first_gradient = _run_backward(states_gradient, before, gates, real, U, U_gates, dtype)
            reset_state = gates[1] * before
            U_gradient = _per_network_gradient(reset_state, deltas[..., :size], dtype)
            U_gates_gradient = _per_network_gradient(before, deltas[..., size:], dtype)
            return deltas, U_gradient, U_gates_gradient, first_gradient

        return states, gradient

    return run(inputs, U, U_gates, tf.zeros_like(inputs[0, ..., :size]) if first is None else first)


def _run_forward(inputs, real, state, U, U_gates, dtype):
    """states, z, r and h̃ of all steps, each [J, D, B, n]."""
    steps = tf.shape(inputs)[0]
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(4)]

    def step(j, state, *results):
        new_state, gates = gated_unit(inputs[j], state, U, U_gates, dtype)
        state = state + real[j] * (new_state - state)
        state = tf.ensure_shape(state, inputs.shape[1:3].concatenate(U.shape[-1]))
        return (j + 1, state, *(array.write(j, value) for array, value in zip(results, (state, *gates))))

    _, _, *results = tf.while_loop(lambda j, *_: j < steps, step, (0, state, *results), parallel_iterations=1)
    return [array.stack() for array in results]


def _run_backward(states_gradient, before, gates, real, U, U_gates, dtype):
    """∂L/∂inputs of all steps [J, D, B, 3n], and ∂L/∂h_0 [D, B, n]."""
    steps = tf.shape(before)[0]
    forward = (states_gradient, before, *gates, real)
    gates_size = U_gates.shape[-1]

    def step(j, carried, deltas):
        outer, state, z, r, candidate, kept = (values[j] for values in forward)
        total = carried + outer
        delta, state_gradient = gated_unit_gradient(total * kept, state, (z, r, candidate), U, dtype)
        state_gradient += batched_product(delta[..., -gates_size:], U_gates, dtype, transpose_right=True)
        return j - 1, state_gradient + total * (1 - kept), deltas.write(j, delta)

    first = (steps - 1, tf.zeros_like(before[0]), tf.TensorArray(before.dtype, steps))
    _, first_gradient, deltas = tf.while_loop(lambda j, *_: j >= 0, step, first, parallel_iterations=1)
    return deltas.stack(), first_gradient


def _per_network_gradient(inputs, deltas, dtype):
    """[J, D, B, a] and [J, D, B, b] → [D, a, b], summed over time and sentences."""
    inputs, deltas = (
        tf.reshape(tf.transpose(x, [1, 0, 2, 3]), [x.shape[1], -1, x.shape[-1]]) for x in (inputs, deltas)
    )
    return batched_product(inputs, deltas, dtype, transpose_left=True)
