"""Planted faults of the fit driver; see mutants.py."""

from mutants import Mutant

BAD_CONFIG = "bad_input/test_bad_config.py"

DRIVER = "training/test_driver.py"
CHECKPOINTS = "training/test_checkpoints.py"
SCHEDULE = "training/test_schedule.py"
PEER = "model/test_keras_nlp.py"
KILLED = "training/test_nothing_lost.py::test_two_kills"
MEMORY = "training/test_memory.py::test_an_update_keeps_no_memory"
RESUMED = f"{DRIVER}::test_a_resumed_training_is_the_uninterrupted_one"
BEST = f"{DRIVER}::test_best_weights_are_kept_and_patience_stops"

TRAINING = [
    Mutant(
        "training/callbacks.py",
        "dropout draws for a batch that does not come",
        "epoch: int, logs: Logs = None) -> None:\n        self.undo_batch()",
        "epoch: int, logs: Logs = None) -> None:\n        pass",
        (KILLED,),
    ),
    Mutant(
        "training/callbacks.py",
        "a batch that was not learned from counts in the means",
        "            *((variable.assign, tf.identity(variable)) for variable in averages),\n",
        "",
        ("model/test_fit.py::test_a_batch_that_was_begun_and_not_learned_from_leaves_the_means",),
    ),
    Mutant(
        "training/callbacks.py",
        "every learning rate is kept",
        "np.array(learning_rate(self.state, self.config))",
        "learning_rate(self.state, self.config)",
        (MEMORY,),
    ),
    Mutant(
        "training/callbacks.py",
        "the means of a resumed epoch begin anew",
        "            restore_means(self.model, self.state)",
        "            pass",
        (KILLED,),
    ),
    Mutant(
        "training/callbacks.py",
        "what a killed training logged stays",
        "file.truncate(self.state.metrics_bytes)",
        "pass",
        (KILLED,),
    ),
    Mutant(
        "training/checkpoint.py",
        "a checkpoint is written over the last",
        "next(folder / name for name in names if not (folder / name).exists())",
        "folder / next(names)",
        (f"{CHECKPOINTS}::test_two_checkpoints_are_kept_also_where_one_is_written_twice",),
    ),
    Mutant(
        "training/checkpoint.py",
        "damage is overlooked",
        "if digest_of(model_path) != expected:",
        "if False:",
        (f"{CHECKPOINTS}::test_the_checkpoint_before_a_damaged_one_is_taken",),
    ),
    Mutant(
        "training/fit.py",
        "a resumed epoch begins anew",
        "epochs.skip(state.place)",
        "epochs.skip(0)",
        (RESUMED,),
    ),
    Mutant(
        "layers/dropout.py",
        "dropout begins anew",
        "self.seed_generator.state.assign(state)",
        "pass",
        (RESUMED,),
    ),
    Mutant(
        "training/fit.py",
        "every epoch has the first one's order",
        "seed, lambda: state.epoch,",
        "seed, lambda: 0,",
        (f"{DRIVER}::test_every_epoch_has_its_own_order",),
    ),
    Mutant(
        "runs/folder.py",
        "trains over a training",
        'saved_numbers(path).get("batches") != 0 for path in states',
        "False for path in states",
        (f"{DRIVER}::test_a_trained_folder_is_not_trained_over",),
    ),
    Mutant(
        "training/fit.py",
        "a vocabulary is left behind",
        "        run.clear()\n",
        "        pass\n",
        (f"{DRIVER}::test_a_training_that_learned_nothing_leaves_no_vocabulary_behind",),
    ),
    Mutant(
        "runs/folder.py",
        "a model without checkpoints counts for nothing",
        "for path in (self.best_weights, self.eight_bit_weights) if path.exists()]:",
        "for path in ()]:",
        (f"{DRIVER}::test_a_model_without_its_checkpoints_is_not_overwritten",),
    ),
    Mutant(
        "cli/train.py",
        "a configuration beside --resume is laid over the defaults",
        "below=as_dictionary(before)",
        "below=None",
        ("training/test_resume_says.py::test_a_configuration_beside_resume_changes_what_run_has",),
    ),
    Mutant(
        "cli/train.py",
        "one text replaces a mixture on resuming",
        "if arguments.pairs and before.data.corpora:",
        "if False:",
        ("cli/test_train_from.py::test_one_text_does_not_replace_a_mixture_on_resuming",),
    ),
    Mutant(
        "files/writing.py",
        "what is read is written over",
        "os.path.samefile(name, path)",
        "name == path",
        ("cli/test_reading_and_writing.py::test_a_file_that_is_read_is_not_written_over",),
    ),
    Mutant(
        "config/yaml_files.py",
        "the last of two keys counts",
        "if key.value in known:",
        "if False:",
        (f"{BAD_CONFIG}::test_a_wrong_file_is_named_with_what_was_expected_and_what_came",),
    ),
    Mutant(
        "training/arguments.py",
        "another model is resumed",
        "if old != new.get(name):",
        "if False:",
        (f"{DRIVER}::test_a_trained_folder_is_not_trained_over",),
    ),
    Mutant(
        "training/development.py",
        "the last weights are the best",
        "        if better:\n",
        "        if True:\n",
        (BEST,),
    ),
    Mutant(
        "training/development.py",
        "patience without end",
        "state.evaluations_since_best >= settings.patience",
        "False",
        (BEST,),
    ),
    Mutant(
        "training/development.py",
        "the end is not evaluated",
        "if state.evaluated != state.batches:",
        "if False:",
        (f"{DRIVER}::test_the_last_weights_are_evaluated",),
    ),
    Mutant(
        "training/callbacks.py",
        "NaN goes unseen",
        "not math.isfinite(norm)",
        "False",
        (f"{DRIVER}::test_a_gradient_that_is_not_finite_stops_with_a_message",),
    ),
    Mutant(
        "training/learning_rate.py",
        "the nearer limit counts",
        "min(1.0, max(shares, default=0.0))",
        "min(1.0, min(shares, default=0.0))",
        (f"{SCHEDULE}::test_the_limit_that_is_further_along_counts",),
    ),
    Mutant(
        "training/learning_rate.py",
        "the cosine goes round",
        "math.cos(math.pi * share_done",
        "math.cos(2 * math.pi * share_done",
        (f"{SCHEDULE}::test_cosine_by_updates_counts_accumulated_batches_once",),
    ),
    Mutant(
        "training/checkpoint.py",
        "the averages of another version are forgotten",
        'warnings.filterwarnings("error"',
        'warnings.filterwarnings("ignore"',
        (f"{CHECKPOINTS}::test_an_optimizer_of_another_version_is_an_error",),
    ),
    Mutant(
        "training/checkpoint.py",
        "a damaged state escapes",
        "(ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError)",
        "(ZeroDivisionError,)",
        (f"{CHECKPOINTS}::test_a_damaged_state_is_an_error",),
    ),
    Mutant(
        "training/tensorboard.py",
        "no attention images",
        'f"attention/{number}"',
        'f"picture/{number}"',
        (f"{DRIVER}::test_tensorboard_has_curves_and_attention",),
    ),
    Mutant(
        "models/metrics.py",
        "perplexity to the base 2",
        "tf.exp(super().result())",
        "tf.pow(tf.constant(2.0, tf.float64), super().result())",
        (
            f"{PEER}::test_perplexity_is_that_of_keras_nlp",
            f"{DRIVER}::test_metrics_are_json_and_name_where_they_stand",
        ),
    ),
]
