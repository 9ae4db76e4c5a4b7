"""Planted faults of options, as mutants.py has them."""

from mutants import Mutant

TABLES = "bad_input/test_option_tables.py"
BAD = "bad_input/test_bad_config.py"
BASE = "bad_input/test_bases.py"
RESUME = "training/test_resume_settings.py"
PUBLIC = "house/test_public_interface.py"
VAIN = (f"{TABLES}::test_an_option_is_refused_where_it_has_no_effect_and_only_there",)
LOST = f"{TABLES}::test_a_file_loses_its_options_of_evaluations_with_its_development_text"
KEPT = (f"{RESUME}::test_what_the_saved_model_has_cannot_change",)
VALUES = (f"{BAD}::test_numbers_and_paths_as_they_are_written",)

CONFIG = [
    Mutant(
        "config/options.py",
        "default length penalty 0.6",
        '        1.0,\n        "hypotheses are ranked by',
        '        0.6, "hypotheses are ranked by',
        (f"{TABLES}::test_every_default",),
    ),
    Mutant(
        "config/options.py",
        "at most two steps a source token",
        "maximum_length_ratio: float = option(\n        3.0,",
        "maximum_length_ratio: float = option(2.0,",
        (f"{TABLES}::test_every_default",),
    ),
    Mutant(
        "config/options.py",
        "rho with Adam",
        'only_with={"optimizer": ("adadelta",)}',
        'only_with={"optimizer": ("adadelta", "adam")}',
        VAIN,
    ),
    Mutant(
        "config/options.py",
        "no epsilon with Adam",
        'only_with={"optimizer": ("adadelta", "adam")}',
        'only_with={"optimizer": ("adadelta",)}',
        VAIN,
    ),
    Mutant(
        "config/options.py",
        "the size of a vocabulary that is there",
        '        only_with={"vocabulary": (None,)},\n',
        "",
        VAIN,
    ),
    Mutant(
        "config/options.py",
        "the rarest words of a vocabulary that is there",
        '"space"), "vocabulary": (None,)}',
        '"space")}',
        VAIN,
    ),
    Mutant(
        "training/fit.py",
        "one worker's gradients in bfloat16",
        "workers.count == 1 and training",
        "workers.count == 0 and training",
        ("training/test_driver.py::test_gradients_between_workers_need_several_workers",),
    ),
    Mutant(
        "data/continuing.py",
        "a RUN's workers are those of its next training",
        "    if workers == 1:",
        "    if workers == 0:",
        ("data/test_continuing.py::test_gradients_between_workers_are_not_those_of_one",),
    ),
    Mutant(
        "config/loading.py",
        "options of evaluations outlive the development text",
        'if names_development_text(below_it["data"]) and not',
        "if False and not",
        (LOST,),
    ),
    Mutant(
        "config/loading.py",
        "options of evaluations without a development text are dropped",
        'if names_development_text(below_it["data"]) and not',
        "if not",
        (LOST,),
    ),
    Mutant(
        "config/loading.py",
        "what --set names is dropped",
        'evaluation_defaults(sections["training"], changed)',
        'evaluation_defaults(sections["training"])',
        (LOST,),
    ),
    Mutant(
        "config/options.py",
        "an end before evaluate_after",
        "training.evaluate_after > training.maximum_updates",
        "False",
        ("bad_input/test_options_together.py::test_an_end_before_evaluate_after",),
    ),
    Mutant(
        "config/options.py",
        "an evaluation at the end is refused",
        "training.evaluate_after > training.maximum_updates",
        "training.evaluate_after >= training.maximum_updates",
        ("bad_input/test_options_together.py::test_an_end_before_evaluate_after",),
    ),
    Mutant(
        "config/effects.py",
        "what is missing is not looked at",
        "        if not failing:\n            return None",
        "        if True:\n            return None",
        VAIN,
    ),
    Mutant(
        "config/effects.py",
        "the farthest company is named",
        "if failing[0] > most:",
        "if most < 0:",
        VAIN,
    ),
    Mutant(
        "config/effects.py",
        "a file that is not named will do",
        "return bool(value) if wanted is GIVEN else",
        "return True if wanted is GIVEN else",
        VAIN,
    ),
    Mutant(
        "config/effects.py",
        "what depends on what was dropped stays",
        "    while idle := [",
        "    if idle := [",
        (f"{TABLES}::test_what_a_preset_or_a_run_has_is_not_refused",),
    ),
    Mutant(
        "config/loading.py",
        "a RUN of an earlier version is refused",
        "    named = set(_names(tree))\n",
        "    named = set(_names(_merge(below or {}, tree)))\n",
        (f"{TABLES}::test_a_run_of_an_earlier_version_loads",),
    ),
    Mutant(
        "config/loading.py",
        "what is named is dropped in silence",
        "    named = set(_names(tree))\n",
        "    named = set()\n",
        (f"{BAD}::test_a_wrong_file_is_named_with_what_was_expected_and_what_came",),
    ),
    Mutant("config/yaml_files.py", "octal numbers", "|0|[1-9][0-9_]*)", "|[0-9][0-9_]*)", VALUES),
    Mutant(
        "config/loading.py",
        "a path ends at a blank and #",
        "if not _is_plain_text(name.strip(), value):",
        "if True:",
        VALUES,
    ),
    Mutant(
        "config/loading.py",
        "quotes belong to a path",
        """value[0] in "'\\"[{":""",
        """value[0] in "[{":""",
        VALUES,
    ),
    Mutant(
        "config/options.py",
        "another label smoothing on resuming",
        '        maximum=0.95,\n        facts=("saved",),\n',
        "        maximum=0.95,\n",
        KEPT,
    ),
    Mutant(
        "config/options.py",
        "another seed on resuming",
        '        maximum=2**32 - 1,\n        facts=("saved",),\n',
        "        maximum=2**32 - 1,\n",
        KEPT,
    ),
    Mutant(
        "config/options.py",
        "a learning rate for ever",
        'option(1.0, "step size", above=0.0)',
        'option(1.0, "step size", above=0.0, facts=("saved",))',
        (f"{RESUME}::test_the_rest_can",),
    ),
    Mutant(
        "__init__.py",
        "a configuration imports TensorFlow",
        '_WITHOUT_TENSORFLOW = ("config",)',
        "_WITHOUT_TENSORFLOW = ()",
        (f"{PUBLIC}::test_a_configuration_needs_no_tensorflow",),
    ),
    Mutant(
        "config/effects.py",
        "patience without a development text",
        'if field.metadata["of_evaluations"]]',
        "if False]",
        ("data/test_corpus.py::test_options_of_evaluations_need_a_development_text",),
    ),
    Mutant(
        "data/continuing.py",
        "a RUN's options of evaluations stay without a development text",
        "config = with_default_evaluations(config, named)",
        "pass",
        ("training/test_starting.py::test_subwords_stay_without_new_words",),
    ),
    Mutant(
        "training/development.py",
        "no evaluation at the end",
        "        self.is_over = True\n",
        "",
        ("training/test_driver.py::test_the_last_evaluation_is_made_also_before_evaluate_after",),
    ),
]

BASES = [
    Mutant(
        "config/yaml_files.py",
        "a base lies over its file",
        "return found[::-1]",
        "return found",
        (f"{BASE}::test_values_are_laid_over_those_of_the_base",),
    ),
    Mutant(
        "config/yaml_files.py",
        "a base is sought in the current folder",
        "pathlib.Path(file).parent / base",
        "pathlib.Path(base)",
        (f"{BASE}::test_a_name_or_a_path_relative_to_the_file",),
    ),
    Mutant(
        "config/yaml_files.py",
        "a circle through a link is not seen",
        "found = [(name, tree)]\n    paths = [os.path.realpath(file)]",
        "found, paths = [(name, tree)], [str(file)]",
        (f"{BASE}::test_a_circle_is_said_with_its_files",),
    ),
    Mutant(
        "config/loading.py",
        "a base's option is refused where the file takes its effect",
        "named = changed | (named & names_without_effect(below_it))",
        "named = changed | named",
        (f"{BASE}::test_what_the_file_takes_the_effect_from_is_at_its_default",),
    ),
    Mutant(
        "config/loading.py",
        "what has no effect in a base is dropped in silence",
        "named = changed | (named & names_without_effect(below_it))",
        "named = changed",
        (f"{BASE}::test_what_never_had_an_effect_is_refused",),
    ),
    Mutant(
        "config/loading.py",
        "what a base sets is not named",
        "for layer in layers for name in _names(layer)}",
        "for layer in layers[-1:] for name in _names(layer)}",
        (
            f"{BASE}::test_values_are_laid_over_those_of_the_base",
            f"{BASE}::test_a_training_that_goes_on_takes_what_a_base_sets",
        ),
    ),
    Mutant(
        "config/loading.py",
        "the file is blamed for its base",
        "        _check_names(Config(), tree, name)",
        "        _check_names(Config(), tree, str(path))",
        (f"{BASE}::test_a_wrong_option_is_said_of_the_file_that_has_it",),
    ),
    Mutant(
        "config/yaml_files.py",
        "a wrong base passes",
        "    if not isinstance(base, str) or",
        "    if base is None: return None, os.devnull\n    if not isinstance(base, str) or",
        (f"{BASE}::test_a_wrong_base",),
    ),
    Mutant(
        "config/loading.py",
        "--set base=… is an unknown option",
        "            if key in known:\n",
        "            if False:\n",
        (f"{BASE}::test_only_files_have_a_base",),
    ),
]
