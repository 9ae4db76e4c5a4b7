"""What is shipped: source distribution and wheel are complete, and the wheel holds no tests."""

import subprocess
import sys
import tarfile
import zipfile

import pytest
from test_documents import ROOT


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """The path of a source distribution of what is committed."""
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run(
        ["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", folder / "source"], check=True
    )
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run(
        [sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True
    )
    [path] = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist):
    """The wheel made of the source distribution alone."""
    folder = sdist.parent
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
        sdist,
    ]
    subprocess.run(command, check=True)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_source_distribution_is_complete_with_documents_and_tests(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    committed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    wanted = {
        name
        for name in committed
        if name and not name.startswith(".") and not (ROOT / name).is_symlink()
    }
    assert not wanted - names
    assert {"docs/first-hour.md", "tests/conftest.py"} <= names


def test_the_wheel_is_complete_and_free_of_tests(wheel):
    names = set(wheel.namelist())
    assert "rnnsearch_tf/py.typed" in names and "rnnsearch_tf/text/prefixes/fr.txt" in names
    assert {
        f"rnnsearch_tf/config/shipped/{path.name}" for path in (ROOT / "configs").glob("*.yaml")
    } <= names
    models = [
        path
        for path in (ROOT / "rnnsearch_tf" / "runs" / "shipped").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    ]
    assert {path.relative_to(ROOT).as_posix() for path in models} <= names
    page = list((ROOT / "rnnsearch_tf" / "extras" / "server" / "page").iterdir())
    assert page and {path.relative_to(ROOT).as_posix() for path in page} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"rnnsearch_tf"}
    assert any(name.endswith("LICENSE") for name in names)
