"""The parts of Keras outside of its public interface; no other file of the package takes any.

Tried with Keras 3.15.1; ``tests/house/test_library_internals.py`` tests each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.runtime.backend import keras

ADADELTA_AVERAGES = "_accumulated_grads", "_accumulated_delta_vars"
ADAM_MOMENTS = "_momentums", "_velocities"
"""Attributes in which Keras's optimizers keep their variables, one for each weight."""


def variables_of(
    optimizer: keras.optimizers.Optimizer, weight: Any, attributes: Sequence[str]
) -> list[Any]:
    """The optimizer's variables of a weight; `attributes` is ADADELTA_AVERAGES or ADAM_MOMENTS.
    Their public list has no order that Keras promises.
    """
    index = optimizer._get_variable_index(weight)
    return [getattr(optimizer, attribute)[index] for attribute in attributes]


class BuiltModel(keras.Model):
    """A model whose layers are built in its constructor."""

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        # not documented; XLA would compile a program for every batch shape
        self.supports_jit = False

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        """Build the optimizer only; Keras would trace the first batch to build layers and loss."""
        if self.optimizer is not None and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)
