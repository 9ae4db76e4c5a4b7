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
    assert len(upstream.OUTSIDE) == 19 and all(upstream.OUTSIDE.values())
    if CHECKOUT:
        assert set(upstream.OUTSIDE) < set(upstream.names(CHECKOUT))
        assert len(upstream.names(CHECKOUT)) - len(upstream.OUTSIDE) >= 11


def test_the_flags_of_the_stock_server_are_turned_into_those_of_this_one(tmp_path):
    file = tmp_path / "models.config"
    model = 'config {{ name: "{0}" base_path: "/m/{0}" model_platform: "tensorflow" }}'
    file.write_text(f"model_config_list {{ {model.format('a')} {model.format('b')} }}")
    words = ["--port=1", "--grpc_socket_path=/tmp/s", f"--model_config_file={file}"]
    assert upstream.own_flags(words) == [
        "--port=1",
        "--model_name=a",
        "--model_base_path=/m/a",
        "--model_name=b",
        "--model_base_path=/m/b",
    ]
