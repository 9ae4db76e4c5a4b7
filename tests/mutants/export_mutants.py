"""Planted faults of the export."""

from mutants import Mutant

ANSWERS, PUBLISHING, STORED = "export/test_served_answers.py", "export/test_publishing.py", "export/test_stored_weights.py"

EXPORT = [
    Mutant("export/signatures.py", "a wrong rank passes", "tf.debugging.Assert(tf.rank(value) == 1,", "tf.debugging.Assert(tf.rank(value) >= 0,",
           (f"{ANSWERS}::test_a_wrong_rank_is_refused_by_name",)),
    Mutant("export/signatures.py", "two lengths pass", "tf.debugging.Assert(sizes[0] == sizes[1],", "tf.debugging.Assert(sizes[0] >= 0,",
           (f"{ANSWERS}::test_inputs_of_two_lengths_are_refused",)),
    Mutant("export/signatures.py", "no text is one text", "tf.concat([[tf.size(rows)],", "tf.concat([[-1],",
           (f"{ANSWERS}::test_no_text_gives_no_answer",)),
    Mutant("export/signatures.py", "an empty source is translated", "return source.lengths <= 1", "return source.lengths < 1",
           (f"{ANSWERS}::test_translate", f"{ANSWERS}::test_alignments")),
    Mutant("export/signatures.py", "sources are not cut", "    tokens = tokens[:, :limit]\n", "", (f"{ANSWERS}::test_translate",)),
    Mutant("export/signatures.py", "n-best translations see another sentence's source",
           "tf.repeat(tf.range(tf.size(source.lengths)), nbest)", "tf.tile(tf.range(tf.size(source.lengths)), [nbest])",
           (f"{ANSWERS}::test_nbest",)),
    Mutant("export/writer.py", "the shapes stay open", "tensor.tensor_shape.CopyFrom(tf.TensorShape([None]).as_proto())", "pass",
           (f"{ANSWERS}::test_names_types_and_shapes_are_the_contract",)),
    Mutant("export/writer.py", "gradients are named that are not saved", "                node.attr.pop(\"_gradient_op_type\", None)\n", "                pass\n",
           (f"{ANSWERS}::test_no_gradient_is_missed",)),
    Mutant("export/publishing.py", "a version that appeared meanwhile is overwritten",
           "            _refuse_existing(target)\n", "            shutil.rmtree(target, ignore_errors=True)\n",
           (f"{PUBLISHING}::test_a_version_that_appears_meanwhile_is_kept",)),
    Mutant("files.py", "a failed export stays", "    finally:\n        shutil.rmtree(partial, ignore_errors=True)\n",
           "    finally:\n        pass\n", (f"{PUBLISHING}::test_a_failed_export_leaves_nothing",)),
    Mutant("files.py", "a running export is taken for a leftover", "        fcntl.flock(descriptor, fcntl.LOCK_EX)\n", "        pass\n",
           (f"{PUBLISHING}::test_the_next_export_clears_away_what_a_killed_one_left_and_only_that",)),
    Mutant("export/publishing.py", "leftovers stay", "            shutil.rmtree(left, ignore_errors=True)", "            pass",
           (f"{PUBLISHING}::test_the_next_export_clears_away_what_a_killed_one_left_and_only_that",)),
    Mutant("export/publishing.py", "a number is chosen before the wait", "        target = version_folder(output, version)\n        with new_folder",
           "        target = pathlib.Path(output) / str(version or 1)\n        with new_folder", (f"{PUBLISHING}::test_who_has_waited_takes_the_next_number_or_ends_before_its_work",)),
    Mutant("files.py", "files are not on the disk when they are published",
           "            sync(os.path.join(path, name))\n", "            pass\n",
           (f"{PUBLISHING}::test_what_is_published_is_on_the_disk_before_it_has_its_name",)),
    Mutant("export/check.py", "answers are not compared", "if (exact and got[0] != expected[0]) or (got[0] == expected[0] and not near):", "if False:",
           (f"{PUBLISHING}::test_a_model_that_answers_otherwise_is_not_published",)),
    Mutant("eight_bit.py", "one scale for a whole matrix", "np.abs(array).max(axis=0, keepdims=True)", "np.abs(array).max(keepdims=True)",
           (f"{STORED}::test_near_the_originals_and_small",)),
    Mutant("export/operations.py", "Python functions pass", "    unknown |= names & set(PYTHON_OPERATIONS)\n", "",
           (f"{PUBLISHING}::test_only_operations_of_the_stock_server",)),
]
