"""Planted faults of the command line, the Translator and the evaluation; see mutants.py."""

from mutants import Mutant

RESCORE = "cli/test_rescore.py"

LINES = "cli/test_reading_and_writing.py"
HELP = "cli/test_help.py"
PAIRS = "cli/test_pairs.py"
TRANSLATE = "cli/test_translate.py"
PROCESSES = "cli/test_processes.py"
BAD_CLI = "bad_input/test_bad_cli.py"
BAD_CONFIG = "bad_input/test_bad_config.py"
BLEU = "evaluation/test_bleu.py"
LINKS = "evaluation/test_alignment_links.py"
PLOTS = "evaluation/test_plots.py"

COMMAND_LINE = [
    Mutant(
        "files/streams.py",
        "waits for a full batch",
        "if lines and not _can_read_now(stream):",
        "if False:",
        (f"{LINES}::test_what_has_arrived_on_a_pipe_is_handed_on",),
    ),
    Mutant(
        "files/streams.py",
        "a last line without newline is lost",
        "if any(rest) else []",
        "if False else []",
        (f"{LINES}::test_every_line_comes_once",),
    ),
    Mutant(
        "files/streams.py",
        "every Unicode line break ends a line",
        'chunk.split(b"\\n")',
        '"\\n".join(chunk.decode("utf-8", "surrogateescape").splitlines() + [""]).encode("utf-8",'
        ' "surrogateescape").split(b"\\n")',
        (f"{LINES}::test_every_line_comes_once",),
    ),
    Mutant(
        "files/reading.py",
        "the shorter file decides",
        "if counts[0] != counts[1]:",
        "if False:",
        (
            f"{LINES}::test_unequal_files_are_an_error_with_both_counts_before_anything_is_read",
            f"{LINES}::test_unequal_pipes_too",
            f"{PAIRS}::test_unequal_line_counts",
        ),
    ),
    Mutant(
        "cli/score.py",
        "lines are counted after the model is loaded",
        "    check_pairs(arguments.source, arguments.target)\n",
        "",
        (f"{BAD_CLI}::test_files_are_checked_before_the_model_is_loaded",),
    ),
    Mutant(
        "files/writing.py",
        "results are held back",
        "            self._stream.flush()\n",
        "",
        (f"{LINES}::test_results_are_one_line_each",),
    ),
    Mutant(
        "files/writing.py",
        "a line break in a result",
        r're.sub("[\r\n]+", " ", line)',
        "line",
        (f"{LINES}::test_results_are_one_line_each",),
    ),
    Mutant(
        "cli/main.py",
        "a missing option is told before an unknown one",
        "raise UsageError(\n                    f\"unknown option {name}{_nearest(f'--{bare}',"
        ' names)}; see {self.prog} --help"\n                )',
        "break",
        (f"{HELP}::test_wrong_usage_is_one_line_and_exit_2",),
    ),
    Mutant(
        "cli/main.py",
        "errors on standard output",
        "file=sys.stderr, flush=True)",
        "flush=True)",
        (
            f"{HELP}::test_a_real_process_exits_2_too",
            f"{BAD_CLI}::test_whatever_happens_is_one_line",
        ),
    ),
    Mutant(
        "cli/main.py",
        "a traceback when the reader has gone",
        "except BrokenPipeError:",
        "except ZeroDivisionError:",
        (f"{PROCESSES}::test_a_reader_that_leaves_ends_it_quietly",),
    ),
    Mutant(
        "cli/main.py",
        "Ctrl-C is an ordinary failure",
        "    except KeyboardInterrupt as stop:\n        _say(_stopped(stop))\n        return"
        " EXIT_INTERRUPTED",
        "    except KeyboardInterrupt as stop:\n        _say(_stopped(stop))\n        return"
        " EXIT_FAILED",
        (f"{BAD_CLI}::test_whatever_happens_is_one_line",),
    ),
    Mutant(
        "cli/shared.py",
        "TensorFlow before the arguments",
        "import yaml\n",
        "import keras\nimport yaml\n",
        (f"{HELP}::test_no_verb_imports_tensorflow_for_help_or_for_wrong_usage",),
    ),
    Mutant(
        "cli/fidelity.py",
        "a departure is not marked",
        '(False, False): "neither"',
        '(False, False): "both"',
        (f"{HELP}::test_fidelity_marks_what_departs",),
    ),
    Mutant(
        "cli/fidelity.py",
        "phrase models are compared with the other paper",
        "        return CHO_2014\n",
        "        return BAHDANAU_2015\n",
        (f"{HELP}::test_fidelity_compares_phrase_models_with_their_paper",),
    ),
    Mutant(
        "config/presets.py",
        "phrases are sorted as sentences are",
        "dict(batch_size=64, batches_read_ahead=10)",
        "dict(batch_size=64)",
        ("equations/test_variants.py::test_the_preset_for_phrases_is_the_authors_state",),
    ),
    Mutant(
        "runs/folder.py",
        "an incomplete folder passes",
        "        if missing:\n",
        "        if False:\n",
        (
            f"{BAD_CLI}::test_a_folder_that_is_no_run",
            f"{BAD_CLI}::test_a_run_that_was_never_evaluated",
        ),
    ),
    Mutant(
        "config/loading.py",
        "an unknown key passes",
        "        if key not in fields:\n",
        "        if key not in fields:\n            continue\n        if False:\n",
        (f"{BAD_CONFIG}::test_a_wrong_file_is_named_with_what_was_expected_and_what_came",),
    ),
    Mutant(
        "config/loading.py",
        "limits are not checked",
        "if meta[name] is not None and not within(value, meta[name]):",
        "if False:",
        (
            f"{BAD_CONFIG}::test_a_wrong_file_is_named_with_what_was_expected_and_what_came",
            f"{HELP}::test_wrong_usage_is_one_line_and_exit_2",
        ),
    ),
]

EVALUATION = [
    Mutant(
        "evaluation/bleu.py",
        "case is never counted",
        "sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase,",
        "sacrebleu.BLEU(tokenize=tokenize, lowercase=True,",
        (f"{BLEU}::test_bleu_is_sacrebleus", f"{BLEU}::test_case_counts_unless_asked_otherwise"),
    ),
    Mutant(
        "evaluation/bleu.py",
        "BLEU is not smoothed",
        "lowercase=lowercase, force=True)",
        'lowercase=lowercase, force=True, smooth_method="none")',
        ("evaluation/test_multi_bleu.py::test_an_order_without_a_right_ngram_is_smoothed",),
    ),
    Mutant(
        "evaluation/bleu.py",
        "one reference of several",
        "    return [list(lines) for lines in lists]\n",
        "    return [list(lines) for lines in lists[:1]]\n",
        ("evaluation/test_multi_bleu.py::test_ours_is_the_scripts",),
    ),
    Mutant(
        "evaluation/groups.py",
        "buckets shifted by one",
        "np.maximum(np.asarray(source_lengths) - 1, 0) // width",
        "np.asarray(source_lengths) // width",
        (f"{BLEU}::test_buckets_by_length",),
    ),
    Mutant(
        "alignment/links.py",
        "links to the end symbol",
        "words[:-1, :-1] if",
        "words[:-1, :] if",
        (f"{LINKS}::test_the_end_symbols_are_left_out_even_where_they_have_the_most_attention",),
    ),
    Mutant(
        "alignment/links.py",
        "target before source",
        "sorted((int(row.argmax()), i) for i, row in",
        "sorted((i, int(row.argmax())) for i, row in",
        (f"{LINKS}::test_each_target_word_is_linked_to_its_largest_weight",),
    ),
    Mutant(
        "extras/plots/alignment.py",
        "black is one",
        'cmap="gray"',
        'cmap="gray_r"',
        (f"{PLOTS}::test_source_on_top_target_at_the_side_black_is_zero",),
    ),
    Mutant(
        "evaluation/words.py",
        "unknown words of the reference are overlooked",
        "sum(ids.count(UNKNOWN_ID) for ids in pair)",
        "pair[0].count(UNKNOWN_ID)",
        (
            f"{PAIRS}::test_sentences_without_unknown_words_on_either_side",
            "cli/test_evaluate_more.py::test_groups_of_sentences",
        ),
    ),
]

TRANSLATOR = [
    Mutant(
        "translation/translator.py",
        "results in the order of the batches",
        "results[source.index] = translation",
        "results[len(results) - 1 - source.index] = translation",
        (f"{TRANSLATE}::test_one_line_for_one_line_the_empty_ones_included",),
    ),
    Mutant(
        "translation/translator.py",
        "the score without the end symbol",
        "float(log_probabilities.sum())",
        "float(log_probabilities[:-1].sum())",
        (
            f"{PAIRS}::test_scores_are_natural_logarithms_with_the_end_symbol",
            f"{PAIRS}::test_a_translation_scores_what_the_search_said",
        ),
    ),
    Mutant(
        "translation/translator.py",
        "an overlong sentence is not cut",
        "if len(tokens) <= limit:",
        "if True:",
        (f"{TRANSLATE}::test_an_overlong_sentence_is_cut_with_a_warning",),
    ),
    Mutant(
        "translation/translator.py",
        "every sentence draws the same samples whatever the seed",
        "np.int64(seed << 32) + np.array(shard, np.int64),",
        "np.array(shard, np.int64),",
        (f"{PAIRS}::test_samples_are_counted_scored_and_sorted",),
    ),
    Mutant(
        "translation/translator.py",
        "the lexicon is not used",
        "self._cached(Lexicon.load, config.lexicon, *forms) if config.lexicon else None",
        "None",
        (f"{TRANSLATE}::test_unknown_words_are_replaced",),
    ),
    Mutant(
        "translation/translator.py",
        "options of the call are dropped",
        "changed_search(self.config, changes) if changes else self.config.search",
        "self.config.search",
        (f"{TRANSLATE}::test_options_reach_the_search", f"{TRANSLATE}::test_moses_nbest_lists"),
    ),
    Mutant(
        "translation/arguments.py",
        "a whole section is refused",
        'check_effects({"search": search, "source": config.source}, new)',
        'check_effects({"search": search})',
        ("search/test_options_of_a_call.py::test_only_what_a_call_sets_must_have_an_effect",),
    ),
    Mutant(
        "translation/arguments.py",
        "an option without the one it needs",
        'check_effects({"search": search, "source": config.source}, new)',
        "pass",
        ("cli/test_evaluate_more.py::test_what_is_wrong_is_said_before_anything_is_translated",),
    ),
    Mutant(
        "training/callbacks.py",
        "the end of an epoch goes unseen",
        "state.epoch_read = state.place == self._epoch_sizes.get(state.epoch)",
        "pass",
        (f"{PROCESSES}::test_a_training_stopped_after_the_last_batch_of_an_epoch_goes_on",),
    ),
    Mutant(
        "cli/rescore.py",
        "the list is written over",
        "    check_output(arguments.output, [arguments.source, arguments.nbest], whole=True)\n",
        "",
        ("cli/test_rescore.py::test_what_is_read_is_not_written",),
    ),
    Mutant(
        "cli/rescore.py",
        "a feature is checked on the way",
        "            rescore(entries, [0.0] * len(entries), name)\n",
        "            pass\n",
        (f"{RESCORE}::test_a_feature_that_a_late_line_has_is_refused_before_anything_is_written",),
    ),
    Mutant(
        "files/writing.py",
        "two results in one file",
        "if other != flag:",
        "if False:",
        (f"{LINES}::test_two_results_are_two_files",),
    ),
    Mutant(
        "cli/main.py",
        "a log in any file",
        "            _check_log_file(arguments)\n",
        "",
        ("cli/test_progress.py::test_a_log_file_is_none_that_the_verb_reads_or_writes",),
    ),
    Mutant(
        "cli/demo.py",
        "a demo resumes any training",
        "saved_config(run.config) != config:",
        "False:",
        ("cli/test_first_steps.py::test_a_demo_leaves_another_training_alone",),
    ),
    Mutant(
        "cli/select.py",
        "the report stands among the pairs",
        "sys.stdout if outputs[0] else sys.stderr",
        "sys.stdout",
        ("data/test_selection.py::test_pairs_go_to_standard_output_where_no_file_is_named",),
    ),
    Mutant(
        "evaluation/significance.py",
        "resamples without words end it",
        "except TypeError:",
        "except KeyError:",
        ("evaluation/test_significance.py::test_resamples_without_words_are_said",),
    ),
]
