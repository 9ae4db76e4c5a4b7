"""Planted faults of corpora that are translated, and of clients of several replicas; see
mutants.py.
"""

from mutants import Mutant

REPLICAS = "serving/test_replicas.py"

SHARD = "bulk/test_shard.py"
FOLDER = "bulk/test_corpus_folder.py"
WHOLE = "export/test_translate_corpus.py"
LINE = f"{SHARD}::test_a_line_for_a_line_and_a_record_for_a_bad_one"

CORPORA = [
    Mutant(
        "extras/bulk/shard.py",
        "a bad line is left out",
        'results.write("".join(f"{text}\\n" for text in texts)',
        'results.write("".join(f"{text}\\n" for row, text in enumerate(texts) if row not in'
        " reasons)",
        (LINE,),
    ),
    Mutant(
        "extras/bulk/shard.py",
        "a record's line counts from its window",
        '"line": number + row + 1',
        '"line": row + 1',
        (LINE,),
    ),
    Mutant(
        "extras/bulk/shard.py",
        "the output under its name while it grows",
        "stack.enter_context(whole_file(output))",
        'stack.enter_context(open(output, "wb"))',
        (f"{SHARD}::test_a_failure_in_the_middle_leaves_nothing",),
    ),
    Mutant(
        "extras/bulk/shard.py",
        "control characters pass",
        "    return control and (",
        "    return None and (",
        (LINE,),
    ),
    Mutant(
        "files/streams.py",
        "a line without an end fills the memory",
        "if held <= LONGEST_LINE:",
        "if True:",
        (f"{SHARD}::test_a_line_without_an_end_costs_that_line_and_no_memory",),
    ),
    Mutant(
        "extras/bulk/folder.py",
        "a change of the model goes unseen",
        "        if done:\n            self._require_same(known)\n",
        "",
        (f"{FOLDER}::test_half_done_it_is_not_resumed_by_another_model_or_options",),
    ),
    Mutant(
        "extras/bulk/folder.py",
        "what was done is forgotten",
        "if not self._output(name).exists()),\n            key",
        "), key",
        (f"{FOLDER}::test_the_largest_first_and_what_is_there_is_done",),
    ),
    Mutant(
        "extras/bulk/folder.py",
        "a changed input goes unseen",
        'if digests.get(name, known["files"][name]) != known["files"][name]:',
        "if False:",
        (f"{FOLDER}::test_a_changed_input_is_no_translated_one",),
    ),
    Mutant(
        "files/atomic.py",
        "two at once",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        (
            f"{FOLDER}::test_two_at_once_are_refused",
            "training/test_driver.py::test_a_run_has_one_training_at_a_time",
        ),
    ),
    Mutant(
        "extras/bulk/folder.py",
        "records of an attempt that was broken off stay",
        "self._bad(name).unlink(missing_ok=True)",
        "pass",
        (f"{FOLDER}::test_the_largest_first_and_what_is_there_is_done",),
    ),
    Mutant(
        "extras/bulk/engine.py",
        "results in the order of their lengths",
        "results[row] = text",
        "results[by_length.index(row)] = text",
        (f"{WHOLE}::test_an_export_gives_what_the_run_gives",),
    ),
    Mutant(
        "extras/bulk/engine.py",
        "overlong lines are cut, not refused",
        "if length <= limit]",
        "]",
        (f"{WHOLE}::test_a_run_gives_what_translate_gives",),
    ),
]

REPLICAS = [
    Mutant(
        "extras/server/client.py",
        "one replica has all the requests",
        '    "loadBalancingConfig": [{"round_robin": {}}],',
        "",
        (f"{REPLICAS}::test_replicas_share_the_requests_and_a_killed_one_costs_no_answer",),
    ),
    Mutant(
        "extras/server/client.py",
        "how sure it is of the source",
        'self._outputs("confidence", source=sources, target=translations)',
        'self._outputs("confidence", source=sources, target=sources)',
        ("serving/test_client.py::test_how_sure_the_model_is_comes_with_a_second_request",),
    ),
]
