"""What the servers' tests share: base paths of tiny SavedModels, written once."""

import pytest


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """A base path with versions 1 and 2 of the toy model; not to be written to."""
    from toy_model import write_toy

    base = tmp_path_factory.mktemp("toy")
    for version in (1, 2):
        write_toy(base, version)
    return base
