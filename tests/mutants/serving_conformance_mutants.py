"""Planted faults that the conformance suite must see from outside, over gRPC and REST; see
mutants.py.
"""

from mutants import Mutant

PREDICT, MANAGEMENT, REST = (
    f"serving/conformance/test_conformance_{name}.py" for name in ("predict", "management", "rest")
)

CONFORMANCE = [
    Mutant(
        "extras/server/checks.py",
        "an unknown signature is a bad argument",
        "ServingError(\n            grpc.StatusCode.FAILED_PRECONDITION, f'Serving",
        "ServingError(grpc.StatusCode.INVALID_ARGUMENT, f'Serving",
        (f"{PREDICT}::test_nothing_of_that_name", f"{PREDICT}::test_long_messages_are_cut"),
    ),
    Mutant(
        "extras/server/checks.py",
        "an output may be asked for twice",
        "        if name in wanted[:position]:",
        "        if False:",
        (f"{PREDICT}::test_duplicate_output_filter",),
    ),
    Mutant(
        "extras/server/errors.py",
        "messages of any length",
        "data[:LONGEST_MESSAGE].decode(",
        "data.decode(",
        (f"{PREDICT}::test_long_messages_are_cut",),
    ),
    Mutant(
        "extras/server/models.py",
        "the oldest version answers",
        "number = max(found)",
        "number = min(found)",
        (
            f"{PREDICT}::test_the_default_signature_of_the_latest_version",
            f"{PREDICT}::test_which_version_answers",
            "serving/test_versions.py::test_the_newest_version_answers_and_the_one_before_goes",
        ),
    ),
    Mutant(
        "extras/server/models.py",
        "a request with a label is answered",
        'UNAVAILABLE while it is started again.\n        """\n        if label:',
        'UNAVAILABLE while it is started again.\n        """\n        if False:',
        (
            f"{PREDICT}::test_nothing_of_that_name",
            "serving/test_rest.py::test_what_is_refused",
            "serving/test_versions.py::test_versions_and_models_that_are_not_there",
        ),
    ),
    Mutant(
        "extras/server/servable.py",
        "Python checks the shapes",
        "_run(self._session, fetches, feeds, options)",
        "self._session.run(fetches, feeds, options)",
        (
            (
                f"{PREDICT}"
                "::test_a_shape_the_signature_does_not_have_is_run_where_the_operations_take_it"
            ),
        ),
    ),
    Mutant(
        "extras/server/rest.py",
        "what is not there is a bad argument",
        "    grpc.StatusCode.NOT_FOUND: 404,",
        "    grpc.StatusCode.NOT_FOUND: 400,",
        (f"{REST}::test_refused",),
    ),
]
