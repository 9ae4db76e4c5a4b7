"""Planted faults of flags, between their parser and the engine; as mutants.py has them."""

from mutants import Mutant

EVALUATION = "cli/test_flags_evaluation.py"
LISTINGS = "cli/test_flags_listings.py"
MODELS = "cli/test_flags_models.py"
TEXT = "cli/test_flags_text.py"
TRAINING = "cli/test_flags_training.py"
TRANSLATION = "cli/test_flags_translation.py"
EXIT_CODES = "cli/test_exit_codes.py"

PLUMBING = [
    Mutant(
        "cli/client.py",
        "--concurrency ends at the parser",
        "client.translate_batches(texts, arguments.concurrency)",
        "client.translate_batches(texts)",
        (f"{TRANSLATION}::test_client",),
    ),
    Mutant(
        "cli/client.py",
        "--deadline ends at the parser",
        ', "deadline": arguments.deadline}',
        "}",
        (f"{TRANSLATION}::test_client",),
    ),
    Mutant(
        "cli/launch.py",
        "workers are killed after 0.12 s",
        "time.monotonic() + PATIENCE",
        "time.monotonic() + PATIENCE / 1000",
        (f"{TRAINING}::test_a_worker_that_does_not_end_is_killed_after_two_minutes",),
    ),
    Mutant(
        "cli/launch.py",
        "--restarts ends at the parser",
        "range(arguments.restarts, -1, -1)",
        "range(3, -1, -1)",
        (f"{TRAINING}::test_launch",),
    ),
    Mutant(
        "cli/sample.py",
        "--temperature ends at the parser",
        "temperature=arguments.temperature, ",
        "",
        (f"{TRANSLATION}::test_sample",),
    ),
    Mutant(
        "cli/score.py",
        "--normalize without the end symbol",
        "len(scored.target_tokens) + 1 if",
        "len(scored.target_tokens) if",
        (f"{TRANSLATION}::test_score",),
    ),
    Mutant(
        "cli/rescore.py",
        "--batch-size ends at the parser",
        "translator.score(*texts, arguments.batch_size, arguments.tokenized)",
        "translator.score(*texts, None, arguments.tokenized)",
        (f"{TRANSLATION}::test_rescore",),
    ),
    Mutant(
        "cli/phrase_table.py",
        "--batch-size ends at the parser",
        "targets, arguments.batch_size, tokenized=True",
        "targets, tokenized=True",
        (f"{TRANSLATION}::test_phrase_table",),
    ),
    Mutant(
        "cli/shared.py",
        "--coverage-penalty is --length-penalty",
        'field.metadata["flag"]: field.name',
        'field.metadata["flag"]: field.name.replace("coverage", "length")',
        (f"{TRANSLATION}::test_translate",),
    ),
    Mutant(
        "cli/shared.py",
        "--combine ends at the parser",
        "Translator.load(runs, combine=combine)",
        "Translator.load(runs)",
        (f"{TRANSLATION}::test_translate", f"{TRANSLATION}::test_score"),
    ),
    Mutant(
        "cli/align.py",
        "--symmetrize ends at the parser",
        "METHODS[arguments.symmetrize or next(iter(METHODS))]",
        "METHODS[next(iter(METHODS))]",
        (f"{TRANSLATION}::test_align",),
    ),
    Mutant(
        "cli/evaluate.py",
        "--test ends at the parser",
        "test = arguments.test or next(iter(TESTS))",
        "test = next(iter(TESTS))",
        (f"{EVALUATION}::test_evaluate",),
    ),
    Mutant(
        "cli/select.py",
        "--rounds ends at the parser",
        "arguments.seed,\n        arguments.rounds,",
        "arguments.seed, 1,",
        (f"{TEXT}::test_select",),
    ),
    Mutant(
        "cli/export.py",
        "--version ends at the parser",
        "arguments.output,\n        arguments.version,",
        "arguments.output, None,",
        (f"{MODELS}::test_export",),
    ),
    Mutant(
        "cli/train.py",
        "--new-words ends at the parser",
        "arguments.new_words or 0",
        "0",
        (f"{TRAINING}::test_train",),
    ),
    Mutant(
        "cli/init.py",
        "--minutes ends at the parser",
        "source, target, arguments.minutes)",
        "source, target, 60)",
        (f"{TEXT}::test_init",),
    ),
    Mutant(
        "cli/translate_corpus.py",
        "--workers ends at the parser",
        "arguments.output,\n            arguments.workers,\n            beam_options",
        "arguments.output, None, beam_options",
        (f"{TRANSLATION}::test_translate_corpus",),
    ),
    Mutant(
        "cli/oracle.py",
        "--lowercase ends at the parser",
        "lowercase=arguments.lowercase)",
        "lowercase=False)",
        (f"{EVALUATION}::test_oracle",),
    ),
    Mutant(
        "cli/plot_attention.py",
        "options of the search end at the parser",
        "translator.translate(texts, **changes)",
        "translator.translate(texts)",
        (f"{EVALUATION}::test_plot_attention",),
    ),
    Mutant(
        "cli/shortlist.py",
        "--iterations ends at the parser",
        "vocabulary.size, arguments.iterations)",
        "vocabulary.size, 5)",
        (f"{MODELS}::test_shortlist",),
    ),
    Mutant(
        "cli/average.py",
        "--last ends at the parser",
        "average_run(arguments.run, folder, arguments.last)",
        "average_run(arguments.run, folder)",
        (f"{MODELS}::test_average",),
    ),
    Mutant(
        "cli/preset.py",
        "a preset is taken for a RUN",
        "(preset_to_run if preset else run_to_preset)",
        "(run_to_preset if preset else preset_to_run)",
        (f"{MODELS}::test_preset",),
    ),
    Mutant(
        "cli/demo.py",
        "--set ends at the parser",
        ", overrides=arguments.set)",
        ")",
        (f"{TRAINING}::test_demo",),
    ),
    Mutant(
        "cli/doctor.py",
        "--quick ends at the parser",
        "if not arguments.quick and not",
        "if not",
        (f"{TEXT}::test_doctor",),
    ),
    Mutant(
        "cli/prepare.py",
        "--processes ends at the parser",
        "arguments.output, arguments.processes)",
        "arguments.output)",
        (f"{TEXT}::test_prepare",),
    ),
    Mutant(
        "cli/fidelity.py",
        "--set ends at the parser",
        ", overrides=arguments.set)",
        ")",
        (f"{LISTINGS}::test_fidelity",),
    ),
    Mutant(
        "cli/completion.py",
        "every shell is bash",
        "shell=arguments.shell)",
        'shell="bash")',
        (f"{LISTINGS}::test_completion",),
    ),
    Mutant(
        "cli/aer.py",
        "gold links and the hypothesis change places",
        "counts.add(sure, possible, found)",
        "counts.add(found, possible, sure)",
        (f"{EVALUATION}::test_aer",),
    ),
    Mutant(
        "cli/runs.py",
        "only the first folder is looked at",
        "for folder in arguments.folders for",
        "for folder in arguments.folders[:1] for",
        (f"{LISTINGS}::test_runs",),
    ),
    Mutant(
        "cli/main.py",
        "a new verb without a table",
        '        "average": "average the',
        '        "mean": "average the',
        (f"{LISTINGS}::test_every_verb_has_its_table",),
    ),
]

EXITS = [
    Mutant(
        "cli/main.py",
        "a file's name is taken for a signal",
        "    if not isinstance(error, OSError):  # these",
        "    if True:  # these",
        (f"{EXIT_CODES}::test_the_name_of_a_file_is_no_signal",),
    ),
    Mutant(
        "cli/prepare.py",
        "SIGTERM kills prepare",
        "    with sigterm_raises():",
        "    if True:",
        (f"{EXIT_CODES}::test_a_signal_while_the_engine_works",),
    ),
    Mutant(
        "cli/main.py",
        "an interrupted command is stopped and resumable",
        "EXIT_INTERRUPTED = 130",
        "EXIT_INTERRUPTED = 75",
        (f"{EXIT_CODES}::test_a_signal_while_the_engine_works",),
    ),
]
