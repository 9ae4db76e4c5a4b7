"""What the servers' tests share: base paths of tiny SavedModels, written once."""

import contextlib

import pytest


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """A base path with versions 1 and 2 of the toy model; not to be written to."""
    from toy_model import write_toy

    base = tmp_path_factory.mktemp("toy")
    for version in (1, 2):
        write_toy(base, version)
    return base


@pytest.fixture
def served():
    """served(base, **flags) → a running Server of the model `toy` on free ports; stopped after the test."""
    from rnnsearch_tf.serving.flags import FREE, Flags
    from rnnsearch_tf.serving.server import Server

    with contextlib.ExitStack() as stack:

        def start(base, **flags):
            flags = {"port": FREE, "rest_api_port": 0, "file_system_poll_wait_seconds": 0.02} | flags
            return stack.enter_context(Server(Flags(model_name="toy", model_base_path=str(base), **flags)))

        yield start
