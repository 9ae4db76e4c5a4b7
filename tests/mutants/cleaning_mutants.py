"""Planted faults in `doctor --fix`, in the languages of lines, and in the cutting of paragraphs."""

from mutants import Mutant

CLEANING = "data/test_cleaning.py"
PLANTED = f"{CLEANING}::test_every_planted_fault_is_cleaned_and_listed"

FIX = [
    Mutant(
        "data/inspection/cleaning.py",
        "an existing file is overwritten",
        "if os.path.lexists(file):",
        "if False:",
        (f"{CLEANING}::test_files_that_exist_stay_and_nothing_appears_of_a_text_without_pairs",),
    ),
    Mutant(
        "data/inspection/cleaning.py",
        "the list names the other file of a swapped pair",
        "item.names.reverse()\n",
        "pass\n",
        (f"{CLEANING}::test_a_change_of_a_swapped_line_names_the_file_that_it_comes_from",),
    ),
    Mutant(
        "data/inspection/cleaning.py",
        "held-out pairs are lost",
        "held_out=0))",
        "held_out=config.data.held_out))",
        (f"{CLEANING}::test_shards_become_one_text_with_the_line_numbers_of_each",),
    ),
    Mutant(
        "data/inspection/cleaning.py",
        "the list has the line as it was after the change before",
        "change.kind, change.done, line)",
        "change.kind, change.done, old)",
        (PLANTED,),
    ),
    Mutant(
        "data/inspection/cleaning.py",
        "unpaired lines count as one",
        "self.left_out[kind] += item.pair.lines",
        "self.left_out[kind] += 1",
        (PLANTED,),
    ),
    Mutant(
        "data/inspection/cleaning.py",
        "a swapped pair is known by its line, bad lines included",
        "number in self._swapped)",
        "item.pair.number in self._swapped)",
        (f"{CLEANING}::test_shards_become_one_text_with_the_line_numbers_of_each",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "what was encoded twice is decoded once",
        "        line = decoded\n",
        "        return decoded\n",
        (f"{CLEANING}::test_entities_are_decoded_as_html_does_but_addresses_stay",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "code in a text about markup loses its tags",
        ' and "`<" not in line',
        "",
        (f"{CLEANING}::test_markup_is_removed_and_what_looks_like_it_stays",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "text that is meant to be tokenized is detokenized",
        'and settings.tokenization != "space"',
        "",
        (f"{CLEANING}::test_a_tokenized_side_is_detokenized_as_sacremoses_does",),
    ),
    Mutant(
        "data/inspection/foreign.py",
        "a copy counts as swapped",
        "own - other) > _best(",
        "own - other) < _best(",
        (f"{CLEANING}::test_one_certain_line_and_one_likely_line_are_swapped_sides",),
    ),
    Mutant(
        "data/inspection/foreign.py",
        "any other language that is more probable counts",
        "CERTAIN = 15.0",
        "CERTAIN = 0.0",
        (f"{CLEANING}::test_right_lines_of_real_text_are_not_called_foreign",),
    ),
    Mutant(
        "data/inspection/doctor.py",
        "that --fix lists all is said of three places",
        "counts.found[kind] > PLACES",
        "counts.found[kind] >= PLACES",
        (f"{CLEANING}::test_doctor_names_markup_entities_and_that_fix_lists_all",),
    ),
]

SENTENCES = "text/test_sentences.py"
SPLIT = "cli/test_split_sentences.py"

PARAGRAPHS = [
    Mutant(
        "text/sentences.py",
        "Japanese sentences are joined by a space",
        "return space.join(",
        'return " ".join(',
        (f"{SENTENCES}::test_sentences_are_joined_as_their_language_is_written",),
    ),
    Mutant(
        "text/sentences.py",
        "the region hides the language",
        "sentencex.segment(base(language), text)",
        "sentencex.segment(language, text)",
        (f"{SENTENCES}::test_abbreviations_are_those_of_the_language",),
    ),
    Mutant(
        "cli/translate.py",
        "an empty line takes the next one's sentences",
        "itertools.islice(done, len(sentences))",
        "itertools.islice(done, max(1, len(sentences)))",
        (f"{SPLIT}::test_each_line_is_its_sentences_translated_one_by_one",),
    ),
    Mutant(
        "cli/translate.py",
        "sentences are joined as the source is written",
        "lines, form, languages[1])",
        "lines, form, languages[0])",
        (f"{SPLIT}::test_sentences_are_joined_as_the_target_is_written",),
    ),
]
