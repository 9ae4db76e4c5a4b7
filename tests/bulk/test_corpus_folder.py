"""What the output folder of a corpus says is done, and what it refuses."""

import hashlib
import json
import os

import pytest

from rnnsearch_tf.extras.bulk.folder import CorpusFolder
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.errors import UsageError, UserError

IDENTITY = {"model": "0" * 64, "search": {"beam_size": 2}}


@pytest.fixture
def inputs(tmp_path):
    """Three files; the second is the largest, the first the smallest."""
    paths = []
    for name, lines in (("a", 1), ("b", 9), ("c", 3)):
        paths.append(tmp_path / "in" / name)
        paths[-1].parent.mkdir(exist_ok=True)
        paths[-1].write_text("line\n" * lines)
    return [str(path) for path in paths]


def names(folder):
    return [os.path.basename(shard["source"]) for shard in folder.remaining()]


def finish(shards):
    for shard in shards:
        translate_shard(lambda texts: texts, **shard)


def test_the_largest_first_and_what_is_there_is_done(tmp_path, inputs):
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY) as folder:
        assert names(folder) == ["b", "c", "a"]
        finish(folder.remaining()[:1])
    half = tmp_path / "out" / f".c.{'0a' * 16}"
    half.write_text("half")
    (tmp_path / "out" / "bad-lines" / "c.jsonl").write_text("{}\n")
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY) as folder:
        assert names(folder) == ["c", "a"] and folder.bad_lines() == 0
        assert not half.exists()
        finish(folder.remaining())
        assert names(folder) == []
    assert sorted(os.listdir(tmp_path / "out")) == [
        "a",
        "b",
        "bad-lines",
        "c",
        "translate-corpus.json",
    ]


def test_a_kill_while_the_manifest_is_written_is_no_foreign_file(tmp_path, inputs):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "partial-translate-corpus.json").write_text('{"made')
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY) as folder:
        assert names(folder) == ["b", "c", "a"]
    assert sorted(os.listdir(tmp_path / "out")) == ["bad-lines", "translate-corpus.json"]


def test_more_files_may_come_and_some_may_go(tmp_path, inputs):
    for some in (inputs[:2], inputs[1:]):
        with CorpusFolder(tmp_path / "out", some, IDENTITY) as folder:
            finish(folder.remaining())
    assert json.loads((tmp_path / "out" / "translate-corpus.json").read_text())["files"] == {
        name: hashlib.sha256(b"line\n" * lines).hexdigest()
        for name, lines in (("a", 1), ("b", 9), ("c", 3))
    }


@pytest.mark.parametrize(
    "change, parts",
    [
        ({"model": "1" * 64}, ["model 000000000000)", "model 111111111111)"]),
        ({"search": {"beam_size": 3}}, ['search {"beam_size": 2}', 'search {"beam_size": 3}']),
        ({"made_with": "another version"}, ["made_with rnnsearch_tf", "made_with another version"]),
    ],
    ids=["model", "options", "program"],
)
def test_half_done_it_is_not_resumed_by_another_model_or_options(tmp_path, inputs, change, parts):
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY):
        pass
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY | change):
        pass  # nothing was done yet
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY) as folder:
        finish(folder.remaining()[:1])
    with pytest.raises(
        UserError, match="expected the model and the options that its files were made with"
    ) as error:
        with CorpusFolder(tmp_path / "out", inputs, IDENTITY | change):
            pass
    assert all(
        part.replace("another version", '"another version"').replace(
            "with rnnsearch_tf", 'with "rnnsearch_tf'
        )
        in str(error.value)
        for part in parts
    )


def test_a_changed_input_is_no_translated_one(tmp_path, inputs):
    with CorpusFolder(tmp_path / "out", inputs, IDENTITY) as folder:
        finish(folder.remaining()[:1])
    for name in ("a", "b"):  # the first is not done yet
        text = (tmp_path / "in" / name).read_text()
        (tmp_path / "in" / name).write_text(text.replace("line", "mine"))  # of the same size
        if name == "a":
            with CorpusFolder(tmp_path / "out", inputs, IDENTITY):
                pass
    with pytest.raises(
        UserError,
        match=(
            r"out/b: expected the translation of .*in/b, got that of an earlier version"
            r" of this file; delete it"
        ),
    ):
        with CorpusFolder(tmp_path / "out", inputs, IDENTITY):
            pass


def test_a_file_whose_name_is_not_utf_8_is_done_once(tmp_path):
    name = os.fsdecode(b"\xe9t\xe9")
    (tmp_path / name).write_text("line\n")
    for left in ([name], []):
        with CorpusFolder(tmp_path / "out", [str(tmp_path / name)], IDENTITY) as folder:
            assert names(folder) == left
            finish(folder.remaining())
    (tmp_path / "out" / "translate-corpus.json").read_text(encoding="utf-8")


def test_a_finished_file_with_a_hidden_name_is_no_half_of_another(tmp_path):
    for name in (".a.txt", "a"):
        (tmp_path / name).write_text("line\n")
    for some in ([".a.txt"], [".a.txt", "a"]):
        with CorpusFolder(
            tmp_path / "out", [str(tmp_path / name) for name in some], IDENTITY
        ) as folder:
            assert names(folder) == some[-1:]
            finish(folder.remaining())


def test_two_at_once_are_refused(tmp_path, inputs):
    with (
        CorpusFolder(tmp_path / "out", inputs, IDENTITY),
        pytest.raises(UserError, match="expected to be the only process that writes it"),
    ):
        CorpusFolder(tmp_path / "out", inputs, IDENTITY).__enter__()


def test_folders_and_names_that_would_cost_something(tmp_path, inputs):
    out = tmp_path / "out"
    for paths, folder, message in [
        (
            [*inputs, str(tmp_path / "other" / "a")],
            out,
            "expected files of different names, got .*in/a and .*other/a",
        ),
        (inputs, tmp_path / "in", "--output: expected a folder without input files"),
        ([*inputs, str(tmp_path / "in" / "bad-lines")], out, "--input: .*: expected another name"),
        (
            [str(tmp_path / "in" / "part.xz")],
            out,
            "part.xz: expected text, plain or .gz, as the out",
        ),
        (
            [str(tmp_path / "in" / ("é" * 125))],
            out,
            "expected a name of at most 249 bytes, got 250",
        ),
    ]:
        with pytest.raises(UsageError, match=message):
            CorpusFolder(folder, paths, IDENTITY)
    out.mkdir()
    (out / "a").write_text("somebody's")
    with pytest.raises(
        UsageError,
        match=(
            "out: expected an empty folder, or one that rnnsearch translate-corpus started, got"
            " one with a;"
        ),
    ):
        CorpusFolder(out, inputs, IDENTITY).__enter__()
    assert (out / "a").read_text() == "somebody's" and os.listdir(out) == ["a"]
    (out / "a").unlink()
    (out / "translate-corpus.json").write_text("[]")
    with pytest.raises(
        UserError,
        match=(
            "translate-corpus.json: expected a file of rnnsearch translate-corpus, got a damaged"
            " one"
        ),
    ):
        CorpusFolder(out, inputs, IDENTITY).__enter__()
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(UserError, match="file: expected a folder that can be made, got: "):
        CorpusFolder(file, inputs, IDENTITY).__enter__()
