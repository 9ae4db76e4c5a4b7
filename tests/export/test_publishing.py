"""How a version comes into being: whole, checked, or not at all."""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import pytest
import tensorflow as tf

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import SearchConfig, load_config, save_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export import check, publishing, writer
from rnnsearch_tf.export.profile import load_profile, read_profile
from rnnsearch_tf.export.session import run_requests

ROOT = pathlib.Path(__file__).parents[2]
LITTLE = ["signatures=[translate]", "warmup_requests=1"]


def entries(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def versions(folder):
    return [name for name in entries(folder) if name.isdigit()]


def test_an_existing_version_is_never_overwritten(run_folder, exported, capsys):
    before = {path: path.stat().st_mtime_ns for path in exported.rglob("*")}
    assert (
        rnnsearch(
            [
                "export",
                "--model",
                str(run_folder),
                "--output",
                str(exported.parent),
                "--version",
                "1",
            ]
        )
        == 1
    )
    assert "expected a new version, got one that exists" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in exported.rglob("*")} == before


@pytest.mark.parametrize(
    "stop, raised",
    [
        (UserError("an answer differs"), UserError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(28, "No space left on device"), UserError),
    ],
)
def test_a_failed_export_leaves_nothing(run_folder, tmp_path, monkeypatch, stop, raised):
    seen = []

    def fails(folder, *_):
        seen.extend(entries(folder.parent))
        raise stop

    monkeypatch.setattr(writer, "check_export", fails)
    with pytest.raises(raised):
        writer.export_model(run_folder, tmp_path / "served", overrides=LITTLE)
    assert len(seen) == 1 and not seen[0].isdigit()  # what a server would have seen meanwhile
    assert entries(tmp_path / "served") == []


@pytest.mark.parametrize("share, accepted", [(0.25, True), (1.0, False)])
def test_other_text_of_the_same_scores_is_a_tie_if_it_is_rare(
    run_folder, tmp_path, monkeypatch, share, accepted
):
    """Rounding decides between hypotheses of the same score, and other machines round otherwise;
    but text that is always another has another cause.
    """
    turns = itertools.count()
    python_answer = check.PythonAnswers.__call__

    def answer(*request):
        texts, scores = python_answer(*request)
        changed = next(turns) % 4 < 4 * share
        return [texts[0] + b" or so", *texts[1:]] if changed else texts, scores

    monkeypatch.setattr(check.PythonAnswers, "__call__", answer)
    expected = (
        contextlib.nullcontext()
        if accepted
        else pytest.raises(UserError, match="other text with the same scores")
    )
    with expected:
        writer.export_model(run_folder, tmp_path / "served", overrides=LITTLE)
    assert versions(tmp_path / "served") == (["1"] if accepted else [])


def test_a_version_that_appears_meanwhile_is_kept(run_folder, tmp_path, monkeypatch):
    def another(folder, *_):
        (folder.parent / "1").mkdir()
        (folder.parent / "1" / "theirs").touch()
        return 0

    monkeypatch.setattr(writer, "check_export", another)
    with pytest.raises(UserError, match="never overwritten"):
        writer.export_model(run_folder, tmp_path / "served", overrides=LITTLE)
    assert entries(tmp_path / "served") == ["1"] and entries(tmp_path / "served" / "1") == [
        "theirs"
    ]


def test_the_next_version_is_the_highest_and_one(tmp_path):
    for name in ("1", "10", "not-a-version", "partial-11"):
        (tmp_path / name).mkdir()
    assert publishing.version_folder(tmp_path, None).name == "11"
    assert publishing.version_folder(tmp_path / "new", None).name == "1"
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="expected a folder"):
        publishing.version_folder(tmp_path / "file", None)


@pytest.mark.parametrize(
    "there, graph", [("saved_model.pb", True), ("model.onnx", False), ("model.tflite", False)]
)
def test_versions_of_another_format_are_refused(tmp_path, there, graph):
    """A server takes the highest version, whatever its format."""
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / there).touch()
    with pytest.raises(UserError, match=f"got 1 with {there}; name another folder for each"):
        publishing.version_folder(tmp_path, graph=graph)
    assert publishing.version_folder(tmp_path, graph=not graph).name == "2"


def test_the_version_of_a_models_folder_is_the_highest_that_is_whole(tmp_path):
    """By number: 10 comes after 9; 11 has no graph yet."""
    for name in ("2", "9", "10", "11"):
        (tmp_path / name).mkdir()
        if name != "11":
            (tmp_path / name / "saved_model.pb").touch()
    assert publishing.exported_version(tmp_path) == tmp_path / "10"
    assert publishing.exported_version(tmp_path / "9") == tmp_path / "9"
    assert publishing.exported_version(tmp_path / "11") is None


KILLED = """
import os, pathlib, signal, sys
from rnnsearch_tf.export import publishing
with publishing.new_version(sys.argv[1], int(sys.argv[2])) as (_, folder):
    (folder / "variables").mkdir()
    (folder / "variables" / "weights").write_bytes(b"half")
    if sys.argv[3] == "waits":
        print(folder, flush=True)
        sys.stdin.read()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def beside(served, number, what, **options):
    """A process that is exporting, as far as the disk can tell; it `waits` or is `killed`."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(served), str(number), what],
        env=environment,
        text=True,
        **options,
    )


def test_the_next_export_clears_away_what_a_killed_one_left_and_only_that(tmp_path, caplog):
    served = tmp_path / "served"
    assert beside(served, 2, "killed").wait(120) == -signal.SIGKILL
    assert entries(served) == ["partial-2"]
    (served / "1").mkdir()
    (served / ".hidden").mkdir()

    def export():
        with publishing.new_version(served) as (target, folder):
            (folder / "saved_model.pb").touch()
        return target

    waits = beside(served, 3, "waits", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with concurrent.futures.ThreadPoolExecutor() as threads, waits as running:
        working = pathlib.Path(running.stdout.readline().strip()).name
        assert entries(served) == sorted([working, ".hidden", "1"])
        another = threads.submit(export)
        with pytest.raises(concurrent.futures.TimeoutError):
            another.result(1)
        assert entries(served) == sorted([working, ".hidden", "1"]), "another export is on its way"
        assert f"{served}: waiting for another export that is writing there" in caplog.messages
        running.kill()
        assert another.result(120) == served / "2", "chosen when the other had ended"
    assert entries(served) == [".hidden", "1", "2"] and entries(served / "2") == ["saved_model.pb"]


def test_who_has_waited_takes_the_next_number_or_ends_before_its_work(tmp_path):
    """Two exports at once: the number of the second is chosen when the first has published."""
    served = tmp_path / "served"

    def export(number=None):
        with publishing.new_version(served, number) as (target, folder):
            (folder / "saved_model.pb").touch()
        return target.name

    with (
        concurrent.futures.ThreadPoolExecutor() as threads,
        publishing.new_version(served) as (_, folder),
    ):
        waiting = [threads.submit(export), threads.submit(export, 1)]
        with pytest.raises(concurrent.futures.TimeoutError):
            waiting[0].result(0.5)
        (folder / "saved_model.pb").touch()
    assert waiting[0].result(60) == "2"
    with pytest.raises(UserError, match="never overwritten"):
        waiting[1].result(60)
    assert versions(served) == ["1", "2"]


def test_what_is_published_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    synced = []
    rename = os.rename
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    )
    before = []
    monkeypatch.setattr(
        os, "rename", lambda source, target: (before.extend(synced), rename(source, target))
    )
    target = tmp_path / "served" / "1"
    with publishing.new_version(target.parent, 1) as (_, folder):
        (folder / "variables").mkdir()
        for name in ("saved_model.pb", "variables/variables.index"):
            (folder / name).write_bytes(b"x")
    names = ["", "/saved_model.pb", "/variables", "/variables/variables.index"]
    assert sorted(before) == [str(folder) + name for name in names]
    assert synced[len(before) :] == [str(target.parent)], "and then the new name"


@pytest.mark.parametrize("version", ["0", "-1", str(2**63), "9" * 40])
def test_versions_that_no_server_would_take(run_folder, tmp_path, capsys, version):
    assert (
        rnnsearch(
            [
                "export",
                "--model",
                str(run_folder),
                "--output",
                str(tmp_path / "served"),
                f"--version={version}",
            ]
        )
        == 2
    )
    assert (
        f"--version: expected a whole number from 1 to {publishing.LARGEST_VERSION}, got"
        f" '{version}'" in capsys.readouterr().err
    )
    with pytest.raises(
        UserError, match=f"version: expected a whole number from 1 to {publishing.LARGEST_VERSION}"
    ):
        writer.export_model(run_folder, tmp_path / "served", version=int(version), overrides=LITTLE)
    assert not (tmp_path / "served").exists()


def test_folders_that_no_server_takes_for_versions_do_not_count(tmp_path):
    for name in ("3", "²", "١٢", str(2**63), "00000005"):
        (tmp_path / name).mkdir()
    assert publishing.version_folder(tmp_path, None).name == "6"
    with pytest.raises(UserError, match="never overwritten"):
        publishing.version_folder(tmp_path, 5)  # 00000005 is that number to a server
    (tmp_path / str(publishing.LARGEST_VERSION)).mkdir()
    with pytest.raises(UserError, match="--version"):
        publishing.version_folder(tmp_path, None)


@pytest.mark.parametrize(
    "write",
    [
        lambda: open("/dev/full", "w").write("x" * 100_000),
        lambda: tf.io.write_file("/dev/full", "x" * 100_000),
    ],
    ids=["python", "tensorflow"],
)
def test_a_full_disk_is_called_so(run_folder, tmp_path, monkeypatch, capsys, write):
    monkeypatch.setattr(writer, "check_export", lambda *_: write())
    words = [
        "export",
        "--model",
        str(run_folder),
        "--output",
        str(tmp_path / "served"),
        "--set",
        LITTLE[0],
        "--set",
        LITTLE[1],
    ]
    assert rnnsearch(words) == 1
    said = capsys.readouterr().err
    assert "No space left on device" in said and "free some" in said and "unexpected" not in said
    assert entries(tmp_path / "served") == []


def test_a_model_that_answers_otherwise_is_not_published(run_folder, tmp_path, monkeypatch):
    """The weights change after they were stored: Python and export differ, and the fresh session
    tells.
    """

    def spoiled(translator, profile, served=writer.Served):
        stored = served(translator, profile)
        bias = translator.model.output_layer.b_softmax
        bias.assign(-bias)
        return stored

    monkeypatch.setattr(writer, "Served", spoiled)
    with pytest.raises(UserError, match="expected the Python model's answer"):
        writer.export_model(run_folder, tmp_path / "served", overrides=LITTLE)
    assert versions(tmp_path / "served") == []


def test_the_whole_export_is_there_and_readable(exported, run_folder):
    assert entries(exported.parent) == ["1"]
    assert {"saved_model.pb", "variables", "model_card.md", "assets.extra"} <= set(
        entries(exported)
    )
    assert os.stat(exported).st_mode & 0o055 == 0o055
    card = (exported / "model_card.md").read_text(encoding="utf-8")
    assert read_profile(exported).search == dataclasses.replace(
        load_config(run_folder / "config.yaml").search,
        nbest=3,
        replace_unknown=True,
    )
    assert "answers of a fresh session equal to the Python model's" in card


def test_the_check_searches_and_draws_by_the_options_of_the_profile(run_folder, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    config = load_config(folder / "config.yaml")
    search = dataclasses.replace(config.search, shrinking_beam=True)
    save_config(dataclasses.replace(config, search=search), folder / "config.yaml")
    options = ["search.maximum_length_ratio=0.4", "search.beam_size=2"]
    options += ["signatures=[translate,sample]", "search.allow_unknown=false"]
    exported = writer.export_model(folder, tmp_path / "served", overrides=options)
    assert exported.compared > 100


def test_a_folder_of_someone_else_stays(tmp_path):
    (tmp_path / "partial-corpus").mkdir()
    (tmp_path / "partial-7").mkdir()
    with publishing.new_version(tmp_path):
        assert not (tmp_path / "partial-7").exists()
    assert entries(tmp_path) == ["1", "partial-corpus"]


def test_a_fresh_process_refuses_what_no_server_runs(exported, tmp_path):
    """It has the operations of TensorFlow and tensorflow_text, as the stock server, and no Python
    function of the process that wrote the model.
    """

    class InPython(tf.Module):
        @tf.function(
            autograph=False, input_signature=[tf.TensorSpec([None], tf.string, name="text")]
        )
        def lower(self, text):
            return {"lower": tf.numpy_function(lambda text: text, [text], tf.string)}

    module = InPython()
    tf.saved_model.save(module, str(tmp_path / "python"), signatures=module.lower)
    [error] = run_requests(tmp_path / "python", [("serving_default", {"text": [b"a"]})])
    assert "pyfunc_" in error

    shutil.copytree(exported, tmp_path / "foreign")
    path = tmp_path / "foreign" / "saved_model.pb"
    path.write_bytes(path.read_bytes().replace(b"NormalizeUTF8", b"NormalizeUTF9"))
    with pytest.raises(RuntimeError, match="NormalizeUTF9"):
        run_requests(tmp_path / "foreign", [("translate", {"text": [b"a"]})])


@pytest.mark.parametrize(
    "override, message",
    [
        ("signatures=[score]", "expected translate among them"),
        ("signatures=[translate, translat]", "did you mean translate"),
        ("signatures=translate", "expected a list"),
        ("signatures=[]", "expected a list"),
        ("signatures=[translate, translate]", "expected each once"),
        ("search.nbest=13", "at most search.beam_size"),
        ("wheights=int8", "did you mean weights"),
        ("weights=int4", "did you mean int8"),
        ("search.beam=3", "did you mean search.beam_size"),
        ("maximum_source_length=0", "at least 1"),
    ],
)
def test_impossible_profiles(override, message):
    with pytest.raises(UsageError, match=message):
        load_profile(SearchConfig(), overrides=[override])


def test_shipped_profiles_load():
    paths = sorted((ROOT / "export").glob("*.yaml"))
    assert len(paths) >= 4
    for path in paths:
        load_profile(SearchConfig(), path)


def test_a_profile_starts_from_the_runs_own_search():
    profile = load_profile(
        SearchConfig(beam_size=7, length_penalty=0.5, nbest=2), overrides=["search.beam_size=9"]
    )
    assert (profile.search.beam_size, profile.search.length_penalty, profile.search.nbest) == (
        9,
        0.5,
        2,
    )
    assert load_profile(SearchConfig(beam_size=3)).search.nbest == 3
    of_run = SearchConfig(nbest=4, beam_size=6)
    for options, nbest in (((), 4), (["search.beam_size=2"], 2), (["search.beam_size=9"], 4)):
        assert load_profile(of_run, overrides=options).search.nbest == nbest


@pytest.mark.parametrize(
    "arguments, code, message",
    [
        (["--output", "x"], 2, "--model"),
        (["--model", "nowhere", "--output", "x"], 1, "expected a RUN folder"),
        (
            ["--model", "{run}", "--output", "{out}", "--version", "none"],
            2,
            "expected a whole number",
        ),
        (
            ["--model", "{run}", "--output", "{out}", "--profile", "nowhere.yaml"],
            2,
            "expected a YAML configuration file",
        ),
        (["--model", "{run}", "--output", "{out}", "--profil", "x"], 2, "did you mean --profile"),
        (
            ["--model", "{run}", "--output", "{out}", "--set", "weights"],
            2,
            "expected section.key=value",
        ),
    ],
)
def test_wrong_usage(run_folder, tmp_path, capsys, arguments, code, message):
    words = [word.format(run=run_folder, out=tmp_path / "served") for word in arguments]
    assert rnnsearch(["export", *words]) == code
    captured = capsys.readouterr()
    assert message in captured.err and not captured.out
    assert not versions(tmp_path / "served")


def test_a_run_is_no_folder_for_versions(run_folder, capsys):
    assert rnnsearch(["export", "--model", str(run_folder), "--output", str(run_folder)]) == 1
    assert "expected a folder for versions of a served model, got a RUN" in capsys.readouterr().err
    assert not list(pathlib.Path(run_folder).glob("partial-*"))
