"""Planted faults in initialization, options, and what is saved of a model."""

from mutants import Mutant

LAYERS = "equations/test_layers.py"
OPTIONS = "model/test_options.py"
RULES = "equations/test_optimizers.py"
SAVING = "model/test_saving.py"
START = "equations/test_initialization.py"
WHOLE = "equations/test_whole_sentence.py"

START_AND_OPTIONS = [
    Mutant(
        "layers/initializers.py",
        "W_a and U_a like the others",
        'stddev=0.001 if role == "alignment" else 0.01',
        "stddev=0.01",
        (f"{START}::test_every_weight_has_its_distribution",),
    ),
    Mutant(
        "layers/initializers.py",
        "a truncated normal",
        "return keras.initializers.RandomNormal(stddev=0.001",
        "return keras.initializers.TruncatedNormal(stddev=0.001",
        (f"{START}::test_every_weight_has_its_distribution",),
    ),
    Mutant(
        "layers/initializers.py",
        "recurrent matrices are Gaussian",
        "np.linalg.svd(generator.normal(size=(size, size)))[0] for",
        "generator.normal(size=(size, size)) * 0.01 for",
        (
            f"{START}::test_every_weight_has_its_distribution",
            "equations/test_variance_preserving.py::test_every_matrix_by_its_own_sizes",
        ),
    ),
    Mutant(
        "layers/initializers.py",
        "every weight from one seed",
        "yield int(generator.integers(2**31 - 1))",
        "yield 5",
        (f"{START}::test_no_two_weights_are_alike", f"{START}::test_the_seed_decides"),
    ),
    Mutant(
        "layers/initializers.py",
        "one orthogonal block for both gates",
        "np.linalg.svd(generator.normal(",
        "np.linalg.svd(np.random.default_rng(seed).normal(",
        (f"{START}::test_blocks_of_one_matrix_are_not_alike",),
    ),
    Mutant(
        "layers/initializers.py",
        "v_a is not zero",
        "return keras.initializers.Zeros()",
        "return keras.initializers.RandomNormal(stddev=0.01, seed=seed)",
        (f"{START}::test_every_weight_has_its_distribution",),
    ),
    Mutant(
        "layers/output.py",
        "a weight that is in no equation",
        'self.b_o = self.vector("b_o", width) if self.biased else None',
        'self.b_o = self.vector("b_o", width) if self.biased else None\n        self.b_extra ='
        ' self.vector("b_extra", l)',
        (
            f"{START}::test_groundhog_preset_has_84349101_parameters",
            f"{START}::test_paper_preset_has_the_parameters_of_the_formulas",
        ),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "gate biases whatever the option",
        'or self.unit == "lstm" else gates[:1])',
        'or self.unit == "lstm" else gates)',
        (f"{START}::test_biases_by_option", f"{LAYERS}::test_decoder_recurrence"),
    ),
    Mutant(
        "models/translation_model.py",
        "no dropout of annotations and states",
        '"drop_hidden", config.hidden_dropout,',
        '"drop_hidden", 0.0,',
        (f"{OPTIONS}::test_dropout_only_in_training",),
    ),
    Mutant(
        "models/rnnsearch.py",
        "dropout in evaluation",
        "words, mask = self.source_words(source_ids, training)",
        "words, mask = self.source_words(source_ids, True)",
        (f"{OPTIONS}::test_dropout_only_in_training",),
    ),
    Mutant(
        "models/translation_model.py",
        "training dropout never handed on",
        "pre_logits = self.pre_logits(*ids, training)\n        real",
        "pre_logits = self.pre_logits(*ids)\n        real",
        (f"{OPTIONS}::test_dropout_draws_anew_for_every_batch_of_fit",),
    ),
    Mutant(
        "models/rnnsearch.py",
        "a tied model keeps a matrix of its own",
        "tied=config.tie_target_embeddings,",
        "tied=False,",
        (f"{OPTIONS}::test_tied_embeddings_are_one_variable",),
    ),
    Mutant(
        "models/translation_model.py",
        "the seed is not saved",
        '"seed": self.seed,\n        }',
        "}",
        (f"{SAVING}::test_model_config_is_complete",),
    ),
    Mutant(
        "layers/dropout.py",
        "dropout's random state is not saved",
        'store["seed_state"] = self.random_state()',
        "pass",
        (f"{SAVING}::test_dropout_goes_on_from_a_keras_file",),
    ),
    Mutant(
        "layers/base.py",
        "products never in bfloat16",
        "    if dtype is not None and tf.as_dtype(dtype) != result_dtype:\n        left = tf.cast(",
        "    if False:\n        left = tf.cast(",
        (f"{OPTIONS}::test_mixed_bfloat16_is_close_to_float32",),
    ),
    Mutant(
        "layers/base.py",
        "float64 through float32",
        "return tf.cast(result, result_dtype)",
        "return tf.cast(tf.cast(result, tf.float32), result_dtype)",
        (f"{WHOLE}::test_logits",),
    ),
    Mutant(
        "training/optimizers.py",
        "rows for a matrix",
        "gradients = [tf.convert_to_tensor(gradient) for gradient in grads]",
        "gradients = list(grads)",
        (f"{RULES}::test_rows_of_an_embedding_are_the_matrix_they_stand_for",),
    ),
    Mutant(
        "layers/base.py",
        "a constructor argument is not saved",
        "list(self.options_signature.parameters)[:-1]",
        "list(self.options_signature.parameters)[1:-1]",
        (f"{SAVING}::test_layer_config_is_complete",),
    ),
]
