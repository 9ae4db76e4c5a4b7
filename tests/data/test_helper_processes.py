"""Helper processes: what they meet is what this process raises."""

import pytest

from rnnsearch_tf.runtime.processes import Processes
from rnnsearch_tf.errors import UsageError, UserError

WRONG_USAGE = (
    "rnnsearch_tf.config:check_value",
    {"name": "search.beam_size", "value": 0, "where": "--beam-size"},
    UsageError,
    "--beam-size: expected at least 1",
)
FAILURE = (
    "rnnsearch_tf.files.reading:check_inputs",
    {"names": ["/no/such"]},
    UserError,
    "/no/such: expected a text file, found none",
)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize(
    "function, request_, kind, message", [WRONG_USAGE, FAILURE], ids=["usage", "failure"]
)
def test_an_error_has_the_exit_code_that_it_has_in_one_process(
    number, function, request_, kind, message
):
    with Processes(number) as processes, pytest.raises(UserError, match=message) as raised:
        processes.call(function, [request_, request_], "checking")
    assert type(raised.value) is kind
