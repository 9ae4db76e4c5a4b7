"""Planted faults of trainings that begin from a trained model; see mutants.py."""

from mutants import Mutant

START = "training/test_starting.py"
CONFIG = "data/test_continuing.py"
WORDS = f"{START}::test_new_words_come_behind_the_old_and_change_nothing_for_them"
MIXED = f"{CONFIG}::test_mixed_as_many_times_as_asked"
PLACE = f"{CONFIG}::test_new_text_takes_the_place_of_all_text"

CONTINUING = [
    Mutant(
        "training/warm_start.py",
        "weights that do not grow are fresh",
        "            weight.assign(known)\n",
        "",
        (WORDS,),
    ),
    Mutant(
        "training/warm_start.py",
        "new words are as likely as any",
        "known[-max(1, known.size // 10) :].mean()",
        "0.0",
        (WORDS,),
    ),
    Mutant(
        "text/vocabulary.py",
        "new words stand in front",
        "[*self.tokens, *new[:number]]",
        "[*self.tokens[:3], *new[:number], *self.tokens[3:]]",
        (WORDS,),
    ),
    Mutant(
        "data/continuing.py",
        "old text has new words too",
        "if _paths(config.data, corpus) not in known\n    ]",
        "]",
        (f"{START}::test_new_words_of_the_new_text_alone",),
    ),
    Mutant(
        "training/development.py",
        "where it began is not scored",
        "if state.began_from and not state.batches and",
        "if False and",
        (f"{START}::test_weights_that_only_got_worse_are_not_kept",),
    ),
    Mutant(
        "data/continuing.py",
        "the old development text stays",
        '("folder", "train_alignments", *TRAINING_TEXT, *DEVELOPMENT_TEXT)',
        '("folder", "train_alignments", *TRAINING_TEXT)',
        (PLACE,),
    ),
    Mutant(
        "data/continuing.py",
        "the weight is of the old text itself",
        "factor = times * new / old",
        "factor = times",
        (MIXED,),
    ),
    Mutant(
        "data/continuing.py",
        "what was held out is trained on",
        "    if before.data.held_out:",
        "    if False:",
        (MIXED,),
    ),
    Mutant(
        "data/continuing.py",
        "another model is continued",
        "if key not in free and old[key] != new[key]:",
        "if False:",
        (f"{CONFIG}::test_what_is_refused", f"{START}::test_what_is_refused"),
    ),
    Mutant(
        "data/continuing.py",
        "both limits count",
        '        below["training"] |= dict.fromkeys(limits)\n',
        "        pass\n",
        (f"{CONFIG}::test_one_limit_is_meant_without_the_other",),
    ),
]
