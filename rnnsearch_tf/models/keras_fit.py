"""What ``compile``, ``fit`` and ``evaluate`` of the systems are given, checked before Keras sees it."""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.errors import UsageError, UserError


class NonFiniteGradient(UserError):
    """The gradient of a batch is NaN or infinite; nothing was learned from that batch."""


class StopAtNonFiniteGradient(keras.callbacks.Callback):
    """Ends a plain ``fit`` with NonFiniteGradient; a callback that has stopped it already, such as TerminateOnNaN, goes first."""

    def on_train_batch_end(self, batch, logs=None):
        values = {name: float(logs[name]) for name in ("loss", "gradient_norm") if name in logs}
        if self.model.stop_training or all(map(math.isfinite, values.values())):
            return
        found = ", ".join(f"{name} {value}" for name, value in values.items())
        raise NonFiniteGradient(
            f"fit: expected a finite gradient, got {found} in batch {batch + 1} of the epoch; the weights are those before it; "
            "take a lower learning rate, or non_finite_gradient='skip'"
        )


def batch_inputs(data) -> dict[str, tf.Tensor]:
    """The dictionary of a batch of ``fit`` or ``evaluate`` with the fused loss, its ids int32.

    Raises:
        UsageError: it is no dictionary of ``source_ids`` and ``target_ids``, or has y too.
    """
    inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(data)
    if not isinstance(inputs, dict) or not {"source_ids", "target_ids"} <= inputs.keys():
        found = ", ".join(inputs) if isinstance(inputs, dict) else type(inputs).__name__
        raise UsageError(f"fit: expected batches that are dictionaries of source_ids and target_ids, got {found}")
    if targets is not None:
        raise UsageError(
            "fit: expected batches of source_ids and target_ids alone with TranslationLoss, got y too; leave y out, or compile with "
            "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
        )
    if weights is not None:
        inputs = inputs | {"sample_weight": weights}
    return with_int32_ids(inputs)


def with_int32_ids(inputs):
    """The same dictionary with ids of any integer type (NumPy's default is int64) as int32."""
    ids = {name: tf.cast(inputs[name], tf.int32) for name in ("source_ids", "target_ids")}
    return {**inputs, **ids}


def word_weights(inputs, dtype):
    """Weights [N] of the real target words from ``sample_weight`` [B] or [B, I] of a batch; None where it has none."""
    weights = inputs.get("sample_weight")
    if weights is None:
        return None
    weights = tf.cast(weights, dtype)
    places = tf.where(inputs["target_ids"] != PAD_ID)
    if weights.shape.rank == 1:
        return tf.gather(weights, places[:, 0])
    return tf.gather_nd(weights, places)


def weights_as_input(given):
    """Put ``sample_weight`` of arrays without y into x; Keras would drop it.

    Args:
        given: dictionary of the arguments of ``fit`` or ``evaluate``; it is changed.
    """
    if given.get("sample_weight") is None or given.get("y") is not None:
        return
    weights = np.asarray(given.pop("sample_weight"))
    given["x"] = {**given["x"], "sample_weight": weights}


def bound(method, arguments, keywords):
    """The arguments of a call of a bound method by their names, as inspect.BoundArguments."""
    return inspect.signature(method).bind(*arguments, **keywords)


def refuse_class_weight(call, class_weight):
    """Raise UsageError where classes are weighted: a sentence has no class."""
    if class_weight is not None:
        raise UsageError(f"{call}: expected no class_weight, got {class_weight!r}; weight sentences with sample_weight")


def refuse_probabilities(name, functions):
    """Raise UsageError where a loss or metric takes the logits of ``call`` for probabilities.

    Args:
        name: argument of ``compile``, for the message.
        functions: what it was given: None, one loss or metric, or a list or dictionary of them.
    """
    for function in tf.nest.flatten(functions):
        if function is not None and _takes_probabilities(function):
            raise UsageError(
                f"compile: expected {name} of logits, which the model gives, got {function!r}, which takes them for probabilities; "
                "use keras.losses.SparseCategoricalCrossentropy(from_logits=True), and the metric of that name"
            )


def _takes_probabilities(function):
    if isinstance(function, str):
        if function in ("crossentropy", "ce"):
            return True
        with contextlib.suppress(ValueError):  # the name of a metric alone
            function = keras.losses.get(function)
    if isinstance(function, (keras.losses.Loss, keras.metrics.Metric)):
        return function.get_config().get("from_logits") is False
    if not callable(function):
        return False
    parameter = inspect.signature(function).parameters.get("from_logits")
    return parameter is not None and parameter.default is False


@contextlib.contextmanager
def datasets_may_end():
    """Inside, Keras does not warn at the end of a dataset of unknown size."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield
