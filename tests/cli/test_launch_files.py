"""launch/: the lines for Slurm and the manifest for Kubernetes start the workers they should."""

import json
import os
import pathlib
import subprocess
import types

import pytest
import yaml
from fake_workers import started

from rnnsearch_tf.cli import launch

FOLDER = pathlib.Path(__file__).parents[2] / "launch"
JOB, SERVICE, POLICY = yaml.safe_load_all((FOLDER / "kubernetes-training.yaml").read_text())
POD = JOB["spec"]["template"]["spec"]


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A folder of programs that stand before all others, for programs of which only the words are
    wanted.
    """

    def program(name, lines):
        (tmp_path / name).write_text(f"#!/bin/bash\n{lines}\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program("rnnsearch", 'printf "%s\\n" "$@"')
    return program


@pytest.fixture
def task(monkeypatch):
    """task(words of a launcher) -> (the TF_CONFIG that its worker gets, the words of the worker,
    those where RUN has a checkpoint).
    """

    def of(words):
        with_checkpoint = types.SimpleNamespace(state=types.SimpleNamespace(exists=lambda: True))
        [start] = started(words, monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(launch, "Run", lambda path: with_checkpoint)
            [again] = started(words, patch)
        return json.loads(start.environment["TF_CONFIG"]), start.words, again.words

    return of


@pytest.mark.parametrize("index", [0, 2])
def test_a_pod_is_the_worker_of_its_number(path, task, index):
    [container] = POD["containers"]
    environment = os.environ | {"JOB_COMPLETION_INDEX": str(index)}
    done = subprocess.run(
        [*container["command"], *container["args"]],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    cluster, words, again = task(done.stdout.splitlines())
    assert cluster["task"] == {"type": "worker", "index": index}
    name = JOB["metadata"]["name"]
    port = container["ports"][0]["containerPort"]
    hosts = [f"{name}-{k}.{POD['subdomain']}:{port}" for k in range(JOB["spec"]["completions"])]
    assert cluster["cluster"] == {"worker": hosts}
    assert words[words.index("--output") + 1] == "/training/run" and words[-2:] == [
        "--distribute",
        "multi-worker",
    ]
    assert again == [*words, "--resume"]
    assert container["volumeMounts"][0]["mountPath"] == "/training"


def test_the_manifest_fits_together():
    spec = JOB["spec"]
    labels = JOB["spec"]["template"]["metadata"]["labels"]
    assert (JOB["apiVersion"], JOB["kind"], spec["completionMode"]) == (
        "batch/v1",
        "Job",
        "Indexed",
    )
    assert spec["parallelism"] == spec["completions"]  # all at once, or they wait for ever
    assert POD["restartPolicy"] == "Never"  # which a podFailurePolicy needs
    # host names
    assert (
        POD["subdomain"] == SERVICE["metadata"]["name"] and SERVICE["spec"]["clusterIP"] == "None"
    )
    assert SERVICE["spec"]["publishNotReadyAddresses"] is True
    assert SERVICE["spec"]["selector"] == labels == POLICY["spec"]["podSelector"]["matchLabels"]
    assert POD["terminationGracePeriodSeconds"] >= launch.PATIENCE
    [rule] = spec["podFailurePolicy"]["rules"]
    assert (
        rule["onExitCodes"]["values"] == [1, 2]
        and rule["onExitCodes"]["containerName"] == POD["containers"][0]["name"]
    )


def test_under_slurm_every_task_is_a_worker(path, task):
    """With a scontrol and an srun that start three tasks here."""
    path("scontrol", '[ "$*" = "show hostnames node[1-3]" ] && printf "node1\\nnode2\\nnode3\\n"')
    path("srun", 'shift; for task in 0 1 2; do SLURM_PROCID=$task "$@"; echo end; done')
    environment = os.environ | {"SLURM_JOB_NODELIST": "node[1-3]", "SLURM_JOB_ID": "7"}
    done = subprocess.run(
        [FOLDER / "slurm.sh", "--config", "my file.yaml", "--output", "run"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    for number, said in enumerate(done.stdout.split("end\n")[:3]):
        cluster, words, again = task(said.splitlines())
        assert cluster == {
            "cluster": {"worker": ["node1:2222", "node2:2222", "node3:2222"]},
            "task": {"type": "worker", "index": number},
        }
        assert again == [*words, "--resume"]
        assert words == [
            "train",
            "--config",
            "my file.yaml",
            "--output",
            "run",
            "--distribute",
            "multi-worker",
        ]


def test_a_training_that_slurm_stops_goes_back_into_the_queue(path):
    path("scontrol", '[ "$1" = requeue ] && echo "$@"; exit 0')
    path("srun", "exit 75")
    environment = os.environ | {"SLURM_JOB_NODELIST": "node1", "SLURM_JOB_ID": "7"}
    done = subprocess.run([FOLDER / "slurm.sh"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (75, "requeue 7\n")
