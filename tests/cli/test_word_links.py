"""Pharaoh links under SentencePiece number words, as Moses and `aer` mean them; pieces by option.
Against plain loops.
"""

import json

import pytest
from tiny_run import write_run

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.data.phrasebook import phrasebook

SUBWORDS = [
    f"{side}.{key}"
    for side in ("source", "target")
    for key in ("tokenization=sentencepiece", "vocabulary_size=90")
]
FEW_SIGNATURES = [
    "--set",
    "signatures=[translate, translate_aligned]",
    "--set",
    "warmup_requests=0",
]
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


def test_pieces_by_option(rnnsearch, subword_run, files):
    pieces, _ = rnnsearch("align", "--model", subword_run, "--pieces", *files)
    soft, _ = rnnsearch("align", "--model", subword_run, "--soft", *files)
    for links, fields in zip(pieces, map(json.loads, soft), strict=True):
        ones = [
            [[place] for place in range(len(fields[name]) - 1)]
            for name in ("source_tokens", "target_tokens")
        ]
        assert links == expected_links(fields["alignment"], *ones)


def test_links_of_given_tokens(rnnsearch, subword_run, files):
    """--tokenized: the model meets the text joined, the links number the tokens as they stand."""
    files[0].write_text("She does n't go to the hotel .\n\n")
    files[1].write_text("Elle ne va pas à l&apos; hôtel .\n\n")
    hard, _ = rnnsearch("align", "--model", subword_run, "--tokenized", *files)
    soft, _ = rnnsearch("align", "--model", subword_run, "--tokenized", "--soft", *files)
    fields = json.loads(soft[0])
    assert "".join(fields["target_tokens"][:-1]) == "▁Elle▁ne▁va▁pas▁à▁l'hôtel."
    lengths = [[3, 4, 3, 2, 2, 3, 5, 1], [4, 2, 2, 3, 1, 2, 5, 1]]
    matrix = fields["alignment"]
    shares = []  # of every piece, how many of its characters are of each word
    for name, words in zip(("source_tokens", "target_tokens"), lengths):
        owners = [word for word, length in enumerate(words) for _ in range(length)]
        rows = []
        for piece in fields[name][:-1]:
            own = [owners.pop(0) for _ in piece.replace("▁", "")] or owners[:1]
            rows.append([own.count(word) / len(own) for word in range(len(words))])
        assert not owners
        shares.append(rows)
    found = []
    for i in range(8):
        weights = [
            sum(
                t[i] * matrix[row][column] * s[j]
                for row, t in enumerate(shares[1])
                for column, s in enumerate(shares[0])
            )
            for j in range(8)
        ]
        found.append((weights.index(max(weights)), i))
    assert hard == [" ".join(f"{j}-{i}" for j, i in sorted(found)), ""]


def test_words_are_spelled_by_the_models_own_rules(rnnsearch, tmp_path, files):
    """ﬁ is one character of the line and two of the pieces under SentencePiece's default rules."""
    pytest.importorskip("sentencepiece").SentencePieceTrainer.train(
        sentence_iterator=iter(phrasebook(200, 1, "train")[0]),
        model_prefix=str(tmp_path / "source"),
        vocab_size=90,
        minloglevel=2,
        **dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1),
    )
    source = ["tokenization=sentencepiece", f"vocabulary={tmp_path / 'source.model'}"]
    model = write_run(tmp_path / "run", [f"source.{setting}" for setting in source])
    found = []
    for word in ("fi", "ﬁ"):
        files[0].write_text(4 * f"{word} " + "a b c d e f .\n", encoding="utf-8")
        files[1].write_text("Le chat va à l&apos; hôtel .\n", encoding="utf-8")
        found += rnnsearch("align", "--model", model, "--tokenized", *files)[0]
    assert found[0] == found[1] != ""


def test_a_token_without_characters_has_no_link(rnnsearch, subword_run, files):
    """Control characters are cleaned away; the other tokens keep their places in the line."""
    lines = [["The", "well", "@-@", "known", "red", "door"], ["La", "porte", "rouge"]]
    for file, tokens in zip(files, lines):
        file.write_text(" ".join(tokens) + "\n")
    [plain], _ = rnnsearch("align", "--model", subword_run, "--tokenized", *files)
    files[0].write_text(" ".join([*lines[0][:4], "\x07", *lines[0][4:]]) + "\n")
    files[1].write_text(" ".join(["\x07", *lines[1], "\x07"]) + "\n")
    [found], _ = rnnsearch("align", "--model", subword_run, "--tokenized", *files)
    links = [link.split("-") for link in plain.split()]
    moved = sorted((int(j) + (int(j) > 3), int(i) + 1) for j, i in links)
    assert found == " ".join(f"{j}-{i}" for j, i in moved) and moved


@pytest.mark.slow
def test_translations_are_linked_by_words_too(rnnsearch, subword_run, files):
    for more in ((), ("--no-unknown",)):
        words = ["translate", "--model", subword_run, "--alignment", "hard", files[0], *more]
        texts, _ = rnnsearch(*words)
        lists, _ = rnnsearch(*words, "--n-best", 2)
        objects, _ = rnnsearch(*words, "--output-type", "json")
        soft, _ = rnnsearch(
            "translate",
            "--model",
            subword_run,
            "--alignment",
            "soft",
            "--output-type",
            "json",
            files[0],
            *more,
        )
        firsts = {int(line.split(" ||| ")[0]): line.split(" ||| ") for line in reversed(lists)}
        for number, (line, source) in enumerate(zip(texts, SOURCE, strict=True)):
            text, links = line.split("\t")
            fields = json.loads(soft[number])
            sides = groups(fields["source_tokens"]), groups(fields["tokens"])
            assert [len(side) for side in sides] == [len(source.split()), len(text.split())]
            assert links == expected_links(fields["alignment"], *sides)
            assert links == json.loads(objects[number])["alignment"]
            if number in firsts:
                assert firsts[number][4:] == [links] or not links  # no field where there is no link
        pieces, _ = rnnsearch(*words, "--pieces")
        assert any(
            len(line.split("\t")[1].split()) > len(line.split("\t")[0].split()) for line in pieces
        )


@pytest.mark.slow
def test_an_exported_model_gives_the_same_links(subword_run, files, tmp_path):
    words = ["--alignment", "hard", str(files[0])]
    assert (
        run(
            [
                "export",
                "--model",
                str(subword_run),
                "--output",
                str(tmp_path / "served"),
                *FEW_SIGNATURES,
            ]
        )
        == 0
    )
    for model, name in ((subword_run, "run"), (tmp_path / "served", "exported")):
        assert (
            run(["translate", "--model", str(model), "--output", str(tmp_path / name), *words]) == 0
        )
    lines = [(tmp_path / name).read_text().splitlines() for name in ("exported", "run")]
    assert lines[0] == lines[1] and all(lines[0][k] for k in (0, 1, 3))
