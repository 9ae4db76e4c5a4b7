"""The update rules, as TensorFlow's fused operations: one pass over each weight.

Keras's own rules give the same numbers in many passes, and 80 million weights are bound by
memory. Half of them may be embeddings, of which a batch uses few rows: Adadelta, whose other rows do
not move, leaves those alone. What is added: the norm of the gradient is kept for the log, and a
gradient that is not finite is handled as ``training.non_finite_gradient`` says.
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.errors import UsageError

POLICIES = ("error", "skip", "shrink")


class _Watched:
    """Mixed into an optimizer: watches the gradient's norm before it is applied.

    Attributes:
        gradient_norm: L2 norm of the last gradient, over all weights, before cutting.
        updates_rows: of a weight with ``looked_up``, an embedding, the rule takes for gradient the rows of the
            words that occurred; else that is made a matrix first.
    """

    updates_rows = False

    def __init__(self, *arguments, non_finite_gradient="error", **keywords):
        super().__init__(*arguments, **keywords)
        if non_finite_gradient not in POLICIES:
            raise UsageError(
                f"non_finite_gradient: expected one of {', '.join(POLICIES)}, got {non_finite_gradient!r}"
            )
        self.non_finite_gradient = non_finite_gradient

    def build(self, variables):
        super().build(variables)
        if not hasattr(self, "gradient_norm"):
            self.gradient_norm = tf.Variable(0.0, trainable=False, name="gradient_norm")

    def apply(self, grads, trainable_variables=None):
        """Update the weights, unless the gradient has NaN or Inf.

        ``error`` and ``skip`` leave weights and optimizer state as they are (the training
        driver then stops, or goes on); ``shrink`` takes 0.1·θ as the gradient of every
        weight θ, not cut, as the authors' program did.
        """
        if not self.built:
            self.build(trainable_variables)
        weights = trainable_variables if trainable_variables is not None else self._trainable_variables
        grads = [self._gradient(*pair) for pair in zip(grads, weights)]
        self._norm = tf.linalg.global_norm(grads)
        self.gradient_norm.assign(tf.cast(self._norm, tf.float32))
        update = super().apply

        def usual():
            self._cut = True
            update(grads, trainable_variables)
            return tf.constant(0)

        def shrink():
            self._cut = False
            update([0.1 * tf.convert_to_tensor(weight) for weight in weights], trainable_variables)
            return tf.constant(0)

        otherwise = shrink if self.non_finite_gradient == "shrink" else lambda: tf.constant(0)
        tf.cond(tf.math.is_finite(self._norm), usual, otherwise)

    def _by_rows(self, variable):
        return self.updates_rows and not self.gradient_accumulation_steps and getattr(variable, "looked_up", False)

    def _gradient(self, gradient, variable):
        if isinstance(gradient, tf.IndexedSlices) and self._by_rows(variable):
            return distinct_rows(gradient)
        return tf.convert_to_tensor(gradient)

    def _clip_gradients(self, grads):
        if not self._cut:
            return grads
        if self.global_clipnorm and not self.gradient_accumulation_steps:  # the norm is known
            return tf.clip_by_global_norm(grads, self.global_clipnorm, use_norm=self._norm)[0]
        return super()._clip_gradients(grads)

    def get_config(self):
        return super().get_config() | {"non_finite_gradient": self.non_finite_gradient}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adadelta(_Watched, keras.optimizers.Adadelta):
    """Adadelta (Zeiler 2012; Bahdanau et al. 2015, B.2: ρ = 0.95, ε = 1e−6, no learning rate).

        E[g²] ← ρ E[g²] + (1−ρ) g²,   Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
        θ ← θ − learning_rate · Δ,   E[Δ²] ← ρ E[Δ²] + (1−ρ) Δ²
    """

    updates_rows = True

    def build(self, variables):
        if not self.built:
            # A row without gradient does not move, and its two averages only fade: that is made up for when it occurs.
            faded = [self.add_variable((v.shape[0],), "zeros", "int32", name="faded") if self._by_rows(v) else None for v in variables]
            self._faded = faded  # how many updates the averages of a row have faded in
        super().build(variables)

    def update_step(self, grad, variable, learning_rate):
        index = self._get_variable_index(variable)
        if isinstance(grad, tf.IndexedSlices):
            return self._update_rows(grad, variable, index, learning_rate)
        if self._faded[index] is not None:
            self._fade_all(index)
        tf.raw_ops.ResourceApplyAdadelta(
            var=_handle(variable),
            accum=_handle(self._accumulated_grads[index]),
            accum_update=_handle(self._accumulated_delta_vars[index]),
            lr=tf.cast(learning_rate, grad.dtype),
            rho=tf.constant(self.rho, grad.dtype),
            epsilon=tf.constant(self.epsilon, grad.dtype),
            grad=grad,
        )

    def _update_rows(self, grad, variable, index, learning_rate):
        """The rule for the rows that have a gradient, after the fading they missed."""
        moved, squares, steps, faded = map(_variable, (variable, *self._averages(index)))
        g, rows, rho = grad.values, grad.indices, self.rho
        fade = self._missed(tf.gather(faded, rows), g.dtype)
        new_squares = rho * fade * tf.gather(squares, rows) + (1 - rho) * tf.square(g)
        old_steps = fade * tf.gather(steps, rows)
        delta = tf.sqrt(old_steps + self.epsilon) * tf.math.rsqrt(new_squares + self.epsilon) * g
        moved.scatter_sub(tf.IndexedSlices(tf.cast(learning_rate, g.dtype) * delta, rows))
        squares.scatter_update(tf.IndexedSlices(new_squares, rows))
        steps.scatter_update(tf.IndexedSlices(rho * old_steps + (1 - rho) * tf.square(delta), rows))
        faded.scatter_update(tf.IndexedSlices(tf.fill(tf.shape(rows), tf.cast(self.iterations + 1, tf.int32)), rows))

    def _fade_all(self, index):
        """Fading that rows missed, before an update of the whole matrix."""
        squares, steps, faded = map(_variable, self._averages(index))
        fade = self._missed(faded, squares.dtype)
        squares.assign(fade * squares)
        steps.assign(fade * steps)
        faded.assign(tf.fill(tf.shape(faded), tf.cast(self.iterations + 1, tf.int32)))

    def _averages(self, index):
        return self._accumulated_grads[index], self._accumulated_delta_vars[index], self._faded[index]

    def _missed(self, faded, dtype):
        """ρ to the number of updates since, [rows, 1]."""
        return tf.pow(tf.constant(self.rho, dtype), tf.cast(tf.cast(self.iterations, tf.int32) - faded, dtype))[:, tf.newaxis]


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adam(_Watched, keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015); not in the papers, what small corpora are trained with."""

    def update_step(self, gradient, variable, learning_rate):
        index, dtype = self._get_variable_index(variable), gradient.dtype
        steps = tf.cast(self.iterations + 1, dtype)
        beta_1, beta_2 = tf.constant(self.beta_1, dtype), tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=tf.pow(beta_1, steps),
            beta2_power=tf.pow(beta_2, steps),
            lr=tf.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=gradient,
        )


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class SGD(_Watched, keras.optimizers.SGD):
    """Stochastic gradient descent, as Keras has it."""


def distinct_rows(gradient):
    """IndexedSlices with every row once: the gradients of a word's occurrences summed up."""
    rows, places = tf.unique(gradient.indices)
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


def _variable(variable):
    """TensorFlow's variable; Keras hands out its own kind in places."""
    return variable if isinstance(variable, tf.Variable) else variable.value


def _handle(variable):
    return _variable(variable).handle


def build_optimizer(config):
    """The optimizer of a TrainingConfig, every number of it explicit.

    Args:
        config: TrainingConfig.

    Returns:
        keras.optimizers.Optimizer.
    """
    common = dict(
        learning_rate=config.learning_rate,
        global_clipnorm=config.global_clipnorm,
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        non_finite_gradient=config.non_finite_gradient,
    )
    if config.optimizer == "adadelta":
        return Adadelta(rho=config.rho, epsilon=config.epsilon, **common)
    if config.optimizer == "adam":
        return Adam(beta_1=config.beta_1, beta_2=config.beta_2, epsilon=config.epsilon, **common)
    return SGD(momentum=config.momentum, **common)
