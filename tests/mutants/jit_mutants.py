"""Faults in batches of few shapes and in updates that XLA compiles."""

from mutants import Mutant

SHAPES = ("training/test_jit_compile.py::test_sides_have_one_length_and_rows_are_added",)
NUMBERS = ("training/test_jit_compile.py::test_compiled_updates_are_the_same",)

JIT = [
    Mutant(
        "data/batching.py",
        "rows that are added have the first target, too",
        '"target_ids": tf.pad(batch["target_ids"], [[0, rows], [0, target]]),',
        '"target_ids": tf.concat('
        '2 * [tf.pad(batch["target_ids"], [[0, 0], [0, target]])], axis=0)[:batch_size],',
        SHAPES,
    ),
    Mutant(
        "data/batching.py",
        "each side has a length of its own",
        'longest = tf.maximum(sizes["source"], sizes["target"])',
        'longest = sizes["source"]',
        ("training/test_jit_compile.py::test_there_are_few_shapes",),
    ),
    Mutant(
        "data/batching.py",
        "links are padded the other way",
        "[[0, rows], [0, target], [0, source]]",
        "[[rows, 0], [0, target], [0, source]]",
        SHAPES,
    ),
    Mutant(
        "models/keras_fit.py",
        "XLA compiles nothing",
        "autograph=False, jit_compile=True)",
        "autograph=False, jit_compile=True) and None",
        NUMBERS,
    ),
    Mutant(
        "models/keras_fit.py",
        "XLA is given calls of cuDNN, which it cannot compile",
        "layer.may_use_cudnn = self.compiled_update is None",
        "layer.may_use_cudnn = True",
        ("equations/test_reset_after.py::test_xla_compiles_the_loop",),
    ),
    Mutant(
        "training/fit.py",
        "several workers compile",
        "if workers.count > 1 and training.jit_compile:",
        "if workers.count > 2 and training.jit_compile:",
        ("training/test_jit_compile.py::test_several_workers_are_refused",),
    ),
    Mutant(
        "training/optimizers.py",
        "the option does not reach the model",
        "jit_compile=training.jit_compile,",
        "jit_compile=False,",
        NUMBERS,
    ),
    Mutant(
        "training/fit.py",
        "the batches of a training keep their shapes",
        "return lambda: with_few_shapes(batches(), self.config.data.batch_size)",
        "return batches",
        ("training/test_jit_compile.py::test_a_training_has_few_shapes",),
    ),
]
