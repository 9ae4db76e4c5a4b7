"""Planted faults of RNNencdec and of the variants of RNNsearch; see mutants.py."""

from mutants import Mutant

LOGITS = "equations/test_variants.py::test_logits_and_alignments"
STEPS = "equations/test_systems.py::test_steps_of_a_search"
AFTER = "equations/test_reset_after.py"

VARIANTS = [
    Mutant(
        "layers/recurrent_unit.py",
        "the candidate's product is not normalized",
        'return self._product(values, "U")',
        "return self.matmul(values, self.U)",
        (LOGITS,),
    ),
    Mutant(
        "layers/kernels/gru_reset_after.py",
        "Bahdanau's polarity of the update gate",
        "candidate + z * (state - candidate)",
        "state + z * (candidate - state)",
        (
            f"{AFTER}::test_it_is_keras_unit_with_the_same_weights",
            "equations/test_systems.py::test_logits_and_losses",
        ),
    ),
    Mutant(
        "layers/kernels/gru_reset_after.py",
        "cuDNN is handed the gates in our order",
        "in reversed(tf.split(weight, 3, axis=1))",
        "in tf.split(weight, 3, axis=1)",
        (
            f"{AFTER}::test_cudnn_is_handed_what_keras_hands_over",
            f"{AFTER}::test_cudnn_gives_what_the_loop_gives",
        ),
    ),
    Mutant(
        "layers/kernels/gru_reset_after.py",
        "cuDNN's zeros at padding",
        "return tf.where(mask[..., tf.newaxis], turn(states), stays)",
        "return turn(states)",
        (f"{AFTER}::test_cudnn_gives_what_the_loop_gives",),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "an exported model needs cuDNN",
        "if training and self._fits_cudnn():",
        "if self._fits_cudnn():",
        (
            f"{AFTER}::test_cudnn_gives_what_the_loop_gives",
            f"{AFTER}::test_the_graphs_on_a_machine_with_a_gpu",
        ),
    ),
    Mutant(
        "layers/kernels/lstm.py",
        "the forget gate and the input gate change places",
        "candidate, input_gate, forget_gate, output_gate = tf.split",
        "candidate, forget_gate, input_gate, output_gate = tf.split",
        (LOGITS,),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "the context is not normalized",
        'return self._product(context, "C")',
        "return self.matmul(context, self.C)",
        (LOGITS,),
    ),
    Mutant(
        "layers/normalization.py",
        "all blocks normalized together",
        "tf.concat([shape[:-1], [-1, size]], axis=0)",
        "tf.concat([shape[:-1], [1, shape[-1]]], axis=0)",
        (LOGITS,),
    ),
    Mutant(
        "layers/coverage.py",
        "only the last word's attention counts",
        '{"coverage": coverage + alignment}',
        '{"coverage": alignment}',
        (LOGITS, STEPS),
    ),
    Mutant(
        "layers/gaussian_window.py",
        "positions counted from zero",
        "tf.cumsum(tf.cast(mask, annotations.dtype), axis=1)",
        "tf.cumsum(tf.cast(mask, annotations.dtype), axis=1, exclusive=True)",
        (LOGITS,),
    ),
    Mutant(
        "layers/gaussian_window.py",
        "windows do not remember where they stood",
        "location += step",
        "location = step + 0 * location",
        (LOGITS, STEPS),
    ),
    Mutant(
        "layers/gaussian_window.py",
        "padding is looked at",
        "window *= tf.cast(memory.mask, window.dtype)[:, tf.newaxis]",
        "window *= 1.0",
        (LOGITS,),
    ),
    Mutant(
        "layers/decoder.py",
        "RNNencdec begins with the first word",
        "first = annotations[:, -1]",
        "first = annotations[:, 0]",
        (LOGITS,),
    ),
    Mutant(
        "layers/fixed_context.py",
        "the context is the first state",
        "ContextMemory(annotations[:, -1], mask)",
        "ContextMemory(annotations[:, 0], mask)",
        (LOGITS, STEPS),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "padding moves the state",
        "None if mask is None else turn(mask), training",
        "None, training",
        (LOGITS,),
    ),
    Mutant(
        "layers/luong_attention.py",
        "no bias in the tanh of concat",
        "self.W_a[self.hidden_size :], self.b_a)",
        "self.W_a[self.hidden_size :])",
        ("equations/test_systems.py::test_logits_and_losses",),
    ),
    Mutant(
        "layers/attention.py",
        "the masks of a list are not heeded",
        "_, annotations_mask = mask",
        "pass",
        ("model/test_public_layers.py::test_query_and_value_may_be_a_list",),
    ),
    Mutant(
        "layers/encoder.py",
        "the shape of one direction",
        "len(self.units) * self.hidden_size\n\n    def call",
        "self.hidden_size\n\n    def call",
        ("model/test_public_layers.py::test_shapes_are_those_of_the_results",),
    ),
]
