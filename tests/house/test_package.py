"""What is shipped: the wheel holds the package with its data and licence, and no tests."""

import subprocess
import sys
import zipfile

import pytest
from test_documents import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("setuptools")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", source], check=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, source], check=True,
    )
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_is_complete_and_free_of_tests(wheel):
    names = set(wheel.namelist())
    assert "rnnsearch_tf/py.typed" in names and "rnnsearch_tf/text/prefixes/fr.txt" in names
    assert {f"rnnsearch_tf/configs/{path.name}" for path in (ROOT / "configs").glob("*.yaml")} <= names
    models = [path for path in (ROOT / "rnnsearch_tf" / "pretrained").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.relative_to(ROOT).as_posix() for path in models} <= names
    page = list((ROOT / "rnnsearch_tf" / "serving" / "page").iterdir())
    assert page and {path.relative_to(ROOT).as_posix() for path in page} <= names
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"rnnsearch_tf"}
    assert any(name.endswith("LICENSE") for name in names)


def test_its_metadata_says_who_and_how(wheel):
    [path] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    text = wheel.read(path).decode("utf-8")
    assert "Author: the rnnsearch_tf authors" in text and "Apache-2.0" in text
