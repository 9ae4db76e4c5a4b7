"""Planted faults in how the server watches, kills and restarts the models' processes; see
mutants.py.
"""

from mutants import Mutant

KILLED = "serving/test_killed_processes.py"
MANY = "serving/test_many_at_once.py"
VERSIONS = "serving/test_versions.py"
SERVER = "serving/test_embedded_server.py"
PROCESS = "serving/test_serve_process.py"
REFUSALS = "serving/test_refusals.py"
HOSTILE = "serving/test_hostile_requests.py"
UNDER_LOAD = (
    f"{KILLED}::test_killed_under_load_it_is_back_within_seconds_and_every_answer_is_proper"
)

WATCHED = [
    Mutant(
        "extras/server/models.py",
        "one that ends soon after each start is started at once for ever",
        "self._pause = min(max(2 * self._pause, 1), LONGEST_PAUSE)",
        "pass",
        (f"{VERSIONS}::test_one_that_loads_and_ends_again_and_again_waits_longer",),
    ),
    Mutant(
        "extras/server/models.py",
        "a pause never gets shorter again",
        "if time.monotonic() - self._loaded > LONGEST_PAUSE:",
        "if False:",
        (f"{VERSIONS}::test_one_that_loads_and_ends_again_and_again_waits_longer",),
    ),
    Mutant(
        "extras/server/models.py",
        "a version is loaded twice at the same time",
        "if known.state == LOADING:",
        "if False:",
        (f"{VERSIONS}::test_a_new_version_that_comes_while_the_old_one_is_started_again_stays",),
    ),
    Mutant(
        "extras/server/models.py",
        "what does not load for the system's fault is never tried again",
        "        except Exception:  # of the system; the next look tries it again\n"
        "            version.state = END\n",
        "        except Exception:\n",
        (f"{VERSIONS}::test_any_error_while_loading_is_one_to_try_again_after",),
    ),
    Mutant(
        "extras/server/process.py",
        "metadata are a sign that the model answers",
        "if running.kind not in INFORMATION:",
        "if True:",
        ("serving/test_probes.py::test_what_needs_no_model_is_no_sign_of_it",),
    ),
    Mutant(
        "extras/server/batching.py",
        "any number of large requests runs at once",
        "if not self._alone.acquire(timeout=max(0.0, end - time.monotonic())):",
        "if self._alone.acquire(blocking=False) and False:",
        (
            "serving/test_merged_requests.py"
            "::test_as_many_large_requests_run_alone_as_there_are_runners",
        ),
    ),
    Mutant(
        "export/publishing.py",
        "a folder has versions of two formats",
        'others = ["saved_model.pb"] if graph else [ONNX_FILE, LITERT_FILE]',
        "others = []",
        ("export/test_publishing.py::test_versions_of_another_format_are_refused",),
    ),
    Mutant(
        "extras/server/models.py",
        "the memory limit is not enforced",
        "if sum(sizes.values()) > limit:",
        "if False:",
        (
            f"{VERSIONS}::test_the_largest_process_is_killed_when_all_take_more_than_the_limit",
            f"{KILLED}::test_a_process_beyond_the_memory_limit_is_killed_and_comes_back",
        ),
    ),
    Mutant(
        "extras/server/models.py",
        "the process that answers is killed, not the one that is loaded",
        "key=lambda process: (not process.messages, sizes[process])",
        "key=lambda process: sizes[process]",
        (f"{VERSIONS}::test_one_that_is_loaded_goes_before_one_that_answers",),
    ),
    Mutant(
        "extras/server/process.py",
        "a process that works beyond a deadline is not killed",
        "        if number in self._running:\n            self.kill(",
        "        if False:\n            self.kill(",
        (f"{KILLED}::test_a_kernel_that_outlives_its_deadline_ends_its_process",),
    ),
    Mutant(
        "extras/server/models.py",
        "health does not see that a model does not answer",
        "                model.answers = answers",
        "                model.answers = True",
        (f"{VERSIONS}::test_a_model_that_does_not_answer_is_said_and_so_is_its_return",),
    ),
    Mutant(
        "extras/server/process.py",
        "health does not see that no request ends",
        "self._small.stalled > IDLE_SECONDS",
        "False",
        (f"{MANY}::test_what_waits_too_long_for_a_model_that_is_stuck_is_unavailable",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "the health service says SERVING whatever the models do",
        "        if self._answers() and not self._ended:",
        "        if not self._ended:",
        (f"{REFUSALS}::test_health_says_whether_the_models_answer",),
    ),
]

LANES = [
    Mutant(
        "extras/server/process.py",
        "a caller that leaves frees its place while its run goes on",
        "            return await asyncio.shield(answer)\n",
        "            try:\n                return await asyncio.shield(answer)\n"
        "            except asyncio.CancelledError:\n                lane.leave()\n"
        "                raise\n",
        (f"{MANY}::test_what_waits_too_long_for_a_model_that_is_stuck_is_unavailable",),
    ),
    Mutant(
        "extras/server/process.py",
        "a small request waits as long as its deadline lets it",
        "min(seconds, QUEUE_SECONDS) if is_small else seconds",
        "seconds",
        (f"{MANY}::test_what_waits_too_long_for_a_model_that_is_stuck_is_unavailable",),
    ),
    Mutant(
        "extras/server/process.py",
        "large requests run beside each other as small ones do",
        "lane = self._small if is_small else self._large",
        "lane = self._small",
        (f"{MANY}::test_two_large_requests_run_at_once_and_small_ones_do_not_wait_for_them",),
    ),
]

PROCESSES = [
    Mutant(
        "extras/server/process.py",
        "a launcher that has ended is not started again",
        "for attempt in range(2):",
        "for attempt in range(1):",
        (f"{KILLED}::test_a_launcher_that_is_killed_is_started_again",),
    ),
    Mutant(
        "extras/server/launcher.py",
        "processes that have ended stay as zombies",
        "    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes\n",
        "",
        (UNDER_LOAD,),
    ),
    Mutant(
        "extras/server/worker.py",
        "a process that loads a model outlives its server",
        "    hang_up.poll()\n    os._exit(0)",
        "    hang_up.poll()",
        (f"{PROCESS}::test_told_to_end_while_a_model_loads_it_ends",),
    ),
    Mutant(
        "extras/server/frames.py",
        "the first part of a request is taken for all of it",
        "data = stream.read(size)",
        "data = stream.read1(size).ljust(size)",
        (f"{HOSTILE}::test_rows_have_a_limit",),
    ),
]

STOP = [
    Mutant(
        "extras/server/server.py",
        "a stop breaks off what was accepted",
        "self._grpc.stop(FOREVER)",
        "self._grpc.stop(0)",
        (f"{SERVER}::test_a_stop_finishes_what_was_accepted",),
    ),
    Mutant(
        "extras/server/server.py",
        "a stop says that everything has ended",
        "        return idle\n",
        "        return True\n",
        (
            f"{SERVER}::test_a_stop_breaks_off_what_does_not_end_in_its_grace",
            f"{PROCESS}::test_told_to_end_it_waits_no_longer_than_its_grace",
        ),
    ),
    Mutant(
        "extras/server/server.py",
        "a taken port is found after the models are loaded",
        "                _bound(flags, flag).close()",
        "                pass",
        (f"{SERVER}::test_a_port_that_is_taken_is_said_before_models_are_loaded",),
    ),
]
