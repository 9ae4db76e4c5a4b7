"""Every flag of the verbs that train; see flag_tables.py."""

import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import types

import pytest
import yaml
from flag_tables import GONE, check, compare, complete

from rnnsearch_tf.cli import launch, main
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.runs.folder import Run

TRAIN = ["config", "folder", "resume", "start_from", "new_words", "skip_batch", "distribute"]
"""What reaches the engine, in order."""


@pytest.fixture
def trained(observe, monkeypatch):
    """A function of the words of train: what reached the engine."""
    from rnnsearch_tf.training import fit as training

    monkeypatch.setattr(training, "train", observe.note(*TRAIN, answer={"enough": True}))
    # RUN has no checkpoints
    monkeypatch.setattr(Run, "refuse_resuming", lambda self: None)
    cluster = {"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))

    def trained(verb, *words):
        facts = observe(verb, *words)
        return {name: facts[name] for name in TRAIN} | {"folder": facts["folder"].name}

    return trained


def settings(config, **changes):
    """What reaches the engine by default, with changes."""
    plain = dict(zip(TRAIN, [config, "mine", False, None, 0, False, None]))
    return plain | changes


def _of_pairs(source, target):
    """The phrasebook's recipe with two columns of pairs.tsv as its text."""
    texts = [f"{os.path.abspath('pairs.tsv')}#{column}" for column in (source, target)]
    words = [f"data.train_{side}={text}" for side, text in zip(("source", "target"), texts)]
    return load_config("phrasebook", ["data.corpus=files", *words])


def test_train(trained):
    base = ["--config", "phrasebook", "--output", "mine"]
    other = load_config("phrasebook", ["training.seed=5"])
    table = {
        "--config": (["--config", "phrasebook-lstm"], {"config": load_config("phrasebook-lstm")}),
        "--output": (["--output", "yours"], {"folder": "yours"}),
        "--set": (["--set", "training.seed=5"], {"config": other}),
        "--distribute": (["--distribute", "mirrored"], {"distribute": "mirrored"}),
        "--pairs": (["--pairs", "pairs.tsv"], {"config": _of_pairs("1", "2")}),
        "--columns": (
            ["--pairs", "pairs.tsv", "--columns", "3,1"],
            {"config": _of_pairs("3", "1")},
        ),
    }
    pathlib.Path("pairs.tsv").write_text("a\tb\tc\n")
    complete("train", table, {"--resume", "--skip-batch", "--from", "--mix", "--new-words"})
    plain = compare(trained, "train", base, table)
    assert plain == settings(load_config("phrasebook"))
    for name in ("\U0001f600.tsv", "\udcff.tsv"):  # beyond U+FFFF; not UTF-8
        pathlib.Path(name).write_text("a\tb\n")
        data = trained("train", *base, "--pairs", name)["config"].data
        assert data.train_source == os.path.abspath(f"{name}#1")
    found = trained("train", *base, "--distribute", "multi-worker")
    assert found == plain | {"distribute": "multi-worker"}

    own = load_config("run/config.yaml")
    resumed = ["train", "--resume", "--output", "run"]
    assert trained(*resumed) == settings(own, folder="run", resume=True)
    changed = dataclasses.replace(own, training=dataclasses.replace(own.training, epochs=9))
    found = trained(*resumed, "--skip-batch", "--set", "training.epochs=9")
    assert found == settings(changed, folder="run", resume=True, skip_batch=True)
    found = trained("train", "--from", "run", "--new-words", "3", "--output", "mine")
    assert found == settings(own, start_from="run", new_words=3)


def test_train_mix(trained, tmp_path):
    """A quarter as much text as the model had: it gets half as much of the model's to it."""
    lines = [f"{number} x\n" for number in range(40)]
    (tmp_path / "general").write_text("".join(lines))
    (tmp_path / "special").write_text("".join(lines[::4]))
    os.unlink("run")
    shutil.copytree(tmp_path / "other", tmp_path / "run")
    tree = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    text = dict(train_source="general", train_target="general")
    tree["data"] |= dict(corpus="files", phrasebook_size=4000, **text)
    (tmp_path / "run" / "SHA256SUMS").unlink()
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(tree))
    words = ["train", "--from", "run", "--mix", "0.5", "--output", "mine"]
    for name in ("train_source", "train_target", "development_source", "development_target"):
        words += ["--set", f"data.{name}=special"]
    corpora = trained(*words)["config"].data.corpora
    assert [corpus.weight for corpus in corpora] == [1.0, 0.5 * 10 / 40]


class FakeJob:
    """Notes what a launcher starts; the first of `ends` is how it ends."""

    ends = []
    started = []

    def __init__(self, indices, addresses, words):
        self.started.append((list(indices), len(addresses), words))

    def wait(self, told):
        return self.ends.pop(0)


def test_launch(monkeypatch, tmp_path):
    monkeypatch.setattr(launch, "Job", FakeJob)
    monkeypatch.chdir(tmp_path)
    training = ["train", "--config", "phrasebook", "--output", "mine"]
    worker = [*training, "--distribute", "multi-worker"]

    def started(*words, ends=((0, False),), code=0):
        monkeypatch.setattr(FakeJob, "ends", list(ends))
        monkeypatch.setattr(FakeJob, "started", [])
        assert main.run(["launch", *words, "--", *training]) == code
        return FakeJob.started

    complete("launch", {"--workers", "--hosts", "--index", "--restarts"})
    assert started("--workers", "3") == [([0, 1, 2], 3, worker)]
    assert started("--hosts", "a:1,b:2", "--index", "1") == [([1], 2, worker)]
    log = str(tmp_path / "log")
    assert started("--workers", "1", "--quiet", "--log-file", log) == [
        ([0], 1, [*worker, "--quiet", "--log-file", log])
    ]
    training += ["--verbose", "--log-file", log]
    ((_, _, words),) = started("--workers", "1", "--quiet")
    assert words == [*training, "--distribute", "multi-worker"]
    lost = [(75, True)] * 9
    two = ["--workers", "2"]
    assert len(started(*two, ends=lost, code=75)) == 4  # three more times
    assert len(started(*two, "--restarts", "1", ends=lost, code=75)) == 2
    assert len(started(*two, "--restarts", "0", ends=lost, code=75)) == 1


class FakeProcess:
    """Ends by SIGKILL only."""

    pid = 1
    returncode = None

    def __init__(self, clock, sent):
        self.clock = clock
        self.sent = sent

    def poll(self):
        return self.returncode

    def send_signal(self, number):
        self.sent.append((number, self.clock[0]))
        if number == launch.signal.SIGKILL:
            self.returncode = -9


def test_a_worker_that_does_not_end_is_killed_after_two_minutes(monkeypatch):
    """By a clock that runs fast."""
    clock = [0.0]
    sent = []

    def sleep(seconds):
        clock[0] += seconds

    time = types.SimpleNamespace(monotonic=lambda: clock[0], sleep=sleep)
    monkeypatch.setattr(launch, "time", time)
    job = launch.Job.__new__(launch.Job)
    job.processes = [FakeProcess(clock, sent), FakeProcess(clock, sent)]
    job.everywhere = False
    assert job.wait([launch.signal.SIGTERM]) == (75, False)
    assert sent[0] == (launch.signal.SIGTERM, 0)
    number, late = sent[-1]
    assert number == launch.signal.SIGKILL
    assert late == pytest.approx(120, abs=0.5)
    assert [number for number, _ in sent].count(launch.signal.SIGKILL) == 2


class FakeServer:
    """A context of a server, or of its client; what it is made with is noted."""

    grpc_port = 8500

    def __init__(self, facts, name, *words):
        facts[name] = words

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def translate(self, texts):
        return [types.SimpleNamespace(text="A b") for _ in texts]


def test_demo(observe, monkeypatch, tmp_path, capsys):
    from rnnsearch_tf.extras.plots import alignment as plots
    from rnnsearch_tf.export import writer
    from rnnsearch_tf.extras.server import client
    from rnnsearch_tf.extras.server import server
    from rnnsearch_tf.training import fit as training

    def train(config, folder, resume):
        folder.mkdir(parents=True)
        observe.facts.update(config=config, trained=str(folder), resume=resume)

    def export_model(run, folder):
        observe.facts.update(exported=[str(run), str(folder)])
        return types.SimpleNamespace(folder=folder / "1")

    def serve(flags):
        [(name, base_path)] = flags.models.items()
        return FakeServer(observe.facts, "served", name, base_path)

    def asked(*words):
        return FakeServer(observe.facts, "asked", *words)

    monkeypatch.setattr(training, "train", train)
    monkeypatch.setattr(writer, "export_model", export_model)
    monkeypatch.setattr(server, "Server", serve)
    monkeypatch.setattr(client, "Client", asked)
    monkeypatch.setattr(plots, "alignment_figure", lambda *words: "a picture")
    monkeypatch.setattr(plots, "png", str.encode)
    base = ["--output", "mine"]
    plain = observe("demo", *base)
    output = [line.replace("mine", "yours") for line in plain["output"]]
    elsewhere = {
        "trained": "yours",
        "models": [["yours"]],
        "exported": ["yours", "yours/served"],
        "served": ("demo", str(tmp_path / "yours" / "served")),
        "mine/attention.png": GONE,
        "yours/attention.png": ["a picture"],
        "output": output,
    }
    changed = load_config("phrasebook", ["training.seed=5"])
    check(
        observe,
        "demo",
        base,
        {
            "--output": (["--output", "yours"], elsewhere),
            "--set": (["--set", "training.seed=5"], {"config": changed}),
        },
    )
    assert plain["config"] == load_config("phrasebook")
    assert plain["served"] == ("demo", str(tmp_path / "mine" / "served"))
    assert plain["asked"] == ("127.0.0.1:8500", "demo")
    assert len(plain["translated"][0][0]) > 6
    assert observe("demo")["trained"] == "runs/demo"
    commands = [line for line in observe("demo", "--output", "a b")["output"] if "--model" in line]
    paths = ["a b", "a b/attention", str(tmp_path / "a b" / "served")]
    assert all(any(path in shlex.split(line) for line in commands) for path in paths)
    cleaned = Run(tmp_path / "cleaned")  # runs --clean has deleted the checkpoints
    cleaned.best_weights.parent.mkdir(parents=True)
    cleaned.best_weights.write_text("")
    save_config(load_config("phrasebook"), cleaned.config)
    assert "trained" not in observe("demo", "--output", "cleaned")
    words = ["demo", "--set", "data.corpus=files", "--set", "data.train_source=s"]
    assert main.run([*words, "--set", "data.train_target=t"]) == 2
    assert "expected phrasebook in the demo, got files" in capsys.readouterr().err
