"""Alignment error rate: against the formula of Och and Ney worked out by hand, and the command."""

import pytest

from rnnsearch_tf.alignment.pharaoh import LinkCounts, gold_links, hypothesis_links
from rnnsearch_tf.cli.main import run


def counted(*rows):
    counts = LinkCounts()
    for gold, hypothesis in rows:
        counts.add(*gold_links(gold), hypothesis_links(hypothesis))
    return counts


def test_a_corpus_worked_out_by_hand():
    # |S| = 3 + 1, |A| = 4 + 2, A∩S = {0-0, 1-2} + {}, A∩P = {0-0, 1-2, 3-3} + {0-1}
    counts = counted(("0-0 1-2 2-1 3p3 4p4", "0-0 1-2 3-3 5-5"), ("0-0 0p1", "0-1 1-0"))
    assert counts.error_rate == pytest.approx(1 - (2 + 4) / (6 + 4))
    assert counts.precision == pytest.approx(4 / 6)
    assert counts.recall == pytest.approx(2 / 4)


def test_a_link_is_source_then_target():
    assert counted(("0-1", "1-0")).error_rate == 1


def test_the_gold_alignment_itself_and_missed_possible_links_are_no_errors():
    assert counted(("0-0 1-1 2p2", "0-0 1-1")).error_rate == 0
    assert counted(("0-0 1-1 2p2", "0-0 1-1 2-2")).error_rate == 0
    assert counted(("2p2", "2-2 2-2")).precision == 1


def test_lines_without_links():
    counts = counted(("", ""), ("0-0", ""), ("", "1-1"))
    assert (counts.error_rate, counts.precision, counts.recall) == (1, 0, 0)
    empty = counted(("", ""))
    assert (empty.error_rate, empty.precision, empty.recall) == (0, 1, 1)


@pytest.fixture
def aer(tmp_path, capsys):
    def command(gold, hypothesis, code=0):
        for name, text in (("gold", gold), ("hypothesis", hypothesis)):
            (tmp_path / name).write_text(text)
        assert run(["aer", str(tmp_path / "gold"), str(tmp_path / "hypothesis")]) == code
        return capsys.readouterr()

    return command


def test_the_command(aer):
    assert aer("0-0 1-2 2-1 3p3\n\n0-0 0p1\n", "0-0 1-2 3-3 5-5\n\n0-1 1-0\n").out.splitlines() == [
        "AER       0.4000",
        "precision 0.6667",
        "recall    0.5000",
    ]


@pytest.mark.parametrize(
    "gold, hypothesis, place",
    [
        ("0-0\n0:1\n", "0-0\n0-1\n", "gold:2: "),
        ("0-0\n0-1\n", "0-0\n0p1\n", "hypothesis:2: "),
        ("0-0\n", f"0-{'1' * 5000}\n", "hypothesis:1: "),
        ("0-0\n", "0-0\n0-1\n", "hypothesis:2: "),
        ("", "", "gold: "),
    ],
)
def test_bad_files(aer, gold, hypothesis, place):
    captured = aer(gold, hypothesis, code=1)
    assert captured.out == "" and f"{place}expected" in captured.err
