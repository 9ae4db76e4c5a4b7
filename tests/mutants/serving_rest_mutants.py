"""Planted faults of the REST interface, TLS, the flags, the metrics and the client; see
mutants.py.
"""

from mutants import Mutant

JSON = "serving/test_json_tensors.py"
REST = "serving/test_rest.py"
TLS = "serving/test_tls.py"
FLAGS = "serving/test_serving_flags.py"
HOSTILE = "serving/test_hostile_requests.py"
METRICS = "serving/test_metrics.py"
CLIENT = "serving/test_client.py"
COMMAND = "serving/test_client_command.py"

JSON_AND_HTTP = [
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
        "[float(str(value)) for value",
        "[float(value) for value",
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
        "extras/server/json_tensors.py",
        "2^24 passes as a float32",
        "2 ** (information.nmant + 1) - 1",
        "2 ** (information.nmant + 1)",
        (f"{JSON}::test_what_is_refused_of_one_float_input",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a gzip body is unpacked to its end before it is refused",
        "unpacker.decompress(body, limit + 1)",
        "unpacker.decompress(body)",
        (f"{HOSTILE}::test_bodies_beyond_the_limit",),
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
        "a body of exactly the limit is thrown away",
        "            if size <= limit:",
        "            if size < limit:",
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
        "extras/server/rest.py",
        "any Host is accepted",
        "if hosts and host not in hosts:",
        "if False:",
        (
            f"{REST}::test_only_names_of_this_machine_are_taken_for_the_host",
            f"{REST}::test_hosts_can_be_chosen",
        ),
    ),
]

TLS_AND_FLAGS = [
    Mutant(
        "extras/server/rest.py",
        "REST asks for no certificate of the client",
        "ssl_cert_reqs=ssl.CERT_REQUIRED if flags.tls_client_ca else ssl.CERT_NONE",
        "ssl_cert_reqs=ssl.CERT_NONE",
        (
            f"{TLS}::test_a_client_without_a_certificate_is_refused_where_one_is_asked_for",
            f"{TLS}::test_a_certificate_of_another_authority_is_refused",
        ),
    ),
    Mutant(
        "extras/server/server.py",
        "gRPC asks for no certificate of the client",
        "require_client_auth=authority is not None",
        "require_client_auth=False",
        (f"{TLS}::test_a_client_without_a_certificate_is_refused_where_one_is_asked_for",),
    ),
    Mutant(
        "extras/server/server.py",
        "gRPC is plain beside REST with TLS",
        "    if not flags.tls_certificate:\n        return None",
        "    if True:\n        return None",
        (f"{TLS}::test_there_is_no_plain_port_beside_it",),
    ),
    Mutant(
        "extras/server/flags.py",
        "no flag but with hyphens",
        "names = dict.fromkeys((f\"--{name.replace('_', '-')}\", f\"--{name}\"))",
        "names = dict.fromkeys((f\"--{name.replace('_', '-')}\",))",
        (f"{FLAGS}::test_ways_to_write_a_flag",),
    ),
]

COUNTS = [
    Mutant(
        "extras/server/core.py",
        "a refused request counts as answered",
        "            status = error.code.name\n",
        "            status = 'OK'\n",
        (f"{REST}::test_metrics",),
    ),
    Mutant(
        "extras/server/metrics.py",
        "a series for every made-up name",
        "if model not in self._models.names:",
        "if False:",
        (f"{METRICS}::test_made_up_model_names_do_not_fill_the_memory",),
    ),
]

CALLERS = [
    Mutant(
        "extras/server/client.py",
        "every refusal is tried again",
        "if error.code() is grpc.StatusCode.UNAVAILABLE and seconds:",
        "if seconds:",
        (f"{CLIENT}::test_nothing_else_is_tried_again",),
    ),
    Mutant(
        "extras/server/client.py",
        "nothing is tried again after gRPC has given up",
        "if error.code() is grpc.StatusCode.UNAVAILABLE and seconds:",
        "if False:",
        (
            f"{CLIENT}::test_unavailable_is_tried_until_the_deadline_and_then_said",
            f"{CLIENT}::test_an_answer_that_breaks_off_in_its_middle_is_asked_for_again",
        ),
    ),
    Mutant(
        "extras/server/client.py",
        "gRPC tries again without longer pauses",
        '    ("grpc.service_config", json.dumps(SERVICE_CONFIGURATION)),\n',
        "",
        (f"{CLIENT}::test_unavailable_is_tried_again_after_a_pause",),
    ),
    Mutant(
        "extras/server/client.py",
        "every try has the whole deadline",
        "timeout=seconds, wait",
        "timeout=self.deadline, wait",
        (f"{CLIENT}::test_all_tries_share_one_deadline",),
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
]
