"""rescore on the command line, against the training logits."""

import gzip
import math

import pytest
from test_pairs import log_probability

SOURCE = ["The door is white.", "Where is the white cat?", "She goes to the hotel."]
LIST = [
    "0 ||| La porte est blanche. ||| lm= -3 ||| -1.5 ||| 0-0\n",
    "0 ||| La porte est verte. ||| lm= -2 ||| -1.4\n",
    "0 ||| La porte est blanche. ||| lm= -9 ||| -1.7\n",
    "2 ||| Elle va. ||| lm= -1 ||| -2\n",
]
TABLE = [
    "the door ||| la porte ||| 0.5 0.1 ||| 0-0 1-1 ||| 3 2 1\n",
    "the xylophone ||| le xylophone ||| 0.5 0.1\n",
    "the door ||| la porte ||| 0.3 0.1\n",
]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "source").write_text("".join(line + "\n" for line in SOURCE))
    (tmp_path / "list").write_text("".join(LIST))
    return tmp_path / "source", tmp_path / "list"


def test_each_line_gets_the_log_probability(rnnsearch, run_folder, files, translator):
    out, err = rnnsearch("rescore", "--model", run_folder, "--source", files[0], files[1])
    assert err == ""
    for before, after in zip(LIST, out, strict=True):
        fields = before.rstrip("\n").split(" ||| ")
        new = after.split(" ||| ")
        features, name, value = new[2].rsplit(" ", 2)
        assert [*new[:2], features, *new[3:]] == fields and name == "RNN="
        assert float(value) == pytest.approx(
            log_probability(translator, SOURCE[int(fields[0])], fields[1]), abs=1e-4
        )


def test_moses_tokens_are_those_of_the_text(rnnsearch, run_folder, files):
    words = ["rescore", "--model", run_folder, "--source", files[0], files[1]]
    plain, _ = rnnsearch(*words)
    files[0].write_text("The door is white .\n" + "".join(f"{line}\n" for line in SOURCE[1:]))
    files[1].write_text(LIST[0].replace("blanche.", "blanche ."))
    tokens, _ = rnnsearch(*words)
    features, expected = (lines[0].split(" ||| ")[2].split(" ") for lines in (tokens, plain))
    assert features[:-1] == expected[:-1]
    assert float(features[-1]) == pytest.approx(float(expected[-1]), abs=1e-5)  # last digit


def test_a_table_gets_the_probability_and_the_unknown_words(
    rnnsearch, run_folder, tmp_path, translator
):
    (tmp_path / "in.gz").write_bytes(gzip.compress("".join(TABLE).encode()))
    words = ["rescore", "--model", run_folder, "--phrase-table"]
    assert rnnsearch(*words, tmp_path / "in.gz", tmp_path / "out.gz") == ([], "")
    lines = gzip.decompress((tmp_path / "out.gz").read_bytes()).decode().splitlines()
    known = [text.vocabulary.tokens for text in (translator.source_text, translator.target_text)]
    for line, before in zip(lines, TABLE, strict=True):
        fields = line.split(" ||| ")
        old = before.rstrip("\n").split(" ||| ")
        *scores, probability, count = fields[2].split(" ")
        assert [*fields[:2], " ".join(scores), *fields[3:]] == old
        assert math.log(float(probability)) == pytest.approx(
            log_probability(translator, *old[:2]), abs=1e-4
        )
        unknown = sum(
            word not in words for phrase, words in zip(old, known) for word in phrase.split()
        )
        assert math.log(float(count)) == pytest.approx(unknown, abs=1e-5)
