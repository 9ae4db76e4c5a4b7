"""`rnnsearch translate-corpus`: what translate gives, file by file, by processes that may be
killed, and through Apache Beam.
"""

import gzip
import importlib.util
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.data.phrasebook import phrasebook

SENTENCES = phrasebook(300, 2, "train")[0]
LONG = 300  # seconds that a busy machine may take
needs_beam = pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None, reason="needs apache-beam"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Folder of three files: many lines, a compressed one with odd ones, none at all."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "part-1.txt").write_text(
        "".join(f"{line}\n" for line in SENTENCES[:90]), encoding="utf-8"
    )
    odd = ["", "a " * 300, "Zoé 🙂", *SENTENCES[90:100], "  ", "\x07"]
    (folder / "part-2.gz").write_bytes(gzip.compress("\r\n".join(odd).encode() + b"\r\ncaf\xe9"))
    (folder / "part-3.txt").write_text("")
    return folder


def read(path):
    return (
        (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8")
        .read()
        .split("\n")
    )


def one_by_one(translator, lines):
    """What the Python model gives for each line by itself, lines that it would cut left empty."""
    return [
        "" if line.startswith(("a a a", "\x07", "caf")) else translator.translate([line])[0].text
        for line in lines
    ]


def check(folder, corpus, translator):
    odd = gzip.decompress((corpus / "part-2.gz").read_bytes()).decode("latin-1").split("\r\n")
    odd[2] = "Zoé 🙂"
    assert read(folder / "part-1.txt") == [*one_by_one(translator, SENTENCES[:90]), ""]
    assert read(folder / "part-2.gz") == [*one_by_one(translator, odd), ""]
    assert (folder / "part-3.txt").read_bytes() == b""
    records = [
        json.loads(line)
        for line in (folder / "bad-lines" / "part-2.gz.jsonl").read_text().splitlines()
    ]
    assert [(record["line"], record["reason"].split(", got")[0]) for record in records] == [
        (2, "expected at most the model's maximum number of tokens"),
        (15, "expected text"),
        (16, "expected UTF-8"),
    ]
    assert os.listdir(folder / "bad-lines") == ["part-2.gz.jsonl"]


def translate_corpus(capsys, model, corpus, output, *words, code=0):
    """(the result, standard error)."""
    assert (
        run(
            [
                "translate-corpus",
                "--model",
                str(model),
                "--input",
                f"{corpus}/part-*",
                "--output",
                str(output),
                *map(str, words),
            ]
        )
        == code
    )
    captured = capsys.readouterr()
    return json.loads(captured.out) if code == 0 else captured.out, captured.err


def test_a_run_gives_what_translate_gives(capsys, run_folder, translator, corpus, tmp_path):
    result, errors = translate_corpus(capsys, run_folder, corpus, tmp_path / "out", "--workers", 1)
    assert result == {"output": str(tmp_path / "out"), "files": 3, "translated": 3, "bad_lines": 3}
    assert (
        f"3 lines were not translated; {tmp_path}/out/bad-lines lists them with the reasons"
        in errors
    )
    check(tmp_path / "out", corpus, translator)
    result, _ = translate_corpus(
        capsys, run_folder, corpus, tmp_path / "out", "--workers", 1, "--batch-size", 7
    )
    assert (result["translated"], result["bad_lines"]) == (0, 3)
    _, errors = translate_corpus(
        capsys, run_folder, corpus, tmp_path / "out", "--beam-size", 2, code=1
    )
    assert 'its files were made with (search {}), got others (search {"beam_size": 2})' in errors


def test_an_export_gives_what_the_run_gives(
    capsys, exported, translator, corpus, tmp_path, monkeypatch
):
    (tmp_path / "models").symlink_to(exported.parent)
    monkeypatch.chdir(tmp_path)
    translate_corpus(capsys, "models", corpus, "out", "--workers", 1)
    translator = _Replacing(translator)
    check(tmp_path / "out", corpus, translator)
    _, errors = translate_corpus(
        capsys, exported, corpus, tmp_path / "other", "--workers", 1, "--beam-size", 2, code=2
    )
    assert "search.beam_size: expected 3, which" in errors


class _Replacing:
    """The Translator with the search that the export was made with."""

    def __init__(self, translator):
        self.translator = translator

    def translate(self, texts):
        return self.translator.translate(texts, replace_unknown=True)


@pytest.mark.slow
def test_killed_workers_end_too_and_the_same_command_goes_on(
    capsys, run_folder, translator, tmp_path
):
    corpus = tmp_path / "in"
    output = tmp_path / "out"
    corpus.mkdir()
    for k in range(0, 300, 5):
        (corpus / f"part-{k:03}").write_text(
            "".join(f"{line}\n" for line in SENTENCES[k : k + 5]), encoding="utf-8"
        )
    command = [
        "translate-corpus",
        "--model",
        run_folder,
        "--input",
        f"{corpus}/*",
        "--output",
        output,
        "--workers",
        "2",
    ]
    with subprocess.Popen(
        [sys.executable, "-m", "rnnsearch_tf", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        started = time.monotonic()
        while not list(output.glob("part-*")):
            assert process.poll() is None and time.monotonic() < started + LONG
            time.sleep(0.005)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait(LONG)
    while any(map(alive, workers)):
        assert time.monotonic() < started + LONG
        time.sleep(0.01)
    done = {path.name: path.stat().st_mtime_ns for path in output.glob("part-*")}
    assert len(workers) == 2 and 0 < len(done) < 60
    result, _ = translate_corpus(capsys, run_folder, corpus, output, "--workers", 1)
    assert result["translated"] == 60 - len(done)
    assert all((output / name).stat().st_mtime_ns == made for name, made in done.items()), (
        "what was done is done again"
    )
    assert [
        line for path in sorted(output.glob("part-*")) for line in read(path)[:-1]
    ] == one_by_one(translator, SENTENCES)
    assert not list(output.glob(".part*"))


def test_terminated_it_leaves_whole_files_and_says_that_it_can_be_resumed(
    capsys, run_folder, corpus, tmp_path, monkeypatch
):
    def told_to_end(texts):
        if len(texts) < 20:  # in the second file
            os.kill(os.getpid(), signal.SIGTERM)
        return texts

    monkeypatch.setattr("rnnsearch_tf.extras.bulk.corpus.load_engine", lambda settings: told_to_end)
    out, errors = translate_corpus(
        capsys, run_folder, corpus, tmp_path / "out", "--workers", 1, code=75
    )
    assert not out and "stopped by SIGTERM; what is saved can be resumed" in errors
    assert sorted(os.listdir(tmp_path / "out")) == [
        "bad-lines",
        "part-1.txt",
        "translate-corpus.json",
    ] and not os.listdir(tmp_path / "out" / "bad-lines")
    monkeypatch.setattr(
        "rnnsearch_tf.extras.bulk.corpus.load_engine", lambda settings: lambda texts: texts
    )
    assert (
        translate_corpus(capsys, run_folder, corpus, tmp_path / "out", "--workers", 1)[0][
            "translated"
        ]
        == 2
    )


def children(parent):
    return [
        pid
        for pid in filter(str.isdecimal, os.listdir("/proc"))
        if state(pid)[1:2] == [str(parent)]
    ]


def alive(pid):
    return state(pid)[:1] not in ([], ["Z"])


def state(pid):
    """[state, parent, …] of a process; nothing where there is none."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


@pytest.mark.parametrize(
    "words, message",
    [
        (["--workers", "0"], "--workers: expected a whole number, at least 1"),
        (
            ["--workers", "2", "--", "--runner=x"],
            "--workers: expected no options of Apache Beam with it",
        ),
        (["--", "file"], "expected options of Apache Beam after --, got 'file'"),
        (["--beam", "2"], "unknown option --beam"),
    ],
    ids=["workers", "both", "file", "beam"],
)
def test_wrong_usage(capsys, run_folder, corpus, tmp_path, words, message):
    _, errors = translate_corpus(capsys, run_folder, corpus, tmp_path, *words, code=2)
    assert message in errors


def test_input_that_is_not_there(capsys, run_folder, tmp_path):
    for name, message in (
        ("none", "--input: none: expected a text file, found none"),
        (str(tmp_path), "expected a text file, found a folder"),
        ("no*ne", "--input: no*ne: expected files that match this pattern, found none"),
    ):
        assert (
            run(
                [
                    "translate-corpus",
                    "--model",
                    str(run_folder),
                    "--input",
                    name,
                    "--output",
                    str(tmp_path / "out"),
                ]
            )
            == 1
        )
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is not None, reason="Apache Beam is there"
)
def test_without_apache_beam_it_says_what_to_do(capsys, run_folder, corpus, tmp_path):
    _, errors = translate_corpus(
        capsys, run_folder, corpus, tmp_path / "out", "--", "--runner=DirectRunner", code=2
    )
    assert "pip install 'rnnsearch-tf[beam]'" in errors


@needs_beam
@pytest.mark.parametrize(
    "mode", ["in_memory", pytest.param("multi_processing", marks=pytest.mark.slow)]
)
def test_through_apache_beam(capsys, run_folder, translator, corpus, tmp_path, mode, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
    options = ["--runner=FnApiRunner", f"--direct_running_mode={mode}", "--direct_num_workers=2"]
    result, _ = translate_corpus(capsys, run_folder, corpus, tmp_path / "out", "--", *options)
    assert (result["translated"], result["bad_lines"]) == (3, 3)
    check(tmp_path / "out", corpus, translator)


@needs_beam
def test_the_model_in_a_pipeline_of_ones_own(run_folder, translator):
    """Through a handler that was pickled, as for another machine."""
    import apache_beam as beam
    from apache_beam.ml.inference.base import RunInference
    from apache_beam.testing.util import assert_that, equal_to

    from rnnsearch_tf.extras.bulk.pipeline import TranslationHandler

    texts = [*SENTENCES[:20], "a " * 300]
    expected = list(zip(texts, one_by_one(translator, texts[:-1]) + [None]))
    handler = pickle.loads(pickle.dumps(TranslationHandler(run_folder, batch_size=8)))
    with beam.Pipeline("FnApiRunner") as pipeline:
        results = pipeline | beam.Create(texts) | RunInference(handler)
        assert_that(
            results | beam.Map(lambda result: (result.example, result.inference)),
            equal_to(expected),
        )


@needs_beam
def test_what_goes_wrong_in_beam_is_one_line(capsys, run_folder, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "part-1.gz").write_bytes(b"not gzip\n")
    _, errors = translate_corpus(
        capsys, run_folder, tmp_path / "in", tmp_path / "out", "--", "--runner=FnApiRunner", code=1
    )
    assert errors.splitlines()[-1].endswith(
        "part-1.gz:1: expected gzip data, got Not a gzipped file (b'no'); decompress it or name it"
        " without .gz"
    )
    _, errors = translate_corpus(
        capsys, run_folder, tmp_path / "in", tmp_path / "out", "--", "--runner=NoSuchRunner", code=1
    )
    assert (
        "Apache Beam: expected a pipeline that runs, got: " in errors and "NoSuchRunner" in errors
    )
