"""Planted faults of constrained search and of what hands it phrases; see mutants.py."""

from mutants import Mutant

SEARCH = "search/test_constrained.py"
PHRASES = "text/test_phrases.py"
VERB = "cli/test_constraints.py"
ANSWERS = "export/test_served_answers.py"
WIDE = f"{SEARCH}::test_a_wide_beam_is_brute_force"
MET = f"{SEARCH}::test_every_output_has_its_phrases"
PLAIN = f"{SEARCH}::test_without_phrases_it_is_beam_search"

CONSTRAINTS = [
    Mutant(
        "search/constrained.py",
        "it ends before all phrases are met",
        "complete = _needed(progress, constraints) == 0",
        "complete = _needed(progress, constraints) <= 1",
        (WIDE, MET),
    ),
    Mutant(
        "search/constrained.py",
        "no room is kept for what is needed",
        "length + needed <= sentences.maximum",
        "length <= sentences.maximum",
        (MET,),
    ),
    Mutant(
        "search/constrained.py",
        "the next words of phrases are no candidates",
        "wanted_totals = tf.where(\n        missing,",
        "wanted_totals = tf.where(missing & False,",
        (MET,),
    ),
    Mutant(
        "search/constrained.py",
        "a candidate twice",
        "Candidates(tf.where(duplicate, NO_HYPOTHESIS, totals), parents, chosen)",
        "Candidates(totals, parents, chosen)",
        (WIDE,),
    ),
    Mutant(
        "search/constrained.py",
        "a candidate that does not exist rules out one that does",
        "& _is_earlier(totals) & exists(totals)[:, tf.newaxis]",
        "& _is_earlier(totals)",
        (MET,),
    ),
    Mutant(
        "search/constrained.py",
        "a phrase begun is begun anew at every word",
        "progress.matching[..., :-1]], axis=2\n    )",
        "tf.zeros_like(progress.matching[..., :-1])], axis=2)",
        (WIDE,),
    ),
    Mutant(
        "search/constrained.py",
        "a phrase inside a longer word counts",
        "lost = constraints.ends_within[:, tf.newaxis] & continues_word[..., tf.newaxis]",
        "lost = False",
        (WIDE, MET),
    ),
    Mutant(
        "search/constrained.py",
        "what was met is lacking again",
        "progress.met | (just_complete & ~lost)",
        "just_complete & ~lost",
        (WIDE,),
    ),
    Mutant(
        "search/constrained.py",
        "a tie goes to the later",
        "& _is_earlier(all_keys)\n    )",
        "& ~_is_earlier(all_keys))",
        (f"{SEARCH}::test_ties_fall_as_in_beam_search",),
    ),
    Mutant(
        "search/constrained.py",
        "finished hypotheses give their places back",
        "_prune_by_phrases(\n        finished_ranks(beam.finished, rules),",
        "_prune_by_phrases(NO_HYPOTHESIS + 0 * beam.finished.keys,",
        (PLAIN,),
    ),
    Mutant(
        "search/constrained.py",
        "unknown words are one",
        "tf.where(ids < tf.size(begins_within), ids, UNKNOWN_ID)",
        "tf.minimum(ids, tf.size(begins_within) - 1)",
        (f"{SEARCH}::test_words_that_the_vocabulary_lacks_are_told_apart",),
    ),
    Mutant(
        "text/phrases.py",
        "a sentence begins with each phrase",
        "text.tokenize_phrases(",
        "text.tokenize(",
        (f"{PHRASES}::test_a_phrase_is_cased_as_in_the_middle_of_a_sentence",),
    ),
    Mutant(
        "text/phrases.py",
        "one id for all unknown words",
        "text.vocabulary.size + _first_places(words)",
        "text.vocabulary.size + 0 * _first_places(words)",
        (f"{PHRASES}::test_ids_are_those_of_the_tokens_in_their_order",),
    ),
    Mutant(
        "text/phrases.py",
        "phrases of another sentence",
        "tf.cast(kept, tf.int64), phrases.value_rowids(),",
        "tf.cast(kept, tf.int64), 0 * phrases.value_rowids(),",
        (f"{PHRASES}::test_ids_are_those_of_the_tokens_in_their_order",),
    ),
    Mutant(
        "text/phrases.py",
        "phrases beyond the limit are compared",
        "kept = fit & (tokens.row_lengths() > 0)",
        "kept = tokens.row_lengths() > 0",
        (
            f"{PHRASES}::test_what_is_compared_is_what_may_stay",
            f"{PHRASES}::test_phrases_beyond_the_most_are_left_out",
        ),
    ),
    Mutant(
        "text/phrases.py",
        "tokens are counted from another sentence on",
        "- tf.gather(before, phrases.value_rowids()) <=",
        "<=",
        (f"{PHRASES}::test_what_is_compared_is_what_may_stay",),
    ),
    Mutant(
        "text/phrases.py",
        "a line of any size is read",
        'tf.where(readable, lines, "")',
        "lines",
        (f"{PHRASES}::test_a_line_of_more_bytes_than_any_phrases_need_is_not_read",),
    ),
    Mutant(
        "text/phrases.py",
        "a line of exactly the limit is not read",
        "tf.strings.length(lines) <= MOST_BYTES",
        "tf.strings.length(lines) < MOST_BYTES",
        (f"{PHRASES}::test_a_line_of_more_bytes_than_any_phrases_need_is_not_read",),
    ),
    Mutant(
        "text/constraints.py",
        "lines too many pass",
        "    count += sum(1 for _ in lines)\n",
        "",
        (f"{VERB}::test_another_number_of_lines_is_refused",),
    ),
    Mutant(
        "text/constraints.py",
        "marked text stays escaped",
        "return saxutils.unescape(text, _QUOTES), phrases",
        "return text, phrases",
        (f"{VERB}::test_escaped_text",),
    ),
    Mutant(
        "cli/translate.py",
        "marks are read unasked",
        "        if arguments.term_marks:\n            read",
        "        if constraints is None:\n            constraints = [[] for _ in texts]\n        if"
        " True:\n            read",
        (f"{VERB}::test_marks_are_text_unless_they_are_asked_for",),
    ),
    Mutant(
        "export/signatures.py",
        "phrases left out are said to be met",
        '"constraints_met": phrases.fits &',
        '"constraints_met": True |',
        (f"{ANSWERS}::test_constraints_that_cannot_be_met_are_said",),
    ),
]
