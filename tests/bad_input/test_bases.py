"""YAML files that are laid over others: `base:`."""

import os
import re

import pytest
import yaml

from rnnsearch_tf.config import (
    Config,
    as_dictionary,
    load_config,
    named_options,
    save_config,
    saved_config,
    shipped_configs,
)
from rnnsearch_tf.config.text_checks import names_development_text
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.profile import load_profile


@pytest.fixture
def files(tmp_path):
    """files(name=text, …): writes name.yaml each, and gives the path of the last."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name}.yaml"
            path.write_text(text, encoding="utf-8")
        return path

    return write


def refused(path, overrides=()):
    with pytest.raises(UsageError) as error:
        load_config(path, overrides)
    assert "\n" not in str(error.value)
    return str(error.value)


def laid_over(below, above):
    """The values of `above`, section by section, over those of `below`."""
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return below | {key: laid_over(below.get(key), value) for key, value in above.items()}


def test_values_are_laid_over_those_of_the_base(files):
    lowest = (
        "model: {hidden_size: 3, embedding_size: 4}\ndata: {batch_size: 7, train_source: [a, b]}\n"
    )
    middle = (
        "base: lowest.yaml\nmodel: {hidden_size: 5, maxout_size: 6}\ndata: {train_source: [c]}\n"
    )
    highest = "base: middle.yaml\nmodel: {maxout_size: 8}\n"
    path = files(lowest=lowest, middle=middle, highest=highest)
    config = load_config(path, ["data.batch_size=9"])
    assert (config.model.hidden_size, config.model.embedding_size, config.model.maxout_size) == (
        5,
        4,
        8,
    )
    # a list is laid over as a whole
    assert (config.data.batch_size, config.data.train_source) == (
        9,
        ("c",),
    )
    named = {
        "model.hidden_size",
        "model.embedding_size",
        "model.maxout_size",
        "data.batch_size",
        "data.train_source",
    }
    assert named_options(path) == named
    assert named_options(path, ["search.beam_size=2"]) == named | {"search.beam_size"}


def test_a_name_or_a_path_relative_to_the_file(files, tmp_path, monkeypatch):
    path = files(mine="base: phrasebook\nmodel: {hidden_size: 7}\n")
    shipped = as_dictionary(load_config("phrasebook"))
    assert as_dictionary(load_config(path)) == laid_over(shipped, {"model": {"hidden_size": 7}})
    (tmp_path / "there" / "deeper").mkdir(parents=True)
    (tmp_path / "there" / "deeper" / "c.yaml").write_text("base: ../b.yaml\n")
    (tmp_path / "there" / "b.yaml").write_text(f"base: {path}\n")
    monkeypatch.chdir(tmp_path / "there")
    assert load_config("deeper/c.yaml") == load_config(path)
    (tmp_path / "phrasebook").mkdir()  # a folder is no configuration
    (tmp_path / "there" / "phrasebook").mkdir()
    assert load_config(path).model.hidden_size == 7
    assert load_config("phrasebook") == load_config(shipped_configs()["phrasebook"])
    (tmp_path / "phrasebook").rmdir()
    (tmp_path / "phrasebook").write_text("model: {hidden_size: 11, maxout_size: 12}")
    # as for --config: a file of that name comes first
    assert load_config(path).model.maxout_size == 12


def test_the_preset_of_a_base_holds_unless_the_file_has_its_own(files):
    files(low="preset: groundhog\ndata: {batch_size: 7}\n", other="data: {batch_size: 7}\n")
    kept, own, none, added = (
        load_config(files(c=text))
        for text in (
            "base: low.yaml\nmodel: {hidden_size: 9}\n",
            "base: low.yaml\npreset: paper\n",
            "base: low.yaml\npreset: null\n",
            "base: other.yaml\npreset: paper\n",
        )
    )
    assert (kept.preset, kept.training.non_finite_gradient, kept.model.hidden_size) == (
        "groundhog",
        "decay_weights",
        9,
    )
    assert (own.preset, own.model.biases, own.training.non_finite_gradient) == (
        "paper",
        "none",
        "error",
    )
    assert (none.preset, none.search.length_penalty) == (None, 1.0)
    # which the presets have as 80
    assert {config.data.batch_size for config in (kept, own, none, added)} == {7}


def test_what_the_file_takes_the_effect_from_is_at_its_default(files):
    files(low=("model: {attention: gaussian_window, windows: 3}\n"))
    path = files(c="base: low.yaml\nmodel: {system: luong}\n")
    assert load_config(path).model.windows == Config().model.windows
    assert load_config(path, ["model.system=rnnsearch"]).model.windows == 3
    again = files(d="base: c.yaml\nmodel: {system: rnnsearch}\n")
    assert load_config(again).model.windows == 3


def test_what_never_had_an_effect_is_refused(files):
    own = files(
        low="model: {attention: gaussian_window}\n",
        c="base: low.yaml\nmodel: {system: luong, windows: 3}\n",
    )
    assert refused(own).startswith(
        f"{own} (base: {own.parent}/low.yaml): model.windows: has no effect with model.system=luong"
    )
    of_base = files(low="model: {windows: 3}\n", c="base: low.yaml\nmodel: {hidden_size: 5}\n")
    assert "model.windows: has no effect with model.attention=content" in refused(of_base)
    assert "model.windows: has no effect" in refused(of_base, ["model.system=luong"])
    assert "model.windows: has no effect" in refused(
        files(d="base: c.yaml\nmodel: {system: luong}\n")
    )
    load_config(of_base, ["model.attention=gaussian_window"])


def test_a_base_need_not_stand_alone(files):
    path = files(
        low="training: {schedule: cosine}\n", c="base: low.yaml\ntraining: {maximum_updates: 5}\n"
    )
    assert load_config(path).training.schedule == "cosine"
    assert "training.schedule: cosine needs" in refused(path.parent / "low.yaml")


@pytest.mark.parametrize(
    "text, parts",
    [
        (
            "base: multi30k\n",
            [
                "multi30k: expected a YAML configuration file or the name of a shipped one",
                "did you mean multi30k-en-",
            ],
        ),
        ("base: phrasebok.yaml\n", ["found neither; did you mean phrasebook?"]),
        ("base: no/such.yaml\n", ["no/such.yaml: expected a YAML configuration file, found none"]),
        ("base: .\n", ["expected a YAML file that can be read, got: Is a directory"]),
        ("base: 5\n", ["or the path of a YAML file, got 5; rnnsearch options lists the names"]),
        ("base: [phrasebook]\n", ["or the path of a YAML file, got ['phrasebook']"]),
        ("base: {phrasebook: }\n", ["or the path of a YAML file, got {'phrasebook': None}"]),
        ("base: null\n", ["or the path of a YAML file, got None"]),
        ("base: ''\n", ["or the path of a YAML file, got ''"]),
        ('base: "a/\\0"\n', ["or the path of a YAML file, got 'a/\\x00'"]),
        ('base: "a/\\ud800"\n', ["or the path of a YAML file, got 'a/\\ud800'"]),
        ('base: "a/\\nb"\n', ["or the path of a YAML file, got 'a/\\nb'"]),
        ("base: broken.yaml\n", ["broken.yaml:2: expected YAML"]),
        (
            "base: list.yaml\n",
            ["list.yaml: expected a YAML file of `key: value` lines, got a list"],
        ),
        (
            "base: c.yaml\n",
            [
                "expected a file that does not lead back to itself, got a circle: ",
                "; take one of their base lines out",
            ],
        ),
    ],
)
def test_a_wrong_base(files, text, parts):
    path = files(broken="model:\n\thidden_size: 3\n", list="[1]\n", c=text)
    found = refused(path)
    assert found.startswith(f"{path}: base: "), found
    for part in parts:
        assert part in found


def test_a_circle_is_said_with_its_files(files):
    path = files(a="base: b.yaml\n", b="base: ./c.yaml\n", c="")
    folder = path.parent
    path.write_text(f"base: ../{folder.name}/a.yaml\n")
    os.symlink("a.yaml", folder / "link.yaml")
    for name in ("a", "link"):
        assert refused(folder / f"{name}.yaml").startswith(
            f"{folder}/c.yaml: base: expected a file that does not lead back"
        )
    assert f"got a circle: {folder}/a.yaml, {folder}/b.yaml, {folder}/c.yaml, {folder}/" in refused(
        folder / "a.yaml"
    )
    twice = files(low="", left="base: low.yaml\n", top="base: left.yaml\n")
    load_config(twice)


def test_a_long_chain(files):
    path = files(
        c0="model: {hidden_size: 3}\n", **{f"c{n}": f"base: c{n - 1}.yaml\n" for n in range(1, 300)}
    )
    assert load_config(path).model.hidden_size == 3


def test_a_wrong_option_is_said_of_the_file_that_has_it(files):
    path = files(low="model: {hiden_size: 3}\n", c="base: low.yaml\nmodel: {hidden_size: 3}\n")
    folder = path.parent
    assert refused(path).startswith(
        f"{folder}/low.yaml: unknown option model.hiden_size; did you mean model.hidden_size?"
    )
    files(low="model: {hidden_size: 0}\n")
    assert refused(path).startswith(f"{folder}/low.yaml: model.hidden_size: expected at least 1")
    path = files(low="model: {hidden_size: 4}\n", c="base: low.yaml\nmodel: 3\n")
    assert refused(path).startswith(f"{path}: model: expected a section")
    assert "unknown option bas; did you mean base?" in refused(files(c="bas: low.yaml\n"))
    assert "unknown option model.base" in refused(files(c="model: {base: low.yaml}\n"))


def test_only_files_have_a_base(files, tmp_path):
    none_here = (
        "base: expected none here, got 'phrasebook'; only a YAML file that --config names may have"
        " a base"
    )
    path = files(c="")
    assert refused(path, ["base=phrasebook"]).startswith(f"--set base=phrasebook: {none_here}")
    with pytest.raises(UsageError, match=f"^configuration: {none_here}"):
        load_config(values={"base": "phrasebook"})
    path = files(config="base: phrasebook\n")
    with pytest.raises(UsageError, match=f"^{path}: {none_here}"):
        saved_config(path)
    profile = files(profile="base: phrasebook\n")
    with pytest.raises(UsageError, match="unknown option base"):
        load_profile(Config().search, profile)


def test_what_a_run_saves_is_complete(files):
    config = load_config(files(c="base: phrasebook\nmodel: {unit: lstm}\n"))
    path = files(config="")
    save_config(config, path)
    assert "base" not in yaml.safe_load(path.read_text())
    assert saved_config(path) == load_config(path) == config


def test_a_shipped_configuration_says_what_it_is_and_holds_only_what_differs_from_its_base():
    lines = 0
    for name, path in shipped_configs().items():
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        assert re.match(r"# [^\n]+\.\n", text), (
            f"{name}: expected a line first that says what it is"
        )
        tree = yaml.safe_load(text)
        if "base" not in tree:
            continue
        assert tree["base"] in shipped_configs(), name
        config = as_dictionary(load_config(path))
        base = as_dictionary(load_config(tree.pop("base")))
        for section, values in tree.items():
            for key in values:
                assert config[section][key] != base[section][key], (
                    f"{name}: {section}.{key} is as its base has it"
                )
    assert lines <= 650


def test_every_shipped_configuration_has_a_development_text():
    """By its scores the best weights are chosen; a phrase table has none."""
    configs = {name: load_config(path).data for name, path in shipped_configs().items()}
    without = {name for name, data in configs.items() if not names_development_text(data)}
    assert without == {"encoder-decoder", "encoder-decoder-groundhog"}
