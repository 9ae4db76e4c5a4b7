"""The pages of docs/results are what their measurements make."""

import json
import pathlib
import shutil

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.reproduce.items import ITEMS

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"
MADE = {path.stem.removeprefix("made-"): json.loads(path.read_text()) for path in (RESULTS / "measured").glob("made-*.json")}
MADE |= {name: MADE[item.made_of[0]] for name, item in ITEMS.items() if item.made_of and set(item.made_of) <= set(MADE)}

pytest.importorskip("sklearn")


def shown(folder, item):
    """What a page says, but for how it was made: the versions are those of the day."""
    numbers = json.loads((folder / f"{item}.json").read_text(encoding="utf-8"))
    return (folder / f"{item}.md").read_text(encoding="utf-8").split("## How it was made")[0], numbers["ours"], numbers["paper"], numbers["title"]


@pytest.fixture(scope="module")
def measurements(tmp_path_factory):
    """A folder with the measurements alone."""
    folder = tmp_path_factory.mktemp("results") / "results"
    shutil.copytree(RESULTS, folder, ignore=lambda _, names: [name for name in names if name.endswith((".md", ".png")) or name.removesuffix(".json") in ITEMS])
    return folder


@pytest.mark.parametrize("item", sorted(MADE))
def test_a_page_is_what_its_measurements_make(item, measurements):
    seeds = MADE[item]
    assert run(["reproduce", item, "--output", str(measurements), "--data", "nowhere", "--seed", str(seeds[0]), "--seeds", str(len(seeds))]) == 0
    assert shown(measurements, item) == shown(RESULTS, item)
    assert {path.name for path in measurements.glob(f"{item}-*.png")} == {path.name for path in RESULTS.glob(f"{item}-*.png")}
    assert not (measurements / "models").exists()
