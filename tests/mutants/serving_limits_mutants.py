"""Planted faults of the embedded server's limits: ranks, rows, bytes, threads, connections; see
mutants.py.
"""

from mutants import Mutant

HOSTILE = "serving/test_hostile_requests.py"
MANY = "serving/test_many_at_once.py"
ROWS = "serving/test_rows.py"
TENSORS = "serving/test_tensors.py"
JSON = "serving/test_json_tensors.py"
REST = "serving/test_rest.py"
SERVER = "serving/test_embedded_server.py"

LIMITS = [
    Mutant(
        "extras/server/tensors.py",
        "any number of dimensions",
        "    if rank > limits.DIMENSIONS:",
        "    if False:",
        (f"{HOSTILE}::test_a_rank_is_answered_or_refused_and_nothing_more",),
    ),
    Mutant(
        "extras/server/tensors.py",
        "a string takes no memory",
        "needed = STRING_BYTES * elements",
        "needed = elements",
        (f"{TENSORS}::test_what_is_no_tensor",),
    ),
    Mutant(
        "extras/server/core.py",
        "rows are not counted",
        "            self.check_rows(count)  # before",
        "            # before",
        (f"{HOSTILE}::test_rows_have_a_limit",),
    ),
    Mutant(
        "extras/server/core.py",
        "every request leaves something behind",
        "            arrays = checks.to_arrays(signature, inputs)\n",
        "            arrays = checks.to_arrays(signature, inputs)\n           "
        " self.__dict__.setdefault('left', []).append(bytes(50_000))\n",
        ("serving/test_fuzz.py::test_whatever_is_sent",),
    ),
    Mutant(
        "extras/server/core.py",
        "any number of rows at once",
        "with self._rows.running(count, deadline, cancelled):",
        "with contextlib.nullcontext():",
        (f"{SERVER}::test_rows_beyond_those_that_run_wait_no_longer_than_their_callers",),
    ),
    Mutant(
        "extras/server/rows.py",
        "large requests are passed by",
        "while self._waiting[0] is not ticket or self._free < count:",
        "while self._free < count:",
        (f"{ROWS}::test_what_does_not_fit_waits_and_is_not_passed_by",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "any number of values",
        "    if values > most:",
        "    if False:",
        (f"{JSON}::test_values_have_a_limit_before_they_are_read",),
    ),
    Mutant(
        "extras/server/grpc_threads.py",
        "health waits behind predictions",
        "            return self.health\n",
        "            return self.predictions\n",
        (f"{MANY}::test_health_and_status_answer_while_predictions_fill_the_threads",),
    ),
    Mutant(
        "extras/server/grpc_threads.py",
        "gRPC breaks off what Python has not taken",
        "MOST_PENDING = 100_000",
        "MOST_PENDING = 1000",
        (f"{MANY}::test_beyond_the_queue_is_unavailable",),
    ),
    Mutant(
        "extras/server/connections.py",
        "status waits behind predictions",
        "        self._information.add_task(channel)",
        "        self._predictions.add_task(channel)",
        (f"{MANY}::test_health_and_status_answer_while_predictions_fill_the_threads",),
    ),
    Mutant(
        "extras/server/connections.py",
        "who sends slowly may stay",
        "return now - self._request_began > limits.client_timeout",
        "return False",
        (f"{MANY}::test_slow_clients_are_dropped_and_others_are_not",),
    ),
    Mutant(
        "extras/server/connections.py",
        "who is sending makes way like anyone",
        "return (1, self._request_began)",
        "return (0, self._request_began)",
        (f"{MANY}::test_idle_connections_make_way_before_those_that_are_sending",),
    ),
    Mutant(
        "extras/server/connections.py",
        "nobody makes way",
        "        self._make_way(len(self.active_channels) - self.most_connections)",
        "        pass",
        (f"{MANY}::test_idle_connections_make_way_before_those_that_are_sending",),
    ),
    Mutant(
        "extras/server/connections.py",
        "who is refused is cut off",
        "not (self.is_refused and self.close_when_flushed)",
        "True",
        (f"{REST}::test_a_client_that_sends_on_hears_that_its_body_is_too_large",),
    ),
    Mutant(
        "extras/server/rest.py",
        "large bodies are read beside each other",
        "or 0) <= SMALL_BODY and",
        "or 0) <= 1 << 40 and",
        ("serving/test_many_at_once.py::test_large_bodies_are_read_in_turn",),
    ),
]
