"""Planted faults of what Keras's compile, fit and evaluate are given; see mutants.py."""

from mutants import Mutant

LAUNCH = "training/test_launch.py"

MODEL = "models/translation_model.py"
CHECKS = "models/keras_fit.py"
FIT = "model/test_keras_fit.py"

KERAS = [
    Mutant(
        CHECKS,
        "a gradient of NaN ends no fit",
        "all(map(math.isfinite, values.values()))",
        "True",
        (f"{FIT}::test_fit_raises_where_keras_would_go_on",),
    ),
    Mutant(
        CHECKS,
        "a single callback ends the watch for NaN",
        'given["callbacks"] = [*tf.nest',
        'if isinstance(callbacks, list): given["callbacks"] = [*tf.nest',
        (f"{FIT}::test_fit_raises_where_keras_would_go_on",),
    ),
    Mutant(
        CHECKS,
        "a loss of Keras has no watch for NaN",
        'logs = {"gradient_norm": self.model.optimizer.gradient_norm.numpy()}',
        "logs = {}",
        (f"{FIT}::test_fit_raises_with_a_loss_of_keras_too",),
    ),
    Mutant(
        CHECKS,
        "weights of a validation text are dropped",
        "weights_as_input(part)",
        "pass",
        (f"{FIT}::test_those_of_a_validation_text_too",),
    ),
    Mutant(
        "models/metrics.py",
        "a mean of nothing is 0",
        "return tf.convert_to_tensor(self.total) / tf.convert_to_tensor(self.count)",
        "return super().result()",
        (f"{FIT}::test_an_epoch_of_skipped_batches_is_nan_and_says_so",),
    ),
    Mutant(
        MODEL,
        "the share of bad batches counts only bad ones",
        "tf.cast(~valid, tf.float64), sample_weight=one",
        "tf.cast(~valid, tf.float64), sample_weight=0 * one",
        (f"{FIT}::test_an_epoch_of_skipped_batches_is_nan_and_says_so",),
    ),
    Mutant(
        "training/development.py",
        "a first loss of NaN is the best",
        "math.isfinite(loss) and",
        "",
        (f"{FIT}::test_a_development_loss_that_is_not_finite_is_never_the_best",),
    ),
    Mutant(
        CHECKS,
        "int64 ids stay",
        "tf.cast(inputs[name], tf.int32)",
        "tf.convert_to_tensor(inputs[name])",
        (f"{FIT}::test_ids_of_any_integer_type",),
    ),
    Mutant(
        CHECKS,
        "weights of arrays are dropped",
        'given["x"] = {**x, "sample_weight": np.asarray(given.pop("sample_weight"))}',
        "pass",
        (
            f"{FIT}::test_sample_weights_multiply_the_losses_of_sentences",
            f"{FIT}::test_sample_weights_of_zero_move_nothing",
        ),
    ),
    Mutant(
        MODEL,
        "the gradient has no weights",
        "                losses *= weights\n",
        "                pass\n",
        (f"{FIT}::test_sample_weights_of_zero_move_nothing",),
    ),
    Mutant(
        CHECKS,
        "class weights are taken",
        "if class_weight is not None:",
        "if False:",
        (f"{FIT}::test_class_weights_are_refused",),
    ),
    Mutant(
        MODEL,
        "padding counts in losses of Keras",
        'return inputs["target_ids"] != PAD_ID',
        "return None",
        (f"{FIT}::test_a_loss_and_a_metric_of_keras_leave_padding_out",),
    ),
    Mutant(
        CHECKS,
        "losses of probabilities are taken",
        "return parameter is not None and parameter.default is False",
        "return False",
        (f"{FIT}::test_a_loss_of_probabilities_is_refused",),
    ),
    Mutant(
        MODEL,
        "regularizers are left out",
        "objective += tf.cast(added, objective.dtype) / shares_of_batch",
        "pass",
        (f"{FIT}::test_regularizers_and_added_losses_are_part_of_the_objective",),
    ),
    Mutant(
        "training/optimizers.py",
        "no momentum",
        "SGD(momentum=config.momentum, **common)",
        "SGD(**common)",
        (f"{FIT}::test_sgd_with_momentum_beside_numpy",),
    ),
    Mutant(
        CHECKS,
        "the optimizer is built in a replica",
        "self.optimizer.build(self.trainable_variables)\n        super()",
        "pass\n        super()",
        (f"{LAUNCH}::test_replicas_together_make_the_updates_of_one_process[accumulate-traced]",),
    ),
]
