"""The folder of a prepared corpus: written whole or not at all."""

import collections
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from text_in_parts import SPACE, configuration

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import SPECIAL_TOKENS, as_dictionary, load_config
from rnnsearch_tf.data import counting
from rnnsearch_tf.data.prepared import writing as preparing
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.data.prepared.writing import prepare
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text import subwords


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# ---- written ----


def test_a_text_in_parts_is_that_of_one_file(text, made, tmp_path):
    for side in ("en", "fr"):
        (tmp_path / f"all.{side}").write_text(
            "".join((text / f"part.{part}.{side}").read_text() for part in range(3))
        )
    prepare(
        configuration(tmp_path, train_source="all.en", train_target="all.fr"), tmp_path / "prepared"
    )
    one = contents(made)
    other = contents(tmp_path / "prepared")
    assert (
        one.keys()
        == other.keys()
        == {
            "ids.bin",
            "lengths.bin",
            "manifest.json",
            "offsets.bin",
            "vocabulary.source.txt",
            "vocabulary.target.txt",
        }
    )
    # it names the files
    assert {name for name in one if one[name] != other[name]} == {"manifest.json"}


class Stop(Exception):
    pass


def written_parts(config, output, patch, stopped=False):
    """Prepare, or stop where all but the manifest is written; the numbers of the parts that were
    written.
    """
    write_file = preparing.write_file
    parts = []

    def watched(path, content):
        if stopped and path.name == "manifest.json":
            raise Stop
        parts.extend([int(path.name[5:11])] if path.name.startswith("part-") else [])
        write_file(path, content)

    patch.setattr(preparing, "write_file", watched)
    if stopped:
        with pytest.raises(Stop):
            prepare(config, output)
    else:
        prepare(config, output)
    patch.setattr(preparing, "write_file", write_file)
    return parts


def test_all_files_are_encoded_by_what_was_traced_once(text, tmp_path, monkeypatch):
    """TensorFlow keeps what it has traced: with a graph for every file memory would grow with their
    number.
    """
    made = []
    real = preparing.EncodedPairs
    monkeypatch.setattr(
        preparing, "EncodedPairs", lambda *arguments: made.append(real(*arguments)) or made[-1]
    )
    prepare(configuration(text), tmp_path / "prepared")
    assert len(made) == 1


@pytest.mark.parametrize("where, again", [("write_shard", [2]), ("write_file", [])])
def test_a_stopped_preparation_leaves_nothing_and_goes_on(
    text, made, tmp_path, monkeypatch, where, again
):
    """Stopped at the third part, and when all but the manifest is written."""
    written = []
    write_file = preparing.write_file
    original = getattr(preparing, where)

    def stopping(*arguments, **request):
        if (
            where == "write_shard"
            and len(written) < 2
            or where == "write_file"
            and arguments[0].name != "manifest.json"
        ):
            return original(*arguments, **request)
        raise Stop

    def watching(path, content):
        written.extend([int(path.name[5:11])] if path.name.startswith("part-") else [])
        write_file(path, content)

    monkeypatch.setattr(preparing, "write_file", watching)
    with monkeypatch.context() as stopped, pytest.raises(Stop):
        stopped.setattr(preparing, where, stopping)
        prepare(configuration(text), tmp_path / "prepared")
    assert not (tmp_path / "prepared").exists()
    written.clear()
    prepare(configuration(text), tmp_path / "prepared")
    assert contents(tmp_path / "prepared") == contents(made) and [
        path.name for path in tmp_path.iterdir()
    ] == ["prepared"]
    assert written == again


@pytest.mark.parametrize("last", ["part-000001.ids.bin", "part-000001.json", "plan.json"])
def test_a_preparation_that_is_stopped_at_its_end_goes_on_there(
    text, made, tmp_path, monkeypatch, last
):
    """Stopped when it has deleted any of the files that only it needs."""
    unlink = pathlib.Path.unlink

    def stopping(path, missing_ok=False):
        if path.name == last:
            if last != "plan.json":
                unlink(path)
            raise Stop
        unlink(path, missing_ok)

    with monkeypatch.context() as stopped, pytest.raises(Stop):
        stopped.setattr(pathlib.Path, "unlink", stopping)
        prepare(configuration(text), tmp_path / "prepared")
    assert written_parts(configuration(text), tmp_path / "prepared", monkeypatch) == []
    assert contents(tmp_path / "prepared") == contents(made)


def test_a_text_that_has_changed_is_begun_anew(text, made, tmp_path, monkeypatch):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    written_parts(configuration(folder), tmp_path / "prepared", monkeypatch, stopped=True)
    for side in ("en", "fr"):
        with open(folder / f"part.1.{side}", "a") as file:
            file.write("new words\n")
    prepared = prepare(configuration(folder), tmp_path / "prepared")
    assert prepared.count == 66 and "new" in (
        tmp_path / "prepared" / "vocabulary.source.txt"
    ).read_text().split("\n")


def test_a_new_file_beside_the_text_is_no_change(text, tmp_path, monkeypatch):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    config = configuration(folder)
    written_parts(config, tmp_path / "prepared", monkeypatch, stopped=True)
    (folder / "notes").write_text("of the translator")
    assert written_parts(config, tmp_path / "prepared", monkeypatch) == []


@pytest.mark.parametrize("same", ["bytes", "time"])
def test_a_text_that_was_edited_to_the_same_size_is_begun_anew(text, tmp_path, monkeypatch, same):
    """By its time, or, where a copy has kept that, by its size."""
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    with monkeypatch.context() as stopped, pytest.raises(Stop):
        stopped.setattr(preparing, "_finish", lambda *_: (_ for _ in ()).throw(Stop))
        prepare(configuration(folder), tmp_path / "prepared")
    path = folder / "part.0.en"
    before = path.stat()
    path.write_text(path.read_text().replace("word3", "other" if same == "bytes" else "others"))
    if same == "time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size == before.st_size) == (same == "bytes")
    prepared = prepare(configuration(folder), tmp_path / "prepared")
    words = (tmp_path / "prepared" / "vocabulary.source.txt").read_text().split("\n")
    assert prepared.count == 65 and ("other" if same == "bytes" else "others") in words


def test_a_held_out_text_or_a_named_vocabulary_that_has_changed_is_begun_anew(
    text, tmp_path, monkeypatch
):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("\n".join([*SPECIAL_TOKENS, "x"]) + "\n")
    parts = dict(train_source="part.*.en", train_target=["part.0.fr", "part.1.fr", "part.2.fr"])
    several = configuration(folder, held_out=9, **parts)
    named = configuration(folder, {**SPACE, "vocabulary": str(vocabulary)}, **parts)
    for config, change in ((several, folder / "part.1.fr"), (named, vocabulary)):
        before = preparing._plan(config)
        assert preparing._plan(config) == before
        with open(change, "a") as file:
            file.write("word1\n")
        assert preparing._plan(config) != before


KILLED = """
import os, signal, sys
from rnnsearch_tf.data.prepared import writing as preparing
from text_in_parts import configuration
join = preparing._join
def killed(partial, parts, kind):
    join(partial, 2, kind)
    os.kill(os.getpid(), signal.SIGKILL)
preparing._join = killed
preparing.prepare(configuration(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.slow
def test_a_killed_preparation_leaves_nothing_and_goes_on(text, made, tmp_path):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", KILLED, text, tmp_path / "prepared"],
        env=environment,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    assert (
        not (tmp_path / "prepared").exists()
        and (tmp_path / ".prepared.partial" / "part-000002.json").exists()
    )
    prepare(configuration(text), tmp_path / "prepared")
    assert contents(tmp_path / "prepared") == contents(made) and [
        path.name for path in tmp_path.iterdir()
    ] == ["prepared"]


def test_what_is_held_out_comes_with_it(text, tmp_path):
    config = configuration(text, train_source="part.0.en", train_target="part.0.fr", held_out=6)
    prepared = prepare(config, tmp_path / "prepared")
    development = list(open_corpus(config, "development"))
    training = load_config(
        values={"source": SPACE, "target": SPACE, "data": {"prepared": str(tmp_path / "prepared")}}
    )
    assert list(open_corpus(training, "development")) == development and development
    assert (
        prepared.count
        == len(list(open_corpus(config, "train")))
        == open_corpus(training, "train").count
    )


def test_nothing_fits_the_limits(text, tmp_path):
    with pytest.raises(
        UserError,
        match=(
            r"part.0.en …, .*part.0.fr …: expected pairs of at most 1 source and 50 target tokens,"
            r" got none"
        ),
    ):
        prepare(
            configuration(
                text, train_source="part.*.en", train_target="part.*.fr", maximum_source_length=1
            ),
            tmp_path / "prepared",
        )


@pytest.mark.parametrize(
    "tokens, data, message",
    [
        (
            {"tokenization": "sentencepiece", "sampling": 0.3},
            {},
            "source.sampling: expected null .*, got 0.3; set source.sampling=null",
        ),
        (
            SPACE,
            dict(prepared="x"),
            "data.prepared: expected text to prepare, got the prepared corpus x",
        ),
    ],
)
def test_what_cannot_be_prepared(text, tmp_path, tokens, data, message):
    with pytest.raises(UsageError, match=message):
        prepare(configuration(text, tokens, **data), tmp_path / "prepared")


def test_a_folder_with_something_in_it_is_left_alone(text, tmp_path):
    (tmp_path / "prepared").mkdir()
    (tmp_path / "prepared" / "mine").write_text("")
    with pytest.raises(
        UsageError,
        match=("expected a new or empty folder, got a folder with files; choose another --output"),
    ):
        prepare(configuration(text), tmp_path / "prepared")
    with pytest.raises(
        UsageError, match="expected a new or empty folder, got a file; choose another --output"
    ):
        prepare(configuration(text), tmp_path / "prepared" / "mine")


# ---- named ----


@pytest.mark.parametrize(
    "data, error, message",
    [
        (
            dict(train_source="part.*.en", train_target="part.0.fr"),
            UsageError,
            (
                r"data.train_source, data.train_target: expected the same number of files on both"
                r" sides, got 3 \(.*part.0.en … .*part.2.en\) and 1 \(.*part.0.fr\)"
            ),
        ),
        (
            dict(train_source="part.*.de", train_target="part.*.fr"),
            UserError,
            r"data.train_source: .*part.\*.de: expected files that match this pattern, found none",
        ),
        (
            dict(corpora=[{"source": ["part.0.en"], "target": ["part.0.fr", "part.2.fr"]}]),
            UsageError,
            "data.corpora: entry 1: source, data.corpora: entry 1: target: expected the same"
            " number",
        ),
    ],
)
def test_files_that_do_not_go_together(text, data, error, message):
    with pytest.raises(error, match=message):
        open_corpus(configuration(text, **data))


def test_a_list_and_a_pattern_name_the_same_pairs(text):
    by_list = configuration(
        text,
        train_source=[f"part.{k}.en" for k in range(3)],
        train_target=[f"part.{k}.fr" for k in range(3)],
    )
    pairs = list(open_corpus(configuration(text)))
    assert list(open_corpus(by_list)) == pairs and len(pairs) == 65
    assert pairs[39:41] == [
        ("en0 word4 x x x x ", "fr0 word4 x x x x "),
        ("en2 word0 ", "fr2 word0 "),
    ]


def test_a_folder_whose_name_is_a_pattern(text, tmp_path):
    folder = shutil.copytree(text, tmp_path / "text [1]", ignore=lambda *_: ["prepared"])
    assert list(open_corpus(configuration(folder))) == list(open_corpus(configuration(text)))
    with pytest.raises(UserError, match="text .1.*/no.en: expected a text file, found none"):
        open_corpus(configuration(folder, train_source="no.en", train_target="part.0.fr"))


def test_a_mark_of_a_column_in_a_pattern_is_first_of_the_name(text, tmp_path):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    for part in range(3):
        for side in ("en", "fr"):
            (folder / f"part.{part}.{side}").rename(folder / f"part#{part}.{side}")
    named = configuration(folder, train_source="part#*.en", train_target="part#?.fr")
    assert list(open_corpus(named)) == list(open_corpus(configuration(text)))
    for part in range(2):
        (folder / f"table{part}").write_text("a\tb\nc\td\n")
    columns = configuration(folder, train_source="table?#1", train_target="table?#2")
    assert list(open_corpus(columns)) == [("a", "b"), ("c", "d")] * 2


def test_a_bad_line_names_its_own_file(text, tmp_path):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    (folder / "part.2.fr").write_text("un\n\ntrois\n")
    with pytest.raises(UserError, match="part.2.fr:2: expected a sentence, got an empty line"):
        list(open_corpus(configuration(folder)))
    data = dict(train_source="part.*.en", train_target="part.*.fr", on_bad_line="skip")
    prepared = prepare(configuration(folder, **data), tmp_path / "prepared")
    assert (
        prepared.count,
        prepared.report.kept,
        prepared.report.empty,
        prepared.report.unpaired,
    ) == (42, 42, 1, 22)


@pytest.mark.slow
def test_several_processes_write_the_same(text, made, tmp_path):
    prepare(configuration(text), tmp_path / "prepared", processes=2)
    assert contents(tmp_path / "prepared") == contents(made)


@pytest.mark.slow
def test_a_bad_line_stops_all_processes(text, tmp_path):
    folder = pathlib.Path(shutil.copytree(text, tmp_path / "text", ignore=lambda *_: ["prepared"]))
    (folder / "part.2.fr").write_text("un\n\ntrois\n")
    with pytest.raises(
        UserError,
        match=(
            "part.2.fr:2: expected a sentence, got an empty line; correct it, or set"
            " data.on_bad_line=skip"
        ),
    ):
        prepare(configuration(folder), tmp_path / "prepared", processes=2)
    assert not (tmp_path / "prepared").exists()


def test_the_verb_says_what_it_wrote(text, made, tmp_path, capsys):
    path = tmp_path / "c.yaml"
    output = tmp_path / "prepared"
    path.write_text(
        json.dumps(
            {
                "source": SPACE,
                "target": SPACE,
                "data": {
                    "folder": str(text),
                    "train_source": "part.*.en",
                    "train_target": "part.*.fr",
                },
            }
        )
    )
    assert run(["prepare", "--config", str(path), "--output", str(output), "--processes", "1"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {
        "prepared": str(output),
        "pairs": 65,
        "ids": PreparedPairs(made).manifest["ids"],
    }
    command = (
        f"rnnsearch train --config {path} --output RUN --set data.prepared={output} --set"
        " data.train_source=null --set data.train_target=null"
    )
    assert f"65 pairs kept. Next: {command}\n" in captured.err


def test_the_command_that_it_prints_is_accepted(tmp_path, capsys):
    """Of the phrasebook too, whose text is in no file."""
    words = [
        "--config",
        "phrasebook",
        "--set",
        "data.phrasebook_size=40",
        "--output",
        str(tmp_path / "prepared"),
    ]
    assert run(["prepare", *words]) == 0
    words = shlex.split(capsys.readouterr().err.split("Next: ")[1])
    assert words[:4] == ["rnnsearch", "train", "--config", "phrasebook"]
    config = load_config(
        "phrasebook",
        overrides=[setting for flag, setting in zip(words, words[1:]) if flag == "--set"],
    )
    assert open_corpus(config, "train").count == 40


@pytest.mark.parametrize(
    "words, message",
    [
        (["--output", "p"], "expected --config F.yaml, got none"),
        (["--output", "p", "--check", "--config", "c"], "--check: expected --output DIR alone"),
        (
            ["--output", "p", "--config", "phrasebook", "--processes", "0"],
            "--processes: expected a whole number, at least 1, got '0'",
        ),
    ],
)
def test_wrong_usage(capsys, words, message):
    assert run(["prepare", *words]) == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("most", [30, 40, 50, 65, 1000])
def test_subwords_are_learned_from_the_first_lines_of_the_whole_text(
    text, tmp_path, monkeypatch, most
):
    """Counted file by file they are the words of the first lines, wherever these end."""
    monkeypatch.setattr(subwords, "MOST_LINES", most)
    config = configuration(text, {"tokenization": "sentencepiece"})
    pieces = [piece for _, piece in counting.corpus_shards(open_corpus(config))]
    for number in range(3):
        counting.count_shard(as_dictionary(config), number, ["target"], tmp_path)
    found = counting._total_counts(
        config.target, "target", pieces, [piece.check() for piece in pieces], tmp_path
    )
    lines = [target for _, target in open_corpus(config)]
    assert dict(found.total()) == collections.Counter(" ".join(lines[:most]).split())
    assert found.is_cut == (len(lines) > most)
