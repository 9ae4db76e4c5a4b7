"""From two files, as dirty as real ones, to a configuration that fits them."""

import shlex
import unicodedata

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.fitting import language_of
from rnnsearch_tf.data.phrasebook import phrasebook

PAIRS = 600


@pytest.fixture
def files(tmp_path):
    """Two files with CRLF, a byte-order mark, an empty line, a line of 9,000 words, decomposed
    letters, a last line without partner.
    """
    source, target = map(list, phrasebook(PAIRS, 1, "train"))
    source[10] = ""
    target[20] = "mot " * 9000
    target = [
        unicodedata.normalize("NFD", line) if number % 7 == 0 else line
        for number, line in enumerate(target)
    ]
    paths = [tmp_path / "my text.en", tmp_path / "train.fr"]
    for path, lines in zip(paths, (source, [*target, "seul"])):
        path.write_bytes(b"\xef\xbb\xbf" + "".join(f"{line}\r\n" for line in lines).encode("utf-8"))
    return list(map(str, paths))


def init(folder, files, *more):
    return run(["init", str(folder), "--source", files[0], "--target", files[1], *more])


def test_the_configuration_fits_and_its_data_is_found_good(files, tmp_path, capsys):
    assert init(tmp_path / "mine", files, "--minutes", "3") == 0
    written, said = capsys.readouterr()
    path = tmp_path / "mine" / "config.yaml"
    config = load_config(path)
    assert (config.source.language, config.target.language) == ("en", "fr")
    assert config.data.on_bad_line == "skip" and "bad lines: 2" in path.read_text(encoding="utf-8")
    assert config.training.maximum_minutes == 3 and config.data.held_out == (PAIRS - 1) // 20
    assert config.data.maximum_target_length < 9000
    assert f"rnnsearch train --config {path}" in said
    assert f"{PAIRS - 1:,} pairs kept" in written and f"written: {path};" in written
    assert "WARNING: one file is longer than the other by 1 line(s)" in said
    assert run(["doctor", "--config", str(path), "--quick"]) == 0, capsys.readouterr().out


def test_one_file_twice_is_refused(files, tmp_path, capsys):
    assert init(tmp_path / "mine", [files[0], files[0]]) == 1
    assert (
        "expected two files, a text and its translation, got one file twice"
        in capsys.readouterr().err
    )


def test_a_table_taken_as_a_text_is_refused_with_the_way_to_cut_it(tmp_path, capsys):
    source, target = phrasebook(PAIRS, 1, "train")
    table = tmp_path / "fra.txt"
    table.write_text(
        "".join(f"{a}\t{b}\tCC-BY {n}\n" for n, (a, b) in enumerate(zip(source, target)))
    )
    (tmp_path / "test.fr").write_text("".join(f"{line}\n" for line in target[:200]))
    assert init(tmp_path / "mine", [str(table), str(tmp_path / "test.fr")]) == 1
    said = capsys.readouterr().err
    assert f"use --pairs {table} --columns 1,2" in said
    assert f"cut -f1 {table} > text.source; cut -f2 {table} > text.target" in said
    assert not (tmp_path / "mine").exists()
    assert run(["init", str(tmp_path / "mine"), "--pairs", str(table), "--minutes", "3"]) == 0
    captured = capsys.readouterr()
    assert "tab-separated values, 3 columns: 1, 2, 3; source: 1, target: 2" in captured.err
    assert f"first pair: {source[0]} ||| {target[0]}\nif these are names of" in captured.err
    config = str(tmp_path / "mine" / "config.yaml")
    for side in ("source", "target"):
        assert f"write its code into {config}, as {side}.language (und" in captured.err
    assert list(open_corpus(load_config(config), "train"))[0] in list(zip(source, target))
    assert run(["doctor", "--config", config, "--quick"]) == 0
    assert run(["doctor", "--config", config, "--quick", "--columns", "1,2"]) == 2
    assert "--columns 1,2: expected --pairs F with it, got none" in capsys.readouterr().err
    for words in (["--pairs", str(table), "--source", "x"], ["--source", "x"]):
        assert run(["init", str(tmp_path / "more"), *words]) == 2


def test_more_lost_than_kept_is_an_error_as_for_doctor(files, tmp_path, capsys):
    (tmp_path / "short.fr").write_text("un mot\n" * 150)
    assert init(tmp_path / "mine", [files[0], str(tmp_path / "short.fr")]) == 1
    assert "line by line, got 149 pairs kept; left out: " in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_nothing_is_written_over(files, tmp_path, capsys):
    assert init(tmp_path / "mine", files) == 0
    (tmp_path / "mine" / "config.yaml").write_text("seed: mine")
    assert init(tmp_path / "mine", files) == 1
    assert "found one" in capsys.readouterr().err
    assert (tmp_path / "mine" / "config.yaml").read_text() == "seed: mine"


def test_a_folder_with_a_space_is_quoted_and_a_file_is_no_folder(files, tmp_path, capsys):
    assert init(tmp_path / "my model", files) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if "rnnsearch train" in line]
    words = shlex.split(line[line.index("rnnsearch") :])
    assert words == [
        "rnnsearch",
        "train",
        "--config",
        f"{tmp_path}/my model/config.yaml",
        "--output",
        f"{tmp_path}/my model/run",
    ]
    assert init(files[0], files) == 1
    assert "found a file; choose another DIR" in capsys.readouterr().err


def test_the_time_and_the_languages_may_be_said(files, tmp_path, capsys):
    assert (
        init(
            tmp_path / "mine",
            files,
            "--minutes",
            "90",
            "--target-language",
            "no",
            "--source-language",
            "pt-BR",
        )
        == 0
    )
    config = load_config(tmp_path / "mine" / "config.yaml")
    assert (config.training.maximum_minutes, config.source.language, config.target.language) == (
        90,
        "pt-BR",
        "no",
    )
    assert (
        f"the source file's name says {language_of(files[0])}, --source-language says pt-BR"
        in capsys.readouterr().err
    )
    assert init(tmp_path / "yes", files, "--source-language", "yes") == 0  # Yeskwa
    assert load_config(tmp_path / "yes" / "config.yaml").source.language == "yes"
    assert init(tmp_path / "other", files, "--minutes", "none") == 2
    assert init(tmp_path / "other", files, "--source-language", "klingon!") == 2
    assert not (tmp_path / "other").exists()


def test_too_little_text_is_an_error_in_words(tmp_path, capsys):
    for name in ("a.en", "a.fr"):
        (tmp_path / name).write_text("one\n" * 3)
    assert init(tmp_path / "mine", [str(tmp_path / "a.en"), str(tmp_path / "a.fr")]) == 1
    assert "at least 100 pairs" in capsys.readouterr().err and not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    "name, language",
    [
        ("x/train.en", "en"),
        ("train.fr.gz", "fr"),
        ("de.txt", "de"),
        ("corpus.pt-BR.txt", "pt-BR"),
        ("train.txt", "und"),
        ("a", "und"),
    ],
)
def test_languages_by_file_name(name, language):
    assert language_of(name) == language
