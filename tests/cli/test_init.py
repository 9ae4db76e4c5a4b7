"""From two files, as dirty as real ones, to a configuration that fits them."""

import csv
import gzip
import io
import shlex
import unicodedata

import pytest

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.fitting import has_bfloat16, language_of
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.phrasebook import phrasebook

PAIRS = 600


@pytest.fixture
def files(tmp_path):
    """Two files with CRLF, a byte-order mark, an empty line, a line of 9,000 words, decomposed
    letters.
    """
    source, target = map(list, phrasebook(PAIRS, "train"))
    source[10] = ""
    target[20] = "mot " * 9000
    target = [
        unicodedata.normalize("NFD", line) if number % 7 == 0 else line
        for number, line in enumerate(target)
    ]
    paths = [tmp_path / "my text.en", tmp_path / "train.fr"]
    for path, lines in zip(paths, (source, target)):
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
    assert config.training.maximum_minutes == 3 and config.data.held_out == (PAIRS - 1) // 20
    assert config.data.maximum_length < 9000
    assert config.training.precision == ("mixed_bfloat16" if has_bfloat16() else "float32")
    assert "base: your-own-text" in path.read_text() and config.data.batching == "bucketed"
    assert f"rnnsearch train --config {path}" in said
    assert (
        f"{PAIRS - 1:,} pairs; left out: 1 with an empty line" in written
        and f"written: {path};" in written
    )
    assert run(["doctor", "--config", str(path)]) == 0, capsys.readouterr().out


@pytest.mark.parametrize("ending, columns", [("tsv", "1,3"), ("csv", "en,fr"), ("csv.gz", "1,3")])
def test_a_table_becomes_two_files(tmp_path, capsys, ending, columns):
    pairs = list(zip(*phrasebook(PAIRS, "train")))
    header = [("en", "note", "fr")] if columns == "en,fr" else []
    rows = [*header, *((source, 'a "note", or two', target) for source, target in pairs)]
    text = io.StringIO()
    if ending == "tsv":
        rows[0] = (rows[0][0].replace(" ", "\r"), *rows[0][1:])  # a line ends at a line feed alone
        text.writelines("\t".join(row) + "\n" for row in rows)
    else:
        csv.writer(text).writerows(rows)
    table = tmp_path / f"fra.{ending}"
    content = text.getvalue().encode()
    table.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    words = ["--pairs", str(table), "--columns", columns, "--minutes", "3"]
    assert run(["init", str(tmp_path / "mine"), *words]) == 0, capsys.readouterr()
    config = load_config(tmp_path / "mine" / "config.yaml")
    assert config.source.language == ("en" if header else "und")
    paths = config.data.train_source, config.data.train_target
    assert paths == tuple(f"{tmp_path}/mine/train.{side}" for side in ("source", "target"))
    assert list(Pairs(*paths)) == pairs
    # a wrong column shows at once
    shown = "en: {}\nfr: {}\n" if header else "und: {}\nund: {}\n"
    assert shown.format(*pairs[0]) in capsys.readouterr().out
    (tmp_path / "mine" / "config.yaml").unlink()  # the files of the text are protected too
    assert run(["init", str(tmp_path / "mine"), *words]) == 1


def test_a_table_whose_column_is_empty_may_be_tried_again(tmp_path, capsys):
    table = tmp_path / "fra.tsv"
    table.write_text("".join(f"{a}\t\t{b}\n" for a, b in zip(*phrasebook(PAIRS, "train"))))
    for columns, code in (("1,2", 1), ("1,3", 0)):
        assert (
            run(["init", f"{tmp_path}/mine", "--pairs", f"{table}", "--columns", columns]) == code
        )


def test_bfloat16_is_used_where_the_processor_has_it(tmp_path):
    path = tmp_path / "cpuinfo"
    for flags, expected in (("avx2 avx512_bf16", True), ("amx_bf16", True), ("avx512f", False)):
        path.write_text(f"flags\t\t: fpu {flags}\n")
        assert has_bfloat16(path) == expected
    assert not has_bfloat16(tmp_path / "none")


def test_nothing_is_written_over(files, tmp_path, capsys):
    assert init(tmp_path / "mine", files) == 0
    (tmp_path / "mine" / "config.yaml").write_text("seed: mine")
    assert init(tmp_path / "mine", files) == 1
    assert (tmp_path / "mine" / "config.yaml").read_text() == "seed: mine"


def test_a_folder_with_a_space_is_quoted(files, tmp_path, capsys):
    assert init(tmp_path / "my model", files) == 0
    [line] = [line for line in capsys.readouterr().err.splitlines() if "rnnsearch train" in line]
    words = shlex.split(line[line.index("rnnsearch") :])
    folder = f"{tmp_path}/my model"
    assert words[:2] == ["rnnsearch", "train"]
    assert words[2:] == ["--config", f"{folder}/config.yaml", "--output", f"{folder}/run"]


def test_the_time_and_the_languages_may_be_said(files, tmp_path, capsys):
    words = "--minutes 90 --target-language no --source-language pt-BR".split()
    assert init(tmp_path / "mine", files, *words) == 0
    config = load_config(tmp_path / "mine" / "config.yaml")
    assert config.training.maximum_minutes == 90
    assert (config.source.language, config.target.language) == ("pt-BR", "no")
    assert (
        f"the source file's name says {language_of(files[0])}, --source-language says pt-BR"
        in capsys.readouterr().err
    )
    assert init(tmp_path / "yes", files, "--source-language", "yes") == 0  # Yeskwa
    assert load_config(tmp_path / "yes" / "config.yaml").source.language == "yes"
    assert init(tmp_path / "other", files, "--source-language", "klingon!") == 2
    assert not (tmp_path / "other").exists()
