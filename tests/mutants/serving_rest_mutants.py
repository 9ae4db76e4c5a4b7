"""Planted faults of the REST interface, the metrics and the client; see mutants.py."""

from mutants import Mutant

SERVER_BATCHING = "serving/test_server_batching.py"
EMBEDDED_SERVER = "serving/test_embedded_server.py"

JSON = "serving/test_json_tensors.py"
REST = "serving/test_rest.py"
METRICS = "serving/test_metrics.py"
CLIENT = "serving/test_client.py"
COMMAND = "serving/test_client_command.py"
REFUSALS = "serving/test_refusals.py"

REST_AND_CLIENT = [
    Mutant(
        "extras/server/json_tensors.py",
        "true is a number",
        "type(leaf) in (int, float))",
        "isinstance(leaf, (int, float)))",
        (f"{JSON}::test_what_is_refused_of_one_float_input",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "float32 with the digits of float64",
        "return float(str(value))",
        "return float(value)",
        (f"{JSON}::test_answers",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "rows of unequal shape are put together",
        "if earlier and tensor.shape != earlier[0].shape:",
        "if False:",
        (f"{JSON}::test_what_is_refused_of_one_float_input",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "text loses its zero bytes",
        "    array = np.empty(len(values), object)\n",
        "    array = np.empty(len(values), 'S9' if isinstance(values[0], bytes) else object)\n",
        (f"{JSON}::test_bytes_that_are_not_utf8_reach_the_model_as_they_are",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a stop cuts off what is being worked on",
        "if not channel.requests and not channel.total_outbufs_len:",
        "if not channel.total_outbufs_len:",
        (f"{REST}::test_a_stop_finishes_what_has_been_accepted",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a refused request counts as answered",
        "status = error.code.name\n",
        "status = 'OK'\n",
        (f"{REST}::test_metrics",),
    ),
    Mutant(
        "extras/server/metrics.py",
        "buckets that are not cumulative",
        'itertools.accumulate(series["counts"])',
        'iter(series["counts"])',
        (f"{METRICS}::test_latency_is_a_histogram_in_microseconds",),
    ),
    Mutant(
        "extras/server/metrics.py",
        "a series for every made-up name",
        "len(self.series) >= MOST_SERIES",
        "False",
        (f"{METRICS}::test_made_up_model_names_do_not_fill_the_memory",),
    ),
    Mutant(
        "extras/server/client.py",
        "every refusal is tried again",
        "error.code() is not grpc.StatusCode.UNAVAILABLE\n",
        "False\n",
        (f"{CLIENT}::test_nothing_else_is_tried_again",),
    ),
    Mutant(
        "extras/server/client.py",
        "nothing is tried again",
        "or time.monotonic() + pause >= end\n",
        "or True\n",
        (
            f"{CLIENT}::test_unavailable_is_tried_again",
            f"{CLIENT}::test_a_server_that_is_not_up_yet",
        ),
    ),
    Mutant(
        "extras/server/rest.py",
        "a gzip body of any size is unpacked",
        "if len(data) > limit:",
        "if False:",
        (f"{REST}::test_a_body_of_exactly_the_limit",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a gzip body of exactly the limit is refused",
        "if len(data) > limit:",
        "if len(data) >= limit:",
        (f"{REST}::test_a_body_of_exactly_the_limit",),
    ),
    Mutant(
        "extras/server/rest.py",
        "half a gzip body passes",
        "if not unpacker.eof or unpacker.unused_data:",
        "if unpacker.unused_data:",
        (f"{REST}::test_a_body_that_is_no_gzip_is_refused",),
    ),
    Mutant(
        "extras/server/connections.py",
        "a body of exactly the limit is refused",
        "max_request_body_size=limits.body + 1",
        "max_request_body_size=limits.body",
        (f"{REST}::test_a_body_of_exactly_the_limit",),
    ),
    Mutant(
        "extras/server/json_tensors.py",
        "2^24 passes as a float32",
        "2 ** (information.nmant + 1) - 1",
        "2 ** (information.nmant + 1)",
        (f"{JSON}::test_what_is_refused_of_one_float_input",),
    ),
    Mutant(
        "extras/server/client.py",
        "every try has the whole deadline",
        "timeout=max(end - time.monotonic(), 0.001)",
        "timeout=self.deadline",
        (f"{CLIENT}::test_all_tries_share_one_deadline",),
    ),
    Mutant(
        "extras/server/batching.py",
        "a batch of an allowed size is filled up",
        "if size >= rows), rows)",
        "if size > rows), rows)",
        (f"{SERVER_BATCHING}::test_a_batch_of_exactly_an_allowed_size_is_left_as_it_is",),
    ),
    Mutant(
        "extras/server/server.py",
        "warm-up although it is switched off",
        "if flags.enable_model_warmup:",
        "if True:",
        (f"{EMBEDDED_SERVER}::test_without_warm_up_a_failing_request_of_its_file_is_not_run",),
    ),
    Mutant(
        "extras/server/client.py",
        "the whole input is read ahead",
        "                    room.acquire()\n",
        "",
        (f"{CLIENT}::test_the_input_is_not_read_far_ahead",),
    ),
    Mutant(
        "cli/client.py",
        "Python cannot close standard input at the end",
        'os.dup(0) if name == "-" else name',
        "name",
        (f"{COMMAND}::test_a_line_in_is_a_line_out_and_a_refusal_ends_it_though_more_may_come",),
    ),
    Mutant(
        "extras/server/grpc_server.py",
        "gRPC refuses damaged requests in its own way",
        "interceptors=[self._threads, Refusals()]",
        "interceptors=[self._threads]",
        (f"{REFUSALS}::test_a_status_and_nothing_more",),
    ),
]
