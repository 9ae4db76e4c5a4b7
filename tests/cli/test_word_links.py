"""Pharaoh links under SentencePiece number words, as Moses and `aer` mean them; by plain loops."""

import json

import pytest
from tiny_run import write_run


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
def test_translations_are_linked_by_words_too(rnnsearch, subword_run, files, tmp_path):
    """Those of an export too."""
    words = ["translate", "--model", subword_run, "--alignment", files[0]]
    texts, _ = rnnsearch(*words)
    soft, _ = rnnsearch(*words, "--json")
    for line, fields, source in zip(texts, map(json.loads, soft), SOURCE, strict=True):
        text, links = line.split("\t")
        sides = groups(fields["source_tokens"]), groups(fields["tokens"])
        assert [len(side) for side in sides] == [len(source.split()), len(text.split())]
        assert links == expected_links(fields["alignment"], *sides)
    served = tmp_path / "served"
    rnnsearch("export", "--model", subword_run, "--output", served, *FEW_SIGNATURES)
    assert rnnsearch("translate", "--model", served, "--alignment", files[0])[0] == texts
