"""Planted faults of plumbing that no test watched: values exactly at a limit, ties, units,
defaults; see mutants.py.
"""

from mutants import Mutant

SELECTION = "data/test_selection.py"
LEXICON = "smt/test_lexicon.py"
NBEST = "smt/test_nbest.py"
REPRODUCE = "papers/test_reproduce.py"
CLAIMS = "papers/test_claims.py"
DRIVER = "training/test_driver.py"
CHECKPOINTS = "training/test_checkpoints.py"
LAUNCH = "training/test_launch.py"

LIMITS = [
    Mutant(
        "data/inspection/selection.py",
        "pairs of exactly the longest length are left out",
        "(np.max(tokens, axis=0) <= (longest",
        "(np.max(tokens, axis=0) < (longest",
        (f"{SELECTION}::test_a_pair_of_exactly_the_longest_length_can_be_kept",),
    ),
    Mutant(
        "data/inspection/selection.py",
        "the share to keep is rounded down",
        "round(keep * len(scores))",
        "int(keep * len(scores))",
        (f"{SELECTION}::test_the_share_is_rounded_to_the_nearest_number",),
    ),
    Mutant(
        "papers/corpora.py",
        "joined pairs of exactly the longest length are left out",
        "for side in pair) <= longest",
        "for side in pair) < longest",
        (f"{REPRODUCE}::test_pairs_of_exactly_the_longest_length_stay",),
    ),
    Mutant(
        "alignment/lexicon.py",
        "words linked exactly as often as asked are left out",
        "if count >= minimum_count",
        "if count > minimum_count",
        (f"{LEXICON}::test_of_words_linked_as_often_the_first_in_the_alphabet_is_taken",),
    ),
    Mutant(
        "training/fit.py",
        "one development sentence too many",
        "if number < config.training.evaluate_sentences",
        "if number <= config.training.evaluate_sentences",
        (f"{DRIVER}::test_the_sentences_and_the_beam_of_development_translations",),
    ),
]

TIES = [
    Mutant(
        "alignment/lexicon.py",
        "of equal counts the last in the alphabet",
        "-entry[1], entry[0][1])",
        "-entry[1], [-ord(c) for c in entry[0][1]])",
        (f"{LEXICON}::test_of_words_linked_as_often_the_first_in_the_alphabet_is_taken",),
    ),
    Mutant(
        "extras/moses/oracle.py",
        "n-grams that a short text cannot have count against it",
        "effective_order=True",
        "effective_order=False",
        (f"{NBEST}::test_the_oracle_of_short_sentences_counts_the_ngrams_that_they_have",),
    ),
    Mutant(
        "training/development.py",
        "an equal BLEU counts as better",
        "score > state.best_bleu",
        "score >= state.best_bleu",
        (f"{DRIVER}::test_best_weights_are_kept_and_patience_stops",),
    ),
    Mutant(
        "training/development.py",
        "an equal loss counts as better",
        "loss < best)",
        "loss <= best)",
        (f"{DRIVER}::test_an_equal_loss_is_no_better_one",),
    ),
    Mutant(
        "translation/results.py",
        "samples are distinct by their text",
        "Counter(tuple(sample.tokens) for sample in samples)\n    first = {tuple(sample.tokens):",
        "Counter(sample.text for sample in samples)\n    first = {sample.text:",
        ("cli/test_pairs.py::test_samples_are_distinct_by_their_tokens",),
    ),
]

UNITS_AND_DEFAULTS = [
    Mutant(
        "training/callbacks.py",
        "minutes between checkpoints are taken for seconds",
        ">= 60 * self.config.training.checkpoint_every_minutes",
        ">= self.config.training.checkpoint_every_minutes",
        (f"{CHECKPOINTS}::test_a_checkpoint_is_written_every_so_many_minutes",),
    ),
    Mutant(
        "papers/provenance.py",
        "the minutes of the first seed stand for the mean",
        'statistics.mean(record["seconds"] / 60 for record in records)',
        'records[0]["seconds"] / 60',
        (f"{CLAIMS}::test_a_page_has_the_mean_minutes_of_several_seeds",),
    ),
    Mutant(
        "papers/bahdanau2015.py",
        "sentences without unknown words are scored as a decoder that writes <unk> has them",
        '"no_unk": score(forbidden, few)',
        '"no_unk": score(texts, few)',
        (f"{REPRODUCE}::test_without_unknown_words_is_scored_what_a_decoder_without_them_writes",),
    ),
    Mutant(
        "alignment/word_translations.py",
        "four iterations where nothing is said",
        "iterations: int = 5",
        "iterations: int = 4",
        ("smt/test_word_translations.py::test_it_is_that_of_plain_loops",),
    ),
    Mutant(
        "cli/launch.py",
        "workers are killed after a tenth of a second",
        "PATIENCE = 120\n",
        "PATIENCE = 0.12\n",
        (f"{LAUNCH}::test_workers_have_two_minutes_to_save_and_end",),
    ),
]
