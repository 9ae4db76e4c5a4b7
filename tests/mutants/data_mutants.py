"""Planted faults of the data side, see mutants.py: the built-in corpus, files, batching, datasets,
the doctor.
"""

from mutants import Mutant

PHRASES = "data/test_phrasebook.py"
FRENCH = "data/test_phrasebook_french.py"
FILES = "data/test_corpus.py"
BATCHES = "data/test_batching.py"
READS = "data/test_reads.py"
DATASET = "data/test_dataset.py"
DOCTOR = "data/test_check.py"
BAD = "bad_input/test_bad_data.py"
AGREE = f"{FRENCH}::test_determiners_and_adjectives_agree_with_their_noun"
ORDER = f"{DATASET}::test_order_depends_on_seed_and_epoch_alone"
SKIPPED = f"{FILES}::test_skipped_lines_are_counted_and_both_sides_stay_together"

_FAULTS = [
    ("data/phrasebook/grammar.py", "these is singular", 'return "ces"', 'return "ce"', AGREE),
    (
        "data/phrasebook/grammar.py",
        "ma école",
        "if feminine and not vowel else",
        "if feminine else",
        f"{PHRASES}::test_phrases_by_hand",
    ),
    (
        "data/phrasebook/grammar.py",
        "adjectives have no plural",
        '2 * plural + (gender == "f")',
        '(gender == "f")',
        AGREE,
    ),
    (
        "data/phrasebook/grammar.py",
        "un vieux hôtel",
        "form = before.before_vowel",
        "pass",
        f"{PHRASES}::test_phrases_by_hand",
    ),
    (
        "data/phrasebook/grammar.py",
        "que il",
        '"que": "qu\'", ',
        "",
        f"{FRENCH}::test_elision_before_every_vowel_and_nowhere_else",
    ),
    (
        "data/phrasebook/grammar.py",
        "à le",
        '("à", "le"): "au", ',
        "",
        f"{FRENCH}::test_contraction_of_de_and_a_with_the_article",
    ),
    (
        "data/phrasebook/grammar.py",
        "the owner's de is linked to nothing",
        'Piece("de", (suffix,))',
        'Piece("de")',
        f"{PHRASES}::test_alignments_link_words_to_their_translations",
    ),
    (
        "data/phrasebook/lexicon.py",
        "chaise is masculine",
        "chaise chaises f",
        "chaise chaises m",
        AGREE,
    ),
    (
        "data/phrasebook/lexicon.py",
        "nous mangez",
        "mange mange mangeons",
        "mange mange mangez",
        f"{FRENCH}::test_verbs_agree_with_their_subject",
    ),
    (
        "data/phrasebook/lexicon.py",
        "les portes était",
        '("were", "étaient")',
        '("were", "était")',
        f"{FRENCH}::test_predicates_agree_with_their_subject",
    ),
    (
        "data/phrasebook/sentences.py",
        "never is pas",
        'Piece("jamais" if',
        'Piece("pas" if',
        f"{PHRASES}::test_alignments_link_words_to_their_translations",
    ),
    (
        "data/phrasebook/draw.py",
        "held-out pairs of words do not matter",
        "part_of(sentence.combinations) == part\n",
        "part_of(sentence.combinations) is not None\n",
        f"{PHRASES}::test_the_parts_share_no_sentence_whatever_their_seeds",
    ),
    (
        "data/phrasebook/draw.py",
        "held-out sentences may use new words",
        "known is None or _symbols(sentence) <= known",
        "True",
        f"{PHRASES}::test_held_out_sentences_combine_seen_words_in_unseen_ways",
    ),
    (
        "data/phrasebook/draw.py",
        "parts by Python's own hash",
        'zlib.crc32("|".join(pair).encode())',
        "hash(pair)",
        f"{PHRASES}::test_the_same_in_every_process",
    ),
    (
        "files/reading.py",
        "carriage returns stay",
        '(line.removesuffix(b"\\r") for line in read_raw(name))',
        "read_raw(name)",
        f"{FILES}::test_lines_end_at_line_feeds_only",
    ),
    (
        "files/streams.py",
        "a byte-order mark anywhere",
        "chunk.removeprefix(codecs.BOM_UTF8)",
        "chunk.replace(codecs.BOM_UTF8, b'')",
        f"{FILES}::test_lines_end_at_line_feeds_only",
    ),
    (
        "files/reading.py",
        "the whole file in memory",
        "for lines in raw_batches(name, _LINES):\n        yield from lines",
        "yield from list(line for lines in raw_batches(name, _LINES) for line in lines)",
        f"{FILES}::test_reading_holds_one_line_not_the_file",
    ),
    (
        "files/streams.py",
        "lines end wherever Python thinks",
        'chunk.split(b"\\n")',
        'chunk.replace(b"\\x0c", b"\\n").split(b"\\n")',
        f"{FILES}::test_lines_end_at_line_feeds_only",
    ),
    (
        "data/pairs.py",
        "one line without partner, however many",
        "lines = 1 + sum(1 for _ in sides)",
        "lines = 1",
        SKIPPED,
    ),
    (
        "files/streams.py",
        "a cut gzip file escapes",
        "except EOFError:",
        "except ZeroDivisionError:",
        f"{BAD}::test_bad_files_stop_with_one_line_that_names_the_place",
    ),
    (
        "data/pairs.py",
        "a circle of imports",
        "from rnnsearch_tf.files.reading import read_bytes",
        (
            "from rnnsearch_tf.files.reading import read_bytes\n\nif False:\n    from"
            " rnnsearch_tf.data.corpus import open_corpus"
        ),
        "house/test_imports.py::test_no_module_imports_itself_by_way_of_others",
    ),
    (
        "data/pairs.py",
        "a line is decoded for no one",
        "texts=(texts[0], texts[1])",
        "texts=(source, target)",
        f"{FILES}::test_plain_and_gzipped_files_give_the_same_pairs",
    ),
    (
        "data/held_out.py",
        "held out by the first count",
        "if place < limit]",
        "]",
        "data/test_held_out.py::test_no_sentence_of_either_side_is_in_both",
    ),
    (
        "data/corpus.py",
        "other corpora keep what is held out",
        "(SplitPairs(corpus, held_out, part), weight)",
        "(SplitPairs(corpus, held_out, part) if corpus is first else corpus, weight)",
        "data/test_held_out.py::test_the_first_of_several_corpora_gives_it_and_all_keep_out_of_it",
    ),
    (
        "text/counting.py",
        "both sides are counted as one",
        "counter.add(lines)",
        'counts["source"].add(lines)',
        "data/test_corpus.py::test_both_sides_are_counted_in_one_pass",
    ),
    (
        "data/pairs.py",
        "spaces are a sentence",
        "if not text.strip(BLANK_CHARACTERS):",
        "if not text:",
        f"{BAD}::test_bad_files_stop_with_one_line_that_names_the_place",
    ),
    (
        "data/batching.py",
        "nothing is sorted",
        "sorted(group, key=length)",
        "group",
        f"{BATCHES}::test_paper_scheme_is_read_sort_cut",
    ),
    (
        "data/batching.py",
        "sorted by the source",
        "return max(len(pair[0]), len(pair[1]))",
        "return len(pair[0])",
        f"{BATCHES}::test_paper_scheme_is_read_sort_cut",
    ),
    (
        "data/batching.py",
        "one batch read ahead",
        "batch_size * batches_read_ahead",
        "batch_size",
        f"{BATCHES}::test_paper_scheme_is_read_sort_cut",
    ),
    (
        "data/batching.py",
        "what fits is not shuffled",
        "generator.permutation(len(buffer))",
        "range(len(buffer))",
        f"{BATCHES}::test_shuffling_of_what_fits_is_even",
    ),
    (
        "data/batching.py",
        "buckets one token short",
        "(length(pair) - 1) // bucket_width",
        "length(pair) // bucket_width",
        f"{BATCHES}::test_bucketed_batches_hold_like_lengths_and_every_pair_once",
    ),
    (
        "data/batching.py",
        "the last batches as their buckets were begun",
        "for number in sorted(buckets):",
        "for number in buckets:",
        f"{BATCHES}::test_buckets_are_those_of_tf_data",
    ),
    (
        "text/vocabulary.py",
        "padding on the left",
        "row[: len(ids)] =",
        "row[-len(ids):] =",
        f"{BATCHES}::test_padding_is_on_the_right_and_as_short_as_can_be",
    ),
    (
        "data/dataset.py",
        "the end symbol is counted",
        "lengths - 1 <= self.limits",
        "lengths <= self.limits",
        f"{DATASET}::test_length_limits_count_tokens_without_the_end_symbol",
    ),
    ("data/dataset.py", "every epoch alike", "[seed, epoch, purpose]", "[seed, purpose]", ORDER),
    ("data/dataset.py", "the seed is ignored", "[seed, epoch, purpose]", "[epoch, purpose]", ORDER),
    (
        "data/dataset.py",
        "resuming begins again",
        "itertools.count(epoch).__next__",
        "itertools.count(0).__next__",
        ORDER,
    ),
    (
        "data/dataset.py",
        "all ids stay in memory",
        "kept = None if len(kept) > self.keep_limit else kept",
        "pass",
        f"{DATASET}::test_kept_ids_and_streamed_ids_are_the_same",
    ),
    (
        "data/dataset.py",
        "the corpus is read before it is shuffled",
        "batching.shuffled(together, data",
        "batching.shuffled(list(together), data",
        f"{DATASET}::test_files_are_read_no_further_than_the_buffer_asks",
    ),
    (
        "data/dataset.py",
        "development sentences are dropped",
        "sorted(zip(*ids), key=batching.length)",
        "sorted(zip(*ids), key=batching.length)[:-1]",
        f"{DATASET}::test_scoring_keeps_everything_whatever_its_length_the_shortest_first",
    ),
    (
        "data/dataset.py",
        "the first epoch begins its files anew",
        "self.first_pass = itertools.chain([first], stream)",
        "pass",
        f"{READS}::test_a_file_is_opened_twice_before_the_first_epoch_ends",
    ),
    (
        "data/dataset.py",
        "batches are never moved",
        "_batches(ordered, data), data.shuffle_batches,",
        "_batches(ordered, data), 0,",
        f"{DATASET}::test_shuffled_batches_are_the_same_batches",
    ),
    (
        "data/inspection/counts.py",
        "places name all files of a text",
        "yield pair.places, pair.texts",
        "yield (f\"{pairs.name('source')}:{pair.number}\",) * 2, pair.texts",
        f"{DOCTOR}::test_places_in_a_text_of_several_files_name_the_file",
    ),
    (
        "data/phrase_table.py",
        "a malformed line of a phrase table has no partner",
        '"malformed", problem,',
        '"unpaired", problem,',
        "data/test_table_pairs.py::test_a_bad_line_is_named_or_left_out",
    ),
    (
        "data/inspection/counts.py",
        "the limit itself is too long",
        "x > self.limits[0]",
        "x >= self.limits[0]",
        f"{DOCTOR}::test_length_limits",
    ),
    (
        "data/inspection/counts.py",
        "duplicates are not counted",
        "if pair in self.pair_hashes:",
        "if False:",
        f"{DOCTOR}::test_pairs_of_unequal_length_copies_duplicates_and_strange_line_ends",
    ),
    (
        "data/inspection/counts.py",
        "development sentences are looked for at the beginning of a large text",
        "if self.sources is None or source_hash in self.sources:",
        "if self.sources is None or source_hash in self.sources and self.good <= REMEMBERED_PAIRS:",
        f"{DOCTOR}::test_of_a_text_larger_than_what_is_remembered",
    ),
    (
        "data/inspection/doctor.py",
        "shifted lines look right",
        "correlation < 0.3",
        "correlation < -0.9",
        f"{DOCTOR}::test_shifted_lines",
    ),
    (
        "data/inspection/counts.py",
        "end symbols are the unknown",
        "flat == UNKNOWN_ID",
        "flat == END_ID",
        f"{DOCTOR}::test_vocabulary_coverage_and_token_lengths",
    ),
]

DATA = [Mutant(file, fault, old, new, (test,)) for file, fault, old, new, test in _FAULTS]
