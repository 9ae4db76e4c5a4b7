"""Planted faults in the limits of the embedded server: ranks, rows, bytes, places, connections; see
mutants.py.
"""

from mutants import Mutant

HOSTILE = "serving/test_hostile_requests.py"
MANY = "serving/test_many_at_once.py"
REFUSALS = "serving/test_refusals.py"
TENSORS = "serving/test_tensors.py"
JSON = "serving/test_json_tensors.py"
REST = "serving/test_rest.py"
SERVER = "serving/test_embedded_server.py"

REQUESTS = [
    Mutant(
        "extras/server/tensors.py",
        "any number of dimensions",
        "    if rank > DIMENSIONS:",
        "    if False:",
        (f"{HOSTILE}::test_a_rank_is_answered_or_refused_and_nothing_more",),
    ),
    Mutant(
        "extras/server/tensors.py",
        "a string takes no memory beside its characters",
        "STRING_BYTES * elements + ",
        "elements + ",
        (f"{TENSORS}::test_what_is_no_tensor",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "any number of values",
        "    if values > most_values:",
        "    if False:",
        (f"{JSON}::test_values_have_a_limit_before_they_are_read",),
    ),
    Mutant(
        "extras/server/worker.py",
        "any number of rows",
        'if count > self._settings["rows"]:',
        "if False:",
        (
            f"{SERVER}::test_a_request_takes_no_longer_than_the_server_allows",
            f"{HOSTILE}::test_rows_have_a_limit",
        ),
    ),
    Mutant(
        "extras/server/core.py",
        "a request may take as long as its client likes",
        "seconds = min(seconds, self.flags.request_timeout_in_seconds)",
        "seconds = min(seconds, 10**6)",
        (
            f"{REFUSALS}::test_a_model_gets_the_time_of_the_call",
            f"{SERVER}::test_a_request_takes_no_longer_than_the_server_allows",
        ),
    ),
    Mutant(
        "extras/server/core.py",
        "every request leaves something behind",
        "        process = self.models.process(*model)\n",
        "        process = self.models.process(*model)\n"
        "        self.__dict__.setdefault('left', []).append(bytes(50_000))\n",
        ("serving/test_fuzz.py::test_whatever_is_sent",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "gRPC messages of any size",
        '("grpc.max_receive_message_length", flags.max_request_bytes)',
        '("grpc.max_receive_message_length", -1)',
        (f"{REFUSALS}::test_a_status_and_nothing_more",),
    ),
]

ALL_TOGETHER = [
    Mutant(
        "extras/server/core.py",
        "any number of predictions is admitted",
        "if self._waiting >= self.flags.max_waiting_requests:",
        "if False:",
        (f"{MANY}::test_beyond_the_queue_of_rest_is_503",),
    ),
    Mutant(
        "extras/server/core.py",
        "requests take any memory together",
        "if self._core._bytes + count > MOST_BYTES:",
        "if False:",
        (f"{MANY}::test_an_answer_that_is_not_taken_is_given_up",),
    ),
    Mutant(
        "extras/server/memory.py",
        "what was freed is not given back",
        "        ctypes.CDLL(None).malloc_trim(0)",
        "        pass",
        (f"{HOSTILE}::test_many_large_requests_at_once_take_little_memory",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "health is refused while many predictions wait",
        "OTHER_CALLS = 10_000",
        "OTHER_CALLS = 0",
        (f"{MANY}::test_beyond_the_queue_is_unavailable",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "gRPC breaks off calls that have not been taken yet",
        '    ("grpc.server.max_pending_requests", 10_000),\n'
        '    ("grpc.server.max_pending_requests_hard_limit", 10_000),\n',
        "",
        (f"{MANY}::test_beyond_the_queue_is_unavailable",),
    ),
]

SLOW_CLIENTS = [
    Mutant(
        "extras/server/grpc_front.py",
        "any number of messages is received at once",
        "while len(self._begun) >= self._most:",
        "while False:",
        (f"{REFUSALS}::test_messages_that_are_half_sent_do_not_shut_others_off",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "messages that come slowly do not make way",
        "if time.monotonic() - begun > SLOW:",
        "if False:",
        (f"{REFUSALS}::test_messages_that_are_half_sent_do_not_shut_others_off",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "a message may take any time to come",
        "await asyncio.wait({task}, timeout=CLIENT_SECONDS)",
        "await asyncio.wait({task})",
        (f"{REFUSALS}::test_a_message_that_does_not_come_in_time_ends_the_call",),
    ),
    Mutant(
        "extras/server/grpc_front.py",
        "an answer over gRPC does not count while it is not taken",
        "                return await context.write(await function(context, held))\n",
        "                with core.held() as held:\n"
        "                    answer = await function(context, held)\n"
        "                return await context.write(answer)\n",
        (f"{REFUSALS}::test_an_answer_that_is_not_taken_counts_until_its_connection_ends",),
    ),
    Mutant(
        "extras/server/rest.py",
        "an answer over REST is sent in one part and no longer counted",
        "            for position in range(0, len(body), PART):\n",
        '            await send({"type": "http.response.body", "body": body})\n'
        "            return\n"
        "            for position in range(0, len(body), PART):\n",
        (f"{MANY}::test_an_answer_that_is_not_taken_is_given_up",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a head may take any time to come",
        "if what not in self._timers:",
        'if what != "head" and what not in self._timers:',
        (f"{MANY}::test_connections_beyond_the_limit_are_refused_until_silent_ones_are_dropped",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a body may take any time to come",
        "await asyncio.wait_for(self._body(request, held), CLIENT_SECONDS)",
        "await self._body(request, held)",
        (f"{MANY}::test_slow_clients_are_dropped_and_others_are_not",),
    ),
    Mutant(
        "extras/server/rest.py",
        "any number of connections",
        "        limit_concurrency=CONNECTIONS,\n",
        "",
        (f"{MANY}::test_connections_beyond_the_limit_are_refused_until_silent_ones_are_dropped",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a client whose body is too large is cut off",
        "                chunks.clear()",
        "                break",
        (f"{REST}::test_a_client_that_sends_on_hears_that_its_body_is_too_large",),
    ),
]
