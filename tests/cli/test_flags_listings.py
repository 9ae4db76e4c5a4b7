"""Every flag of the verbs that list something; every verb has a table. See flag_tables.py."""

import pathlib
import re
import shutil

import argcomplete.shell_integration
import yaml
from flag_tables import check, complete

from rnnsearch_tf.cli import fidelity, main
from rnnsearch_tf.config import default_of, load_config, shipped_config, shipped_configs

ELSEWHERE = {"serve": "serving/test_serving_flags.py has tensorflow_model_server's flags"}
"""Verbs without a table here, and why."""


def test_fidelity(observe, monkeypatch):
    def comparison(config):
        observe.facts["config"] = config
        return []

    monkeypatch.setattr(fidelity, "comparison", comparison)
    changed = load_config("phrasebook", ["training.seed=5"])
    plain = check(
        observe,
        "fidelity",
        ["--config", "phrasebook"],
        {
            "--config": (
                ["--config", "phrasebook-lstm"],
                {"config": load_config("phrasebook-lstm")},
            ),
            "--set": (["--set", "training.seed=5"], {"config": changed}),
        },
    )
    assert plain["config"] == load_config("phrasebook")


def test_configs(observe):
    complete("configs")
    listed = observe("configs")["output"]
    assert {line.split()[0] for line in listed if line[0] != " "} == set(shipped_configs())
    printed = shipped_config("phrasebook").read_text(encoding="utf-8").splitlines()
    assert observe("configs", "phrasebook")["output"] == printed


def test_options(observe):
    complete("options")
    found = observe("options", "search.beam_size", "data.batch_size")["output"]
    named = {}
    for line in found:
        if line[0] != " ":
            name, _, value = line.partition("  ")[0].partition(": ")
            named[name] = yaml.safe_load(value)
    expected = {name: default_of(name) for name in ("search.beam_size", "data.batch_size")}
    assert named == expected
    assert len(observe("options")["output"]) > 10 * len(found)


def test_models(observe, tmp_path):
    """NAME may be the path of a RUN."""
    complete("models")
    shutil.copytree(tmp_path / "run", tmp_path / "mine")
    (tmp_path / "mine" / "model_card.md").write_text("# Mine\n\nIts card.\n")
    assert observe("models", "mine") == {"output": ["# Mine", "", "Its card."]}


def test_runs(observe, tmp_path):
    complete("runs", {"--clean"})

    def listed(*folders):
        return [line.split()[0] for line in observe("runs", *folders)["output"]]

    assert listed("run", "other") == ["RUN", "run", "other"]
    assert listed("other") == ["RUN", "other"]
    assert listed() == ["RUN", "other"]  # of a folder that is found twice the first name
    (tmp_path / "run" / "evaluated").mkdir()
    [cleaned] = observe("runs", "--clean", "run")["output"]
    assert cleaned.startswith("run: 0.0 MB freed, ")
    assert not (tmp_path / "run" / "evaluated").exists()


def test_completion(observe, monkeypatch):
    def shellcode(programs, shell):
        return f"{programs} {shell}"

    complete("completion")
    monkeypatch.setattr(argcomplete.shell_integration, "shellcode", shellcode)
    for shell in ("bash", "zsh", "fish"):
        assert observe("completion", shell)["output"] == [f"['rnnsearch'] {shell}"]


def test_every_verb_has_its_table():
    """`complete` and `check` compare a table with the parser of the verb that they name."""
    calls = re.compile(r"\b(?:complete\(|check\(\s*observe,)\s*\"([a-z-]+)\"")
    files = pathlib.Path(__file__).parent.glob("test_flags_*.py")
    found = [verb for path in files for verb in calls.findall(path.read_text(encoding="utf-8"))]
    assert sorted([*found, *ELSEWHERE]) == sorted(main.VERBS)
