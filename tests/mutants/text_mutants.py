"""Planted faults of text that nobody sees, of reading and of scores; see mutants.py."""

from mutants import Mutant

UNKNOWN_AND_RETRY = "search/test_unknown_and_retry.py"

INVISIBLE = "text/test_invisible.py"
SCORES = "cli/test_evaluate_scores.py"
READING = "cli/test_reading_and_writing.py"
CHECK = "data/test_check.py"
DRAWN = "data/test_sampling.py"
PIPELINE = "text/test_text_pipeline.py"
SCORED = f"{SCORES}::test_every_score_is_sacrebleus"
BLEU = "evaluation/test_bleu.py"
PAIRS = "cli/test_pairs.py"
FORMS = f"{SCORES}::test_references_in_another_normal_form_count_as_the_same"
PACKED = f"{READING}::test_compressed_text_is_known_by_its_first_bytes"

TEXT = [
    Mutant(
        "text/pipeline.py",
        "invisible characters stay",
        "    if remove_invisible:\n",
        "    if False:\n",
        (INVISIBLE,),
    ),
    Mutant(
        "text/pipeline.py",
        "invisible characters always go",
        "    if remove_invisible:\n",
        "    if True:\n",
        (f"{INVISIBLE}::test_without_the_option_all_is_as_it_was",),
    ),
    Mutant(
        "text/pipeline.py",
        "invisible characters are a space",
        'f"[{INVISIBLE}]+", "")',
        'f"[{INVISIBLE}]+", " ")',
        (f"{INVISIBLE}::test_a_text_with_them_is_the_text_without_them",),
    ),
    Mutant(
        "config/options.py",
        "texts that differ in invisible characters are the same",
        'keeps false",\n        facts=("makes_tokens",),\n',
        'keeps false",\n',
        (f"{INVISIBLE}::test_without_the_option_all_is_as_it_was",),
    ),
    Mutant(
        "text/pipeline.py",
        "marks without bound",
        '    texts = tf.strings.regex_replace(texts, f"([{MARK}]{{{_MOST_MARKS}}})[{MARK}]+",'
        ' r"\\1")\n',
        "",
        (f"{INVISIBLE}::test_of_more_the_first_30_stay",),
    ),
    Mutant(
        "text/pipeline.py",
        "29 marks stay",
        "_MOST_MARKS = 30",
        "_MOST_MARKS = 29",
        (f"{INVISIBLE}::test_up_to_30_marks_are_normalized_as_ever",),
    ),
    Mutant(
        "text/characters.py",
        "young marks do not count",
        ' + _bracket("897 10d69-10d6d 113ce-113d0 1612f 1e5ee-1e5ef")',
        "",
        (f"{INVISIBLE}::test_every_mark_that_is_sorted_is_counted",),
    ),
    Mutant(
        "text/characters.py",
        "direction marks stay",
        "200e-200f 202a-202e",
        "200e-200f",
        (f"{INVISIBLE}::test_a_text_with_them_is_the_text_without_them",),
    ),
    Mutant(
        "text/characters.py",
        "joiners go",
        "ad 200b 200e",
        "ad 200b-200d 200e",
        (f"{INVISIBLE}::test_a_text_with_them_is_the_text_without_them",),
    ),
    Mutant(
        "text/characters.py",
        "the Ogham space is a letter",
        "a0 1680 2000",
        "a0 2000",
        (f"{PIPELINE}::test_every_white_space_of_unicode_ends_a_word",),
    ),
    Mutant(
        "text/characters.py",
        "the mathematical space is a letter",
        "202f 205f 3000",
        "202f 3000",
        (f"{PIPELINE}::test_every_white_space_of_unicode_ends_a_word",),
    ),
    Mutant(
        "text/sampling.py",
        "one draw for all words",
        "draws = generator.random(len(words))",
        "draws = np.full(len(words), generator.random())",
        (f"{DRAWN}::test_words_of_a_sentence_are_drawn_independently",),
    ),
    Mutant(
        "search/unknown.py",
        "a lexicon as it stands",
        "map(word_in_form, words, (source_form, target_form))",
        "words",
        (f"{UNKNOWN_AND_RETRY}::test_a_lexicon_in_another_normal_form_has_the_same_words",),
    ),
    Mutant(
        "search/shortlist.py",
        "a shortlist as it stands",
        "map(word_in_form, words, (source_form, target_form))",
        "words",
        ("search/test_shortlist.py::test_a_file_in_another_normal_form_has_the_same_words",),
    ),
    Mutant(
        "translation/translator.py",
        "samples of an empty line",
        "if source.tokens else nothing\n            for source",
        "for source",
        (f"{PAIRS}::test_nothing_is_drawn_for_an_empty_line",),
    ),
]

DOCTOR = [
    Mutant(
        "data/inspection/doctor.py",
        "95 percent are 90",
        "for share in (0.5, 0.95)",
        "for share in (0.5, 0.9)",
        (f"{CHECK}::test_the_length_that_95_percent_have_at_most",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "twice as long is unequal",
        "longer > 3 * shorter",
        "longer > 2 * shorter",
        (f"{CHECK}::test_which_lengths_are_unequal",),
    ),
    Mutant(
        "data/inspection/doctor.py",
        "a warning of what is taken out",
        "if settings.remove_invisible:",
        "if False:",
        (f"{CHECK}::test_characters_that_nobody_sees_are_counted",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "invisible characters are not counted",
        'return _invisible.sub("", line)',
        "return line",
        (f"{CHECK}::test_characters_that_nobody_sees_are_counted",),
    ),
    Mutant(
        "data/inspection/rules.py",
        "normal forms are not counted",
        "_each(functools.partial(unicodedata.normalize, form))",
        "list",
        (f"{CHECK}::test_lines_in_another_normal_form_are_counted",),
    ),
    Mutant(
        "data/pairs.py",
        "invisible characters are a sentence",
        "text.strip(BLANK_CHARACTERS)",
        "text.strip()",
        (f"{INVISIBLE}::test_pairs_count_such_a_line_as_empty",),
    ),
]

EVALUATION = [
    Mutant(
        "cli/evaluate.py",
        "intervals with case",
        "    found = {}\n    samples = arguments.bootstrap\n    rules ="
        " dict(lowercase=arguments.lowercase,",
        "    found, samples, rules = {}, arguments.bootstrap, dict(lowercase=False,",
        (SCORED,),
    ),
    Mutant(
        "cli/evaluate.py",
        "tokens of the detokenized line",
        "tokens = written_tokens(translator.target_text, hypotheses)",
        "tokens = tokenized(translator.target_text, texts)",
        (f"{SCORES}::test_lines_of_several_sentences_lose_nothing_as_tokens",),
    ),
    Mutant(
        "cli/evaluate.py",
        "only the last reference",
        "[read_all(path) for path in arguments.reference]",
        "[read_all(arguments.reference[-1])]",
        (SCORED,),
    ),
    Mutant(
        "cli/evaluate.py",
        "the last reference alone has to be whole",
        "    for path, lines in zip(arguments.reference, references):\n",
        "    for path, lines in list(zip(arguments.reference, references))[:1]:\n",
        (f"{SCORES}::test_every_reference_has_as_many_lines",),
    ),
    Mutant(
        "cli/evaluate.py",
        "references as they stand",
        "*references, other = [lines for lines, _ in formed]",
        "other = formed[-1][0]",
        (FORMS,),
    ),
    Mutant(
        "cli/evaluate.py",
        "the baseline as it stands",
        "return references, other if baseline is not None else None, found",
        "return references, baseline, found",
        (f"{SCORES}::test_a_baseline_in_another_normal_form_counts_as_the_same",),
    ),
    Mutant(
        "evaluation/bleu.py",
        "development references as they stand",
        "    references, changed = in_target_form(references, config)\n",
        "    changed = 0\n",
        (f"{BLEU}::test_references_are_brought_to_the_models_form",),
    ),
    Mutant(
        "evaluation/bleu.py",
        "no word about normal forms",
        "len(composed) > 1:",
        "len(composed) > 2:",
        (f"{BLEU}::test_other_normal_forms_are_said_once",),
    ),
    Mutant(
        "evaluation/bleu.py",
        "all sentences' references",
        "return [[lines[k] for k in members] for lines in streams(references)]",
        "return [lines[: len(members)] for lines in streams(references)]",
        (f"{BLEU}::test_buckets_by_length",),
    ),
    Mutant(
        "evaluation/significance.py",
        "intervals by one reference",
        "metric.corpus_score(hypotheses, lists,",
        "metric.corpus_score(hypotheses, lists[:1],",
        (SCORED,),
    ),
    Mutant(
        "cli/shared.py",
        "a flag again",
        "if option_string and self._stored_in is namespace:",
        "if False:",
        (f"{SCORES}::test_what_one_reference_is_needed_for",),
    ),
]

READ = [
    Mutant(
        "files/streams.py",
        "gzip by name only",
        '    "gzip": (b"\\x1f\\x8b",',
        '    "gzip": (b"\\xff\\xff",',
        (PACKED,),
    ),
    Mutant(
        "files/streams.py",
        "xz is text",
        '"xz": (b"\\xfd7zXZ\\x00",',
        '"xz": (b"\\xff\\xff",',
        (PACKED,),
    ),
    Mutant(
        "files/streams.py",
        "bzip2 is text",
        '"bzip2": (b"BZh",',
        '"bzip2": (b"\\xff\\xff",',
        (PACKED,),
    ),
    Mutant(
        "files/streams.py",
        "BZh is always bzip2",
        ' and (kind != "bzip2" or begin[4:].startswith(_BZIP2_BLOCKS))',
        "",
        (f"{READING}::test_text_that_begins_like_compressed_text_is_text",),
    ),
    Mutant(
        "files/streams.py",
        "an empty bzip2 is text",
        ',\n    b"\\x17rE8P\\x90",\n)',
        ",)",
        (PACKED,),
    ),
    Mutant(
        "files/streams.py",
        "zstd is text",
        '"zstd": (b"\\x28\\xb5\\x2f\\xfd",',
        '"zstd": (b"\\xff\\xff",',
        (PACKED,),
    ),
    Mutant(
        "files/streams.py",
        "UTF-16 is text",
        "if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):",
        "if False:",
        (f"{READING}::test_utf_16_is_an_error_that_says_so",),
    ),
    Mutant(
        "files/streams.py",
        "UTF-16 of one byte order",
        "(codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)",
        "codecs.BOM_UTF16_LE",
        (f"{READING}::test_utf_16_is_an_error_that_says_so",),
    ),
    Mutant(
        "files/streams.py",
        "UTF-16 without a mark is text",
        "if encoding := _utf_16_without_mark(chunk):",
        "if encoding := None:",
        (f"{READING}::test_utf_16_without_a_mark_is_an_error_that_says_so",),
    ),
    Mutant(
        "files/streams.py",
        "a .gz need not be gzip",
        'if begin and where.endswith(".gz"):',
        "if False:",
        (f"{READING}::test_a_gz_that_is_not_one_or_is_cut_off",),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "xz is a language",
        'word not in ("gz", "xz")',
        'word != "gz"',
        ("data/test_fitting_names.py",),
    ),
]
