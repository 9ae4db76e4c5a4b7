"""A RUN or folder from others whose files are links: nothing outside it is written, and the error
names the link.
"""

import os
import shutil

import pytest
from killed import LANGUAGE_MODEL, SETTINGS

from rnnsearch_tf.extras.bulk.folder import CorpusFolder
from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.prepared.writing import prepare
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.training.callbacks import MetricsLog
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.runs.folder import Run

FILES = [
    *(
        "config.yaml",
        "metrics.jsonl",
        "SHA256SUMS",
        "model_card.md",
        "refused_batch.txt",
    ),
    *(
        "vocabulary.source.txt",
        "vocabulary.target.txt",
        "best/model.weights.h5",
        "evaluated/batch-99999999.weights.h5",
    ),
    *("checkpoints/state.json", "checkpoints/state.previous.json", "checkpoints/batch-4.keras"),
]
FOLDERS = ["best", "evaluated", "checkpoints", "tensorboard", "averaged"]
VICTIM = b"not of the RUN\n"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A RUN after two updates."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "c.yaml").write_text("")
    words = [
        "train",
        "--config",
        str(folder / "c.yaml"),
        "--output",
        str(folder / "run"),
        "--set",
        "training.maximum_updates=2",
    ]
    for setting in (*SETTINGS, *LANGUAGE_MODEL):
        words += ["--set", setting]
    assert rnnsearch(words) == 0
    return folder / "run"


def partial(name):
    folder, _, file = name.rpartition("/")
    return f"{folder}/partial-{file}".lstrip("/")


@pytest.mark.parametrize("name", [*FILES, *map(partial, FILES), *FOLDERS])
def test_a_resumed_training_writes_nothing_outside_its_folder(trained, tmp_path, name, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    victim = tmp_path / "victim"
    place = run / name
    place.parent.mkdir(exist_ok=True)
    if name in FOLDERS:
        victim.mkdir()
        (victim / "state.json").write_bytes(VICTIM)
        shutil.rmtree(place, ignore_errors=True)
    else:
        victim.write_bytes(VICTIM)
        place.unlink(missing_ok=True)
    place.symlink_to(os.path.relpath(victim, place.parent))
    assert (
        rnnsearch(
            ["train", "--output", str(run), "--resume", "--set", "training.maximum_updates=4"]
        )
        == 1
    )
    said = capsys.readouterr().err
    assert f"{place}: refused: expected a file of {run}, got a link to {victim}, outside it" in said
    assert (victim / "state.json" if name in FOLDERS else victim).read_bytes() == VICTIM
    assert name not in FOLDERS or os.listdir(victim) == ["state.json"]


def test_a_link_to_nothing_makes_nothing(trained, tmp_path, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "model_card.md").unlink()
    (run / "model_card.md").symlink_to(tmp_path / "new")
    assert rnnsearch(["train", "--output", str(run), "--resume"]) == 1
    assert "model_card.md: refused: " in capsys.readouterr().err and not (tmp_path / "new").exists()


def test_a_run_may_be_a_link_and_have_links_inside(trained, tmp_path, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    (run / "metrics.jsonl").rename(run / "m")
    (run / "metrics.jsonl").symlink_to("m")
    (tmp_path / "latest").symlink_to("run")
    assert (
        rnnsearch(
            [
                "train",
                "--output",
                str(tmp_path / "latest"),
                "--resume",
                "--set",
                "training.maximum_updates=3",
            ]
        )
        == 0
    ), capsys.readouterr().err


def test_an_averaged_model_is_written_into_its_own_folder(trained, tmp_path, capsys):
    run = shutil.copytree(trained, tmp_path / "run")
    victim = tmp_path / "victim"
    victim.write_bytes(VICTIM)
    for name in ("config.yaml", "vocabulary.source.txt", "best"):
        (run / "averaged").mkdir()
        (run / "averaged" / name).symlink_to(victim)
        assert rnnsearch(["average", str(run)]) == 1
        assert (
            f"averaged/{name}: refused: " in capsys.readouterr().err
            and victim.read_bytes() == VICTIM
        )
        shutil.rmtree(run / "averaged")


def test_a_file_half_written_is_no_door(tmp_path):
    """Whoever calls write_file."""
    victim = tmp_path / "victim"
    victim.write_bytes(VICTIM)
    (tmp_path / "partial-f").symlink_to(victim)
    with pytest.raises(
        UserError, match="partial-f: refused: expected no link, got one to .*victim; delete it"
    ):
        write_file(tmp_path / "f", "new")
    assert victim.read_bytes() == VICTIM and not (tmp_path / "f").exists()
    (tmp_path / "partial-f").unlink()
    os.link(victim, tmp_path / "partial-f")  # the same file under a second name
    write_file(tmp_path / "f", "new")
    assert victim.read_bytes() == VICTIM and (tmp_path / "f").read_text() == "new"


def test_metrics_are_not_cut_elsewhere(tmp_path):
    (tmp_path / "victim").write_bytes(VICTIM)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").symlink_to("../victim")
    with pytest.raises(UserError, match="metrics.jsonl: refused: "):
        MetricsLog(Run(tmp_path / "run").metrics, TrainingState(batches=1))
    assert (tmp_path / "victim").read_bytes() == VICTIM


@pytest.mark.parametrize(
    "name",
    [
        "bad-lines",
        "bad-lines/a.jsonl",
        "a",
        "translate-corpus.json",
        "partial-translate-corpus.json",
    ],
)
def test_a_translated_corpus_stays_in_its_folder(tmp_path, name):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("line\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.jsonl").write_bytes(VICTIM)
    place = tmp_path / "out" / name
    place.parent.mkdir(parents=True)
    place.symlink_to(elsewhere if name == "bad-lines" else elsewhere / "a.jsonl")
    with (
        pytest.raises(UserError, match=f"{name}: refused: expected "),
        CorpusFolder(tmp_path / "out", [str(tmp_path / "in" / "a")], {}),
    ):
        pass
    assert (elsewhere / "a.jsonl").read_bytes() == VICTIM and os.listdir(elsewhere) == ["a.jsonl"]


@pytest.mark.parametrize("name", ["", "ids.bin", "plan.json"])
def test_a_prepared_corpus_is_written_into_its_own_folder(tmp_path, name):
    for side in ("en", "fr"):
        (tmp_path / f"t.{side}").write_text("a b\nc d\n")
    tokens = {"tokenization": "space"}
    data = {"folder": str(tmp_path), "train_source": "t.en", "train_target": "t.fr"}
    elsewhere = tmp_path / "elsewhere"
    place = tmp_path / ".prepared.partial" / name
    elsewhere.mkdir()
    (elsewhere / "mine").write_bytes(VICTIM)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(elsewhere / "mine" if name else elsewhere)
    with pytest.raises(UserError, match=r"\.prepared\.partial.*: refused: expected "):
        prepare(
            load_config(values={"source": tokens, "target": tokens, "data": data}),
            tmp_path / "prepared",
            processes=1,
        )
    assert (elsewhere / "mine").read_bytes() == VICTIM and os.listdir(elsewhere) == ["mine"]
