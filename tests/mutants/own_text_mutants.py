"""Planted faults in what helps with one's own text: progress, models that come along, confidence,
new subwords.
"""

from mutants import Mutant

STARTING = "training/test_starting.py"

CONFIDENCE = "evaluation/test_confidence.py"
PROGRESS = "cli/test_progress.py"
PRETRAINED = "model/test_pretrained.py"

OWN_TEXT = [
    Mutant(
        "evaluation/confidence.py",
        "a reference's word counts for every repetition",
        "left[word] -= 1",
        "left[word] -= 0",
        (f"{CONFIDENCE}::test_the_regressions_are_at_their_maximum",),
    ),
    Mutant(
        "evaluation/confidence.py",
        "the end symbol is left out of the mean",
        "mean = log_probabilities.mean()",
        "mean = log_probabilities[:-1].mean()",
        (f"{CONFIDENCE}::test_the_features_of_pieces_are_those_of_words",),
    ),
    Mutant(
        "evaluation/confidence.py",
        "the penalty has no gradient",
        "(target - p) - ridge * weights",
        "(target - p)",
        (f"{CONFIDENCE}::test_separable_labels_do_not_break_it",),
    ),
    Mutant(
        "evaluation/confidence.py",
        "ties have ranks of their own",
        "- (counts - 1) / 2)[places]",
        ")[places]",
        (f"{CONFIDENCE}::test_agreement_is_that_of_the_textbook",),
    ),
    Mutant(
        "runs/eight_bit.py",
        "a scale for each row",
        ".max(axis=0, keepdims=True)",
        ".max(axis=1, keepdims=True)",
        (f"{PRETRAINED}::test_no_weight_is_off_by_more_than_half_a_step",),
    ),
    Mutant(
        "runs/folder.py",
        "the optimizer's moments are stored",
        'getattr(model, "optimizer", None)\n    model.optimizer = None',
        'getattr(model, "optimizer", None), model.optimizer',
        (f"{PRETRAINED}::test_a_run_holds_weights_alone",),
    ),
    Mutant(
        "runs/folder.py",
        "a model of the package comes before a folder",
        "if not run.path.is_dir():\n            if str(path)",
        "if True:\n            if str(path)",
        (f"{PRETRAINED}::test_a_folder_of_that_name_comes_first",),
    ),
    Mutant(
        "runtime/progress.py",
        "what is quick shows a bar",
        "delay=silence,",
        "delay=0.0,",
        (f"{PROGRESS}::test_what_is_quick_shows_nothing",),
    ),
    Mutant(
        "runtime/progress.py",
        "a Python caller sees bars",
        "disable=hidden or not log.isEnabledFor(logging.INFO)",
        "disable=hidden",
        (f"{PROGRESS}::test_a_log_has_lines_and_a_python_caller_nothing",),
    ),
    Mutant(
        "cli/log_file.py",
        "every form of a bar stands in the log file",
        "line = _last_form(line).strip()",
        "line = line.strip()",
        (f"{PROGRESS}::test_a_log_file_has_everything_with_its_time",),
    ),
    Mutant(
        "training/fit.py",
        "weights may leave an epoch without a pair",
        "if not any(round(size * weight)",
        "if False and any(round(size * weight)",
        ("bad_input/test_bad_data.py::test_weights_that_leave_an_epoch_without_a_pair",),
    ),
    Mutant(
        "training/callbacks.py",
        "the user's callbacks begin with every epoch",
        "if not self._has_begun:",
        "if True:",
        ("training/test_given_pairs.py::test_the_epochs_are_one_fit_of_the_callbacks",),
    ),
    Mutant(
        "training/warm_start.py",
        "pairs in Python are looked for in files",
        "new_pairs(config, before) if given is None else [given]",
        "new_pairs(config, before)",
        (f"{STARTING}::test_the_new_text_may_be_pairs_in_python",),
    ),
    Mutant(
        "training/callbacks.py",
        "an epoch without a batch has a line",
        "if logs:  # an epoch",
        "if True:  # an epoch",
        ("training/test_progress_line.py::test_an_epoch_without_a_batch_has_none",),
    ),
    Mutant(
        "training/callbacks.py",
        "the time left is what all of it takes",
        "* (1 - share) / share)",
        "/ share)",
        ("training/test_progress_line.py::test_a_log_has_all_of_it",),
    ),
    Mutant(
        "text/subwords.py",
        "missing characters wait for frequent pieces",
        "key=lambda piece: len(piece.piece) > 1",
        "key=lambda piece: 0",
        (f"{STARTING}::test_new_subwords_come_behind_the_old_the_missing_characters_first",),
    ),
]
