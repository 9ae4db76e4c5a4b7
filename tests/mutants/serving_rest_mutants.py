"""Planted faults of the REST interface, the metrics and the client; see mutants.py."""

from mutants import Mutant

JSON, REST, METRICS = "serving/test_json_tensors.py", "serving/test_rest.py", "serving/test_metrics.py"
CLIENT, COMMAND, REFUSALS = "serving/test_client.py", "serving/test_client_command.py", "serving/test_refusals.py"

REST_AND_CLIENT = [
    Mutant("serving/json_tensors.py", "true is a number", "type(leaf) in (int, float))", "isinstance(leaf, (int, float)))",
           (f"{JSON}::test_what_is_refused_of_one_float_input",)),
    Mutant("serving/json_tensors.py", "float32 with the digits of float64", "return float(str(value))", "return float(value)",
           (f"{JSON}::test_answers",)),
    Mutant("serving/json_tensors.py", "rows of unequal shape are put together", "if earlier and tensor.shape != earlier[0].shape:",
           "if False:", (f"{JSON}::test_what_is_refused_of_one_float_input",)),
    Mutant("serving/json_tensors.py", "text loses its zero bytes", "    array = np.empty(len(values), object)\n",
           "    array = np.empty(len(values), 'S9' if isinstance(values[0], bytes) else object)\n",
           (f"{JSON}::test_bytes_that_are_not_utf8_reach_the_model_as_they_are",)),
    Mutant("serving/rest.py", "a stop cuts off what is being worked on", "if not channel.requests and not channel.total_outbufs_len:",
           "if not channel.total_outbufs_len:", (f"{REST}::test_a_stop_finishes_what_has_been_accepted",)),
    Mutant("serving/rest.py", "a refused request counts as answered", "status = error.code.name\n", "status = 'OK'\n",
           (f"{REST}::test_metrics",)),
    Mutant("serving/metrics.py", "buckets that are not cumulative", 'itertools.accumulate(series["counts"])', 'iter(series["counts"])',
           (f"{METRICS}::test_latency_is_a_histogram_in_microseconds",)),
    Mutant("serving/metrics.py", "a series for every made-up name", "len(self.series) >= MOST_SERIES", "False",
           (f"{METRICS}::test_made_up_model_names_do_not_fill_the_memory",)),
    Mutant("serving/client.py", "every refusal is tried again", "if error.code() is not grpc.StatusCode.UNAVAILABLE or time", "if time",
           (f"{CLIENT}::test_nothing_else_is_tried_again",)),
    Mutant("serving/client.py", "nothing is tried again", "or time.monotonic() + pause >= end:", "or True:",
           (f"{CLIENT}::test_unavailable_is_tried_again", f"{CLIENT}::test_a_server_that_is_not_up_yet")),
    Mutant("serving/client.py", "the whole input is read ahead", "                    room.acquire()\n", "",
           (f"{CLIENT}::test_the_input_is_not_read_far_ahead",)),
    Mutant("cli/client.py", "Python cannot close standard input at the end", 'os.dup(0) if name == "-" else name', "name",
           (f"{COMMAND}::test_a_line_in_is_a_line_out_and_a_refusal_ends_it_though_more_may_come",)),
    Mutant("serving/grpc_server.py", "gRPC refuses damaged requests in its own way", "interceptors=[self._threads, Refusals()]", "interceptors=[self._threads]",
           (f"{REFUSALS}::test_a_status_and_nothing_more",)),
]
