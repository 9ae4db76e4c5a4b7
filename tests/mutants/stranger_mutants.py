"""Planted faults of what a newcomer does: languages, links of words, files as words, a damaged RUN,
the doctor; see mutants.py.
"""

from mutants import Mutant

LANGUAGES = "text/test_languages.py"
LINKS = "cli/test_word_links.py"
DAMAGED = "bad_input/test_damaged_run.py"
CHECK = "data/test_check.py"
SHORTLIST = "cli/test_shortlist_verb.py"
PAIRS = "cli/test_pairs.py"
RESUME = "training/test_resume_says.py"
JOINED = f"{LANGUAGES}::test_any_tokens_are_joined_as_in_sacremoses"
SACREMOSES = (f"{LANGUAGES}::test_tokens_and_text_are_those_of_sacremoses",)

NEWCOMER = [
    Mutant(
        "text/moses.py",
        "Irish apostrophes stand alone",
        '("fr", "it", "ga")',
        '("fr", "it")',
        (JOINED,),
    ),
    Mutant(
        "text/moses.py",
        "Czech quotes alternate",
        '(czech == "„") | (czech == "“")',
        'czech == "x"',
        (JOINED,),
    ),
    Mutant("text/moses.py", "Korean words are joined", ' & (language != "ko")', "", SACREMOSES),
    Mutant(
        "text/moses.py",
        "Italian has the apostrophes of German",
        '_APOSTROPHE["it"] = _APOSTROPHE["fr"]',
        "pass",
        SACREMOSES,
    ),
    Mutant(
        "text/moses.py",
        "Chinese characters stand alone",
        "FOREIGN_IDEOGRAPHS.get(language, IDEOGRAPH)",
        "IDEOGRAPH",
        SACREMOSES,
    ),
    Mutant(
        "text/languages.py",
        "a warning every time",
        "@functools.cache\ndef warn_once",
        "def _nobody():\n    pass\n\n\n_nobody.cache_clear = lambda: None\n\n\ndef warn_once",
        (f"{LANGUAGES}::test_a_language_without_rules_falls_back_with_one_warning",),
    ),
    Mutant(
        "alignment/links.py",
        "pieces of a source word are not summed",
        "weights = weights @ _with_end(source)",
        "weights = weights @ (_with_end(source) / _with_end(source).sum(axis=0))",
        (f"{LINKS}::test_links_are_of_words",),
    ),
    Mutant(
        "alignment/links.py",
        "given words are overlooked",
        "if words is None else words",
        "",
        (f"{LINKS}::test_links_of_given_tokens",),
    ),
    Mutant(
        "cli/shortlist.py",
        "overlong pairs are learned from",
        "if len(source) - 1 > limits[0] or",
        "if False and",
        (f"{SHORTLIST}::test_overlong_pairs_are_left_out",),
    ),
    Mutant(
        "cli/shortlist.py",
        "a shortlist without words is written",
        "if not found[0].size:",
        "if False:",
        (f"{SHORTLIST}::test_nothing_to_learn_from",),
    ),
    Mutant(
        "cli/shortlist.py",
        "memory has no bound",
        "if cells > MOST_CELLS:",
        "if False:",
        (f"{SHORTLIST}::test_memory_is_bounded_whatever_the_lengths",),
    ),
    Mutant(
        "runs/folder.py",
        "damage is overlooked",
        "(found := digest_of(path)) in digests:",
        "(found := digest_of(path)):",
        (f"{DAMAGED}::test_damage_is_one_clear_error", f"{DAMAGED}::test_every_door_is_watched"),
    ),
    Mutant(
        "runs/folder.py",
        "only the new checksum counts before the file is there",
        "known.get(name, set()) | {new}",
        "{new}",
        (f"{DAMAGED}::test_a_kill_while_weights_are_replaced_leaves_a_run_that_loads",),
    ),
    Mutant(
        "training/fit.py",
        "a limit that is reached is not named",
        "if name := reached_limit(state, settings):",
        "if False:",
        (f"{RESUME}::test_a_limit_that_is_reached_already_is_named",),
    ),
    Mutant(
        "data/inspection/swapped.py",
        "a pair speaks for itself",
        "own_counts[bucket] - repeats[inverse]",
        "own_counts[bucket]",
        (f"{CHECK}::test_a_swapped_pair_does_not_speak_for_itself",),
    ),
    Mutant(
        "data/inspection/doctor.py",
        "lost development pairs are a warning",
        '"error", f"{share} of the pairs are lost',
        '"warning", f"{share} of the pairs are lost',
        (f"{CHECK}::test_a_development_text_that_loses_its_pairs_is_an_error",),
    ),
]
