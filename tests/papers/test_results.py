"""The pages of papers/results are what their measurements make."""

import json
import lzma
import pathlib
import shutil

import pytest
import sacrebleu

from papers.__main__ import main as reproduce
from papers.items import ITEMS
from papers.resampling import Counts
from rnnsearch_tf.data.phrasebook import phrasebook, phrasebook_alignments

RESULTS = pathlib.Path(__file__).parents[2] / "papers" / "results"
KEPT = [part for part in ("measured", "outputs") if (RESULTS / part).exists()]


def measured_seeds(item):
    """The seeds of which it has been made, by the files that say so."""
    return sorted(
        int(path.stem.rpartition("-")[2])
        for path in (RESULTS / "measured").glob("made-*.json")
        if path.stem.rpartition("-")[0] == f"made-{item}"
    )


MADE = [name for name, item in ITEMS.items() if all(map(measured_seeds, item.made_of or (name,)))]

SLOW = ["index", "cho2014-figure4", "cho2014-figure5"]  # 20 seconds each

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


def pictures(folder, item):
    """The names of an item's pictures; other items may have names that begin with its own."""
    longer = [name for name in ITEMS if name.startswith(f"{item}-")]
    return {
        path.name
        for path in folder.glob(f"{item}-*.png")
        if not any(path.name.startswith(f"{name}-") for name in longer)
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The measurements and outputs, and nothing else."""
    folder = tmp_path_factory.mktemp("results") / "results"
    for part in KEPT:
        shutil.copytree(RESULTS / part, folder / part)
    for name in ("settings.json", "corpora.json", "discussion.md"):
        shutil.copy(RESULTS / name, folder)
    return folder


@pytest.mark.parametrize(
    "item",
    [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in MADE],
)
def test_a_page_is_what_its_measurements_make(item, folder):
    command = [item, "--from-measurements", "--output", str(folder), "--data", "nowhere"]
    assert reproduce(command) == 0
    assert shown(folder, item) == shown(RESULTS, item)
    assert pictures(folder, item) == pictures(RESULTS, item)
    assert {path.name for path in folder.iterdir() if path.is_dir()} == set(KEPT)


@pytest.mark.parametrize(
    "path", sorted(RESULTS.glob("outputs/translations-*.json.xz")), ids=lambda path: path.name
)
def test_kept_counts_are_those_of_the_measured_bleu(path):
    """The counts of kept translations add up to the BLEU that was measured before them."""
    kept = json.loads(lzma.decompress(path.read_bytes()))
    assert len(kept["counts"]) == len(kept["tokens"]) == len(kept["units"])
    name = path.name.removesuffix(".json.xz").removeprefix("translations-")
    key = "table1-" + name.removeprefix("no-unk-")
    measured = json.loads((RESULTS / "measured" / f"{key}.json").read_text(encoding="utf-8"))
    [known] = (
        json.loads(each.read_text()) for each in RESULTS.glob("measured/known-*-longer.json")
    )
    counts = Counts(kept["counts"])
    if name.startswith("no-unk-"):
        assert counts.only(known).bleu() == pytest.approx([measured["no_unk"]])
    else:
        assert counts.bleu() == pytest.approx([measured["all"]])
        single = counts.only(slice(0, kept["single_sentences"]))
        assert single.bleu() == pytest.approx([measured["short"]])


@pytest.mark.parametrize(
    "path", sorted(RESULTS.glob("outputs/attention-*.json.xz")), ids=lambda path: path.name
)
def test_kept_links_and_translations_of_the_built_in_corpus_are_those_measured(path):
    """BLEU by sacreBLEU; AER = 1 − 2 |A ∩ S| / (|A| + |S|), since all gold links are sure."""
    kept = json.loads(lzma.decompress(path.read_bytes()))
    key = path.name.removesuffix(".json.xz")
    measured = json.loads((RESULTS / "measured" / f"{key}.json").read_text(encoding="utf-8"))
    _, references = phrasebook(500, 1, "test")
    bleu = sacrebleu.corpus_bleu(kept["texts"], [references]).score
    gold = phrasebook_alignments(500, 1, "test")
    both = sum(
        len({tuple(link) for link in links} & set(sure))
        for links, sure in zip(kept["links"], gold, strict=True)
    )
    links = sum(map(len, [*kept["links"], *gold]))
    assert measured["BLEU"] == pytest.approx(bleu)
    assert measured["AER"] == pytest.approx(1 - 2 * both / links)


def test_an_item_without_measurements_is_refused(tmp_path, capsys):
    command = ["rare-words", "--from-measurements", "--output", str(tmp_path)]
    assert reproduce(command) == 2
    assert "expected measurements of rare-words, got none" in capsys.readouterr().err
    assert reproduce([*command, "--seeds", "3"]) == 2
    assert "expected --from-measurements without --seed" in capsys.readouterr().err
