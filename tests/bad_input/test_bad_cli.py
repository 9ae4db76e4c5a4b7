"""Bad files and folders on the command line: one clear line, exit code 1, nothing on standard
output.
"""

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


def test_what_is_no_run(capsys, tmp_path, hollow_run):
    text = tmp_path / "file"
    text.write_text("a\n")
    for path, message in (
        (tmp_path / "no-run", "no-run: expected a RUN folder"),
        (text, "got a file"),
        (tmp_path, "without config.yaml, vocabulary.source.txt, vocabulary.target.txt, best"),
        (hollow_run, "training has not evaluated the model yet"),
    ):
        assert message in fails(capsys, ["score", "--model", path, text, text])


def test_output_is_a_file_where_a_folder_is_meant(capsys, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "c.yaml").write_text("")
    line = fails(capsys, ["train", "--config", tmp_path / "c.yaml", "--output", tmp_path / "file"])
    assert "expected a folder, got a file" in line


def test_nothing_to_resume(capsys, tmp_path):
    line = fails(capsys, ["train", "--resume", "--output", tmp_path / "run"])
    assert "found no" in line and "config.yaml" in line


@pytest.mark.parametrize(
    "words, message",
    [
        (["translate", "missing"], "missing: expected a text file, found none; check the path"),
        (["score", "there", "missing"], "missing: expected a text file, found none"),
        (
            ["translate", "there", "--output", "no/where"],
            "no/where: expected a file that can be written",
        ),
        (["align", "missing", "there"], "missing: expected a text file, found none"),
        (["plot-attention", "missing"], "missing: expected a text file, found none"),
    ],
)
def test_files_are_opened_before_the_model_is_loaded(
    capsys, hollow_run, tmp_path, monkeypatch, words, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").write_text("a\n")
    assert message in fails(capsys, [words[0], "--model", hollow_run, *words[1:]])
