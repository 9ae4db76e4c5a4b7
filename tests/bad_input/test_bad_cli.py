"""Bad files and folders on the command line: one clear line, exit code 1, nothing on standard
output.
"""

import errno
import importlib
import re

import pytest

from rnnsearch_tf.cli import main


def fails(capsys, words, code=1):
    """Run, expect the exit code, and return the one line on standard error."""
    assert main.run([str(word) for word in words]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err and captured.err.count("\n") == 1
    return captured.err


@pytest.fixture
def hollow_run(tmp_path):
    """A folder that looks like a RUN but for the weights."""
    run = tmp_path / "run"
    run.mkdir()
    for name in ("config.yaml", "vocabulary.source.txt", "vocabulary.target.txt"):
        (run / name).write_text("")
    return run


def test_a_model_that_is_not_there(capsys, tmp_path):
    assert "no-run: expected a RUN folder" in fails(
        capsys, ["translate", "--model", tmp_path / "no-run"]
    )


def test_a_model_that_is_a_file(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    assert "got a file" in fails(capsys, ["translate", "--model", tmp_path / "file"])


def test_a_folder_that_is_no_run(capsys, tmp_path):
    line = fails(capsys, ["translate", "--model", tmp_path])
    assert "without config.yaml, vocabulary.source.txt, vocabulary.target.txt, best" in line


def test_a_run_that_was_never_evaluated(capsys, hollow_run):
    assert "training has not evaluated the model yet" in fails(
        capsys, ["translate", "--model", hollow_run]
    )


def test_an_exported_model(capsys, tmp_path):
    (tmp_path / "mine" / "1").mkdir(parents=True)
    (tmp_path / "mine" / "1" / "saved_model.pb").write_bytes(b"no model")
    (tmp_path / "saved_model.pb").write_bytes(b"no model")
    assert "got an exported SavedModel" in fails(capsys, ["sample", "--model", tmp_path / "mine"])
    assert "which only translate and translate-corpus take, one at a time" in fails(
        capsys, ["sample", "--model", tmp_path]
    )
    assert "without profile.yaml" in fails(capsys, ["translate", "--model", tmp_path])
    (tmp_path / "profile.yaml").write_text("maximum_source_length: 10\n")
    assert "one that does not load" in fails(capsys, ["translate", "--model", tmp_path])


@pytest.mark.parametrize(
    "words, flag",
    [
        (["oracle", "--reference", "r", "list"], "--target-language"),
        (
            ["select", "--in-domain-source", "s", "--in-domain-target", "t", "--source", "s"]
            + ["--target", "t", "--keep", "0.5"],
            "--source-language",
        ),
    ],
)
def test_a_language_has_no_effect_on_tokens(capsys, words, flag):
    line = fails(capsys, [*words, "--tokenized", flag, "en"], code=2)
    assert f"{flag}: has no effect with --tokenized; leave it out" in line


@pytest.mark.parametrize(
    "words, expected",
    [
        (["init", "mine", "--source", "-", "--target", "s"], "several times, got standard input"),
        (["init", "mine", "--source", "s", "--target", "-"], "several times, got standard input"),
        (["init", "mine", "--pairs", "-"], "several times, got standard input"),
        (["doctor", "--config", "phrasebook", "--pairs", "-"], "several times, got standard input"),
        (["evaluate", "--model", "run", "--source", "-", "--reference", "-"], "one text at most"),
    ],
    ids=" ".join,
)
def test_standard_input_where_it_cannot_be(capsys, hollow_run, monkeypatch, words, expected):
    monkeypatch.chdir(hollow_run.parent)
    for name in ("s", "-"):  # a file of that name is not read in its place
        (hollow_run.parent / name).write_text("a b\n" * 200)
    assert expected in fails(capsys, words, code=2)
    assert not (hollow_run.parent / "mine").exists()


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
@pytest.mark.parametrize(
    "words, flag",
    [
        (["oracle", "--reference", "s", "s"], "--chosen"),
        (["evaluate", "--model", "run", "--source", "s", "--reference", "s"], "--output"),
        (["aer", "s", "s"], "--log-file"),
    ],
)
def test_standard_output_has_one_result(capsys, hollow_run, monkeypatch, words, flag, name):
    monkeypatch.chdir(hollow_run.parent)
    (hollow_run.parent / "s").write_text("a\n")
    line = fails(capsys, [*words, flag, name], code=2)
    assert f"{flag} {name}: expected a file, as standard output has the " in line


def test_output_is_a_file_where_a_folder_is_meant(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "c.yaml").write_text("")
    line = fails(capsys, ["train", "--config", tmp_path / "c.yaml", "--output", tmp_path / "file"])
    assert "expected a folder, got a file" in line


def test_nothing_to_resume(capsys, tmp_path):
    line = fails(capsys, ["train", "--resume", "--output", tmp_path / "run"])
    assert "found no" in line and "config.yaml" in line


def test_evaluate_before_the_model_is_loaded(capsys, hollow_run, tmp_path):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "r").write_text("a\n")
    (tmp_path / "e").write_text("")
    words = ["evaluate", "--model", hollow_run, "--source", tmp_path / "s", "--reference"]
    line = fails(capsys, words + [tmp_path / "r"])
    assert "got 2 in " in line and "and 1 in " in line
    assert "missing: expected a text file, found none" in fails(
        capsys, words + [tmp_path / "missing"]
    )
    line = fails(
        capsys,
        [
            "evaluate",
            "--model",
            hollow_run,
            "--source",
            tmp_path / "e",
            "--reference",
            tmp_path / "e",
        ],
    )
    assert "got an empty file" in line


@pytest.mark.parametrize(
    "words, message",
    [
        (["translate", "missing"], "missing: expected a text file, found none; check the path"),
        (
            ["translate", "there", "--output", "no/where"],
            "no/where: expected a file that can be written",
        ),
        (["score", "there", "missing"], "missing: expected a text file, found none"),
        (
            ["score", "there", "there", "--output", "no/where"],
            "no/where: expected a file that can be written",
        ),
        (["align", "missing", "there"], "missing: expected a text file, found none"),
        (["plot-attention", "missing"], "missing: expected a text file, found none"),
        (
            ["score", "there", "longer"],
            "expected as many lines in both files, got 1 in there and 2 in longer",
        ),
        (
            ["align", "longer", "there"],
            "expected as many lines in both files, got 2 in longer and 1 in there",
        ),
    ],
)
def test_files_are_checked_before_the_model_is_loaded(
    capsys, hollow_run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("a\n")
    (tmp_path / "longer").write_text("a\nb\n")
    assert message in fails(capsys, [words[0], "--model", hollow_run, *words[1:]])


@pytest.mark.parametrize(
    "error, code, text",
    [
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "unexpected error: ZeroDivisionError: division (RNNSEARCH_DEBUG=1",
        ),
        (MemoryError(), 1, "unexpected error: MemoryError"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 1, "/x/y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_whatever_happens_is_one_line(capsys, monkeypatch, error, code, text):
    def explode(argv):
        raise error

    monkeypatch.setattr(main, "_dispatch", explode)
    assert text in fails(capsys, ["translate"], code)


def test_a_developer_sees_the_traceback(monkeypatch):
    def explode(argv):
        raise ZeroDivisionError

    monkeypatch.setattr(main, "_dispatch", explode)
    monkeypatch.setenv("RNNSEARCH_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main.run(["translate"])


def test_an_empty_nbest_list_has_no_score(capsys, tmp_path):
    (tmp_path / "list").write_text("")
    (tmp_path / "t").write_text("a\n")
    assert "list: expected an n-best list, got an empty one" in fails(
        capsys, ["oracle", "--reference", tmp_path / "t", tmp_path / "list"]
    )


def test_an_error_of_tensorflow_says_what_is_wrong(capsys, monkeypatch):
    """It begins with "Graph execution error:" and ends with names of nodes; the line that helps
    stands between.
    """
    import keras
    import tensorflow as tf

    class Gather(keras.Model):
        def call(self, ids):
            return tf.gather(tf.zeros([9]), ids)

    def in_a_model(arguments):
        model = Gather()
        model.compile(run_eagerly=False, jit_compile=False)
        model.predict(tf.constant([[9]]), verbose=0)

    def in_a_function(arguments):
        tf.function(tf.gather)(tf.zeros([9]), tf.constant([[9]]))

    def twice(arguments):
        tf.function(
            lambda one: (tf.gather(one, tf.constant([9])), tf.gather(one, tf.constant([10])))
        )(tf.zeros([9]))

    verb = importlib.import_module("rnnsearch_tf.cli.configs")
    for fails_there in (in_a_model, in_a_function, twice):
        monkeypatch.setattr(verb, "run", fails_there)
        line = fails(capsys, ["configs"])
        assert line.startswith("rnnsearch: unexpected error: InvalidArgumentError: ")
        assert re.search(
            r": indices\[[0,]+\] = (9|10) is not in \[0, 9\) \(RNNSEARCH_DEBUG=1 shows where\)$",
            line,
        ), line


def test_a_name_that_tensorflow_cannot_take_is_said(capsys, monkeypatch):
    """Its file functions take UTF-8 only."""
    import tensorflow as tf

    verb = importlib.import_module("rnnsearch_tf.cli.configs")
    for fails_there in (lambda _: tf.constant("m\udcff"), lambda _: "m\udcff".encode()):
        monkeypatch.setattr(verb, "run", fails_there)
        assert (
            fails(capsys, ["configs"])
            == "rnnsearch: error: expected names of files and folders in UTF-8 here, got one with"
            " other bytes; rename it\n"
        )
