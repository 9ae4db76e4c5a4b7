"""tensorflow_model_server's own tests, where RNNSEARCH_UPSTREAM is a working copy of
tensorflow/serving; see upstream.py.
"""

import os

import pytest
import upstream

CHECKOUT = os.environ.get("RNNSEARCH_UPSTREAM")


@pytest.mark.parametrize("name", upstream.names(CHECKOUT) if CHECKOUT else [])
def test_upstream(name):
    if name in upstream.OUTSIDE:
        pytest.xfail(upstream.OUTSIDE[name])
    passed, last = upstream.run(CHECKOUT, name)
    assert passed, last


def test_those_that_are_left_out_are_known_by_name():
    assert len(upstream.OUTSIDE) == 14 and all(upstream.OUTSIDE.values())
    if CHECKOUT:
        assert set(upstream.OUTSIDE) < set(upstream.names(CHECKOUT))
        assert len(upstream.names(CHECKOUT)) - len(upstream.OUTSIDE) >= 16
