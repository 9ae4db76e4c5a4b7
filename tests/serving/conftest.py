"""What the servers' tests share: a base path of tiny SavedModels, and a server of it."""

import pytest


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """A base path with versions 1 and 2 of the toy model; not to be written to."""
    from serving.toy_model import write_base

    return write_base(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def server(toy_base):
    """A running Server of the model `toy`, on free ports."""
    from rnnsearch_tf.extras.server.server import Server

    with Server("toy", toy_base, port=0, rest_api_port=0) as server:
        yield server
