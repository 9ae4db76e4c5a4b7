"""A RUN folder to be damaged: each test has a copy of its own."""

import shutil

import pytest
from tiny_run import write_run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "run")
