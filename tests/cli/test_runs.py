"""The list of trainings, from what each of them wrote."""

import json

from rnnsearch_tf.cli import runs
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.cli.runs import BARS, CURVE_WIDTH, curve
from rnnsearch_tf.config import load_config, save_config
from rnnsearch_tf.runs.folder import Run


def write_training(folder, overrides, records, end=""):
    folder.mkdir(parents=True)
    save_config(load_config(overrides=overrides), folder / "config.yaml")
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps(record) + "\n" for record in records) + end, encoding="utf-8"
    )


def listed(capsys, *folders):
    assert run(["runs", *map(str, folders)]) == 0
    return [line.split() for line in capsys.readouterr().out.splitlines()]


def test_each_training_is_a_line(tmp_path, capsys):
    batches = [
        {"kind": "batches", "batches": 100 * k, "minutes": k / 2, "loss": 8.0 / k}
        for k in range(1, 5)
    ]
    bleu = [
        {"kind": "development", "batches": 400, "minutes": 2.5, "bleu": value, "best_bleu": 31.25}
        for value in (31.25, 30.0)
    ]
    write_training(tmp_path / "a", ["model.system=luong"], batches + bleu)
    # killed while it wrote
    write_training(tmp_path / "b", ["training.accumulate=2"], batches[:2], end='{"kind": "batc')
    write_training(tmp_path / "c", [], [])
    (tmp_path / "nothing").mkdir()
    write_training(tmp_path / "old", [], batches)
    (tmp_path / "old" / "config.yaml").write_text("model: {initialization: glorot}")
    titles, a, b, c, old = listed(capsys, tmp_path)
    assert titles == ["RUN", "system", "updates", "minutes", "BLEU", "loss"]
    assert a == [
        str(tmp_path / "a"),
        "luong",
        "400",
        "2.5",
        "31.25",
        "2.000",
        curve([8, 4, 8 / 3, 2]),
    ]
    assert b[2:6] == ["100", "1.0", "–", "4.000"]
    assert old[1:3] == ["(refused)", "400"]
    assert c[2:] == ["0", "0.0", "–", "–"]
    assert listed(capsys, tmp_path / "a")[1] == a


def test_the_score_is_that_of_the_weights_that_are_kept(tmp_path, capsys):
    """Chosen by loss, they may score lower than earlier ones."""
    write_training(
        tmp_path / "a",
        [],
        [
            {"kind": "development", "batches": 400, "minutes": 2.5, "best_bleu": value}
            for value in (31.25, 30.0)
        ],
    )
    assert listed(capsys, tmp_path / "a")[1][4] == "30.00"


def test_a_training_below_its_configuration_is_found(tmp_path, capsys):
    """As init lays them out: mine/config.yaml, mine/run."""
    save_config(load_config(), tmp_path / "config.yaml")
    write_training(tmp_path / "mine" / "run", [], [])
    save_config(load_config(), tmp_path / "mine" / "config.yaml")
    for folder in (tmp_path, tmp_path / "mine"):
        assert [row[0] for row in listed(capsys, folder)[1:]] == [str(tmp_path / "mine" / "run")]


def test_without_a_folder_it_looks_where_the_first_steps_put_them(tmp_path, capsys, monkeypatch):
    """README's mine/run below the current folder, and runs/; as deep as people lay them out, but
    not through a whole disk.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("mine/run", "runs/a", "runs/by/date/b"):
        write_training(tmp_path / name, [], [])
    write_training(tmp_path / "mine" / "run" / "averaged", [], [])
    deep = "/".join("abcdef")
    write_training(tmp_path / deep, [], [])
    write_training(tmp_path / ".hidden" / "run", [], [])
    (tmp_path / "again").symlink_to(".")
    names = ["mine/run", "mine/run/averaged", "runs/a", "runs/by/date/b"]
    assert [row[0] for row in listed(capsys)[1:]] == names
    assert [row[0] for row in listed(capsys, "runs")[1:]] == names[2:]
    assert [row[0] for row in listed(capsys, deep)[1:]] == [deep]
    assert [row[0] for row in listed(capsys, "runs", "runs/a")[1:]] == names[2:]
    monkeypatch.setattr(runs, "MOST_FOLDERS", 3)
    assert [row[0] for row in listed(capsys, "runs")[1:]] == ["runs/a"]


def test_a_large_folder_is_not_searched_to_its_end_without_a_word(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(runs, "MOST_FOLDERS", 3)
    write_training(tmp_path / "a", [], [])
    for name in "bcd":
        (tmp_path / name).mkdir()
    assert run(["runs", str(tmp_path)]) == 0
    assert (
        "has more than 3 folders, not all were searched; name the folder of the RUNs"
        in capsys.readouterr().err
    )


def test_a_training_that_was_stopped_before_its_first_record_is_listed(tmp_path, capsys):
    write_training(tmp_path / "a", [], [])
    (tmp_path / "a" / "metrics.jsonl").unlink()
    state = Run(tmp_path / "a").state
    state.parent.mkdir()
    for text, expected in (
        ('{"batches": 70, "seconds": 90.0}', ["70", "1.5", "–", "–"]),
        ('{"batches": 7', ["0", "0.0", "–", "–"]),
    ):
        state.write_text(text)
        assert listed(capsys, tmp_path)[1][2:] == expected


def test_none_is_an_error_in_words(tmp_path, capsys):
    assert run(["runs", str(tmp_path)]) == 1
    assert "found none" in capsys.readouterr().err


def test_a_curve_falls_as_the_loss_does():
    falling = curve([2.0**-k for k in range(100)])
    assert len(falling) == CURVE_WIDTH and (falling[0], falling[-1]) == (BARS[-1], BARS[0])
    assert list(falling) == sorted(falling, reverse=True)
    assert curve([3.0]) == curve([3.0, 3.0])[0] == BARS[0] and curve([]) == ""
