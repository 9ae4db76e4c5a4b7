"""Planted faults of prepared corpora, of texts in several files and of counts beyond memory; see
mutants.py.
"""

from mutants import Mutant

BATCHES = "data/test_prepared.py"
FOLDERS = "data/test_prepared_folders.py"
PREPARED_REFUSED = "data/test_prepared_refused.py"
COUNTS = "text/test_counting.py"
TRAINING = "training/test_prepared_training.py"
ONCE = f"{BATCHES}::test_an_epoch_has_every_pair_once_and_every_worker_as_many_batches"
NUMBER = f"{BATCHES}::test_any_batch_is_found_by_its_number"
GOES_ON = f"{FOLDERS}::test_a_stopped_preparation_leaves_nothing_and_goes_on"
DAMAGED = f"{PREPARED_REFUSED}::test_a_damaged_folder"

_FAULTS = [
    (
        "data/prepared/batches.py",
        "every epoch alike",
        "epoch = number // self.groups",
        "epoch = number * 0",
        ONCE,
    ),
    (
        "data/prepared/batches.py",
        "the seed is ignored",
        "tf.constant(self.seed, tf.int64), number",
        "tf.constant(0, tf.int64), number",
        NUMBER,
    ),
    (
        "data/prepared/batches.py",
        "seeds that follow one another",
        (
            "return tf.random.stateless_uniform(\n            [2], key, minval=None, maxval=None,"
            ' dtype=tf.int64, alg="philox"\n        )'
        ),
        "return key",
        f"{BATCHES}::test_every_pair_comes_at_every_place_as_often",
    ),
    (
        "data/prepared/batches.py",
        "the last places come twice",
        "tf.where(real, pair, -1)",
        "pair",
        ONCE,
    ),
    (
        "data/prepared/batches.py",
        "nothing is sorted",
        "tf.gather(pair, tf.argsort(longer, stable=True), batch_dims=1)",
        "pair + 0 * tf.cast(longer, tf.int64)",
        f"{BATCHES}::test_unshuffled_batches_are_those_of_the_text",
    ),
    (
        "data/prepared/batches.py",
        "sorted by the shorter side",
        "tf.reduce_max(lengths, axis=-1)",
        "tf.reduce_min(lengths, axis=-1)",
        f"{BATCHES}::test_unshuffled_batches_are_those_of_the_text",
    ),
    (
        "data/prepared/batches.py",
        "workers read alike",
        "rows[:, self.worker :: self.workers]",
        "rows[:, 0 :: self.workers]",
        ONCE,
    ),
    (
        "data/prepared/batches.py",
        "a worker without pairs has a word",
        "tf.where(empty, PAD_ID, self._side(begin, lengths))",
        "self._side(begin, lengths)",
        ONCE,
    ),
    (
        "data/prepared/batches.py",
        "batches stay sorted",
        'data.batching == "bucketed" or data.shuffle_batches > 1',
        "data.shuffle_batches > 1",
        f"{BATCHES}::test_bucketed_batches_hold_like_lengths_in_mixed_order",
    ),
    (
        "data/prepared/batches.py",
        "a stopped group begins anew",
        "skipped=batch % self.group",
        "skipped=0",
        NUMBER,
    ),
    (
        "data/prepared/batches.py",
        "the order is always shuffled",
        "data.shuffle_buffer > 1",
        "True",
        f"{BATCHES}::test_unshuffled_batches_are_those_of_the_text",
    ),
    (
        "data/prepared/batches.py",
        "the same share every time",
        "within = tf.where(tf.gather(self.share, segment), drawn, within)",
        "pass",
        f"{BATCHES}::test_weights_are_times_an_epoch",
    ),
    (
        "data/prepared/batches.py",
        "whole times only",
        "* int(whole) + [\n                (round(share * size), first, size, True)\n            ]",
        "* int(whole)",
        f"{BATCHES}::test_weights_are_times_an_epoch",
    ),
    (
        "data/prepared/batches.py",
        "the corpus is copied",
        "apply_default_optimizations = False",
        "apply_default_optimizations = True",
        f"{BATCHES}::test_the_files_stay_on_the_disk",
    ),
    (
        "data/prepared/batches.py",
        "the epoch stays",
        "epoch.assign_add(1) - 1",
        "epoch.assign_add(0)",
        f"{BATCHES}::test_an_epoch_per_iteration",
    ),
    (
        "data/prepared/writing.py",
        "two bytes for every id",
        'largest < 2**16 else "<u4"',
        'largest < 2**32 else "<u4"',
        f"{BATCHES}::test_ids_of_a_large_vocabulary_need_four_bytes",
    ),
    (
        "data/prepared/writing.py",
        "offsets of every part from its own beginning",
        "end[-1] + np.cumsum(",
        "np.cumsum(",
        f"{FOLDERS}::test_a_text_in_parts_is_that_of_one_file",
    ),
    (
        "data/prepared/writing.py",
        "too long pairs are counted",
        "report.kept - report.too_long for",
        "report.kept for",
        f"{BATCHES}::test_pairs_and_ids_are_those_of_the_text",
    ),
    (
        "data/prepared/writing.py",
        "parts of another text",
        'if json.loads(path.read_text(encoding="utf-8")) == plan:',
        "if path.exists():",
        f"{FOLDERS}::test_a_text_that_has_changed_is_begun_anew",
    ),
    (
        "data/prepared/writing.py",
        "all parts are written again",
        '        if not _part(partial, number)("json").exists()\n',
        "",
        GOES_ON,
    ),
    (
        "data/prepared/writing.py",
        "a preparation that was stopped while it deleted its parts starts again from those left",
        "if not (partial / MANIFEST).exists():",
        "if True:",
        f"{FOLDERS}::test_a_preparation_that_is_stopped_at_its_end_goes_on_there",
    ),
    (
        "data/prepared/writing.py",
        "the plan goes before the parts",
        "if path.name not in (MANIFEST, _PLAN, *manifest",
        "if path.name not in (MANIFEST, *manifest",
        f"{FOLDERS}::test_a_preparation_that_is_stopped_at_its_end_goes_on_there",
    ),
    (
        "data/prepared/writing.py",
        "written where it is read",
        'partial = folder.with_name(f".{folder.name}.partial")',
        "partial = folder",
        GOES_ON,
    ),
    (
        "data/prepared/writing.py",
        "what others have written goes",
        "if output.exists() and (not output.is_dir() or any(output.iterdir())):",
        "if False:",
        f"{FOLDERS}::test_a_folder_with_something_in_it_is_left_alone",
    ),
    (
        "config/options.py",
        "another tokenization",
        '"sentencepiece"),\n        facts=("makes_tokens",),\n',
        '"sentencepiece"),\n',
        f"{PREPARED_REFUSED}::test_a_configuration_that_does_not_fit",
    ),
    (
        "data/prepared/store.py",
        "ids of another vocabulary",
        "if not text.same_as(load_text(self.folder, side, text.config)):",
        "if False:",
        f"{PREPARED_REFUSED}::test_vocabularies_that_do_not_fit",
    ),
    (
        "data/prepared/store.py",
        "files elsewhere",
        "os.path.basename(name) != name\n",
        "False\n",
        DAMAGED,
    ),
    (
        "data/prepared/store.py",
        "sizes are believed",
        'if size != known["bytes"]:',
        "if False:",
        DAMAGED,
    ),
    (
        "data/prepared/store.py",
        "checksums are believed",
        ")) != known:",
        ")) is None:",
        f"{PREPARED_REFUSED}::test_a_changed_bit_is_found_when_it_is_looked_for",
    ),
    (
        "data/shards.py",
        "files as the disk has them",
        "sorted(glob.glob(pattern))",
        "sorted(glob.glob(pattern), reverse=True)",
        f"{FOLDERS}::test_a_list_and_a_pattern_name_the_same_pairs",
    ),
    (
        "data/shards.py",
        "files without partner",
        "if counts[0] != counts[1]:",
        "if False:",
        f"{FOLDERS}::test_files_that_do_not_go_together",
    ),
    (
        "text/counting.py",
        "a word's counts stay apart",
        "yield word, sum(count for _, count in group)",
        "yield word, next(group)[1]",
        f"{COUNTS}::test_saved_counts_add_up",
    ),
    (
        "text/counting.py",
        "counts in memory twice",
        "        self._counts.clear()\n",
        "",
        f"{COUNTS}::test_few_words_in_memory_count_as_many",
    ),
    (
        "data/counting.py",
        "the file in which the lines end counts whole",
        "if left < report.kept:",
        "if False:",
        f"{FOLDERS}::test_subwords_are_learned_from_the_first_lines_of_the_whole_text",
    ),
    (
        "training/fit.py",
        "resumed at the epoch's beginning",
        "numbered.dataset(state.epoch * size + done)",
        "numbered.dataset(state.epoch * size)",
        f"{TRAINING}::test_which_batches_are_left",
    ),
    (
        "training/fit.py",
        "more batches are read than an epoch has",
        "done = min(size, state.place)",
        "done = state.place",
        f"{TRAINING}::test_an_epoch_goes_on_with_larger_batches",
    ),
    (
        "data/prepared/writing.py",
        "preparing a changed text is resumed",
        "for text in texts if text for path in files_of(config.data, text)]",
        "for text in texts for path in ()]",
        f"{FOLDERS}::test_a_held_out_text_or_a_named_vocabulary_that_has_changed_is_begun_anew",
    ),
    (
        "data/prepared/store.py",
        "the end symbol is counted as a word of the training text",
        "int(length) - 1 for length in lengths",
        "int(length) for length in lengths",
        f"{TRAINING}::test_the_lengths_are_those_of_the_text",
    ),
    (
        "data/prepared/store.py",
        "the first pairs stand for all",
        "for length in lengths[:: -(-self.count // most), 0]",
        "for length in lengths[:most, 0]",
        f"{TRAINING}::test_the_lengths_are_those_of_the_text",
    ),
    (
        "text/counting.py",
        "all saved counts are open",
        "if len(self._files) > OPEN_AT_ONCE:",
        "if False:",
        f"{COUNTS}::test_many_saved_counts_are_open_a_few_at_a_time",
    ),
]

PREPARED = [Mutant(file, fault, old, new, (test,)) for file, fault, old, new, test in _FAULTS]
