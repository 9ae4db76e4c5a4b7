"""Planted faults of n-best lists, phrase tables, ensembles, alignment error rate, averaging and the
language model; see mutants.py.
"""

from mutants import Mutant

NBEST = "smt/test_nbest.py"
TABLE = "smt/test_phrase_table.py"
PAIRS = "data/test_table_pairs.py"
RESCORE = "cli/test_rescore.py"
ENSEMBLE = "model/test_ensemble.py"
MEMBERS = "cli/test_ensembles.py"
TUNING = "smt/test_tuning.py"
PHRASES = "smt/test_phrase_based.py"
ITEMS = "papers/test_phrase_based_items.py"
AER = "evaluation/test_aer.py"
AVERAGE = "training/test_averaging.py"
CSLM = "model/test_cslm.py"
SPLIT = "text/test_split.py"

SMT = [
    Mutant(
        "extras/moses/nbest.py",
        "a list that goes back passes",
        "if sentence < last:",
        "if False:",
        (f"{NBEST}::test_a_bad_line_is_named",),
    ),
    Mutant(
        "extras/moses/nbest.py",
        "worst first",
        "key=lambda place: -scores[place]",
        "key=lambda place: scores[place]",
        (
            f"{NBEST}::test_a_weight_mixes_and_sorts",
            f"{RESCORE}::test_an_even_average_sorts_each_sentence",
        ),
    ),
    Mutant(
        "extras/moses/nbest.py",
        "the new number takes the place of the features",
        "features + space + f",
        "f",
        (f"{NBEST}::test_only_the_features_change_without_a_weight",),
    ),
    Mutant(
        "files/atomic.py",
        "a half-written file stays",
        "            partial.unlink(missing_ok=True)",
        "            os.replace(partial, path)",
        (f"{NBEST}::test_a_file_appears_only_once_it_is_whole",),
    ),
    Mutant(
        "extras/moses/oracle.py",
        "the oracle takes the last",
        "chosen[place] = max(\n            texts,",
        "chosen[place] = texts[-1] or max(texts,",
        (f"{NBEST}::test_the_oracle_takes_the_nearest",),
    ),
    Mutant(
        "extras/moses/phrase_table.py",
        "pairs of earlier lines are scored again",
        "if phrases not in known\n            ]",
        "]",
        (f"{TABLE}::test_two_columns_and_nothing_else",),
    ),
    Mutant(
        "extras/moses/phrase_table.py",
        "every pair is remembered",
        "if hash(phrases) in self._repeated\n            }",
        "}",
        (f"{TABLE}::test_memory_grows_by_bytes_a_line",),
    ),
    Mutant(
        "data/phrase_table.py",
        "frequent pairs come again",
        "if hash(phrases) in seen:",
        "if False:",
        (f"{PAIRS}::test_each_distinct_pair_once_and_unescaped", f"{PAIRS}::test_the_option"),
    ),
    Mutant(
        "cli/rescore.py",
        "the list is not checked first",
        "if os.path.isfile(arguments.nbest):",
        "if False:",
        (f"{RESCORE}::test_a_bad_line_leaves_nothing_behind",),
    ),
    Mutant(
        "text/pipeline.py",
        "tokens are cut again",
        'dataclasses.replace(self.config, tokenization="space")',
        "self.config",
        (f"{SPLIT}::test_tokens_stay_as_they_were_cut",),
    ),
]

TOGETHER = [
    Mutant(
        "alignment/word_translations.py",
        "no sharing among the source words",
        "shares /= np.bincount(occurrence, shares)[occurrence]",
        "pass",
        ("smt/test_word_translations.py::test_it_is_that_of_plain_loops",),
    ),
    Mutant(
        "cli/shortlist.py",
        "the end symbol is translated",
        "(target[:-1] for target in targets)",
        "targets",
        ("cli/test_shortlist_verb.py::test_words_are_translated",),
    ),
    Mutant(
        "cli/evaluate_table.py",
        "the cost of the shortlist is a gain",
        "{without - with_it:.2f} BLEU",
        "{with_it - without:.2f} BLEU",
        ("cli/test_shortlist_verb.py::test_what_it_costs_is_said",),
    ),
    Mutant(
        "models/ensemble.py",
        "logarithms in place of probabilities",
        'if self.combine == "probabilities":',
        "if False:",
        (
            f"{ENSEMBLE}::test_the_members_probabilities_are_averaged_word_by_word",
            f"{MEMBERS}::test_members_with_their_own_source_vocabularies_score_together",
        ),
    ),
    Mutant(
        "search/scoring.py",
        "scores of words are not normalized",
        "batch_dims=1) - next_words(logits).log_sum[:, 0]",
        "batch_dims=1)",
        (f"{ENSEMBLE}::test_the_members_probabilities_are_averaged_word_by_word",),
    ),
    Mutant(
        "models/ensemble.py",
        "members are weighted by the size of their logits",
        "tf.reduce_logsumexp(log_probabilities, axis=0)",
        "tf.reduce_logsumexp(logits, axis=0)",
        (f"{ENSEMBLE}::test_the_members_probabilities_are_averaged_word_by_word",),
    ),
    Mutant(
        "models/ensemble.py",
        "all read the first source",
        "model.start(sources[index])",
        "model.start(sources[0])",
        (f"{ENSEMBLE}::test_members_that_read_the_source_in_other_ways",),
    ),
    Mutant(
        "translation/loading.py",
        "members with other vocabularies pass",
        "if not text.same_as(texts[0]):",
        "if False:",
        (f"{MEMBERS}::test_different_target_vocabularies_are_refused",),
    ),
    Mutant(
        "training/averaging.py",
        "the sum for the mean",
        "total / len(paths)",
        "total",
        (f"{AVERAGE}::test_the_mean_of_every_weight",),
    ),
    Mutant(
        "training/development.py",
        "the newest is dropped",
        "[:-number]",
        "[number:]",
        (f"{AVERAGE}::test_the_last_evaluations_are_kept",),
    ),
    Mutant(
        "alignment/aer.py",
        "a possible link must be found",
        "len(hypothesis & (possible | sure))",
        "len(hypothesis & possible)",
        (f"{AER}::test_a_corpus_worked_out_by_hand",),
    ),
    Mutant(
        "models/cslm.py",
        "the words before in reverse",
        "for k in range(before)]",
        "for k in reversed(range(before))]",
        ("equations/test_systems.py::test_logits_and_losses",),
    ),
    Mutant(
        "models/cslm.py",
        "another beginning",
        'paper_initialization = "small uniform"',
        'paper_initialization = "uniform"',
        (f"{CSLM}::test_every_weight_begins_between_plus_and_minus_a_hundredth",),
    ),
    Mutant(
        "extras/moses/tuning.py",
        "the corner of the best stretch",
        "return float(middles[place])",
        "return float(bounds[place])",
        (f"{TUNING}::test_the_best_point_of_a_line_is_found",),
    ),
    Mutant(
        "extras/moses/tuning.py",
        "one corner of a sentence is enough",
        "        chosen = following\n",
        "        rows = rows[:0]\n        chosen = following[:0]\n",
        (f"{TUNING}::test_the_best_point_of_a_line_is_found",),
    ),
    Mutant(
        "extras/moses/tuning.py",
        "long translations are favoured",
        "np.minimum(0.0, 1 - reference",
        "np.maximum(0.0, 1 - reference",
        (f"{TUNING}::test_bleu_of_weights_is_sacrebleus",),
    ),
    Mutant(
        "extras/moses/tuning.py",
        "nothing is climbed",
        "if reached > score + LEAST_GAIN:",
        "if False:",
        (f"{TUNING}::test_a_feature_that_knows_the_best_hypotheses_is_found",),
    ),
    Mutant(
        "extras/moses/tuning.py",
        "a constant feature gets any weight",
        "np.where(deviations > LEAST_SPREAD, deviations, np.inf)",
        "np.maximum(deviations, LEAST_SPREAD)",
        (f"{TUNING}::test_a_feature_that_is_constant_within_the_lists_keeps_its_weight",),
    ),
    Mutant(
        "extras/moses/phrase_based.py",
        "the separator stands in a field",
        'self.text.replace("|||", "| | |")',
        "self.text",
        ("smt/test_phrase_based.py::test_the_separator_of_the_fields_is_no_word_of_a_line",),
    ),
    Mutant(
        "cli/evaluate.py",
        "other weights are calibrated",
        "if _digest_of_weights(arguments) != weights:",
        "if False:",
        (
            "evaluation/test_confidence.py"
            "::test_weights_that_a_training_writes_meanwhile_are_not_calibrated",
        ),
    ),
    Mutant(
        "data/inspection/fitting.py",
        "characters are counted in another form than that of training",
        'unicodedata.normalize("NFC", text)',
        "text",
        (
            "data/test_config_for_pairs.py"
            "::test_characters_are_counted_in_the_form_that_training_reads",
        ),
    ),
    Mutant(
        "files/atomic.py",
        "the leftovers of other files are found, too",
        "and found.group(1) in wanted",
        "and wanted",
        ("cli/test_reading_and_writing.py::test_a_file_of_the_longest_name_is_written",),
    ),
    Mutant(
        "extras/moses/phrase_based.py",
        "phrases for nothing",
        "if count > 0:",
        "if joint > 0:",
        (f"{PHRASES}::test_phrases_that_stand_for_nothing_are_no_phrase_pairs",),
    ),
    Mutant(
        "papers/bahdanau2015.py",
        "every sentence without unknown words",
        "score(few)",
        "score(range(len(texts)))",
        (f"{ITEMS}::test_the_phrase_based_row_of_bahdanau_2015",),
    ),
    Mutant(
        "papers/phrase_based.py",
        "the phrases for development are learned, too",
        "for line in lines[DEVELOPMENT_PAIRS:])",
        "for line in lines)",
        (f"{ITEMS}::test_phrases_for_development_are_not_learned",),
    ),
    Mutant(
        "papers/phrase_based.py",
        "development text of a tenth",
        'step = every if part == "train" else 1',
        "step = every",
        (f"{ITEMS}::test_a_system_of_every_tenth_caption",),
    ),
    Mutant(
        "extras/moses/phrase_based.py",
        "distortion in thot's unit",
        "1 / np.log(1000)",
        "1",
        (f"{PHRASES}::test_the_distortion_of_thot_is_a_number_of_words",),
    ),
    Mutant(
        "papers/documents.py",
        "the phrase-based system's BLEU of all paragraphs in each group",
        "float(counts.only(group).bleu()[0]) for group in chosen]\n        rows",
        "float(counts.bleu()[0]) for group in chosen]\n        rows",
        (
            "papers/test_paragraphs.py::"
            "test_the_phrase_based_system_is_beside_them_once_it_was_measured",
        ),
    ),
    Mutant(
        "papers/phrase_based.py",
        "the missing language model is found after the training",
        "            _check_language_model(whole / MODEL)",
        "            pass",
        (f"{ITEMS}::test_a_system_of_every_tenth_caption",),
    ),
    Mutant(
        "papers/phrase_based.py",
        "the language model of a tenth",
        "            if whole is not None:\n                shutil",
        "            if whole is None and False:\n                shutil",
        (f"{ITEMS}::test_a_system_of_every_tenth_caption",),
    ),
    Mutant(
        "papers/cho2014.py",
        "one system for both texts",
        "folder = work.phrase_based(EVERY[text])",
        "folder = work.phrase_based()",
        (f"{ITEMS}::test_table_1_of_cho_2014_keeps_what_it_chooses",),
    ),
    Mutant(
        "papers/cho2014.py",
        "the first hypotheses are kept",
        "tokens = [entries[place].text for",
        "tokens = [entries[0].text for",
        (f"{ITEMS}::test_table_1_of_cho_2014_keeps_what_it_chooses",),
    ),
    Mutant(
        "papers/cho2014_training.py",
        "the loss of the average is the last weights'",
        'if each["batches"] in curve:',
        'if each["batches"] in curve and False:',
        ("papers/test_cho2014_training.py::test_the_lowest_loss_and_the_perplexity",),
    ),
    Mutant(
        "papers/claims.py",
        "both claims of one system",
        'better("RNN", "Baseline", "all")',
        'better("RNN", "Baseline")',
        ("papers/test_claims.py::test_claims_are_what_the_measurements_say",),
    ),
    Mutant(
        "papers/cho2014.py",
        "the words of both scores",
        '"WP": [float(sum(scored[pair].unknown_words',
        '"WP": [float(max(scored[pair].unknown_words',
        (f"{ITEMS}::test_the_tables_of_cho_2014",),
    ),
    Mutant(
        "papers/cho2014.py",
        "phrases end a word early",
        "int(last or first) + 1]",
        "int(last or first) + 1 - bool(last)]",
        (f"{ITEMS}::test_the_tables_of_cho_2014",),
    ),
]
