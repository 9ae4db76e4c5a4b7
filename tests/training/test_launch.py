"""``rnnsearch launch``: a training of several processes is that of one, whichever of them is
killed.
"""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import types

import mirrored
import numpy as np
import pytest
import worker
from fake_workers import started
from killed import LANGUAGE_MODEL, SETTINGS
from test_nothing_lost import arrays

from rnnsearch_tf.cli import launch
from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.distributed.addresses import free_addresses, this_worker, worker_variable
from rnnsearch_tf.config import load_config
from rnnsearch_tf.layers.dropout import Dropout, vary_dropout
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.distributed.workers import SingleWorker

TESTS = pathlib.Path(__file__).parents[1]
OPTIONS = [
    *SETTINGS,
    *LANGUAGE_MODEL,
    "model.embedding_dropout=0",
    "training.precision=float64",
    "training.epochs=6",
    "data.batch_size=11",
]
"""Of 60 pairs the last batch has five; the buckets make batches of fewer pairs than workers."""


def launched(tmp_path, run, *words, workers=2):
    (tmp_path / "c.yaml").write_text("")
    settings = [word for setting in OPTIONS for word in ("--set", setting)]
    command = [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "launch",
        "--workers",
        str(workers),
        *words,
        "--",
        "train",
    ]
    command += ["--config", str(tmp_path / "c.yaml"), *settings, "--output", str(run)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_workers_have_time_to_save_what_they_learned():
    """One that fails ends the others by SIGTERM, not at once by SIGKILL."""
    saves = (
        "import signal, sys, time; signal.signal(15, lambda *_: (time.sleep(1), sys.exit(75)));"
        " print(flush=True); time.sleep(10)"
    )
    job = launch.Job.__new__(launch.Job)
    slow = subprocess.Popen([sys.executable, "-c", saves], stdout=subprocess.PIPE)
    slow.stdout.readline()
    job.processes = [slow, subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])]
    job.everywhere = False
    with slow.stdout:
        assert job.wait([]) == (3, False)
    assert slow.returncode == 75


@pytest.mark.parametrize(
    "number, ends, code",
    [
        (signal.SIGTERM, [75, 0], 75),
        (signal.SIGINT, [130, -signal.SIGINT], 130),
        (signal.SIGTERM, [75, -signal.SIGTERM], 75),
        (signal.SIGTERM, [75, 1], 1),
        (signal.SIGINT, [130, 1], 1),
        (signal.SIGTERM, [75, -signal.SIGKILL], 75),  # the last checkpoint is there
    ],
)
def test_a_save_that_failed_after_a_signal_is_no_saved_training(number, ends, code):
    job = launch.Job.__new__(launch.Job)
    job.processes = [types.SimpleNamespace(poll=lambda end=end: end) for end in ends]
    assert job.wait([number]) == (code, False)


def after(run, batches, launcher):
    """Wait until the last checkpoint has this number of batches."""
    state = run / "checkpoints" / "state.json"
    while not (state.exists() and json.loads(state.read_text())["batches"] >= batches):
        assert launcher.poll() is None, launcher.communicate()[1][-3000:]
        time.sleep(0.01)


def worker_processes(launcher):
    """Process ids of its workers, the chief's first."""
    return list(
        map(
            int,
            pathlib.Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text().split(),
        )
    )


def finished(launcher):
    output, errors = launcher.communicate(timeout=600)
    assert "Traceback" not in errors, errors[-3000:]
    return launcher.returncode, output, errors


def records(run):
    """metrics.jsonl without times; the best score as far as it is worth comparing."""
    timed = ("minutes", "target_tokens_per_second")
    for line in (run / "metrics.jsonl").read_text().splitlines():
        yield {name: value for name, value in json.loads(line).items() if name not in timed}


def assert_alike(one, other):
    """The same files, records and weights, but for the last digits of sums."""
    assert sorted(path.relative_to(one) for path in one.rglob("*")) == sorted(
        path.relative_to(other) for path in other.rglob("*")
    )
    for left, right in zip(records(one), records(other), strict=True):
        assert left == pytest.approx(right, abs=2e-6)  # six decimals are written
    for path in (
        "best/model.weights.h5",
        *(f"evaluated/{path.name}" for path in (one / "evaluated").iterdir()),
    ):
        left = arrays(one / path)
        right = arrays(other / path)
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_allclose(left[name], right[name], rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    run = tmp_path_factory.mktemp("alone") / "run"
    train(load_config(overrides=OPTIONS), run)
    return run


@pytest.mark.slow
@pytest.mark.parametrize("workers, victim", [(2, 1), (2, 0), (3, 2)])
def test_a_killed_worker_is_started_again(tmp_path, alone, workers, victim):
    """SIGKILL, no person, and the end is that of one process which was never killed; the chief
    alone writes.
    """
    launcher = launched(tmp_path, tmp_path / "run", workers=workers)
    after(tmp_path / "run", 5, launcher)
    os.kill(worker_processes(launcher)[victim], signal.SIGKILL)
    code, output, errors = finished(launcher)
    assert (
        code == 0
        and "a worker was lost; restarting, at most 2 more times" in errors
        and "resuming after batch" in errors
    )
    assert json.loads(output)["run"] == str(tmp_path / "run")
    assert_alike(alone, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="the system must tell a process that its parent has ended"
)
def test_a_killed_launchers_workers_save_and_end(tmp_path, alone):
    launcher = launched(tmp_path, tmp_path / "run")
    after(tmp_path / "run", 5, launcher)
    launcher.kill()
    # until the workers have closed its standard error
    _, errors = launcher.communicate(timeout=120)
    assert "stopped by SIGTERM" in errors
    train(load_config(tmp_path / "run" / "config.yaml"), tmp_path / "run", resume=True)
    assert_alike(alone, tmp_path / "run")


def of_replicas(folder, *names) -> str:
    """What mirrored.py says on standard error."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS), str(TESTS / "training")]),
    }
    done = subprocess.run(
        [sys.executable, TESTS / "mirrored.py", folder, *names],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [["accumulate", "traced"], list(worker.COMBINATIONS)],
    ids="-".join,
)
def test_replicas_together_make_the_updates_of_one_process(tmp_path, names):
    """Plain ``fit`` in the scope of a MirroredStrategy."""
    of_replicas(tmp_path, *names)
    layers = [Dropout(0.5, seed=3) for _ in range(2)]
    vary_dropout(layers[1:], 1)
    ones = np.ones(mirrored.MANY, np.float32)
    alone = [[layer(ones, training=True) for layer in layers] for _ in range(2)]
    # a replica drops what a worker of its number would
    np.testing.assert_array_equal(np.load(tmp_path / "dropped.npy"), alone)
    assert not np.array_equal(*alone[0])

    expected = worker.trained(SingleWorker(), names)
    replicas = np.load(tmp_path / "replicas.npz")
    assert expected.keys() == set(replicas)
    for name in expected:
        np.testing.assert_allclose(
            replicas[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name
        )


@pytest.mark.slow
def test_a_whole_training_of_replicas(tmp_path, alone):
    assert "sharing every batch between 2 replicas" in of_replicas(tmp_path)
    assert_alike(alone, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize("whom", ["launcher", "chief", "other"])
def test_sigterm_stops_all_at_the_same_batch(tmp_path, alone, whom):
    """Exit code 75; the training resumes with another number of workers."""
    run = tmp_path / "run"
    launcher = launched(tmp_path, run)
    after(run, 5, launcher)
    chief, other = worker_processes(launcher)
    os.kill({"launcher": launcher.pid, "chief": chief, "other": other}[whom], signal.SIGTERM)
    code, output, errors = finished(launcher)
    assert (code, output) == (75, "") and "stopped by SIGTERM" in errors
    train(load_config(run / "config.yaml"), run, resume=True)
    assert_alike(alone, run)


@pytest.mark.slow
def test_an_error_is_not_tried_again(tmp_path):
    """Two workers and a setting that cannot be."""
    launcher = launched(tmp_path, tmp_path / "run")
    assert finished(launcher)[0] == 0
    launcher = launched(tmp_path, tmp_path / "run")
    code, _, errors = finished(launcher)
    assert (
        code == 2
        and "expected a folder without a training, found one" in errors
        and "restarting" not in errors
    )


@pytest.mark.parametrize(
    "words, said",
    [
        (["--workers", "2", "--", "translate"], "launch: expected `-- train …`, got 'translate'"),
        (
            ["--", "train", "--output", "x"],
            "expected --workers N, or --hosts HOST:PORT,… and --index K, got both or neither",
        ),
        (
            ["--hosts", "a:1,b:2", "--", "train", "--output", "x"],
            "expected --hosts and --index together",
        ),
        (
            ["--hosts", "a:1,b", "--index", "0", "--", "train", "--output", "x"],
            "--hosts: expected HOST:PORT,HOST:PORT,…, got 'b' in it",
        ),
        (
            ["--hosts", "a:1,b:65536", "--index", "0", "--", "train", "--output", "x"],
            "got 'b:65536' in it; a port is a number from 1 to 65535",
        ),
        (
            ["--hosts", "a:1,b:2,a:1", "--index", "0", "--", "train", "--output", "x"],
            "--hosts: expected different addresses, got a:1,b:2,a:1; give each worker a port",
        ),
        (
            ["--hosts", "a:1,b:2", "--index", "2", "--", "train", "--output", "x"],
            "--index: expected a number from 0 to 1",
        ),
        (["--workers", "0", "--", "train", "--output", "x"], "--workers: expected"),
        (
            ["--workers", "2", "--", "train", "--output", "x", "--distribute", "mirrored"],
            "launch: expected --distribute multi-worker, got mirrored",
        ),
    ],
)
def test_wrong_usage(capsys, words, said):
    assert rnnsearch(["launch", *words]) == 2
    assert said in capsys.readouterr().err


class FakeTime:
    """What the launcher sees of time: it passes while the launcher sleeps, and after 10 seconds
    SIGTERM comes.
    """

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        before = self.now
        self.now = self.now + seconds
        if before < 10 <= self.now:
            os.kill(os.getpid(), signal.SIGTERM)


def test_workers_have_two_minutes_to_save_and_end(tmp_path, monkeypatch):
    """Without processes: the workers of this test end by SIGKILL alone."""
    clock = FakeTime()
    monkeypatch.setattr(launch, "time", clock)
    workers = started(
        ["launch", "--workers", "2", "--", "train", "--output", str(tmp_path / "run")],
        monkeypatch,
        [None, None],
        code=75,
    )
    assert len(workers) == 2
    for process in workers:
        (first, told), (last, killed) = process.signals
        assert (first, last) == (signal.SIGTERM, signal.SIGKILL)
        assert killed - told == pytest.approx(120, abs=0.5)


def test_addresses_are_free_and_each_worker_finds_its_own(monkeypatch):
    addresses = free_addresses(5)
    assert len(set(addresses)) == 5
    for index, address in enumerate(addresses):
        monkeypatch.setenv("TF_CONFIG", worker_variable(index, addresses))
        assert this_worker() == (index, addresses)
        with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
            pass


@pytest.mark.parametrize(
    "value",
    [
        None,
        "{}",
        '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": -1}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "0"}}',
        '{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}',
        '{"cluster": {"worker": ["a:1", 2]}, "task": {"type": "worker", "index": 0}}',
    ],
)
def test_a_cluster_that_is_none(capsys, monkeypatch, tmp_path, value):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    if value is not None:
        monkeypatch.setenv("TF_CONFIG", value)
    (tmp_path / "c.yaml").write_text("")
    assert (
        rnnsearch(
            [
                "train",
                "--config",
                str(tmp_path / "c.yaml"),
                "--output",
                str(tmp_path / "run"),
                "--distribute",
                "multi-worker",
            ]
        )
        == 2
    )
    assert "TF_CONFIG: expected" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given, begins, resumes",
    [
        (
            "--config c --output b --set x=1",
            "--config c --output b --set x=1",
            "--config c --output b --set x=1",
        ),
        ("--resume --config c --output b", "--config c --output b", "--config c --output b"),
        (
            "--from a --mix 0.5 --new-words=9 --output b --set x=1 --resume",
            "--from a --mix 0.5 --new-words=9 --output b --set x=1",
            "--output b --set x=1",
        ),
        (
            "--from a --mix 1 --pairs p --columns=1,2 --set data.train_source=s --output b"
            " --set data.batch_size=9",
            "--from a --mix 1 --pairs p --columns=1,2 --set data.train_source=s --output b"
            " --set data.batch_size=9",
            "--output b --set data.batch_size=9",
        ),
        ("--from a --config c --output b", "--from a --config c --output b", "--output b"),
        ("--resume --skip-batch --output b", "--skip-batch --output b", "--skip-batch --output b"),
    ],
)
def test_what_begins_a_training_is_not_said_again_when_it_goes_on(
    tmp_path, monkeypatch, given, begins, resumes
):
    """RUN knows what it began from; the same command may be given again and again. The first worker
    is killed, the second ends well.
    """
    monkeypatch.chdir(tmp_path)
    begins, resumes = (
        ["train", *words.split(), "--distribute", "multi-worker"] for words in (begins, resumes)
    )
    resumes.append("--resume")
    command = ["launch", "--workers", "1", "--", "train", *given.split()]
    ends = [-signal.SIGKILL, 0]
    assert [start.words for start in started(command, monkeypatch, ends)] == [begins, begins]
    (tmp_path / "b" / "checkpoints").mkdir(parents=True)
    (tmp_path / "b" / "checkpoints" / "state.json").write_text("{}")
    # it was left out, and is saved so
    left_out = [word for word in resumes if word != "--skip-batch"]
    first = resumes if "--resume" in given else begins
    assert [start.words for start in started(command, monkeypatch, ends)] == [first, left_out]


def test_a_batch_is_skipped_again_until_that_is_saved(tmp_path, monkeypatch):
    """A worker may be lost before the first checkpoint without the refused batch."""
    state = tmp_path / "b" / "checkpoints" / "state.json"
    state.parent.mkdir(parents=True)
    command = ["launch", "--workers", "1", "--", "train", "--resume", "--skip-batch"]
    command += ["--output", str(tmp_path / "b")]
    killed = -signal.SIGKILL
    for refused in (True, False):
        state.write_text(json.dumps({"refused": refused}))
        workers = started(command, monkeypatch, [killed, killed, 0])
        assert ["--skip-batch" in worker.words for worker in workers] == [True, refused, refused]
