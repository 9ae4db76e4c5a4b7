"""Where the models of a page were trained, and how their recipes differ from the paper's."""

import dataclasses

from papers import items, provenance
from papers.workspace import Workspace
from rnnsearch_tf.config import load_config, shipped_config


def test_a_page_says_with_which_seeds_and_where_it_was_made(tmp_path):
    """Seeds with a gap are two commands; updates that differ are both named, and trainings of which
    it is not known where they ran are counted.
    """
    work = Workspace(tmp_path, None, seeds=[1, 2, 5])
    place = {"commit": "abc", "machine": "2 cores, X", "load": 1.5, "day": "2026-11-27"}
    for seed, batches, where in ((1, 3000, {}), (2, 8000, place), (5, 3000, place | {"load": 2})):
        record = {"batches": batches, "seconds": 60.0, "recipe": None, **where}
        work.measured(f"trained-cslm-{seed}", lambda record=record: record)
    made = work.made("item", dataclasses.replace(items.ITEMS["cho2014-table1"], models=("cslm",)))
    assert made["command"] == (
        "`python -m papers item --data DATA --seed 1 --seeds 2 --scale small`; `python -m papers"
        " item --data DATA --seed 5 --seeds 1 --scale small`"
    )
    assert made["models"] == (
        "cslm 3,000 to 8,000 updates, 1.0 minutes, mean of 3 (not known of 1 of them, commit abc,"
        " 2026-11-27, 2 cores, X, load 1.5 to 2)"
    )
    [departures] = [value for key, value in made.items() if key.startswith("the recipe differs")]
    assert departures.startswith("cslm: ") and "training.optimizer adam (sgd)" in departures


def test_the_papers_own_settings_are_no_departure():
    for name, *printed in provenance.PAPERS.values():
        assert provenance.departures(load_config(shipped_config(name), overrides=printed)) == ""
    changed = load_config(
        shipped_config("rnnsearch-50"),
        overrides=["preset=paper", "model.maxout_size=64", "search.length_penalty=1"],
    )
    found = "model.maxout_size 64 (500), search.length_penalty 1 (0)"
    assert provenance.departures(changed) == found


def test_a_page_says_that_a_system_is_not_compared(tmp_path):
    made = Workspace(tmp_path, None).made("luong2015-scores", items.ITEMS["luong2015-scores"])
    [departures] = [value for key, value in made.items() if key.startswith("the recipe differs")]
    assert departures == (
        "captions-dot, captions-general, captions-concat: not compared; its paper is not among the"
        " sources of this project"
    )


def test_the_authors_program_departs_from_the_paper():
    """It has a product of two matrices in place of W_o, and s_i sees y_i, not y_{i-1}."""
    found = provenance.departures(load_config(shipped_config("rnnsearch-50")))
    assert "model.output_rank 620 (none)" in found
    assert "model.decoder_order look_generate_update (paper)" in found
