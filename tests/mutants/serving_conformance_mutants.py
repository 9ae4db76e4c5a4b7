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
        "message if len(message) <= LONGEST_MESSAGE else",
        "message if True else",
        (f"{PREDICT}::test_long_messages_are_cut",),
    ),
    Mutant(
        "extras/server/manager.py",
        "the oldest version answers",
        "for number in sorted(numbered, reverse=True)]",
        "for number in sorted(numbered)]",
        (
            f"{PREDICT}::test_the_default_signature_of_the_latest_version",
            f"{PREDICT}::test_which_version_answers",
        ),
    ),
    Mutant(
        "extras/server/core.py",
        "a reload changes nothing",
        "        self.manager.reload(request.config)\n",
        "",
        (
            f"{MANAGEMENT}::test_reload_adds_a_model_and_takes_it_away",
            f"{MANAGEMENT}::test_reload_with_a_name_twice",
            f"{MANAGEMENT}::test_reload_with_a_model_that_does_not_come_up",
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
