"""Pharaoh links under SentencePiece number words, as Moses and `aer` mean them; by plain loops."""

import json

import pytest
from tiny_run import write_run

from rnnsearch_tf.cli.main import run

SUBWORDS = [
    f"{side}.{key}"
    for side in ("source", "target")
    for key in ("tokenization=sentencepiece", "vocabulary_size=90")
]
FEW_SIGNATURES = ["--set", "signatures=[translate, nbest]", "--set", "warmup_requests=0"]
SOURCE = [
    "The door is white.",
    "Where is the white xylophone ?",
    "",
    "She goes to the hotel.",
    "zebra",
]
TARGET = ["La porte est blanche.", "Où sont les zèbres ?", "", "Elle va à l' hôtel .", "zèbre"]


@pytest.fixture(scope="module")
def subword_run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("subwords") / "run", SUBWORDS, unknown_words=-4.0)


def groups(pieces):
    """Piece positions of each word: a word begins at U+2581, except that one may stand alone before
    its word.
    """
    words = []
    pending = []
    for place, piece in enumerate(pieces):
        if piece.strip("▁") == "":
            pending.append(place)
        elif piece.startswith("▁") or pending or not words:
            words.append([*pending, place])
            pending = []
        else:
            words[-1].append(place)
    return words


def expected_links(matrix, source_groups, target_groups):
    """For each target word, the source word with the most attention, summed over its pieces."""
    found = []
    for i, rows in enumerate(target_groups):
        weights = [
            sum(matrix[row][column] for row in rows for column in columns)
            for columns in source_groups
        ]
        if weights:
            found.append((weights.index(max(weights)), i))
    return " ".join(f"{j}-{i}" for j, i in sorted(found))


def test_links_are_of_words(rnnsearch, subword_run, files):
    hard, _ = rnnsearch("align", "--model", subword_run, *files)
    soft, _ = rnnsearch("align", "--model", subword_run, "--soft", *files)
    split = 0
    for links, fields, source, target in zip(
        hard, map(json.loads, soft), SOURCE, TARGET, strict=True
    ):
        sides = [groups(fields[name][:-1]) for name in ("source_tokens", "target_tokens")]
        assert [len(side) for side in sides] == [len(source.split()), len(target.split())]
        assert links == expected_links(fields["alignment"], *sides)
        split += len(fields["target_tokens"]) - 1 - len(target.split())
    assert split > 10  # words of several pieces were among them


@pytest.mark.slow
def test_translations_are_linked_by_words_too(rnnsearch, subword_run, files):
    for more in ((), ("--set", "search.allow_unknown=false")):
        words = ["translate", "--model", subword_run, "--alignment", files[0], *more]
        texts, _ = rnnsearch(*words)
        lists, _ = rnnsearch(*words, "--n-best", 2)
        soft, _ = rnnsearch(*words, "--json")
        firsts = {int(line.split(" ||| ")[0]): line.split(" ||| ") for line in reversed(lists)}
        for number, (line, source) in enumerate(zip(texts, SOURCE, strict=True)):
            text, links = line.split("\t")
            fields = json.loads(soft[number])
            sides = groups(fields["source_tokens"]), groups(fields["tokens"])
            assert [len(side) for side in sides] == [len(source.split()), len(text.split())]
            assert links == expected_links(fields["alignment"], *sides)
            if number in firsts:
                assert firsts[number][4:] == [links] or not links  # no field where there is no link


@pytest.mark.slow
def test_an_exported_model_gives_the_same_links(subword_run, files, tmp_path):
    served = tmp_path / "served"
    exporting = ["export", "--model", str(subword_run), "--output", str(served), *FEW_SIGNATURES]
    assert run(exporting) == 0
    for model, name in ((subword_run, "run"), (served, "exported")):
        words = ["translate", "--model", str(model), "--output", str(tmp_path / name)]
        assert run([*words, "--alignment", str(files[0])]) == 0
    lines = [(tmp_path / name).read_text().splitlines() for name in ("exported", "run")]
    assert lines[0] == lines[1] and all(lines[0][k] for k in (0, 1, 3))
