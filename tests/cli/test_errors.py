"""Every kind of mistake: exit code 1 or 2, one line, no traceback, nothing on standard output; the
line names the file, line or option and says what was expected or what to do.

A model with random weights is RUN; a model without weights HOLLOW, one with attention-less
RNNencdec FIXED; `text` has two lines.
"""

import errno
import os
import re
import shutil
import sys

import pytest
from tiny_run import write_run

from rnnsearch_tf.cli import main
from rnnsearch_tf.runs.folder import Run

MODEL = ["--model", "RUN"]
TRAIN = ["train", "--output", "out", "--config"]

KINDS = [
    # the command and its flags
    (2, "tranlate", "unknown command 'tranlate'; did you mean translate?"),
    (2, "translate --model x --beamsize=3", "unknown option --beamsize; did you mean --beam-size?"),
    (2, "translate", "required: --model; see rnnsearch translate --help"),
    (2, "translate --modle x", "unknown option --modle; did you mean --model?"),
    (2, "translate --model x --beam-size 0", "--beam-size: expected a whole number, at least 1"),
    (2, "sample --model x -n many", "-n: expected a whole number, at least 1, got 'many'"),
    (2, "serve --model-name x --model-base-path . --port 99999", "--port: expected .* to 65535"),
    (2, "align --model x a b c", "unrecognized arguments: c"),
    (2, "client --server nowhere --model-name x", "--server: expected HOST:PORT, got 'nowhere'"),
    (2, "client --server h:1 --model-name x --tls-key k", "--tls-certificate and --tls-key"),
    (2, "options phrasebok", "did you mean phrasebook?"),
    (2, "translate --model x --n-best 2 --probabilities", "--probabilities: expected .* --json"),
    (2, "translate --model x --n-best 2 --split-sentences", "--split-sentences: expected no"),
    (2, "translate --model x --alignment --split-sentences", "--alignment: expected --json with"),
    (2, "init mine --pairs x --columns 2,2", "--columns 2,2: expected two of the table --pairs"),
    (2, "init mine --pairs x --source x", "--pairs: expected no --source beside it, got both"),
    (2, "init mine --source x", "expected --source F and --target F, or --pairs F, got --source"),
    (1, "init text --source text --target three", "text: expected nothing there, found a file"),
    (1, "init mine --source text --target text", "text: expected two files, .* one file twice"),
    (1, "init mine --pairs text --columns 1,2", "text:1: expected at least 2 columns, separ"),
    (2, "init mine --pairs text --columns en,fr", "text, got en; its names are The door is white."),
    (2, "rescore --model x list", "expected --source SOURCE NBEST, or --phrase-table IN OUT"),
    # configurations
    (2, "train --output x", "expected --config F.yaml, got none"),
    (1, [*TRAIN, "empty.yaml"], "empty, empty: expected at least one pair of sentences"),
    (2, [*TRAIN, "bad.yaml"], "bad.yaml: model.hiden_size: unknown option; did you mean"),
    (2, [*TRAIN, "phrasebook", "--set", "model.layers=2"], "--set model.layers=2: .* leave it out"),
    (2, ["translate", *MODEL, "--set", "search.beam_siz=9"], "did you mean search.beam_size?"),
    (2, ["translate", *MODEL, "--n-best", "9", "text"], "from 1 to .*beam.*3.*, got 9"),
    (2, "export --model RUN --output o --set weights=int9", "--set weights=int9: weights"),
    # files
    (1, ["translate", "--model", "RUN", "latin"], "latin:2: expected UTF-8, got byte 0xe9 at"),
    (1, ["align", "--model", "HOLLOW", "missing", "text"], "missing: expected a text file, found"),
    (1, "translate --model HOLLOW text --output no/f", "no/f: expected a place that"),
    (1, ["translate", "--model", "HOLLOW", "text", "--output", "text"], "text: expected another f"),
    (1, ["evaluate", *MODEL, "--source", "text", "--reference", "three"], "three:3: expected as"),
    (1, ["evaluate", *MODEL, "--source", "empty", "--reference", "empty"], "empty: expected sent"),
    (1, "aer text text", "text:1: expected"),
    (1, ["rescore", *MODEL, "--source", "text", "text"], "text:1: expected `id \\|\\|\\| text"),
    (1, ["train", "--config", "phrasebook", "--output", "text"], "text"),
    # run folders
    (1, "score --model nowhere text text", "nowhere: expected a folder with a .* nothing there"),
    (1, "score --model text text text", "text: expected a folder with a model .* got a file"),
    (1, "score --model . text text", "without config.yaml, vocabulary.source.txt"),
    (2, "score --model tatoeba-en-f text text", "did you mean tatoeba-en-fr?"),
    (2, "translate --model RUN --set model.hidden_size=9 text", "RUN: expected the section model"),
    (2, "score --model RUN --set target.lowercase=true text text", "expected the section target"),
    (1, "translate --model HOLLOW text", "training has not evaluated the model yet"),
    (1, "train --resume --output none", "none/checkpoints/last.keras: expected a saved training"),
    (2, [*TRAIN[:2], "RUN", "--config", "phrasebook"], "RUN: expected a folder without a train"),
    (2, [*TRAIN, "phrasebook", "--from", "RUN"], "expected .* as in RUN, got .*/RUN/config"),
    (2, [*TRAIN, "phrasebook", "--new-words", "1"], "expected a model to start from"),
    (2, [*TRAIN, "phrasebook", "--resume", "--from", "RUN"], "expected --resume alone, got"),
    (2, ["demo", "--quiet", "--output", "RUN"], "RUN: expected a folder without a training"),
    # what a model cannot do
    (2, "align --model FIXED text text", "align: expected a model with attention, got one"),
    (2, "translate --model FIXED --alignment text", "--alignment: expected a model with attention"),
    (2, "translate --model FIXED --replace-unknown text", "--replace-unknown: expected a model"),
    (2, "plot-attention --model FIXED text", "plot-attention: expected a model with attention"),
    (2, "export --model FIXED --output o --set search.replace_unknown=true", "expected a model"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the files that KINDS names."""
    folder = tmp_path_factory.mktemp("place")
    write_run(folder / "RUN")
    write_run(folder / "FIXED", ["model.system=rnnencdec", "model.alignment_size=1000"])
    shutil.copytree(folder / "RUN", folder / "HOLLOW")
    shutil.rmtree(folder / "HOLLOW" / "best")
    (folder / "text").write_text("The door is white.\nShe goes.\n")
    (folder / "three").write_text("a\nb\nc\n")
    (folder / "latin").write_bytes(b"ok\ncaf\xe9\n")
    (folder / "empty").write_text("")
    (folder / "bad.yaml").write_text("model: {hiden_size: 3}\n")
    (folder / "empty.yaml").write_text("data: {train_source: empty, train_target: empty}\n")
    return folder


@pytest.mark.parametrize("code, words, message", KINDS, ids=lambda value: str(value)[:60])
def test_a_mistake_is_one_line(place, monkeypatch, capsys, code, words, message):
    monkeypatch.chdir(place)
    assert main.run(words.split() if isinstance(words, str) else words) == code
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert captured.out.startswith("\n$ ") if "demo" in words else not captured.out
    assert lines[-1].startswith("rnnsearch: error: ") and "Traceback" not in captured.err
    assert [line for line in lines if line.startswith("rnnsearch: ")] == lines[-1:]
    assert re.search(message, lines[-1]), lines[-1]


@pytest.mark.parametrize(
    "error, code, text",
    [
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "unexpected error: ZeroDivisionError: division by zero (RNNSEARCH_DEBUG=1",
        ),
        (MemoryError(), 1, "unexpected error: MemoryError"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 1, "/x/y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("of a graph: KeyboardInterrupt: \nTraceback"), 130, "interrupted"),
    ],
)
def test_whatever_happens_is_one_line(capsys, monkeypatch, error, code, text):
    def explode(argv):
        raise error

    monkeypatch.setattr(main, "dispatch", explode)
    assert main.run(["translate"]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and text in captured.err


def test_a_developer_sees_the_traceback(monkeypatch):
    def explode(argv):
        raise ZeroDivisionError

    monkeypatch.setattr(main, "dispatch", explode)
    monkeypatch.setenv("RNNSEARCH_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main.run(["translate"])


def test_a_reader_that_leaves_is_141_without_a_word(capsys, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        code = main.run(["options"])
        stream.write("more")  # as Python's own flush when it ends
    assert (code, capsys.readouterr().err) == (141, "")


def test_a_run_names_the_command_that_resumes_it(place, tmp_path, capsys):
    shutil.copytree(place / "HOLLOW", tmp_path / "mine")
    run = Run(tmp_path / "mine")
    run.checkpoints.mkdir()
    run.checkpoint.touch()
    assert main.run(["translate", "--model", str(run), str(place / "text")]) == 1
    assert f"resume with: rnnsearch train --output {run} --resume" in capsys.readouterr().err
