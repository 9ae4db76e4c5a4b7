"""Planted faults in what a resumed training compares, cuts and finds, and in what a process reads
again; see mutants.py.
"""

from mutants import Mutant

SCORES = "training/test_resumed_scores.py"
DRIVER = "training/test_driver.py"
RUNS = "cli/test_runs.py"
GIVEN = "training/test_given_pairs.py"

RESUMED = [
    Mutant(
        "training/development.py",
        "a score is compared with one of other sentences",
        "if state.judged_by and state.judged_by != self._judged_by():",
        "if False:",
        (f"{SCORES}::test_the_best_weights_are_scored_again_by_the_new_settings",),
    ),
    Mutant(
        "training/development.py",
        "a score is compared with one of another search",
        "if self.model.reads_source:\n            for name, value",
        "if False:\n            for name, value",
        (f"{SCORES}::test_what_a_score_depends_on",),
    ),
    Mutant(
        "training/development.py",
        "other development sentences restart a training that early stopping ended",
        'if reached_limit(state, self.config.training) != "patience":',
        "if True:",
        (f"{SCORES}::test_a_training_that_patience_has_ended_stays_so",),
    ),
    Mutant(
        "training/development.py",
        "a resumed training continues from its best weights, not its last",
        "            variable.assign(value)\n\n    def evaluate",
        "            pass\n\n    def evaluate",
        (f"{SCORES}::test_the_training_goes_on_with_its_own_weights",),
    ),
    Mutant(
        "training/checkpoint.py",
        "smaller batches read a part of the epoch again",
        "state.place * state.batch_size // config.data.batch_size",
        "state.place",
        (
            "training/test_checkpoints.py::test_the_place_in_an_epoch_is_after_as_many_pairs",
            f"{DRIVER}::test_larger_batches_go_on_after_as_many_pairs",
        ),
    ),
    Mutant(
        "training/callbacks.py",
        "a change of the batch size counts in the next epoch too",
        "            state.shift = 0\n",
        "",
        (f"{DRIVER}::test_larger_batches_go_on_after_as_many_pairs",),
    ),
    Mutant(
        "training/callbacks.py",
        "the time left does not know the limit of epochs",
        "max(share_done(state, self.config), epochs)",
        "share_done(state, self.config)",
        ("training/test_progress_line.py::test_the_limit_that_is_set_counts",),
    ),
    Mutant(
        "training/callbacks.py",
        "records of a killed training stay before its second checkpoint",
        "if state.metrics_bytes == NOT_COUNTED:",
        "if state.metrics_bytes <= 0:",
        (f"{DRIVER}::test_a_killed_trainings_records_are_cut_also_before_its_second_checkpoint",),
    ),
    Mutant(
        "training/fit.py",
        "an epoch has as many updates as pairs that are too long",
        "        if state.epoch:\n",
        "        if False:\n",
        (f"{DRIVER}::test_the_updates_of_an_epoch_are_those_that_were_made",),
    ),
    Mutant(
        "training/given_pairs.py",
        "held_out stays beside development pairs",
        'if part == "development" and (pairs is not None or written) and data.held_out:',
        "if False:",
        (f"{GIVEN}::test_given_development_pairs_take_the_place_of_held_out_ones",),
    ),
    Mutant(
        "training/given_pairs.py",
        "a resumed training holds pairs out in place of its development text",
        "(pairs is not None or written) and data.held_out",
        "pairs is not None and data.held_out",
        (f"{GIVEN}::test_a_resumed_training_has_the_text_that_it_was_started_with",),
    ),
    Mutant(
        "config/loading.py",
        "the text of a RUN whose path has `..` is not found",
        "pathlib.Path(os.path.abspath(run))",
        "run.absolute()",
        (f"{GIVEN}::test_a_resumed_training_has_the_text_that_it_was_started_with",),
    ),
    Mutant(
        "runs/folder.py",
        "any list of checksums makes a folder a training",
        "return not known or self._name(self.config) in known",
        "return True",
        (f"{DRIVER}::test_checksums_of_others_do_not_make_a_folder_a_training",),
    ),
    Mutant(
        "training/averaging.py",
        "the mean of a training before it was resumed stays",
        "or _what_stays(averaged) != _what_stays(run)",
        "or averaged.config.read_bytes() != run.config.read_bytes()",
        ("training/test_averaging.py::test_a_resumed_training_is_averaged_again",),
    ),
    Mutant(
        "training/averaging.py",
        "the mean of another text is overwritten",
        "(*run.text_files(), run.training_text)",
        "run.text_files()",
        ("training/test_averaging.py::test_a_resumed_training_is_averaged_again",),
    ),
    Mutant(
        "runs/cleaning.py",
        "a training is finished before its last evaluation",
        "is not None and evaluated and averaged",
        "is not None and averaged",
        (f"{RUNS}::test_what_is_not_cleaned",),
    ),
    Mutant(
        "runs/cleaning.py",
        "a training is finished before its average",
        "is not None and evaluated and averaged",
        "is not None and evaluated",
        (f"{RUNS}::test_what_is_not_cleaned",),
    ),
    Mutant(
        "config/loading.py",
        "a copied RUN is resumed with the text of the first",
        'found |= {f"{part}_{side}": str(own)} if own.exists() else {}',
        "pass",
        (f"{GIVEN}::test_pairs_in_python_train_as_the_same_pairs_in_files",),
    ),
    Mutant(
        "config/loading.py",
        "values beside a file are ignored",
        "if path is not None and values:",
        "if False:",
        ("bad_input/test_bad_python.py::test_a_file_and_values_are_not_given_together",),
    ),
    Mutant(
        "translation/translator.py",
        "a word list is read once",
        "or self._cache[key][0] != known:",
        "and True:",
        ("search/test_word_lists_read_again.py::test_an_edited_lexicon_counts",),
    ),
    Mutant(
        "text/phrases.py",
        "Korean has no spaces",
        'if base(text.config.language) == "ko" else',
        "if False else",
        ("text/test_phrases.py::test_spaces_are_those_of_the_language",),
    ),
    Mutant(
        "text/characters.py",
        "Thai has spaces",
        'EAST_ASIAN + _bracket("e00-fff 1000-109f 1780-17ff")',
        "EAST_ASIAN",
        ("text/test_phrases.py::test_spaces_are_those_of_the_language",),
    ),
]
