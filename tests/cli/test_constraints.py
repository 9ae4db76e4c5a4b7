"""translate --constraints and --term-marks: the phrases stand in the output, and what is wrong is
said.
"""

import json

import pytest

LINES = [
    "The door is white.",
    "",
    "Where is the white cat?",
    "zebra xylophone",
    "She goes to the hotel.",
]
PHRASES = [["porte blanche"], [], ["chat", "où"], [], ["Zoé", "hôtel de la gare"]]
MARKED = [
    'The <term translation="porte blanche">door</term> is white.',
    "",
    'Where is <term translation="où"></term>the white <term translation="chat">cat</term>?',
    "zebra xylophone",
    (
        '<term translation = "Zoé" >She</term> goes to the <term translation="hôtel de la'
        ' gare">hotel</term>.'
    ),
]


@pytest.fixture
def source(tmp_path):
    return written(tmp_path / "source.txt", LINES)


@pytest.fixture
def phrases(tmp_path):
    return written(tmp_path / "phrases.txt", ["\t".join(row) for row in PHRASES])


def written(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.slow
def test_the_phrases_stand_in_every_translation(rnnsearch, run_folder, source, phrases, translator):
    expected = translator.translate(LINES, PHRASES)
    out, _ = rnnsearch("translate", "--model", run_folder, "--constraints", phrases, source)
    assert out == [translation.text for translation in expected]
    assert [out[k] for k in (1, 3)] == [
        translation.text for translation in translator.translate(LINES)[1:4:2]
    ]
    more = ["--n-best", 3, "--output-type", "json", "--batch-size", 2]
    out, _ = rnnsearch("translate", "--model", run_folder, "--constraints", phrases, *more, source)
    for line, row in zip(map(json.loads, out), PHRASES, strict=True):
        for hypothesis in line["nbest"]:
            assert all(f" {phrase} " in f" {' '.join(hypothesis['tokens'])} " for phrase in row)


def test_marks_are_the_same_phrases(rnnsearch, run_folder, source, phrases, tmp_path):
    expected, _ = rnnsearch("translate", "--model", run_folder, "--constraints", phrases, source)
    marked = written(tmp_path / "marked.txt", MARKED)
    out, _ = rnnsearch("translate", "--model", run_folder, "--term-marks", marked)
    assert [sorted(line.split()) for line in out[:1] + out[3:]] == [
        sorted(line.split()) for line in expected[:1] + expected[3:]
    ]
    assert "chat" in out[2] and "où" in out[2]
    none = written(tmp_path / "none.txt", ["porte"] + [""] * 4)
    out, _ = rnnsearch(
        "translate", "--model", run_folder, "--term-marks", "--constraints", none, marked
    )
    assert "porte blanche" in out[0] and "hôtel" in out[4]


def test_marks_are_text_unless_they_are_asked_for(rnnsearch, run_folder, tmp_path, translator):
    out, _ = rnnsearch(
        "translate", "--model", run_folder, written(tmp_path / "marked.txt", MARKED + ["a <term b"])
    )
    assert out == [translation.text for translation in translator.translate(MARKED + ["a <term b"])]


def test_escaped_text(rnnsearch, run_folder, tmp_path, translator):
    line = '<term translation="R&amp;D &quot;x&quot;">a &lt; b</term> & c &lt;term>'
    marked = written(tmp_path / "marked.txt", [line])
    (out,), _ = rnnsearch(
        "translate", "--model", run_folder, "--term-marks", "--output-type", "json", marked
    )
    expected = translator.translate(["a < b & c <term>"], [['R&D "x"']])[0]
    assert (
        json.loads(out)["source_tokens"]
        == expected.source_tokens
        == ["a", "<", "b", "&", "c", "<", "term", ">"]
    )
    assert json.loads(out)["text"] == expected.text


@pytest.mark.parametrize(
    "count, message",
    [
        (3, "for each of 4 or more source lines, got 3 lines"),
        (7, "for each of 5 source lines, got 7 lines"),
    ],
)
def test_another_number_of_lines_is_refused(
    rnnsearch, run_folder, source, tmp_path, monkeypatch, count, message
):
    """Of standard input, whose lines cannot be counted beforehand, what has phrases is translated;
    of files nothing.
    """
    phrases = written(tmp_path / "phrases.txt", ["chat"] * count)
    words = ["translate", "--model", run_folder, "--batch-size", 4, "--constraints", phrases]
    out, err = rnnsearch(*words, source, code=1)
    assert (
        out == []
        and f"phrases.txt: expected a line of phrases for each of 5 source lines, got {count} lines"
        in err
    )
    with open(source, encoding="utf-8") as lines:
        monkeypatch.setattr("sys.stdin", lines)
        out, err = rnnsearch(*words, code=1)
    assert (
        len(out) == min(count, 5)
        and "phrases.txt: expected a line of phrases for each" in err
        and message in err
    )


@pytest.mark.parametrize(
    "line",
    [
        "a <term>b</term>",
        '<term translation="x">a',
        '<term translation="">a</term>',
        '<term translation="x">a <term translation="y">b</term></term>',
    ],
)
def test_a_broken_mark_is_refused_with_its_line(rnnsearch, run_folder, tmp_path, line):
    _, err = rnnsearch(
        "translate",
        "--model",
        run_folder,
        "--term-marks",
        written(tmp_path / "marked.txt", ["a", line]),
        code=1,
    )
    assert 'source line 2: expected <term translation="PHRASE">WORDS</term>' in err


def test_too_many_tokens_are_refused_with_their_line(rnnsearch, run_folder, source, tmp_path):
    phrases = written(tmp_path / "phrases.txt", ["", "", "chat", "un " * 65, ""])
    _, err = rnnsearch("translate", "--model", run_folder, "--constraints", phrases, source, code=1)
    assert (
        "('un un" in err
        and "expected phrases of at most 64 tokens and 16,384 bytes together" in err
    )


def test_an_error_names_the_lines_of_its_batch(rnnsearch, run_folder, source, tmp_path):
    phrases = written(tmp_path / "phrases.txt", ["", "", "chat", "un " * 65, ""])
    words = ["--constraints", phrases, "--batch-size", 3, source]
    _, err = rnnsearch("translate", "--model", run_folder, *words, code=1)
    assert "lines 4 to 5: constraints[0] ('un un" in err


@pytest.mark.parametrize(
    "name, message",
    [
        ("missing.txt", "missing.txt: expected a text file, found none"),
        ("-", "as the text comes from standard input"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(rnnsearch, run_folder, source, name, message):
    text, code = ([], 2) if name == "-" else ([source], 1)
    _, err = rnnsearch("translate", "--model", run_folder, "--constraints", name, *text, code=code)
    assert message in err
