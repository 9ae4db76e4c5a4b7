"""Planted faults of what all rooms stand on: imports, cores, progress, extras, RUN folders,
workers' addresses, plots, a corpus's engine.

See mutants.py.
"""

from mutants import Mutant

PREPARED_FOLDERS = "data/test_prepared_folders.py"
HELPER_PROCESSES = "data/test_helper_processes.py"

PARALLEL = "cli/test_parallel.py"
PROGRESS = "cli/test_progress.py"
EXTRAS = "house/test_extras.py"
IMPORTS = "house/test_quiet_imports.py"
ERRORS = "house/test_imports.py"
DAMAGED = "bad_input/test_damaged_run.py"
PACKED = "model/test_pretrained.py"
LAUNCH = "training/test_launch.py"
PLOTS = "evaluation/test_plots.py"
VECTORS = "evaluation/test_vectors.py"
REGIONS = "papers/test_figures.py"
ENGINE = "bulk/test_engine.py"
SMALL = (f"{PARALLEL}::test_small_models_only_and_whoever_set_threads_keeps_them",)
COLOURS = (f"{PROGRESS}::test_errors_are_red_where_a_terminal_has_colours",)
REMARKS = (f"{IMPORTS}::test_what_an_import_says_is_shown_where_it_fails",)
IN_FULL = (f"{PACKED}::test_what_is_kept_in_full",)
NO_CLUSTER = (f"{LAUNCH}::test_a_cluster_that_is_none",)
OWN_ADDRESS = (f"{LAUNCH}::test_addresses_are_free_and_each_worker_finds_its_own",)
ROWS = (f"{VECTORS}::test_word_vectors_are_rows_of_the_embedding",)
BATCHES = (f"{VECTORS}::test_sentence_vectors_do_not_depend_on_the_batches",)

RUNTIME = [
    Mutant(
        "runtime/cores.py",
        "batches of exactly 16 sentences a core are too small",
        "batch_size < SMALLEST_SHARD * cores",
        "batch_size <= SMALLEST_SHARD * cores",
        SMALL,
    ),
    Mutant(
        "runtime/cores.py",
        "a model of exactly the largest size is too large",
        "> LARGEST_HIDDEN_SIZE",
        ">= LARGEST_HIDDEN_SIZE",
        SMALL,
    ),
    Mutant(
        "runtime/cores.py",
        "shards of too few sentences",
        "batch_size // SMALLEST_SHARD))",
        "-(-batch_size // SMALLEST_SHARD)))",
        SMALL,
    ),
    Mutant(
        "runtime/cores.py",
        "a shard for each core whatever was set",
        "return _inter_op_threads() or available_cores()",
        "return available_cores() + 8",
        (f"{PARALLEL}::test_the_environment_is_heeded",),
    ),
    Mutant(
        "runtime/progress.py",
        "a dumb terminal gets colours",
        ' or os.environ.get("TERM") == "dumb"',
        "",
        COLOURS,
    ),
    Mutant(
        "runtime/progress.py",
        "NO_COLOR is not heeded",
        ' or os.environ.get("NO_COLOR")',
        "",
        COLOURS,
    ),
    Mutant(
        "runtime/progress.py",
        "a log hears of what takes two seconds",
        "return SECONDS_OF_SILENCE if sys.stderr.isatty() else SECONDS_BETWEEN_LINES",
        "return SECONDS_OF_SILENCE",
        (f"{PROGRESS}::test_a_log_does_not_say_what_takes_less_than_a_minute",),
    ),
    Mutant(
        "runtime/progress.py",
        "what has ended is said all the same",
        "        timer.cancel()",
        "        pass",
        (f"{PROGRESS}::test_what_has_ended_is_not_said_later",),
    ),
    Mutant(
        "runtime/progress.py",
        "hours are of a hundred minutes",
        "{minutes // 60} h {minutes % 60} min",
        "{minutes // 100} h {minutes % 100} min",
        (f"{PROGRESS}::test_duration",),
    ),
    Mutant(
        "runtime/progress.py",
        "90 seconds are seconds",
        "if seconds < 90:",
        "if seconds <= 90:",
        (f"{PROGRESS}::test_duration",),
    ),
    Mutant(
        "runtime/tensorflow.py",
        "why an import fails is lost",
        "            original.buffer.write(file.read())\n",
        "",
        REMARKS,
    ),
    Mutant(
        "runtime/tensorflow.py",
        "remarks of an import that went well are shown",
        "        os.dup2(file.fileno(), 2)\n",
        "",
        REMARKS,
    ),
    Mutant(
        "runtime/tensorflow.py",
        "RNNSEARCH_DEBUG is not heeded",
        'if os.environ.get("RNNSEARCH_DEBUG"):',
        "if False:",
        REMARKS,
    ),
    Mutant(
        "runtime/optional.py",
        "one of several packages is enough",
        "return all(",
        "return any(",
        (f"{EXTRAS}::test_every_missing_package_is_named_and_one_is_enough",),
    ),
    Mutant(
        "runtime/optional.py",
        "the package's name for that of the extra",
        "[{PACKAGES[module][1]}]",
        "[{PACKAGES[module][0]}]",
        (f"{EXTRAS}::test_every_missing_package_is_named_and_one_is_enough",),
    ),
    Mutant(
        "runtime/optional.py",
        "the extra of another package",
        '("sil-thot", "smt")',
        '("sil-thot", "moses")',
        (f"{EXTRAS}::test_an_extra_brings_its_package",),
    ),
    Mutant(
        "runtime/backend.py",
        "another backend is taken",
        '    if backend != "tensorflow":',
        "    if False:",
        (f"{ERRORS}::test_another_backend_is_one_clear_error",),
    ),
    Mutant(
        "errors.py",
        "wrong usage ends as a failure does",
        "    exit_code = 2",
        "    exit_code = 1",
        ("cli/test_help.py::test_wrong_usage_is_one_line_and_exit_2",),
    ),
]

RUNS = [
    Mutant(
        "runs/folder.py",
        "only the first mebibyte of a file is compared",
        "while block := file.read(1 << 20):",
        "if block := file.read(1 << 20):",
        (f"{DAMAGED}::test_every_byte_of_a_large_file_counts",),
    ),
    Mutant(
        "runs/folder.py",
        "batch 900 comes after batch 1000",
        "batch-{batches:08}",
        "batch-{batches}",
        (f"{DAMAGED}::test_evaluated_weights_are_in_the_order_of_their_batches",),
    ),
    Mutant(
        "runs/folder.py",
        "evaluated weights in any order",
        'sorted(self.evaluated.glob("batch-*.weights.h5"))',
        'sorted(self.evaluated.glob("batch-*.weights.h5"), reverse=True)',
        (f"{DAMAGED}::test_evaluated_weights_are_in_the_order_of_their_batches",),
    ),
    Mutant(
        "runs/folder.py",
        "a deleted file keeps its checksum",
        "        known.pop(self._name(path), None)\n",
        "",
        (f"{DAMAGED}::test_a_removed_file_has_no_checksum",),
    ),
    Mutant(
        "runs/eight_bit.py",
        "a matrix of exactly 4096 entries is kept",
        "array.size < SMALLEST or",
        "array.size <= SMALLEST or",
        IN_FULL,
    ),
    Mutant(
        "runs/eight_bit.py",
        "a long bias has one scale",
        "array.size < SMALLEST or array.ndim < 2",
        "array.size < SMALLEST",
        IN_FULL,
    ),
    Mutant(
        "runs/eight_bit.py",
        "weights are rounded towards zero",
        "np.rint(array / scale).astype(np.int8)",
        "(array / scale).astype(np.int8)",
        (f"{PACKED}::test_no_weight_is_off_by_more_than_half_a_step",),
    ),
    Mutant(
        "runs/eight_bit.py",
        "a column of zeros is divided by zero",
        "np.maximum(np.abs(array).max(axis=0, keepdims=True), np.finfo(np.float32).tiny * 127)"
        " / 127",
        "np.abs(array).max(axis=0, keepdims=True) / 127",
        (f"{PACKED}::test_a_column_of_zeros_is_no_division_by_zero",),
    ),
    Mutant(
        "runs/eight_bit.py",
        "weights of a larger model are taken",
        "if found != expected:",
        "if found < expected:",
        (f"{PACKED}::test_weights_of_more_variables_are_refused",),
    ),
]

DISTRIBUTED = [
    Mutant(
        "distributed/addresses.py",
        "a worker beyond the last",
        "0 <= index < len(addresses)",
        "0 <= index <= len(addresses)",
        NO_CLUSTER,
    ),
    Mutant(
        "distributed/addresses.py",
        "workers are counted from the end",
        "0 <= index < len(addresses)",
        "index < len(addresses)",
        NO_CLUSTER,
    ),
    Mutant(
        "distributed/addresses.py",
        "parameter servers are overlooked",
        'list(values["cluster"]) == ["worker"]',
        '"worker" in values["cluster"]',
        NO_CLUSTER,
    ),
    Mutant(
        "distributed/addresses.py",
        "any task is a worker",
        ' and task["type"] == "worker"',
        "",
        NO_CLUSTER,
    ),
    Mutant(
        "distributed/addresses.py",
        "every process is the chief",
        '"index": index}}\n    )',
        '"index": 0}})',
        OWN_ADDRESS,
    ),
    Mutant(
        "distributed/addresses.py",
        "one address for all workers",
        'addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]',
        'addresses = [f"127.0.0.1:{sockets[0].getsockname()[1]}" for each in sockets]',
        OWN_ADDRESS,
    ),
]

PICTURES = [
    Mutant(
        "extras/plots/vectors.py",
        "t-SNE begins elsewhere every time",
        "random_state=1\n    )",
        "random_state=None)",
        (f"{VECTORS}::test_the_same_vectors_have_the_same_places",),
    ),
    Mutant(
        "extras/plots/vectors.py",
        "four points are too few",
        "if len(vectors) < FEWEST:",
        "if len(vectors) <= FEWEST:",
        (f"{VECTORS}::test_four_points_are_enough_and_three_are_not",),
    ),
    Mutant(
        "extras/plots/vectors.py",
        "t-SNE whatever was asked for",
        'if method == "pca":',
        "if False:",
        (f"{VECTORS}::test_principal_components",),
    ),
    Mutant(
        "extras/plots/vectors.py",
        "words beside the vectors of the special tokens",
        "np.arange(len(words)) + len(SPECIAL_TOKENS)",
        "np.arange(len(words))",
        ROWS,
    ),
    Mutant(
        "extras/plots/vectors.py",
        "target words have rows of the source's embedding",
        'getattr(model, f"{side}_embedding")',
        "model.source_embedding",
        (*ROWS,),
    ),
    Mutant(
        "extras/plots/vectors.py",
        "the last, smaller batch is left out",
        "range(0, len(lines), batch_size)",
        "range(0, max(len(lines) - batch_size + 1, 1), batch_size)",
        BATCHES,
    ),
    Mutant(
        "extras/plots/alignment.py",
        "special tokens continue a word",
        " or token in SPECIAL_TOKENS",
        "",
        (f"{PLOTS}::test_labels_of_subword_pieces",),
    ),
    Mutant(
        "extras/plots/alignment.py",
        "a text of exactly 40 characters is shortened",
        "if len(text) <= most",
        "if len(text) < most",
        (f"{PLOTS}::test_labels_of_points_have_at_most_40_characters",),
    ),
    Mutant(
        "extras/plots/alignment.py",
        "an alignment of source by target is drawn",
        "!= (height, width):",
        "not in ((height, width), (width, height)):",
        (f"{PLOTS}::test_sizes_that_do_not_fit",),
    ),
    Mutant(
        "extras/plots/zooms.py",
        "a region has a point more",
        "[:members]",
        "[: members + 1]",
        (f"{REGIONS}::test_regions_are_those_of_vectors_that_are_alike",),
    ),
]

CORPORA = [
    Mutant(
        "extras/bulk/engine.py",
        "a line of exactly the longest length is refused",
        "if length <= limit]",
        "if length < limit]",
        (f"{ENGINE}::test_a_line_of_exactly_the_longest_length_is_translated",),
    ),
    Mutant(
        "extras/bulk/engine.py",
        "a word list is known by its name alone",
        "{name: digest_of(file) for",
        "{name: file for",
        (
            f"{ENGINE}::test_a_word_list_that_has_changed_under_its_name_is_another",
            f"{ENGINE}::test_a_word_list_that_the_run_names_counts_too",
        ),
    ),
    Mutant(
        "extras/bulk/engine.py",
        "a word list that the RUN names is overlooked",
        '_files_named_by(settings["models"][0]) | ',
        "",
        (f"{ENGINE}::test_a_word_list_that_the_run_names_counts_too",),
    ),
    Mutant(
        "extras/bulk/engine.py",
        "the batch size is an option of its translations",
        ' if name != "batch_size"\n    }',
        "}",
        (f"{ENGINE}::test_how_many_go_together_changes_nothing",),
    ),
    Mutant(
        "extras/bulk/folder.py",
        "files with bad lines are counted",
        'path.read_bytes().count(b"\\n")',
        "1",
        (f"{ENGINE}::test_bad_lines_are_counted_by_line",),
    ),
    Mutant(
        "data/prepared/writing.py",
        "preparing a text edited to the same size is resumed",
        ", os.stat(path).st_mtime_ns]",
        "]",
        (f"{PREPARED_FOLDERS}::test_a_text_that_was_edited_to_the_same_size_is_begun_anew[bytes]",),
    ),
    Mutant(
        "runtime/processes.py",
        "wrong usage in a helper process is a failure",
        '(UsageError if values["exit_code"] == UsageError.exit_code else UserError)',
        "UserError",
        (f"{HELPER_PROCESSES}::test_an_error_has_the_exit_code_that_it_has_in_one_process",),
    ),
    Mutant(
        "runtime/processes.py",
        "helper processes take modules from the current folder",
        "import sys; sys.path[:] = filter(None, sys.path)",
        "import sys",
        (
            f"{HELPER_PROCESSES}::test_a_file_of_the_current_folder_is_no_module_of_a_helper",
            f"{HELPER_PROCESSES}::test_nor_of_a_module_in_a_process_of_its_own",
        ),
    ),
    Mutant(
        "layers/attention.py",
        "a sentence of padding alone is attended evenly",
        "tf.nn.softmax(tf.where(mask, energies, lowest)) * tf.cast(mask, energies.dtype)",
        "tf.nn.softmax(tf.where(mask, energies, lowest))",
        ("invariances/test_system_invariances.py::test_a_row_of_padding_gives_no_nan",),
    ),
]
