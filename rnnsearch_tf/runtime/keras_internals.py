"""The parts of Keras outside of its public interface; no other file of the package takes any.

Tried with Keras 3.15.1; ``tests/house/test_library_internals.py`` tests each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

ADADELTA_AVERAGES = "_accumulated_grads", "_accumulated_delta_vars"
ADAM_MOMENTS = "_momentums", "_velocities"
"""Attributes in which Keras's optimizers keep their variables, one for each weight."""


class OptimizerSteps(keras.optimizers.Optimizer):
    """Steps of Keras's ``apply``. A subclass that replaced all of ``apply`` would have to repeat
    weight decay and averages of weights.
    """

    @property
    def weights_when_built(self) -> Sequence[keras.Variable]:
        """The weights that ``build`` was given, which ``apply`` updates if it is given none."""
        return self._trainable_variables

    def variables_of(self, weight: keras.Variable, attributes: Sequence[str]) -> list[Any]:
        """The optimizer's variables of a weight; `attributes` is ADADELTA_AVERAGES or ADAM_MOMENTS.
        Their public list has no order that Keras promises.
        """
        index = self._get_variable_index(weight)
        return [getattr(self, attribute)[index] for attribute in attributes]

    def count_in_every_replica(self) -> None:
        """Let every replica count its updates: Keras's counter is synchronized, which is impossible
        inside a condition.
        """
        self._iterations.value._aggregation = tf.VariableAggregation.NONE

    def clip(self, gradients: list[tf.Tensor]) -> list[tf.Tensor]:
        """Clip as the options say."""
        return super()._clip_gradients(gradients)

    def _clip_gradients(self, grads: list[tf.Tensor]) -> list[tf.Tensor]:
        return grads  # clipped already

    def _backend_update_step(
        self, grads: list[tf.Tensor], trainable_variables: list[Any], learning_rate: tf.Tensor
    ) -> None:
        """Update each replica's weights. Keras would sum the gradients over the replicas, but they
        are sums already.
        """
        for gradient, weight in zip(grads, trainable_variables):
            self.update_step(gradient, weight, learning_rate)


class BuiltModel(keras.Model):
    """A model whose layers are built in its constructor."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        # not documented; XLA would compile a program for every batch shape, and
        # compile(jit_compile=False) does not reach a model that contains this one
        self.supports_jit = False

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """No-op: Keras would otherwise trace the first batch to build layers and metrics."""

    def clear_losses(self) -> None:
        """Forget what ``add_loss`` was given; Keras does so when a model is called."""
        self._clear_losses()

    def all_layers(self) -> list[keras.layers.Layer]:
        """The layers of the model and all their sublayers; the public list has no sublayers."""
        return self._flatten_layers()


class TracedLayer(keras.layers.Layer):
    """A layer with ``compute_output_shape`` and an ``output_size``."""

    @property
    def output_shape(self) -> tuple[Any, ...]:
        """Shape shown by ``summary``, which reads this attribute: sentences, positions, width."""
        return (None, None, self.output_size)

    def compute_output_spec(self, *arguments: Any, **keywords: Any) -> Any:
        """Trace ``call``. For a layer with ``compute_output_shape``, Keras would otherwise assume
        that the result has the compute dtype.
        """
        return keras.Operation.compute_output_spec(self, *arguments, **keywords)
