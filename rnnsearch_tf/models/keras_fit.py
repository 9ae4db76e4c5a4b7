"""``compile``, ``fit``, ``evaluate``, ``save`` and ``export`` of the systems, with checks of their
arguments before Keras reads them.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.models.replicas import shares
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models.loss import TranslationLoss
from rnnsearch_tf.runtime.keras_internals import BuiltModel


Batch: TypeAlias = dict[str, tf.Tensor]
"""``source_ids`` [B, J], ``target_ids`` [B, I]; maybe ``sample_weight``."""


class NonFiniteGradient(UserError):
    """The gradient of a batch is NaN or infinite; nothing was learned from that batch."""


class StopAtNonFiniteGradient(keras.callbacks.Callback):
    """Raises NonFiniteGradient in ``fit``, unless another callback, such as TerminateOnNaN, has
    already stopped it.
    """

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        if "gradient_norm" not in logs:  # with a loss of Keras
            logs = {"gradient_norm": self.model.optimizer.gradient_norm.numpy()}
        values = {name: float(logs[name]) for name in ("loss", "gradient_norm") if name in logs}
        if self.model.stop_training or all(map(math.isfinite, values.values())):
            return
        found = ", ".join(f"{name} {value}" for name, value in values.items())
        raise NonFiniteGradient(
            f"fit: expected a finite gradient, got {found} in batch {batch + 1} of the epoch; the"
            " weights are those before it; take a lower learning rate"
        )


class KerasMethods(BuiltModel):
    """Keras's ``compile``, ``fit``, ``evaluate``, ``save`` and ``export``, adapted to the systems.

    The subclass :class:`TranslationModel` has the loss per token, the update and its metrics.
    """

    def compile(self, *arguments: Any, **keywords: Any) -> None:
        """Keras's ``compile``.

        With a :class:`TranslationLoss`, the metrics are loss per token, perplexity, tokens per
        second and gradient norm. With a Keras loss, such as
        ``keras.losses.SparseCategoricalCrossentropy(from_logits=True)``, they are those passed.

        Raises:
            UsageError: a loss or metric expects probabilities instead of logits; metrics are passed
                with the fused loss, which has no logits for them.
        """
        given = bind_arguments(super().compile, arguments, keywords).arguments
        loss = given.get("loss")
        metrics = [given.get(name) for name in ("metrics", "weighted_metrics")]
        if any(metrics) and isinstance(loss, TranslationLoss):
            raise UsageError(
                f"{type(self).__name__}.compile: expected no metrics beside TranslationLoss, which"
                f" never makes logits, got {metrics[0] or metrics[1]!r}; loss, perplexity,"
                " target_tokens_per_second and gradient_norm are always reported; other metrics"
                " need loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
            )
        if given.get("loss_weights") is not None and isinstance(loss, TranslationLoss):
            raise UsageError(
                f"{type(self).__name__}.compile: expected no loss_weights beside TranslationLoss,"
                f" got {given['loss_weights']!r}; scale the learning rate, or give sample_weight"
            )
        if not isinstance(loss, TranslationLoss):
            refuse_probabilities("loss", loss)
            refuse_probabilities("metrics", metrics)
        super().compile(**given)

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compile a loaded model; Keras does not compile a model that overrides ``compile``."""
        # by name, as it imports the models; its optimizers are registered when it is imported
        importlib.import_module("rnnsearch_tf.training.optimizers")
        self.compile(**keras.saving.deserialize_keras_object(config))
        if self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    def fit(self, *arguments: Any, **keywords: Any) -> keras.callbacks.History:
        """Keras's ``fit``.

        ``sample_weight`` [B], also the third of ``validation_data``, multiplies the losses of
        sentences. If the model was created in the scope of a ``tf.distribute.MirroredStrategy``,
        each replica gets a share of every batch of a dataset.

        Raises:
            UsageError: ``class_weight`` is given.
            NonFiniteGradient: a gradient was not finite, and the optimizer's
                ``non_finite_gradient`` is "error".
        """
        given = bind_arguments(super().fit, arguments, keywords).arguments
        refuse_class_weight("fit", given.pop("class_weight", None))
        weights_as_input(given)
        validation = given.get("validation_data")
        if isinstance(validation, (tuple, list)) and len(validation) == 3:
            part = dict(zip(("x", "y", "sample_weight"), validation))
            weights_as_input(part)
            given["validation_data"] = tuple(part.values())
        x = given.get("x")
        if isinstance(x, tf.data.Dataset):
            given.setdefault("shuffle", False)
            replicas = self.distribute_strategy.num_replicas_in_sync
            if replicas > 1:
                if self._has_keras_loss():
                    self._refuse_replicas("loss=TranslationLoss()", repr(self.loss))
                split = self.distribute_strategy.distribute_datasets_from_function
                inputs = x.map(_inputs_of_element)
                given["x"] = split(lambda _: shares(inputs, replicas))
        if self.compiled and getattr(self.optimizer, "non_finite_gradient", None) == "error":
            callbacks = given.get("callbacks") or []
            if isinstance(callbacks, keras.callbacks.CallbackList):
                callbacks = callbacks.callbacks
            given["callbacks"] = [*tf.nest.flatten(callbacks), StopAtNonFiniteGradient()]
        with datasets_may_end(given.get("steps_per_epoch")):
            return super().fit(**given)

    def evaluate(self, *arguments: Any, **keywords: Any) -> Any:
        """Keras's ``evaluate``; ``sample_weight`` [B] multiplies the losses of sentences."""
        given = bind_arguments(super().evaluate, arguments, keywords).arguments
        further = given.pop("kwargs", {})
        weights_as_input(given)
        with datasets_may_end(given.get("steps")):
            return super().evaluate(**given, **further)

    def train_on_batch(
        self,
        x: Any,
        y: Any = None,
        sample_weight: Any = None,
        class_weight: Any = None,
        return_dict: bool = False,
    ) -> Any:
        """Keras's ``train_on_batch``, without ``class_weight``."""
        refuse_class_weight("train_on_batch", class_weight)
        return super().train_on_batch(x, y, sample_weight, return_dict=return_dict)

    def save(self, filepath: str | os.PathLike[str], *arguments: Any, **keywords: Any) -> None:
        """Keras's ``save``, to a ``.keras`` file."""
        if str(filepath).endswith((".h5", ".hdf5")):
            raise UsageError(
                f"{type(self).__name__}.save: expected a .keras file, got {filepath}; name it"
                " .keras"
            )
        return super().save(filepath, *arguments, **keywords)

    def export(
        self,
        filepath: str | os.PathLike[str],
        input_signature: Any = None,
        **keywords: Any,
    ) -> None:
        """Keras's ``export``: ids in, logits out. ``rnnsearch_tf.export`` exports a model with text
        processing and beam search.

        Args:
            filepath: see Keras's ``export``.
            input_signature: see Keras's ``export``; None: ``source_ids`` and ``target_ids``, int32
                [B, J] and [B, I].
            keywords: further arguments of Keras's ``export``.
        """
        if input_signature is None:
            ids = {
                name: keras.InputSpec(shape=(None, None), dtype="int32", name=name)
                for name in ("source_ids", "target_ids")
            }
            input_signature = [ids]
        super().export(filepath, input_signature=input_signature, **keywords)

    def make_train_function(self, force: bool = False) -> None:
        """Keras's method, but build the optimizer first, which a replica cannot do, and measure
        the time of each update.
        """
        if self.train_function is not None and not force:
            return
        if self.optimizer is not None and not self.optimizer.built:
            with self.distribute_strategy.scope():
                self.optimizer.build(self.trainable_variables)
        super().make_train_function(force=True)
        if self._has_keras_loss():
            return
        update = self.train_function

        def timed_update(iterator: Any) -> dict[str, Any]:
            started = time.monotonic()
            logs = dict(update(iterator))
            if "target_tokens" not in logs:  # of a train_step of one's own
                return logs
            tokens = float(logs.pop("target_tokens"))
            logs[self.speed_metric.name] = self.speed_metric.add(tokens, time.monotonic() - started)
            return logs

        self.train_function: Any = timed_update

    def _has_keras_loss(self) -> bool:
        """Whether ``compile`` got a loss of logits instead of the fused loss."""
        return (
            self.compiled and self.loss is not None and not isinstance(self.loss, TranslationLoss)
        )

    def _check_keras_batch(self, data: Any) -> None:
        """Raise UsageError if a loss of logits has no labels, or if there are several replicas."""
        _, labels, _ = keras.utils.unpack_x_y_sample_weight(data)
        if labels is None:
            raise UsageError(
                f"fit: expected y beside x with the loss {self.loss!r}, got x alone; y is the"
                " target ids, as in fit(x, x['target_ids']); or compile with"
                " loss=TranslationLoss()"
            )
        self._refuse_replicas("loss=TranslationLoss()", repr(self.loss))

    def _refuse_replicas(self, expected: str, found: str) -> None:
        """Raise UsageError if several replicas share a batch, which would then be counted several
        times.
        """
        if self.distribute_strategy.num_replicas_in_sync > 1:
            raise UsageError(
                f"{type(self).__name__}.compile: expected {expected} under a strategy with several"
                f" replicas, got {found}; compile with it, or train on one device"
            )


def batch_inputs(data: Any) -> dict[str, tf.Tensor]:
    """The dictionary of a batch for ``fit`` or ``evaluate`` with the fused loss, with int32 ids.

    Raises:
        UsageError: the batch is not a dictionary of ``source_ids`` and ``target_ids``, or has y.
    """
    inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(data)
    if not isinstance(inputs, dict) or not {"source_ids", "target_ids"} <= inputs.keys():
        found = ", ".join(inputs) if isinstance(inputs, dict) else type(inputs).__name__
        raise UsageError(
            "fit: expected batches that are dictionaries of source_ids and target_ids, got"
            f" {found}; use rnnsearch_tf.training_dataset, or make dictionaries with these keys"
        )
    if targets is not None:
        raise UsageError(
            "fit: expected batches of source_ids and target_ids alone with TranslationLoss, got y"
            " too; leave y out, or compile with"
            " keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
        )
    if weights is not None:
        inputs = inputs | {"sample_weight": weights}
    return with_int32_ids(inputs)


@tf.autograph.experimental.do_not_convert
def _inputs_of_element(*data: Any) -> Batch:
    """:func:`batch_inputs` of an element of a dataset, whose tuples ``map`` unpacks."""
    return batch_inputs(data)


def with_int32_ids(inputs: Batch) -> Batch:
    """Cast the ids of a batch to int32; NumPy's default is int64."""
    ids = {name: tf.cast(inputs[name], tf.int32) for name in ("source_ids", "target_ids")}
    return {**inputs, **ids}


def word_weights(inputs: Batch, dtype: tf.DType) -> tf.Tensor | None:
    """Weights [N] of the real target tokens, from ``sample_weight`` [B], [B, 1] or [B, I] of a
    batch; None if the batch has none.
    """
    weights = inputs.get("sample_weight")
    if weights is None:
        return None
    weights = tf.cast(weights, dtype)
    places = tf.where(inputs["target_ids"] != PAD_ID)
    if weights.shape.rank == 2 and weights.shape[1] == 1:  # as Keras has it
        weights = weights[:, 0]
    if weights.shape.rank == 1:
        return tf.gather(weights, places[:, 0])
    return tf.gather_nd(weights, places)


def with_gradients(gradients: Iterable[Any], weights: Iterable[Any]) -> tuple[list[Any], list[Any]]:
    """(gradients, weights) without the weights that the loss does not reach, whose gradient is
    None; Keras leaves these as they are, too.

    Raises:
        UsageError: the loss reaches none of the weights.
    """
    pairs = [
        (gradient, weight) for gradient, weight in zip(gradients, weights) if gradient is not None
    ]
    if not pairs:
        raise UsageError(
            "fit: expected a loss that depends on weights, got no gradient of any weight; look"
            " which layers are frozen (trainable = False)"
        )
    return [gradient for gradient, _ in pairs], [weight for _, weight in pairs]


def weights_as_input(given: dict[str, Any]) -> None:
    """Put ``sample_weight`` of arrays without y into x; Keras would drop it.

    Args:
        given: dictionary of the arguments of ``fit`` or ``evaluate``; it is changed.
    """
    if given.get("sample_weight") is None or given.get("y") is not None:
        return
    x = given.get("x")
    if not isinstance(x, dict):
        raise UsageError(
            "sample_weight: expected it beside a dictionary of arrays, got it beside"
            f" {type(x).__name__}; put sample_weight into the batches of a dataset"
        )
    given["x"] = {**x, "sample_weight": np.asarray(given.pop("sample_weight"))}


def bind_arguments(
    method: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> inspect.BoundArguments:
    """Bind the arguments of a call of a bound method to their names."""
    return inspect.signature(method).bind(*arguments, **keywords)


def refuse_class_weight(call: str, class_weight: Any) -> None:
    """Raise UsageError if class weights are given: a sentence has no class."""
    if class_weight is not None:
        raise UsageError(
            f"{call}: expected no class_weight, got {class_weight!r}; weight sentences with"
            " sample_weight"
        )


def refuse_probabilities(name: str, functions: Any) -> None:
    """Raise UsageError if a loss or metric would read the logits of ``call`` as probabilities.

    Args:
        name: argument of ``compile``, for the message.
        functions: its value: None, one loss or metric, or a list or dictionary of them.
    """
    for function in tf.nest.flatten(functions):
        if function is not None and _takes_probabilities(function):
            raise UsageError(
                f"compile: expected {name} of logits, which the model returns, got {function!r},"
                " which expects probabilities; use"
                " keras.losses.SparseCategoricalCrossentropy(from_logits=True), and the metric of"
                " that name"
            )


def _takes_probabilities(function: Any) -> bool:
    if isinstance(function, str):
        if function in ("crossentropy", "ce"):
            return True
        with contextlib.suppress(ValueError):  # the name is that of a metric
            function = keras.losses.get(function)
    if isinstance(function, (keras.losses.Loss, keras.metrics.Metric)):
        return function.get_config().get("from_logits") is False
    if not callable(function):
        return False
    parameter = inspect.signature(function).parameters.get("from_logits")
    return parameter is not None and parameter.default is False


@contextlib.contextmanager
def datasets_may_end(steps: int | None) -> Iterator[None]:
    """A context in which Keras does not warn at the end of a dataset of unknown size, unless a
    number of steps was asked for.
    """
    with warnings.catch_warnings():
        if steps is None:
            warnings.filterwarnings("ignore", message="Your input ran out of data")
        yield
