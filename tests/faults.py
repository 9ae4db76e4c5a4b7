"""Ways to get RNNsearch wrong: planted faults of meaning, each caught by one test.

    python tests/faults.py [WORD …]     all, or those whose file or description has one of the words

Each fault is planted in a copy of the package, where the named test must turn red. A fault whose
text is no longer in its file counts as not caught: the list follows the code.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """`old` occurs once in `file` of the package and becomes `new`; `test` must fail then."""

    file: str
    what: str
    old: str
    new: str
    test: str


FAULTS = [
    Fault(
        "layers/recurrent_unit.py",
        "Keras's polarity of the update gate",
        'return {"state": h + z * (candidate - h)}',
        'return {"state": candidate + z * (h - candidate)}',
        "equations/test_layers.py::test_gated_unit_with_context",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "reset gate after the matrix, as cuDNN has it",
        "self.matmul(r * h, self.U[0])",
        "r * self.matmul(h, self.U[0])",
        "equations/test_layers.py::test_gated_unit_with_context",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "padding moves the state",
        "tf.where(real, after[name], before[name])",
        "after[name]",
        "equations/test_layers.py::test_encoder",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "backward states left in reverse",
        "return tf.reverse(states, [1]) if backward else states, last",
        "return states, last",
        "equations/test_layers.py::test_encoder",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "the reset gate leaves the context alone",
        "products = self.matmul(h, self.U) + context_term",
        "inputs, products = inputs + context_term, self.matmul(h, self.U)",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "Cho's gate with Bahdanau's polarity",
        'return {"state": candidate + z * (h - candidate)}',
        'return {"state": h + z * (candidate - h)}',
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/recurrent_unit.py",
        "the output gate sees the old cell",
        "        cell = f * cell + i * g\n        o = tf.sigmoid(output_gate + p_output * cell)\n",
        "        o = tf.sigmoid(output_gate + p_output * cell)\n        cell = f * cell + i * g\n",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/decoder.py",
        "s_0 from the forward half",
        "annotations[:, 0, annotations.shape[-1] // 2 :]",
        "annotations[:, 0, : annotations.shape[-1] // 2]",
        "equations/test_layers.py::test_decoder_recurrence",
    ),
    Fault(
        "layers/decoder.py",
        "an update even before the first word",
        'tf.where(state["is_first"], unit[name], updated[name])',
        "updated[name]",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/decoder.py",
        "the late update takes the context of the position after",
        'updated = self.recurrent_unit.advance(word, unit, state["context_term"])',
        'updated = self.recurrent_unit.advance(word, unit, 0 * state["context_term"])',
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/attention.py",
        "padding is attended",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        "tf.nn.softmax(energies)",
        "equations/test_layers.py::test_attention",
    ),
    Fault(
        "layers/attention.py",
        "a softmax without the shift",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        "tf.exp(tf.where(mask, energies, lowest)) / tf.reduce_sum(tf.exp(tf.where(mask, energies, lowest)), -1, keepdims=True)",
        "equations/test_layers.py::test_attention_at_large_energies",
    ),
    Fault(
        "layers/attention.py",
        "a sentence of padding alone is attended evenly",
        "tf.nn.softmax(tf.where(mask, energies, lowest)) * tf.cast(mask, energies.dtype)",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        "invariances/test_system_invariances.py::test_a_row_of_padding_gives_no_nan",
    ),
    Fault(
        "layers/attention.py",
        "W_a transposed",
        "self.W_a, transpose=True)",
        "self.W_a)",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/attention.py",
        "W_c meets the state first",
        "both = tf.concat([context, query], axis=-1)",
        "both = tf.concat([query, context], axis=-1)",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "layers/attention.py",
        "windows do not remember where they stood",
        "location += step",
        "location = step + 0 * location",
        "equations/test_systems.py::test_steps_of_a_search",
    ),
    Fault(
        "layers/output.py",
        "maxout over halves",
        "tf.maximum(*tf.unstack(pairs, axis=-1))",
        "tf.maximum(*tf.split(hidden, 2, axis=-1))",
        "equations/test_layers.py::test_maxout_takes_adjacent_pairs",
    ),
    Fault(
        "models/loss.py",
        "smoothing weighs the right word by 1 - e only",
        "(1 - label_smoothing) * nll + label_smoothing * uniform",
        "(1 - label_smoothing) * nll",
        "equations/test_layers.py::test_word_losses",
    ),
    Fault(
        "models/loss.py",
        "the gradient of the right word is not smoothed",
        "right, (1 - label_smoothing) * of_losses",
        "right, of_losses",
        "equations/test_training_objective.py::test_an_update_follows_the_reference_gradient",
    ),
    Fault(
        "layers/embedding.py",
        "the first word's term keeps the bias",
        "return vectors * tf.cast(ids != PAD_ID, vectors.dtype)[..., tf.newaxis]",
        "return vectors - tf.gather(self.E.value, ids) * tf.cast(ids == PAD_ID, vectors.dtype)[..., tf.newaxis]",
        "equations/test_layers.py::test_word_embedding",
    ),
    Fault(
        "layers/initializers.py",
        "W_a and U_a like the others",
        'stddev=0.001 if role == "alignment" else 0.01',
        "stddev=0.01",
        "equations/test_initialization.py::test_every_weight_has_its_distribution",
    ),
    Fault(
        "layers/initializers.py",
        "recurrent matrices are Gaussian",
        "return keras.initializers.Orthogonal(0.01 if small else 1.0)",
        "return keras.initializers.RandomNormal(stddev=0.01)",
        "equations/test_initialization.py::test_every_weight_has_its_distribution",
    ),
    Fault(
        "layers/initializers.py",
        "the terms of a sum are not counted",
        "limit = (6 / (size + columns) / terms) ** 0.5",
        "limit = (6 / (size + columns)) ** 0.5",
        "equations/test_initialization.py::test_every_matrix_by_its_own_sizes",
    ),
    Fault(
        "layers/recurrent_stack.py",
        "skips only to the first layer",
        "return tf.concat([values, below], axis=-1) if self.skips else below",
        "return tf.concat([0 * values, below], axis=-1) if self.skips else below",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "models/translation_model.py",
        "the target is not shifted",
        "tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)",
        "target_ids",
        "invariances/test_system_invariances.py::test_the_future_never_reaches_the_past",
    ),
    Fault(
        "models/rnnsearch.py",
        "decoder states never dropped",
        "        states = self.drop_hidden(states, training=training)\n",
        "",
        "equations/test_dropout_places.py::test_places",
    ),
    Fault(
        "models/encoder_decoder.py",
        "the mean word counts padding",
        "real = tf.cast(mask, vectors.dtype)",
        "real = tf.ones_like(mask, vectors.dtype)",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "models/layered.py",
        "the end symbol is reversed too",
        "keepdims=True) - 1",
        "keepdims=True)",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "models/luong.py",
        "nothing is fed",
        'words = tf.concat([words, state["attentional"]], axis=-1)',
        'words = tf.concat([words, 0 * state["attentional"]], axis=-1)',
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "models/cslm.py",
        "the words before in reverse",
        "for k in range(before)]",
        "for k in reversed(range(before))]",
        "equations/test_systems.py::test_logits_and_losses",
    ),
    Fault(
        "models/scoring.py",
        "members are weighted by the size of their logits",
        "[tf.nn.log_softmax(tf.cast(values, tf.float32)) for values in logits]",
        "[tf.cast(values, tf.float32) for values in logits]",
        "model/test_ensemble.py::test_the_members_probabilities_are_averaged_word_by_word",
    ),
    Fault(
        "models/loss.py",
        "the mean is over sentences",
        'count = sentences if self.reduction == "batch_mean" else tokens',
        "count = sentences",
        "equations/test_training_objective.py::test_an_update_follows_the_reference_gradient",
    ),
    Fault(
        "models/translation_model.py",
        "evaluation reports the smoothed loss",
        "_, nll = self.token_losses((source_ids, target_ids))",
        "nll, _ = self.token_losses((source_ids, target_ids), 0.2)",
        "equations/test_training_objective.py::test_reported_numbers",
    ),
    Fault(
        "models/translation_model.py",
        "the authors' rule is cut",
        "0.1 * tf.convert_to_tensor(w)",
        "0.001 * tf.convert_to_tensor(w)",
        "model/test_fit.py::test_decay_weights_moves_all_weights_towards_zero",
    ),
    Fault(
        "search/beam.py",
        "the end symbol allowed one step too early",
        "may_end = (length > sentences.minimum)",
        "may_end = (length >= sentences.minimum)",
        "search/test_beam.py::test_beam_of_one_is_greedy",
    ),
    Fault(
        "search/beam.py",
        "the state of another hypothesis",
        "Beam(_take(state, parents),",
        "Beam(state,",
        "search/test_beam.py::test_beam_is_the_reference_beam",
    ),
    Fault(
        "search/beam.py",
        "a shrinking beam gives places back",
        "    if config.shrinking_beam:",
        "    if False:",
        "search/test_beam.py::test_beam_is_the_reference_beam",
    ),
    Fault(
        "search/beam.py",
        "the length penalty leaves the end symbol out",
        "penalize(totals[:, size:], length, config)",
        "penalize(totals[:, size:], tf.maximum(length - 1, 1), config)",
        "search/test_beam.py::test_exhaustive_beam_is_brute_force",
    ),
    Fault(
        "search/beam.py",
        "a finished hypothesis loses probability at later steps",
        "tf.concat([beam.finished.log_probabilities, ending",
        "tf.concat([beam.finished.log_probabilities - 0.5, ending",
        "search/test_beam.py::test_a_finished_hypothesis_keeps_its_score",
    ),
    Fault(
        "search/beam.py",
        "the early stop forgets the longest length",
        "sentences.maximum, config)\n    totals",
        "length, config)\n    totals",
        "search/test_beam.py::test_early_stop_gives_the_answer_of_a_full_search",
    ),
    Fault(
        "search/beam.py",
        "alignments of another hypothesis",
        "ids, chosen, _take(alignment, parents))",
        "ids, chosen, _take(alignment, tf.zeros_like(parents)))",
        "search/test_beam.py::test_the_words_alignments_and_probabilities_follow_the_survivors",
    ),
    Fault(
        "search/sampling.py",
        "the temperature multiplies",
        "log_probabilities / tf.maximum(tf.cast(temperature",
        "log_probabilities * tf.maximum(tf.cast(temperature",
        "search/test_sampling.py::test_frequencies_are_probabilities",
    ),
    Fault(
        "models/scoring.py",
        "the padding of a target counts",
        "tf.where(real, tf.transpose(log_probabilities), 0.0)",
        "tf.transpose(log_probabilities)",
        "search/test_system_search.py::test_scores_stop_at_padding",
    ),
    Fault(
        "runtime/fused_optimizers.py",
        "Adam's bias correction a step behind",
        "steps = tf.cast(self.iterations + 1, dtype)",
        "steps = tf.cast(self.iterations + 2, dtype)",
        "equations/test_optimizers.py::test_adam",
    ),
    Fault(
        "training/optimizers.py",
        "each variable cut by itself",
        "global_clipnorm=config.global_clipnorm",
        "clipnorm=config.global_clipnorm",
        "equations/test_optimizers.py::test_adadelta",
    ),
    Fault(
        "training/schedule.py",
        "halved every epoch",
        "math.floor(2 * (epochs_done",
        "math.floor(1 * (epochs_done",
        "training/test_schedule.py::test_halving_every_half_epoch_after_five",
    ),
    Fault(
        "data/ids.py",
        "sorted by the source",
        "np.maximum(source, target, out=source)",
        "source",
        "data/test_batches.py::test_the_paper_scheme_sorts_windows_of_twenty_batches",
    ),
    Fault(
        "data/batches.py",
        "every epoch alike",
        "[self.seed, epoch]",
        "[self.seed]",
        "data/test_batches.py::test_a_batch_depends_on_seed_epoch_and_number_alone",
    ),
    Fault(
        "data/ids.py",
        "the end symbol is counted",
        "<= self.maximum_length + 1",
        "<= self.maximum_length",
        "data/test_batches.py::test_the_length_limit_counts_tokens_without_the_end_symbol",
    ),
    Fault(
        "data/ids.py",
        "offsets begin anew with every group of lines",
        "ends = self.sizes[side] + np.cumsum",
        "ends = np.cumsum",
        "data/test_ids.py::test_a_store_of_many_lines",
    ),
    Fault(
        "training/fit.py",
        "a resumed epoch begins anew",
        "batches.stream(state.epoch, state.batches_of_epoch)",
        "batches.stream(state.epoch, 0)",
        "training/test_nothing_lost.py::test_kills_in_phases_and_between_files",
    ),
    Fault(
        "training/checkpoint.py",
        "the means of a resumed epoch begin anew",
        "            variable.assign(value)",
        "            pass",
        "training/test_nothing_lost.py::test_kills_in_phases_and_between_files",
    ),
    Fault(
        "training/development.py",
        "the last weights are the best",
        "        if better:\n",
        "        if True:\n",
        "training/test_driver.py::test_best_weights_are_kept_and_patience_stops",
    ),
    Fault(
        "training/development.py",
        "a training resumes from the average",
        "            weight.assign(value)\n",
        "            pass\n",
        "training/test_driver.py::test_the_average_is_kept_where_it_scores_better",
    ),
    Fault(
        "layers/dropout.py",
        "dropout begins anew",
        'self.seed_generator.state.assign(store["seed_state"])',
        "pass",
        "training/test_nothing_lost.py::test_a_kill_of_a_model_that_translates",
    ),
    Fault(
        "alignment/links.py",
        "target before source",
        "sorted((int(row.argmax()), i) for i, row in",
        "sorted((i, int(row.argmax())) for i, row in",
        "evaluation/test_alignment_links.py::test_each_target_word_is_linked_to_its_largest_weight",
    ),
    Fault(
        "export/check.py",
        "answers are not compared",
        "if not _equal(answer[key], expected[key]):",
        "if False:",
        "export/test_publishing.py::test_a_model_that_answers_otherwise_is_not_published",
    ),
    Fault(
        "translation/functions.py",
        "an empty source is translated",
        "_empty_without_words(result, source.lengths > 1)",
        "_empty_without_words(result, source.lengths > 0)",
        "export/test_served_answers.py::test_translate_is_the_first_of_nbest",
    ),
    Fault(
        "translation/functions.py",
        "n-best translations see another sentence's source",
        "tf.repeat(tf.range(tf.size(source.lengths)), nbest)",
        "tf.tile(tf.range(tf.size(source.lengths)), [nbest])",
        "export/test_served_answers.py::test_a_row_depends_on_itself_alone",
    ),
]


def plant(fault, folder):
    """Copy package and tests to a folder, with the fault in it; False if its text is not there."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("rnnsearch_tf", "configs", "tests", "export"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "rnnsearch_tf" / fault.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
    return text.count(fault.old) == 1


def run_test(test, folder):
    """Exit code of pytest in the copy; it prints to a file there."""
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # for tests that start processes
    import pytest

    return pytest.main(["-q", "-x", "--tb=line", "-p", "no:cacheprovider", f"tests/{test}"])


def in_a_child(function, *arguments):
    """Exit code of a function in a fork of this process, which has imported TensorFlow already."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(function(*arguments)))
        finally:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main(words):
    import keras  # noqa: F401  once, before the forks
    import tensorflow_text  # noqa: F401

    survivors = 0
    for fault in FAULTS:
        if words and not any(word in f"{fault.file} {fault.what}" for word in words):
            continue
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            # pytest's exit code 1: tests ran, and some failed
            caught = plant(fault, folder) and in_a_child(run_test, fault.test, folder) == 1
        survivors += not caught
        seconds = time.monotonic() - started
        print(f"{'caught' if caught else 'SURVIVED'}  {fault.file}: {fault.what} ({seconds:.0f} s)")
    print(f"{survivors} survived")
    return bool(survivors)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.exit(main(sys.argv[1:]))
