"""What is shipped: source distribution and wheel are complete and hold no tests; a package index shows all of the description."""

import email
import re
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
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", folder / "source"], check=True)
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=folder / "source", check=True, capture_output=True)
    [path] = folder.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def wheel(sdist):
    """The wheel made of the source distribution alone."""
    folder = sdist.parent
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, sdist]
    subprocess.run(command, check=True)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_source_distribution_is_complete_and_free_of_tests(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    committed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    wanted = {name for name in committed if name and not name.startswith(("tests/", "."))}
    assert not wanted - names
    assert not [name for name in names if name.split("/")[0] == "tests"]


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


def test_a_package_index_shows_all_of_the_description(wheel):
    """No picture and no link leads to a file of the project, which an index does not have."""
    [path] = [name for name in wheel.namelist() if name.endswith("/METADATA")]
    description = email.message_from_bytes(wheel.read(path)).get_payload(decode=True).decode("utf-8")
    assert description.startswith("# rnnsearch_tf") and "## Serve" in description and "Source words along the top" not in description
    assert not [target for target in re.findall(r"\]\(([^)]*)\)", description) if not target.startswith(("https://", "#"))]
    assert not re.search("<img|data:image", description)
