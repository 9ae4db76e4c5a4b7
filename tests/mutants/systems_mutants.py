"""Planted faults of the systems beside RNNsearch: data for run.py."""

from mutants import Mutant

EQUATIONS = "equations/test_systems.py"
START = "equations/test_system_initialization.py"
SAME = "invariances/test_system_invariances.py"
SLOPES = "gradients/test_system_gradients.py"
LOGITS = f"{EQUATIONS}::test_logits_and_losses"
STEPS = f"{EQUATIONS}::test_steps_of_a_search"

SYSTEMS = [
    Mutant(
        "layers/recurrent_unit.py",
        "the reset gate leaves the context alone",
        "products = products if context_term is None else products + context_term",
        "inputs = inputs if context_term is None else inputs + context_term",
        (LOGITS,),
    ),
    Mutant(
        "models/encoder_decoder.py",
        "the mean word counts padding",
        "mean_of_words(words, mask)",
        "mean_of_words(words, tf.ones_like(mask))",
        (LOGITS, f"{SAME}::test_padding_neighbours_and_their_order_change_nothing"),
    ),
    Mutant(
        "models/layered.py",
        "the end symbol is reversed too",
        "keepdims=True) - 1",
        "keepdims=True)",
        (LOGITS,),
    ),
    Mutant(
        "models/luong.py",
        "alignments in the order of reading",
        "annotations = reverse_words(annotations, source_ids != PAD_ID)",
        "pass",
        (STEPS,),
    ),
    Mutant(
        "models/luong.py",
        "annotations are turned round without the end symbol",
        "annotations = reverse_words(annotations, source_ids != PAD_ID)",
        "annotations = reverse_words(annotations, mask)",
        (f"{EQUATIONS}::test_alignments_of_a_source_that_is_reversed_without_its_end_symbol",),
    ),
    Mutant(
        "layers/luong_attention.py",
        "attentional states have the width of the annotations",
        "return (*alignment_shape[:-1], self.hidden_size), alignment_shape",
        "return _, alignment_shape",
        ("model/test_public_layers.py::test_shapes_are_those_of_the_results",),
    ),
    Mutant(
        "models/translation_model.py",
        "a configuration of another system is taken",
        "if config.system != self.system:",
        "if False:",
        ("model/test_options.py::test_a_configuration_of_another_system_is_refused",),
    ),
    Mutant(
        "models/translation_model.py",
        "a configuration in code is not checked",
        "        check_model(config)\n",
        "",
        ("model/test_options.py::test_a_configuration_in_code_is_checked_as_one_of_a_file",),
    ),
    Mutant(
        "models/luong.py",
        "nothing is fed",
        'words = tf.concat([words, state["attentional"]], axis=-1)',
        'words = tf.concat([words, 0 * state["attentional"]], axis=-1)',
        (LOGITS, STEPS),
    ),
    Mutant(
        "layers/luong_attention.py",
        "W_a transposed",
        "self.W_a, transpose=True)",
        "self.W_a)",
        (LOGITS,),
    ),
    Mutant(
        "layers/luong_attention.py",
        "W_c meets the state first",
        "both = tf.concat([context, state], axis=-1)",
        "both = tf.concat([state, context], axis=-1)",
        (LOGITS,),
    ),
    Mutant(
        "layers/recurrent_stack.py",
        "skips only to the first layer",
        "return tf.concat([values, below], axis=-1) if self.skips else below",
        "return tf.concat([0 * values, below], axis=-1) if self.skips else below",
        (LOGITS,),
    ),
    Mutant(
        "layers/scan.py",
        "padding moves the state",
        "tf.where(_expand_mask(real, new), new, old)",
        "new",
        (f"{SAME}::test_padding_neighbours_and_their_order_change_nothing",),
    ),
    Mutant(
        "layers/kernels/lstm.py",
        "the output gate's peephole has no gradient to the cell",
        " + o_delta * p_output\n",
        "\n",
        (f"{SLOPES}::test_slope_along_a_direction_of_every_weight",),
    ),
    Mutant(
        "layers/kernels/lstm.py",
        "padding stops the gradient",
        "+ (1 - is_real) * total_cell",
        "",
        (f"{SLOPES}::test_gradient_of_a_batch_is_the_sum_over_its_sentences",),
    ),
    Mutant(
        "layers/initializers.py",
        "Cho's recurrent matrices at full size",
        "scale=0.01 if",
        "scale=1.0 if",
        (f"{START}::test_encoder_decoder_starts_as_cho_et_al",),
    ),
    Mutant(
        "layers/base.py",
        "biases zero under uniform",
        'initializer(self.initialization, "bias"',
        'initializer("paper", "bias"',
        (f"{START}::test_uniform_everywhere",),
    ),
    Mutant(
        "training/learning_rate.py",
        "halved every epoch",
        "math.floor(2 * (epochs_done",
        "math.floor(1 * (epochs_done",
        ("training/test_schedule.py::test_halving_every_half_epoch_after_five",),
    ),
]
