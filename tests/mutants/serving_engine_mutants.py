"""Planted faults in what a model's process does and in which version answers; see mutants.py."""

from mutants import Mutant

BATCHING = "serving/test_merged_requests.py"
VERSIONS = "serving/test_versions.py"
SERVER = "serving/test_embedded_server.py"
TENSORS = "serving/test_tensors.py"

MERGING = [
    Mutant(
        "extras/server/batching.py",
        "merged requests get the rows of others",
        "np.split(value, ends[:-1])",
        "np.array_split(value, len(rows))",
        (
            f"{BATCHING}::test_what_waits_is_merged_and_each_gets_its_own_rows",
            f"{BATCHING}::test_concurrent_requests_share_a_call_and_each_gets_its_own_rows",
        ),
    ),
    Mutant(
        "extras/server/batching.py",
        "a request that fails spoils the others of its call",
        "                    self._answer([request])",
        "                    request.outputs.set_exception(error)",
        (
            f"{BATCHING}::test_a_bad_request_does_not_spoil_its_neighbours",
            f"{BATCHING}::test_concurrent_requests_share_a_call_and_each_gets_its_own_rows",
        ),
    ),
    Mutant(
        "extras/server/batching.py",
        "a merged call has any number of rows",
        "min(MOST_ROWS, -(-known // self._runners))",
        "-(-known // self._runners)",
        (f"{BATCHING}::test_a_merged_call_has_no_more_rows_than_it_may",),
    ),
    Mutant(
        "extras/server/batching.py",
        "a runner takes all that waits",
        "min(MOST_ROWS, -(-known // self._runners))",
        "MOST_ROWS",
        (f"{BATCHING}::test_a_runner_takes_its_share",),
    ),
    Mutant(
        "extras/server/batching.py",
        "what runs does not count",
        "known = self._running + sum(",
        "known = sum(",
        (f"{BATCHING}::test_a_runner_takes_its_share",),
    ),
    Mutant(
        "extras/server/batching.py",
        "a runner never waits for the clients of a merged call",
        "if answered > 1:",
        "if False:",
        (f"{BATCHING}::test_a_runner_waits_for_the_clients_of_a_merged_call",),
    ),
    Mutant(
        "extras/server/batching.py",
        "requests whose deadline has passed are run",
        "for request in [request for request in batch if request.end <= time.monotonic()]:",
        "for request in []:",
        (f"{BATCHING}::test_a_late_request_of_a_failed_batch_is_not_run_again",),
    ),
    Mutant(
        "extras/server/batching.py",
        "a merged call has the shortest deadline of its requests",
        "until = max(",
        "until = min(",
        (f"{BATCHING}::test_a_batch_may_take_as_long_as_its_most_patient_request",),
    ),
    Mutant(
        "extras/server/batching.py",
        "a run that does not end is hidden from the server",
        "if request.until > end:",
        "if True:",
        (f"{BATCHING}::test_one_that_runs_alone_is_not_given_up_before_its_run_has_ended",),
    ),
]

RUNS = [
    Mutant(
        "extras/server/servable.py",
        "a run has no deadline",
        "max(1, round((end - time.monotonic()) * 1000))",
        "10**6",
        (
            f"{SERVER}::test_a_deadline_breaks_the_run_off",
            f"{SERVER}::test_a_request_takes_no_longer_than_the_server_allows",
        ),
    ),
    Mutant(
        "extras/server/servable.py",
        "a warm-up request that fails is passed over",
        "            except ServingError as error:\n                raise ServingError(",
        "            except ServingError as error:\n                continue\n"
        "                raise ServingError(",
        (f"{SERVER}::test_warm_up_runs_before_the_first_request_and_its_failure_is_the_loads",),
    ),
    Mutant(
        "extras/server/worker.py",
        "warm-up although it is switched off",
        'if self._settings["warm_up"]:',
        "if True:",
        (f"{SERVER}::test_without_warm_up_its_file_is_not_read",),
    ),
    Mutant(
        "extras/server/tensors.py",
        "answers as tensor_content",
        "    if array.dtype not in _FIELDS:",
        "    if True:",
        (f"{TENSORS}::test_an_answer_has_its_values_in_the_typed_field",),
    ),
]

NEW_VERSIONS = [
    Mutant(
        "extras/server/models.py",
        "a new version answers before it is loaded",
        "        try:\n            await process.start(self._launcher)\n",
        "        self.process = process\n        try:\n"
        "            await process.start(self._launcher)\n",
        (f"{VERSIONS}::test_the_newest_version_answers_and_the_one_before_goes",),
    ),
    Mutant(
        "extras/server/models.py",
        "a failed version that is published anew is not tried",
        "if known.error and changed == known.changed:",
        "if known.error:",
        (f"{VERSIONS}::test_a_version_that_failed_and_was_published_anew_is_tried_at_once",),
    ),
    Mutant(
        "extras/server/models.py",
        "a failed version is never tried again",
        "if time.monotonic() - known.tried < RETRY_SECONDS:",
        "if True:",
        (f"{VERSIONS}::test_a_version_that_failed_is_not_tried_at_every_look",),
    ),
    Mutant(
        "extras/server/models.py",
        "an error of the disk ends the looks for new versions",
        "            except (ServingError, OSError) as error:\n                if str",
        "            except ServingError as error:\n                if str",
        (f"{VERSIONS}::test_any_error_while_loading_is_one_to_try_again_after",),
    ),
    Mutant(
        "extras/server/models.py",
        "a process that ends is not started again",
        "                await model.restart()",
        "                return",
        (f"{VERSIONS}::test_a_process_that_ends_is_started_again",),
    ),
    Mutant(
        "extras/server/models.py",
        "a version that does not answer is listed",
        "if model.process is not None and not model.process.ended.is_set()\n        }",
        "if model.process is not None\n        }",
        (f"{VERSIONS}::test_a_process_that_ends_is_started_again",),
    ),
    Mutant(
        "extras/server/process.py",
        "the process of an old version is killed while it answers",
        "        while self._callers:\n            await asyncio.sleep(DRAIN_INTERVAL)\n",
        "",
        (f"{SERVER}::test_a_request_to_an_old_version_ends_before_its_process_does",),
    ),
]
