"""The published pages are what results.json says."""

import json
import pathlib
import re

import pytest

from papers.common import over_seeds, shown, table

RESULTS = pathlib.Path(__file__).parents[2] / "papers" / "results"
KNOWN = json.loads((RESULTS / "results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("item", KNOWN["items"])
def test_the_tables_of_a_page_are_those_of_the_numbers(item):
    page = (RESULTS / f"{item}.md").read_text(encoding="utf-8")
    found = KNOWN["items"][item]
    assert page.startswith(f"# {found['title']}\n")
    for rows in (found["ours"], found["paper"]):
        for text in table(rows):
            assert text in page
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page):
        assert (RESULTS / picture).exists()


def test_the_claims_are_those_of_the_numbers():
    """In the table of the index, with the mean of their values over the seeds."""
    lines = (RESULTS / "index.md").read_text(encoding="utf-8").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]
    known = {claim["claim"].lower(): claim for claim in KNOWN["claims"]}
    assert 0 < len(rows) <= 25
    for _, says, measure, theirs, ours, verdict in rows:
        claim = known[re.fullmatch(r"\[(.*)\]\(.*\)", says)[1].lower()]
        assert (measure, theirs) == (claim["measured as"], claim["paper's"])
        assert (ours, verdict) == (claim["ours"].replace(" *", ""), claim["agrees?"])
        mean = sum(claim["values"]) / len(claim["values"])
        digits = 3 if abs(mean) <= 1 else 2
        assert ours.split()[0] == f"{mean:+.{digits}f}"


def test_a_cell_shows_mean_and_deviation_over_the_seeds():
    assert shown([10.0, 11.0, 13.5]) == "11.50 ± 1.80"
    assert shown([0.5, 0.25]) == "0.375 ± 0.177" and shown([5, 5]) == "5" and shown(None) == "–"
    assert over_seeds([1.0]) == 1.0 and over_seeds([1.0, None]) is None
    assert table([{"a": "x|<unk>", "b": 2.0}]) == [
        "| a | b |\n| --- | --- |\n| x\\|&lt;unk&gt; | 2.00 |"
    ]
