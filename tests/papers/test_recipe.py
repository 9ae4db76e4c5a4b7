"""The page of the authors' recipe beside ours."""

import json

from papers import recipe
from papers.items import ITEMS
from papers.workspace import Workspace


def test_curves_and_scores_of_both_recipes(tmp_path):
    work = Workspace(tmp_path, None, seeds=[1])
    found = {
        "phrasebook-rnnsearch-authors": {
            "curve": [[1000, 2.5], [2000, 8.5], [3000, 7.5]],
            "BLEU": 9.0,
            "batch_size": 80,
            "minutes": 25.0,
        },
        "phrasebook-rnnsearch": {
            "curve": [[500, 60.0], [1000, 90.0]],
            "BLEU": 91.0,
            "batch_size": 40,
            "minutes": 2.0,
        },
        "captions-rnnencdec-authors": {
            "curve": [[1000, 0.5]],
            "BLEU": 1.0,
            "batch_size": 80,
            "minutes": 50.0,
        },
    }
    for name, measured in found.items():
        work.measured(f"recipe-{name}-1", lambda measured=measured: measured)
    assert set(found) < set(ITEMS["bahdanau2015-recipe"].models)
    page = recipe.page(work, tuple(found))
    assert page.ours == [
        {
            "text": "built-in corpus",
            "model": "RNNsearch",
            "recipe": "the authors'",
            "development BLEU": 8.5,
            "test BLEU": 9.0,
            "sentences a batch": 80,
            "updates": 3000,
            "minutes": 25.0,
        },
        {
            "text": "built-in corpus",
            "model": "RNNsearch",
            "recipe": "ours",
            "development BLEU": 90.0,
            "test BLEU": 91.0,
            "sentences a batch": 40,
            "updates": 1000,
            "minutes": 2.0,
        },
        {
            "text": "Multi30k",
            "model": "RNNencdec",
            "recipe": "the authors'",
            "development BLEU": 0.5,
            "test BLEU": 1.0,
            "sentences a batch": 80,
            "updates": 1000,
            "minutes": 50.0,
        },
    ]
    axes, other = page.pictures["curves"].axes
    assert other.get_xlabel() == "thousands of updates, Multi30k"
    assert [curve.get_label() for curve in other.containers] == ["RNNencdec, the authors'"]
    drawn = {
        curve.get_label(): (
            curve.lines[0].get_xdata().tolist(),
            curve.lines[0].get_ydata().tolist(),
        )
        for curve in axes.containers
    }
    assert drawn == {
        "RNNsearch, the authors'": ([1, 2, 3], [2.5, 8.5, 7.5]),
        "RNNsearch, ours": ([0.5, 1], [60.0, 90.0]),
    }
    assert axes.get_ylabel() == "development BLEU"
    json.dumps(page.ours)


def test_a_training_without_a_record_has_no_minutes(tmp_path, monkeypatch):
    """Its checkpoints were deleted before it was measured."""
    work = Workspace(tmp_path, None, seeds=[1])
    metrics = work.run("phrasebook-rnnsearch", 1).metrics
    metrics.parent.mkdir(parents=True)
    metrics.write_text('{"kind": "development", "batches": 500, "bleu": 60.0}\n')
    nothing = {"batches": None, "seconds": None}
    monkeypatch.setattr(work, "trained", lambda *_: nothing)
    work.output("recipe-phrasebook-rnnsearch-1", lambda: {"texts": ["a b"] * 500})
    found = recipe._measure(work, "phrasebook-rnnsearch", 1)
    assert found["curve"] == [[500, 60.0]] and found["minutes"] is None
