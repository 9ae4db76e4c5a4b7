"""What `average` averages, and what it leaves alone."""

import os
import shutil
import types

import h5py
import numpy as np
import pytest
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import as_dictionary, load_config, save_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import locked
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.averaging import average_run
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.fit import train
from test_driver import config, language_model


def arrays(path):
    """{name in the file: array}."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("average") / "run"
    train(
        config(
            "training.evaluate_every=2", "training.maximum_updates=7", "training.keep_evaluated=3"
        ),
        folder,
    )
    return folder


@pytest.mark.slow
def test_the_last_evaluations_are_kept(trained):
    names = [path.name for path in sorted((trained / "evaluated").iterdir())]
    assert names == [f"batch-{number:08}.weights.h5" for number in (4, 6, 7)]
    first, second = (arrays(trained / "evaluated" / name) for name in names[:2])
    assert any(
        not np.array_equal(first[name], second[name])
        for name in first
        if first[name].dtype == np.float32
    )


@pytest.mark.parametrize("last, numbers", [(None, (4, 6, 7)), (2, (6, 7))])
def test_the_mean_of_every_weight(trained, tmp_path, capsys, last, numbers):
    options = [] if last is None else ["--last", str(last)]
    assert run(["average", str(trained), "--output", str(tmp_path / "mean"), *options]) == 0
    names = [f"batch-{number:08}.weights.h5" for number in numbers]
    assert capsys.readouterr().out == f"{tmp_path / 'mean'}: the mean of {', '.join(names)}\n"
    members = [arrays(trained / "evaluated" / name) for name in names]
    mean = arrays(Run(tmp_path / "mean").best_weights)
    weights = [name for name, value in mean.items() if value.dtype == np.float32]
    assert len(weights) > 20 and mean.keys() == {
        name for name in members[0] if not name.startswith("optimizer")
    }
    for name in weights:
        np.testing.assert_allclose(
            mean[name], np.mean([member[name] for member in members], axis=0), rtol=1e-6, atol=1e-9
        )
    assert load_config(tmp_path / "mean" / "config.yaml") == load_config(trained / "config.yaml")


def test_the_new_folder_is_a_run(trained, tmp_path, capsys):
    Run(trained).examples.write_text("The door is white.\n")
    assert run(["average", str(trained)]) == 0
    (tmp_path / "s").write_text("The door is white.\n")
    capsys.readouterr()
    assert (
        run(
            [
                "translate",
                "--model",
                str(trained / "averaged"),
                "--beam-size",
                "1",
                str(tmp_path / "s"),
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.count("\n") == 1
    name = "examples.txt"
    assert (trained / "averaged" / name).read_bytes() == (trained / name).read_bytes()


def test_a_resumed_training_is_averaged_again(trained, tmp_path, capsys):
    """Also into the folder of its earlier mean, with another limit; not into that of another."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    assert run(["average", str(folder)]) == 0
    before = load_config(folder / "config.yaml")
    for change, code in (("maximum_minutes=9", 0), ("seed=9", 2)):
        changed = load_config(overrides=[f"training.{change}"], below=as_dictionary(before))
        save_config(changed, folder / "config.yaml")
        assert run(["average", str(folder)]) == code
    save_config(before, folder / "config.yaml")
    assert "expected a folder without a model" in capsys.readouterr().err


class Killed(BaseException):
    """In place of SIGKILL."""


def test_a_kill_at_any_file_leaves_a_folder_that_is_averaged_again(trained, tmp_path, monkeypatch):
    """Two commands at once would write the same temporary files; the second is refused."""
    replace = os.replace
    for number in range(30):
        left = [number]

        def killed(*paths, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            replace(*paths)

        output = tmp_path / str(number)
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", killed)
            try:
                average_run(trained, output)
                break
            except Killed:
                pass
        average_run(trained, output)
        Run.open(output).verify()
    assert number > 5
    with locked(output):
        with pytest.raises(UserError, match="expected to be the only process that writes it"):
            average_run(trained, output)


@pytest.mark.slow
def test_too_few_and_a_folder_in_use(trained, tmp_path, capsys):
    def fails(*words, code):
        assert run(["average", *map(str, words)]) == code
        return capsys.readouterr().err

    assert "expected the weights of at least 9 evaluations, got 3" in fails(
        trained, "--last", 9, code=1
    )
    assert "expected a folder without a training" in fails(trained, "--output", trained, code=2)
    assert "--last: expected a whole number, at least 2" in fails(trained, "--last", 1, code=2)
    with pytest.raises(UsageError, match="last: expected at least 2 evaluations"):
        average_run(trained, tmp_path / "one", last=1)
    other = tmp_path / "other"  # another training's mean, say, which has no checkpoints
    train(
        config(
            "training.seed=9",
            "training.evaluate_every=1",
            "training.maximum_updates=2",
            "training.keep_evaluated=2",
        ),
        tmp_path / "second",
    )
    assert (
        run(["average", str(tmp_path / "second"), "--output", str(other)])
        == run(["average", str(tmp_path / "second"), "--output", str(other)])
        == 0
    )
    capsys.readouterr()
    before = Run(other).best_weights.read_bytes()
    assert "expected a folder without a model" in fails(trained, "--output", other, code=2)
    assert Run(other).best_weights.read_bytes() == before
    train(
        language_model("training.maximum_updates=1", "training.keep_evaluated=0"), tmp_path / "none"
    )
    assert not (tmp_path / "none" / "evaluated").exists()
    assert "got 0; train with a higher training.keep_evaluated" in fails(tmp_path / "none", code=1)


def test_one_evaluation_gives_no_average(capsys):
    """It is said, rather than passed over."""
    run = types.SimpleNamespace(evaluated_weights=lambda: ["evaluated/batch-9.weights.h5"])
    Development._average(types.SimpleNamespace(run=run), 4)
    assert "training.average=4: expected the weights of two evaluations or more, got 1" in (
        capsys.readouterr().err
    )
