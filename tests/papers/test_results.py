"""The pages of papers/results are what their measurements make."""

import json
import pathlib
import re
import shutil

import pytest

from papers.__main__ import main as reproduce
from papers.items import ITEMS

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"


def measured_seeds(item):
    """The seeds of which it has been made, by the files that say so."""
    return sorted(
        int(path.stem.rpartition("-")[2])
        for path in (RESULTS / "measured").glob("made-*.json")
        if path.stem.rpartition("-")[0] == f"made-{item}"
    )


MADE = [name for name, item in ITEMS.items() if all(map(measured_seeds, item.made_of or (name,)))]

SLOW = ["claims", "cho2014-figure4", "cho2014-figure5"]  # 20 seconds each

pytest.importorskip("sklearn")


def shown(folder, item):
    """What a page says, but for how it was made: the versions are those of the day."""
    numbers = json.loads((folder / f"{item}.json").read_text(encoding="utf-8"))
    return (
        (folder / f"{item}.md").read_text(encoding="utf-8").split("## How it was made")[0],
        numbers["ours"],
        numbers["paper"],
        numbers["title"],
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The measurements, and nothing else."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(RESULTS / "measured", folder / "measured")
    for name in ("settings.json", "corpora.json"):
        shutil.copy(RESULTS / name, folder)
    return folder


@pytest.mark.parametrize(
    "item",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MADE],
)
def test_a_page_is_what_its_measurements_make(item, folder):
    command = json.loads((RESULTS / f"{item}.json").read_text(encoding="utf-8"))["made"]["command"]
    first, count = re.search(r"--seed (\d+) --seeds (\d+)", command).groups()
    assert (
        reproduce(
            [item, "--output", str(folder), "--data", "nowhere", "--seed", first, "--seeds", count]
        )
        == 0
    )
    assert shown(folder, item) == shown(RESULTS, item)
    assert {path.name for path in folder.glob(f"{item}-*.png")} == {
        path.name for path in RESULTS.glob(f"{item}-*.png")
    }
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"measured"}
