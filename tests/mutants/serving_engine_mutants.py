"""Planted faults of the embedded server's engine: batching, versions, checks, flags; see
mutants.py.
"""

from mutants import Mutant

BATCHING = "serving/test_server_batching.py"
VERSIONS = "serving/test_versions.py"
SERVER = "serving/test_embedded_server.py"
TENSORS = "serving/test_tensors.py"
FLAGS = "serving/test_serving_flags.py"

ENGINE = [
    Mutant(
        "extras/server/merging.py",
        "each gets its neighbour's rows",
        "array[end - count : end] for array",
        "array[:count] for array",
        (
            f"{BATCHING}::test_what_waits_is_merged_and_each_gets_its_own_rows",
            f"{SERVER}::test_concurrent_requests_share_a_call_and_each_gets_its_own_rows",
        ),
    ),
    Mutant(
        "extras/server/batching.py",
        "the queue has no end",
        "if len(queue) + added > self.parameters.max_enqueued_batches:",
        "if False:",
        (f"{BATCHING}::test_a_full_queue_is_unavailable_and_recovers",),
    ),
    Mutant(
        "extras/server/batching.py",
        "late requests are run all the same",
        "            if error := call.given_up():",
        "            if error := None:",
        (
            f"{BATCHING}::test_a_request_whose_deadline_has_passed_is_not_run",
            f"{BATCHING}::test_a_caller_that_has_gone_is_not_run",
        ),
    ),
    Mutant(
        "extras/server/batching.py",
        "the least patient request decides for its batch",
        "else max(deadlines)",
        "else min(deadlines)",
        (f"{BATCHING}::test_a_batch_may_take_as_long_as_its_most_patient_request",),
    ),
    Mutant(
        "extras/server/manager.py",
        "the old version goes before the new one has come",
        "            for number in result[name]:\n",
        "            [version.unload() for version in self.versions(name) if version.number not in"
        " result[name]]\n            for number in result[name]:\n",
        (
            f"{VERSIONS}::test_the_newest_version_answers_and_the_one_before_goes",
            f"{VERSIONS}::test_a_version_that_does_not_load_leaves_the_old_one_and_says_why",
        ),
    ),
    Mutant(
        "extras/server/manager.py",
        "a failed version is remembered when it is gone",
        "if len(kept) < len(known):",
        "if False:",
        ("serving/test_versions.py::test_a_version_that_failed_and_was_published_anew_is_another",),
    ),
    Mutant(
        "extras/server/version.py",
        "some errors of loading are nobody's",
        "except Exception as error:",
        "except ZeroDivisionError as error:",
        ("serving/test_versions.py::test_any_error_while_loading_is_one_to_try_again_after",),
    ),
    Mutant(
        "extras/server/rest.py",
        "a head has a body",
        "# what followed the head would be read as the next answer\n"
        '        return [body if method != "HEAD" else b""]',
        "return [body]",
        ("serving/test_rest.py::test_a_head_is_answered_as_a_get_without_the_body",),
    ),
    Mutant(
        "extras/server/manager.py",
        "a failed version is never tried again",
        "return failed and waited and",
        "return False and",
        (f"{VERSIONS}::test_a_failed_load_is_tried_again_so_often",),
    ),
    Mutant(
        "extras/server/manager.py",
        "a request that comes between two versions is lost",
        "known is self._versions.get(name) and labels is self._labels",
        "True",
        (f"{VERSIONS}::test_a_request_that_comes_between_two_versions_gets_the_new_one",),
    ),
    Mutant(
        "extras/server/version.py",
        "a version is closed under its requests",
        "self._unused.wait_for(lambda: not self._users, timeout)",
        "True",
        (f"{VERSIONS}::test_requests_on_their_way_finish_before_their_version_is_unloaded",),
    ),
    Mutant(
        "extras/server/servable.py",
        "a run knows no deadline",
        "None if timeout is None else",
        "None if True else",
        (f"{SERVER}::test_a_deadline_breaks_the_run_off",),
    ),
    Mutant(
        "extras/server/servable.py",
        "shapes are Python's business",
        "_run(self._session, fetches, feeds, options)",
        "self._session.run(fetches, feeds, options)",
        (
            (
                "serving/conformance/test_conformance_predict.py"
                "::test_a_shape_the_signature_does_not_have_is_run_where_the_operations_take_it"
            ),
        ),
    ),
    Mutant(
        "extras/server/manager.py",
        "another base path takes what answers away",
        "version.state == State.END and (version.error is None or version.path != path)",
        "version.path != path or (version.state == State.END and version.error is None)",
        (
            f"{VERSIONS}::test_another_base_path_leaves_the_versions_that_are_loaded",
            f"{VERSIONS}::test_a_corrupt_version_under_another_base_path_takes_nothing_away",
            f"{VERSIONS}::test_no_request_fails_while_base_paths_change",
        ),
    ),
    Mutant(
        "extras/server/manager.py",
        "a version that failed is not looked for elsewhere",
        "(version.error is None or version.path != path)",
        "version.error is None",
        (f"{VERSIONS}::test_a_version_that_failed_is_tried_where_it_stands_now",),
    ),
    Mutant(
        "extras/server/model_config.py",
        "links lead out of the roots",
        "os.path.realpath(root)\n    path = os.path.realpath(path)",
        "os.path.abspath(root), os.path.abspath(path)",
        (f"{VERSIONS}::test_base_paths_stay_under_the_roots_that_are_allowed",),
    ),
    Mutant(
        "extras/server/model_config.py",
        "a root is a prefix of letters",
        "os.path.commonpath([root, path]) == root",
        "path.startswith(root)",
        (f"{VERSIONS}::test_base_paths_stay_under_the_roots_that_are_allowed",),
    ),
    Mutant(
        "extras/server/server.py",
        "a refused configuration is forgotten",
        "                manager.configure(config)\n",
        "                seen[0] = config\n                manager.configure(config)\n",
        (f"{SERVER}::test_a_label_of_a_version_that_is_still_to_come_moves_when_it_is_there",),
    ),
    Mutant(
        "extras/server/server.py",
        "a taken port is found when the models are loaded",
        "                interface.check_address()",
        "                pass",
        (f"{SERVER}::test_a_port_that_is_taken_is_said_before_models_are_loaded",),
    ),
    Mutant(
        "extras/server/server.py",
        "plain HTTP beside TLS",
        "    if flags.ssl_config_file:\n        log",
        "    if False:\n        log",
        (f"{SERVER}::test_where_tls_is_asked_for_there_is_no_plain_http_beside_it",),
    ),
    Mutant(
        "extras/server/version.py",
        "an unloading without a bound",
        "lambda: not self._users, timeout)",
        "lambda: not self._users)",
        (f"{SERVER}::test_a_stop_breaks_off_what_does_not_end_in_its_grace",),
    ),
    Mutant(
        "extras/server/tensors.py",
        "answers as tensor_content",
        "    if array.dtype not in _FIELDS:",
        "    if array.dtype.kind != 'O':\n"
        "        return tf.make_tensor_proto(array)\n    if array.dtype not in _FIELDS:",
        (f"{TENSORS}::test_an_answer_has_its_values_in_the_typed_field",),
    ),
    Mutant(
        "extras/server/flags.py",
        "no flag but with hyphens",
        "names = dict.fromkeys((f\"--{name.replace('_', '-')}\", f\"--{name}\"))",
        "names = dict.fromkeys((f\"--{name.replace('_', '-')}\",))",
        (f"{FLAGS}::test_ways_to_write_a_flag",),
    ),
]
