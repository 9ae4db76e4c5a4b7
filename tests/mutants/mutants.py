"""Planted faults, each with the tests that must turn red: data for run.py.

A file is relative to the package; `old` occurs in it exactly once. A test is
`folder/file.py::function` of tests/ (all its parameters); each named test must
have at least one failing case.
"""

from typing import NamedTuple


class Mutant(NamedTuple):
    file: str
    fault: str
    old: str
    new: str
    tests: tuple


LAYERS = "equations/test_layers.py"
WHOLE = "equations/test_whole_sentence.py"
RULES = "equations/test_optimizers.py"
OBJECTIVE = "equations/test_training_objective.py"
HAND = "gradients/test_hand_written.py"
GRADIENTS = "gradients/test_model_gradients.py"
SAME = "invariances/test_invariances.py"
EVERY = "invariances/test_system_invariances.py"
SAVING = "model/test_saving.py"
FIT = "model/test_fit.py"

EQUATIONS = [
    Mutant(
        "layers/kernels/gru.py",
        "Keras's polarity of the update gate",
        "return state + z * (candidate - state)",
        "return candidate + z * (state - candidate)",
        (
            f"{LAYERS}::test_gated_unit_with_context",
            f"{LAYERS}::test_encoder",
            f"{WHOLE}::test_steps_of_a_search",
        ),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "reset gate after the matrix, as cuDNN has it",
        "times_U(r * state)",
        "r * times_U(state)",
        (f"{LAYERS}::test_gated_unit_with_context", f"{LAYERS}::test_decoder_recurrence"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "padding moves the state",
        "state + real[t] * (new_state - state)",
        "new_state",
        (
            f"{LAYERS}::test_encoder",
            f"{SAME}::test_more_padding_changes_nothing",
            f"{SAME}::test_alone_or_in_a_batch",
        ),
    ),
    Mutant(
        "layers/recurrent_unit.py",
        "backward states left in reverse",
        "return tf.nest.map_structure(turn, states)",
        "return states",
        (f"{LAYERS}::test_encoder", f"{WHOLE}::test_logits"),
    ),
    Mutant(
        "layers/decoder.py",
        "s_0 from the forward half",
        "annotations[:, 0, annotations.shape[-1] // 2 :]",
        "annotations[:, 0, : annotations.shape[-1] // 2]",
        (f"{LAYERS}::test_decoder_recurrence",),
    ),
    Mutant(
        "layers/decoder.py",
        "s_0 from the last position",
        "annotations[:, 0, annotations.shape[-1] // 2 :]",
        "annotations[:, -1, annotations.shape[-1] // 2 :]",
        (f"{LAYERS}::test_decoder_recurrence", f"{WHOLE}::test_logits"),
    ),
    Mutant(
        "layers/attention.py",
        "padding is attended",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        "tf.nn.softmax(energies)",
        (
            f"{LAYERS}::test_attention",
            f"{WHOLE}::test_logits",
            f"{SAME}::test_search_alone_or_in_a_batch",
        ),
    ),
    Mutant(
        "layers/attention.py",
        "minus infinity for padding",
        "tf.constant(energies.dtype.min / 2, energies.dtype)",
        "tf.constant(float('-inf'), energies.dtype)",
        (
            f"{EVERY}::test_a_row_of_padding_gives_no_nan",
            f"{GRADIENTS}::test_a_row_of_padding_gives_no_nan_and_no_gradient",
        ),
    ),
    Mutant(
        "distributed/workers.py",
        "Keras's own optimizers get rows",
        "        tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]\n        if"
        " _replicas",
        "        tensors = list(tensors)\n        if _replicas",
        (f"{FIT}::test_an_optimizer_of_keras_gives_the_numbers_of_ours",),
    ),
    Mutant(
        "layers/attention.py",
        "a softmax without the shift",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        "tf.exp(tf.where(mask, energies, lowest)) / tf.reduce_sum(tf.exp(tf.where(mask, energies,"
        " lowest)), -1, keepdims=True)",
        (f"{LAYERS}::test_attention_at_large_energies",),
    ),
    Mutant(
        "layers/attention.py",
        "no bias of the alignment model",
        "self.matmul(annotations, self.U_a, self.b_a)",
        "self.matmul(annotations, self.U_a)",
        (f"{LAYERS}::test_attention", f"{WHOLE}::test_logits"),
    ),
    Mutant(
        "layers/output.py",
        "maxout over halves",
        "tf.maximum(*tf.unstack(pairs, axis=-1))",
        "tf.maximum(*tf.split(hidden, 2, axis=-1))",
        (f"{LAYERS}::test_maxout_takes_adjacent_pairs", f"{LAYERS}::test_deep_output"),
    ),
    Mutant(
        "layers/output.py",
        "a word of no probability in float32 costs nothing",
        "tf.reduce_all(target_probabilities > SMALLEST)",
        "tf.reduce_all(target_probabilities > -1.0)",
        (f"{HAND}::test_a_word_of_no_probability_has_its_loss",),
    ),
    Mutant(
        "layers/output.py",
        "the hidden term's bias added twice",
        "hidden += context_term",
        "hidden += context_term + (0.0 if self.b_o is None else tf.convert_to_tensor(self.b_o))",
        (f"{LAYERS}::test_deep_output", f"{WHOLE}::test_sentence_losses"),
    ),
    Mutant(
        "layers/embedding.py",
        "the first word's term keeps the bias",
        "return vectors * tf.cast(ids != PAD_ID, vectors.dtype)[..., tf.newaxis]",
        "return vectors - tf.gather(self.E.value, ids) * tf.cast(ids == PAD_ID, vectors.dtype)[...,"
        " tf.newaxis]",
        (
            f"{LAYERS}::test_word_embedding",
            f"{WHOLE}::test_logits",
            f"{WHOLE}::test_steps_of_a_search",
        ),
    ),
    Mutant(
        "layers/output.py",
        "smoothing weighs the right word by 1 - e only",
        "losses += label_smoothing * (target_logits - tf.reduce_mean(logits, axis=-1))",
        "losses -= label_smoothing * tf.reduce_mean(logits, axis=-1)",
        (
            f"{LAYERS}::test_softmax_loss",
            f"{WHOLE}::test_sentence_losses",
            f"{WHOLE}::test_tied_embeddings",
        ),
    ),
    Mutant(
        "models/rnnsearch.py",
        "every order updates with y_{i-1}",
        "words = tf.concat([later, tf.zeros_like(first)], axis=1)",
        "words = previous",
        (f"{WHOLE}::test_logits", f"{WHOLE}::test_the_three_orders_differ"),
    ),
    Mutant(
        "models/rnnsearch.py",
        "every order reads s_{i-1}",
        "if not self._reads_new_state():",
        "if True:",
        (
            f"{WHOLE}::test_logits",
            f"{WHOLE}::test_the_three_orders_differ",
            f"{EVERY}::test_search_and_training_agree",
        ),
    ),
    Mutant(
        "models/translation_model.py",
        "the target is not shifted",
        "tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)",
        "target_ids",
        (
            f"{WHOLE}::test_logits",
            f"{EVERY}::test_the_future_never_reaches_the_past",
            f"{EVERY}::test_search_and_training_agree",
        ),
    ),
    Mutant(
        "models/rnnsearch.py",
        "search updates even before the first word",
        "lambda old, new: tf.where(first, old, new), before, updated",
        "lambda old, new: new, before, updated",
        (f"{WHOLE}::test_steps_of_a_search", f"{EVERY}::test_search_and_training_agree"),
    ),
    Mutant(
        "models/rnnsearch.py",
        "search keeps the old state",
        'after = {**after, "projected_context": projected_context}',
        'after = {**before, "projected_context": projected_context}',
        (
            f"{WHOLE}::test_steps_of_a_search",
            f"{WHOLE}::test_greedy_search_by_steps",
            f"{EVERY}::test_search_and_training_agree",
        ),
    ),
    Mutant(
        "models/translation_model.py",
        "padding counts as target words",
        'real = tf.where(inputs["target_ids"] != PAD_ID)',
        'real = tf.where(inputs["target_ids"] >= PAD_ID)',
        (
            f"{WHOLE}::test_sentence_losses",
            f"{SAME}::test_losses_alone_or_in_a_batch",
            f"{GRADIENTS}::test_gradient_of_a_batch_is_the_sum_over_its_sentences",
        ),
    ),
]

HAND_WRITTEN_GRADIENTS = [
    Mutant(
        "layers/kernels/gru.py",
        "the reset gate's gradient lacks its derivative",
        "r_delta = sigmoid_gradient(y=r, dy=reset_state_gradient * state)",
        "r_delta = reset_state_gradient * state * r",
        (
            f"{HAND}::test_gru",
            f"{HAND}::test_attending_gru",
            f"{GRADIENTS}::test_against_automatic_differentiation",
        ),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "no gradient straight to the previous state",
        "state_gradient = new_state_gradient - moved + reset_state_gradient * r",
        "state_gradient = reset_state_gradient * r",
        (f"{HAND}::test_gru", f"{HAND}::test_attending_gru"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "the gradient enters padded steps",
        "            total * is_real, state, (z, r, candidate), U, dtype",
        "            total, state, (z, r, candidate), U, dtype",
        (
            f"{HAND}::test_gru",
            f"{HAND}::test_nothing_flows_into_masked_places",
            f"{GRADIENTS}::test_gradient_of_a_batch_is_the_sum_over_its_sentences",
        ),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "the gradient stops at padded steps",
        "state_gradient + total * (1 - is_real)",
        "state_gradient",
        (f"{HAND}::test_gru",),
    ),  # the model uses no state at a padded place, so it cannot see this one
    Mutant(
        "layers/kernels/gru.py",
        "U's gradient without the reset gate",
        "weight_gradient(gates[1] * before, deltas[..., :n], dtype),",
        "weight_gradient(before, deltas[..., :n], dtype),",
        (f"{HAND}::test_gru", f"{GRADIENTS}::test_every_weight_by_central_differences"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "no gradient through what is summed up",
        "batched_matmul(\n                alignments_by_batch,"
        " deltas_by_batch, dtype, transpose_left=True\n            )",
        "tf.zeros_like(tf.cast(memory.values, deltas.dtype))",
        (f"{HAND}::test_attending_gru", f"{GRADIENTS}::test_against_automatic_differentiation"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "softmax gradient without its mean",
        "energy_delta = weighted - alignment * tf.reduce_sum(weighted, axis=-1, keepdims=True)",
        "energy_delta = weighted",
        (f"{HAND}::test_attending_gru", f"{GRADIENTS}::test_every_weight_by_central_differences"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "keys' gradient without v_a",
        "v_a_row * (energy_sum[..., tf.newaxis] - square_sum)",
        "energy_sum[..., tf.newaxis] - square_sum",
        (f"{HAND}::test_attending_gru",),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "no gradient into the weights of the contexts that the output sees",
        "alignment * (outer_alignment + through_sum[:, 0])",
        "alignment * through_sum[:, 0]",
        (f"{HAND}::test_attending_gru", f"{GRADIENTS}::test_against_automatic_differentiation"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "no gradient from the query to the state",
        "state_delta = tf.concat([delta[:, n:], query_delta], axis=-1)",
        "state_delta = tf.concat([delta[:, n:], 0 * query_delta], axis=-1)",
        (f"{HAND}::test_attending_gru", f"{GRADIENTS}::test_against_automatic_differentiation"),
    ),
    Mutant(
        "layers/kernels/gru.py",
        "the outer gradient of a state arrives a step late",
        "gated_unit_gradient(carried + outer_state, state, unit",
        "gated_unit_gradient(carried, state, unit",
        (
            f"{HAND}::test_attending_gru",
            f"{HAND}::test_nothing_flows_back_from_later_outputs_that_are_not_used",
        ),
    ),
    Mutant(
        "layers/output.py",
        "smoothing is not in the matrix's gradient",
        "matrix_gradient += label_smoothing * put",
        "pass",
        (
            f"{HAND}::test_softmax_loss",
            f"{GRADIENTS}::test_every_weight_by_central_differences",
            f"{OBJECTIVE}::test_an_update_follows_the_reference_gradient",
        ),
    ),
    Mutant(
        "layers/output.py",
        "each word's own weight forgotten in the bias",
        "tf.linalg.matvec(error, losses_gradient, transpose_a=True)",
        "tf.reduce_sum(error, axis=0)",
        (f"{HAND}::test_softmax_loss",),
    ),
    Mutant(
        "layers/embedding.py",
        "padding trains its embedding",
        "return vectors * tf.cast(ids != PAD_ID, vectors.dtype)[..., tf.newaxis]",
        "return vectors",
        (f"{GRADIENTS}::test_words_that_do_not_occur_get_exact_zeros", f"{WHOLE}::test_logits"),
    ),
]

TRAINING = [
    Mutant(
        "training/optimizers.py",
        "rho rounded to float32",
        "rho=tf.constant(self.rho, grad.dtype)",
        "rho=tf.cast(self.rho, grad.dtype)",
        (f"{RULES}::test_adadelta",),
    ),
    Mutant(
        "training/optimizers.py",
        "Adam's bias correction a step behind",
        "steps = tf.cast(self.iterations + 1, dtype)",
        "steps = tf.cast(self.iterations + 2, dtype)",
        (f"{RULES}::test_adam",),
    ),
    Mutant(
        "training/optimizers.py",
        "each variable cut by itself",
        "global_clipnorm=config.global_clipnorm",
        "clipnorm=config.global_clipnorm",
        (
            f"{RULES}::test_adadelta",
            f"{RULES}::test_accumulated_gradients_are_averaged_then_cut",
            f"{OBJECTIVE}::test_reported_numbers",
        ),
    ),
    Mutant(
        "training/optimizers.py",
        "epsilon left at Keras's default",
        "Adadelta(rho=config.rho, epsilon=config.epsilon, **common)",
        "Adadelta(rho=config.rho, **common)",
        (f"{RULES}::test_adadelta", f"{SAVING}::test_loss_and_optimizer_configs_are_complete"),
    ),
    Mutant(
        "training/optimizers.py",
        "a gradient that is not finite is applied",
        "tf.cond(tf.math.is_finite(norm), clipped_update",
        "tf.cond(tf.constant(True), clipped_update",
        (
            f"{RULES}::test_a_gradient_that_is_not_finite_changes_nothing",
            f"{FIT}::test_a_bad_batch_leaves_the_weights",
            f"{FIT}::test_decay_weights_moves_all_weights_towards_zero",
        ),
    ),
    Mutant(
        "training/optimizers.py",
        "the gradient of decay_weights is cut too",
        "update([0.1 * tf.convert_to_tensor(weight) for weight in weights], weights)",
        "update(tf.clip_by_global_norm([0.1 * tf.convert_to_tensor(weight) for weight in weights],"
        " self.global_clipnorm)[0], weights)",
        (f"{RULES}::test_decay_weights_takes_a_tenth_of_the_weights_for_gradient_uncut",),
    ),
    Mutant(
        "training/optimizers.py",
        "an average that ends with decay_weights is cut too",
        'if self.non_finite_gradient != "decay_weights":',
        "if True:",
        (f"{RULES}::test_an_average_that_ends_with_a_weight_decay_is_not_cut",),
    ),
    Mutant(
        "training/optimizers.py",
        "the policy is not saved",
        'return super().get_config() | {"non_finite_gradient": self.non_finite_gradient}',
        "return super().get_config()",
        (f"{SAVING}::test_loss_and_optimizer_configs_are_complete",),
    ),
    Mutant(
        "training/callbacks.py",
        "training continues whatever the gradient",
        'self.config.non_finite_gradient == "error" and not math.isfinite(norm)',
        "False",
        (f"{FIT}::test_policy_error_stops_fit",),
    ),
    Mutant(
        "models/loss.py",
        "the mean is over sentences",
        'count = sentences if self.reduction == "batch_mean" else tokens',
        "count = sentences",
        (
            f"{OBJECTIVE}::test_an_update_follows_the_reference_gradient",
            f"{OBJECTIVE}::test_loss_called_on_logits",
        ),
    ),
    Mutant(
        "models/translation_model.py",
        "the loss per word is a mean of batches",
        "metric.update_state(_zero_unless(valid, mean), sample_weight=weight)",
        "metric.update_state(_zero_unless(valid, mean))",
        (f"{OBJECTIVE}::test_two_batches_weigh_by_their_words",),
    ),
    Mutant(
        "models/translation_model.py",
        "smoothing is not handed on",
        "            loss.label_smoothing,",
        "            0.0,",
        (f"{OBJECTIVE}::test_an_update_follows_the_reference_gradient",),
    ),
    Mutant(
        "models/translation_model.py",
        "one NaN stays in the means",
        "valid = tf.math.is_finite(norm)",
        "valid = tf.constant(True)",
        (f"{FIT}::test_a_bad_batch_leaves_the_means",),
    ),
    Mutant(
        "models/translation_model.py",
        "evaluation reports the smoothed loss",
        "_, nll = self.token_losses(inputs)",
        "nll, _ = self.token_losses(inputs, label_smoothing=0.2)",
        (
            f"{OBJECTIVE}::test_reported_numbers",
            f"{OBJECTIVE}::test_two_batches_weigh_by_their_words",
        ),
    ),
    Mutant(
        "models/translation_model.py",
        "one trace a batch shape",
        "    def train_step(self, data: Any) -> dict[str, tf.Tensor]:\n",
        "    def make_train_function(self, force=False):\n        self.train_function = None\n"
        "        return super().make_train_function(True)\n\n"
        "    def train_step(self, data: Any) -> dict[str, tf.Tensor]:\n",
        (f"{FIT}::test_one_trace_for_all_batch_shapes",),
    ),
]
