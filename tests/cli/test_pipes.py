"""Standard streams that are closed, full, or whose reader has gone, as services, cron and ``|
head`` have them.
"""

import errno
import os
import subprocess
import sys

import pytest

from rnnsearch_tf.cli.main import run

RNNSEARCH = [sys.executable, "-m", "rnnsearch_tf"]
SOURCE = ["The door is white.", "She goes to the hotel."]
TARGET = ["La porte est blanche.", "Elle va à l'hôtel."]


@pytest.fixture
def inputs(tmp_path):
    for name, lines in (("s", SOURCE), ("t", TARGET), ("c.yaml", []), ("links", ["0-0 1-1"])):
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    (tmp_path / "nbest").write_text(
        "0 ||| La porte ||| lm= -1 ||| -1\n1 ||| Elle va ||| lm= -1 ||| -1\n"
    )
    return tmp_path


def commands(folder, model):
    """Words of a command for every verb that writes results to standard output, by its name."""
    source, target, config = (str(folder / name) for name in ("s", "t", "c.yaml"))
    model = ["--model", str(model)]
    return {
        "start": [],
        "--version": ["--version"],
        "--help": ["--help"],
        "help translate": ["help", "translate"],
        "translate": ["translate", *model, source],
        "n-best": ["translate", *model, "--n-best", "2", source],
        "json": ["translate", *model, "--json", source],
        "score": ["score", *model, source, target],
        "rescore": ["rescore", *model, "--source", source, str(folder / "nbest")],
        "align": ["align", *model, source, target],
        "sample": ["sample", *model, "-n", "1", source],
        "evaluate": ["evaluate", *model, "--source", source, "--reference", target],
        "oracle": ["oracle", "--reference", target, str(folder / "nbest")],
        "aer": ["aer", str(folder / "links"), str(folder / "links")],
        "fidelity": ["fidelity", "--config", config],
        "options": ["options"],
        "configs": ["configs"],
        "models": ["models"],
        "completion": ["completion", "bash"],
        "doctor": [
            "doctor",
            "--config",
            config,
            "--set",
            "data.corpus=phrasebook",
            "--set",
            "data.phrasebook_size=20",
        ],
        "runs": ["runs", str(folder)],
    }


NAMES = [name for name in commands(__import__("pathlib").Path(), "")]


@pytest.fixture
def command(inputs, run_folder, translator, rnnsearch):
    """Words by name; the model is loaded once for all of them."""
    (inputs / "a").mkdir()
    for name in ("config.yaml", "metrics.jsonl"):
        (inputs / "a" / name).write_text("")
    return commands(inputs, run_folder)


def without_reader():
    """A text stream whose reader has gone."""
    reading, writing = os.pipe()
    os.close(reading)
    return open(writing, "w", encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_reader_that_leaves_is_141_without_a_word(name, command, capsys, monkeypatch):
    with without_reader() as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        code = run(command[name])
        stream.write("more")  # as Python's own flush when it ends
    assert (code, capsys.readouterr().err) == (141, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_below_standard_output_is_named(name, command, capsys, monkeypatch):
    with open("/dev/full", "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        code = run(command[name])
        stream.write("more")
    said = capsys.readouterr().err
    assert code == 1
    assert (
        said == "rnnsearch: error: standard output: expected a file that can be written, got:"
        f" {os.strerror(errno.ENOSPC)}; free some space there, or write elsewhere\n"
    )


@pytest.mark.parametrize("name", NAMES)
def test_streams_that_are_closed_are_no_error(name, command, monkeypatch):
    for stream in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, stream, None)
    assert run(command[name]) == 0


def test_a_pipe_named_as_the_output_whose_reader_leaves(command, capsys):
    """--output /dev/stdout is standard output by another name."""
    with without_reader() as stream:
        words = [*command["translate"], "--output", f"/dev/fd/{stream.fileno()}"]
        assert run(words) == 141
    assert capsys.readouterr().err == ""


def closed(words, streams, folder):
    """(exit code, standard output, standard error) of a process of its own that begins with some
    streams closed.
    """
    line = '"$@" ' + " ".join({"0": "<&-", "1": ">&-", "2": "2>&-"}[stream] for stream in streams)
    done = subprocess.run(
        ["bash", "-c", line, "bash", *RNNSEARCH, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("streams", ["0", "1", "2", "12", "012"])
def test_a_process_that_begins_without_them(inputs, streams):
    code, out, errors = closed(["--version"], streams, inputs)
    assert (code, errors) == (0, "") and out.startswith("rnnsearch ") == ("1" not in streams)
    code, out, errors = closed(["tranlsate"], streams, inputs)
    assert (code, out) == (2, "") and ("did you mean translate?" in errors) == ("2" not in streams)


@pytest.mark.slow
def test_no_file_takes_the_place_of_a_closed_stream(inputs, run_folder):
    """The output would be descriptor 1 or 2, and mix what TensorFlow says with translations."""
    assert (
        closed(["translate", "--model", run_folder, "--output", "out", "s"], "012", inputs)[0] == 0
    )
    assert (
        run(
            [
                "translate",
                "--model",
                run_folder,
                "--output",
                str(inputs / "expected"),
                str(inputs / "s"),
            ]
        )
        == 0
    )
    assert (inputs / "out").read_bytes() == (inputs / "expected").read_bytes()


def test_a_closed_standard_input_is_an_empty_one(run_folder, inputs, rnnsearch, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert rnnsearch("translate", "--model", run_folder) == ([], "")
