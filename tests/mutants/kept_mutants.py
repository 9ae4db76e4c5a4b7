"""Planted faults of what Python made: saved, looked at, trained by hand; and of cleaning RUNs."""

from mutants import Mutant

HAND = "training/test_trained_by_hand.py"
RUNS = "cli/test_runs.py"
ATTENTION = "evaluation/test_attention.py"
CLEANED = (f"{RUNS}::test_a_finished_training_is_cleaned_of_what_only_it_needed",)
NOT_CLEANED = (f"{RUNS}::test_what_is_not_cleaned",)
UNSAVED = (f"{HAND}::test_what_cannot_be_saved",)
FILE = (f"{HAND}::test_a_keras_file_beside_its_vocabularies_is_a_model",)
LOOK = (f"{ATTENTION}::test_attention_is_an_array_with_its_tokens",)
AS_TRAIN = (f"{HAND}::test_fit_with_the_schedule_trains_as_train_does",)

KEPT = [
    Mutant(
        "translation/saving.py",
        "a saved model without checksums",
        "        run.record()\n",
        "",
        (f"{HAND}::test_what_python_made_is_a_run",),
    ),
    Mutant(
        "translation/saving.py",
        "a folder with files is written over",
        "if path.is_dir() and any(path.iterdir()):",
        "if False:",
        UNSAVED,
    ),
    Mutant(
        "translation/saving.py",
        "any configuration is saved with a model",
        "    _check_config(model, source, target, config)\n    with",
        "    with",
        UNSAVED,
    ),
    Mutant(
        "runs/folder.py",
        "a .keras file of another model with the same shapes",
        "    if differences:\n",
        "    if False:\n",
        FILE,
    ),
    Mutant(
        "runs/folder.py",
        "a .keras file of others is not checked",
        "        check_model_archive(path)\n",
        "",
        FILE,
    ),
    Mutant(
        "runs/folder.py",
        "a RUN opened again forgets its .keras file",
        "run = cls(os.fspath(path))",
        "run = cls(path)",
        FILE,
    ),
    Mutant(
        "translation/results.py",
        "the end symbols stand first",
        "return self.alignment, [*target, end], [*source, end]",
        "return self.alignment, [end, *target], [end, *source]",
        LOOK,
    ),
    Mutant(
        "translation/results.py",
        "a picture of no attention",
        "if not self.alignment.any():",
        "if False:",
        (f"{ATTENTION}::test_where_there_is_no_attention",),
    ),
    Mutant(
        "export/translator.py",
        "a translation that was cut off has one row too few",
        "if len(rows) == len(tokens) > 0:",
        "if False:",
        (
            "export/test_text_translators.py"
            "::test_one_sentence_has_one_translation_with_its_attention",
        ),
    ),
    Mutant(
        "training/schedule.py",
        "updates are not counted",
        "        self._clock.on_train_batch_end(batch)\n",
        "",
        AS_TRAIN,
    ),
    Mutant(
        "training/schedule.py",
        "epochs are not counted",
        "        self.state.epoch += 1\n",
        "        self.state.epoch += 0\n",
        (f"{HAND}::test_the_schedule_ends_at_every_limit",),
    ),
    Mutant(
        "runs/cleaning.py",
        "a training that may go on is cleaned",
        "return reached_limit(progress, settings) is not None",
        "return True",
        NOT_CLEANED,
    ),
    Mutant(
        "runs/cleaning.py",
        "a training that runs is cleaned",
        "with locked(run.path) as sure:",
        "for sure in (True,):",
        NOT_CLEANED,
    ),
    Mutant(
        "runs/cleaning.py",
        "a training without weights is cleaned",
        "        if not run.best_weights.exists() and not run.eight_bit_weights.exists():\n",
        "        if False:\n",
        NOT_CLEANED,
    ),
    Mutant(
        "runs/cleaning.py",
        "checksums of what was deleted stay",
        "            run.remove(path)\n",
        "            path.unlink()\n",
        CLEANED,
    ),
    Mutant(
        "runs/cleaning.py",
        "a RUN below counts twice",
        "if not Run(os.path.join(path, name)).config.exists()]",
        "if name]",
        CLEANED,
    ),
    Mutant(
        "runs/limits.py",
        "batches are taken for updates",
        "progress.batches // settings.accumulate",
        "progress.batches",
        NOT_CLEANED,
    ),
]
