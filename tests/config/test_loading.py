"""Configurations: layers merged once and checked once; errors name the file or the override."""

import dataclasses

import numpy as np
import pytest
import yaml

from rnnsearch_tf.config import (
    Config,
    ModelConfig,
    check_value,
    load_config,
    option_fields,
    save_config,
    shipped_configs,
)
from rnnsearch_tf.errors import UsageError


@pytest.fixture
def files(tmp_path):
    """files(name=text, …): writes name.yaml each, and gives the path of the last."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name}.yaml"
            path.write_text(text, encoding="utf-8")
        return path

    return write


def refused(path=None, overrides=(), **values):
    with pytest.raises(UsageError) as error:
        load_config(path, overrides, **values)
    assert error.value.exit_code == 2 and "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "text, parts",
    [
        ("model: {hiden_size: 3}", ["model.hiden_size", "unknown", "model.hidden_size?"]),
        ("modle: {}", ["modle", "did you mean model?"]),
        ("hidden_size: 3", ["hidden_size", "did you mean model.hidden_size?"]),
        ("model: {zzz: 3}", ["model.zzz", "expected one of system"]),
        ("model: {hidden_size: big}", ["model.hidden_size", "a whole number", "'big'"]),
        ("model: {hidden_size: 1.5}", ["model.hidden_size", "a whole number", "1.5"]),
        ("model: {hidden_size: true}", ["model.hidden_size", "a whole number", "True"]),
        ("model: {hidden_size: null}", ["model.hidden_size", "a whole number", "None"]),
        ("model: {hidden_size: 0}", ["model.hidden_size", "at least 1", "got 0"]),
        ("model: {embedding_dropout: 0.99}", ["model.embedding_dropout", "at most 0.95"]),
        ("training: {learning_rate: 0}", ["training.learning_rate", "more than 0.0"]),
        ("training: {learning_rate: .nan}", ["training.learning_rate", "a number", "nan"]),
        ("training: {optimizer: adam2}", ["adadelta, adam, sgd", "did you mean adam?"]),
        ("source: {lowercase: 1}", ["source.lowercase", "true or false", "got 1"]),
        ("source: {language: e!}", ["source.language", "language code", "'e!'"]),
        ("model: 3", ["model", "expected a section", "got 3"]),
        ("- a\n- b", ["`key: value` lines", "['a', 'b']"]),
        ("model: [1", ["bad.yaml:2", "expected YAML"]),
        ("model:\n\thidden_size: 3", ["bad.yaml:2", "expected YAML"]),
        ("model: \x01", ["expected a YAML file in UTF-8"]),
        ("model: {tie_target_embeddings: true, output_rank: 10}", ["tie_target", "620", "10"]),
        ("model: {system: luong, tie_target_embeddings: true}", ["hidden_size", "620", "1000"]),
        ("training: {schedule: cosine}", ["training.schedule", "maximum_updates"]),
        ("model: {forget_bias: 1}", ["model.forget_bias", "expected 0 without"]),
        ("model: {layers: 2}", ["model.layers", "deep_lstm or luong or stacked", "rnnsearch"]),
        ("model: {system: luong, output_rank: 9}", ["model.output_rank", "luong", "leave it out"]),
        ("model: {system: rnnencdec}\nsearch: {replace_unknown: true}", ["replace_unknown"]),
        ("base: phrasebook\ndata: {train_source: a}", ["train_source: expected none", "got a;"]),
        ("base: multi30k", ["base: multi30k", "found neither", "did you mean multi30k-en-"]),
        ("base: no/such.yaml", ["no/such.yaml", "found neither"]),
        ("base: 5", ["base: 5", "found neither"]),
        ("base: bad.yaml", ["a chain of bases that ends"]),
        ("model: {base: phrasebook}", ["model.base", "unknown option"]),
        ("data: {}\nmodel: {}\ndata: {}", ["bad.yaml:3: data", "once", "in line 1"]),
        ("model: {layers: 2,\n layers: 3}", ["bad.yaml:2: layers", "once", "in line 1"]),
    ],
)
def test_a_wrong_file_is_named_with_what_was_expected_and_what_came(files, text, parts):
    path = files(bad=text + "\n")
    found = refused(path)
    assert str(path) in found
    for part in parts:
        assert part in found


@pytest.mark.parametrize(
    "override, part",
    [
        ("model.hiden_size=3", "did you mean model.hidden_size?"),
        ("model.hidden_size=-3", "at least 1"),
        ("model.hidden_size", "expected section.key=value"),
        ("=3", "expected section.key=value"),
        ("model.hidden_size=[", "expected a YAML value"),
        ("model=3", "expected a section"),
        ("model.hidden_size.x=3", "did you mean model.hidden_size?"),
        ("model.layers=2", "has no such option"),
        ("base=phrasebook", "unknown option"),
    ],
)
def test_a_wrong_override_is_named_and_not_the_file(files, override, part):
    found = refused(files(good="model: {hidden_size: 3}\n"), [override])
    assert found.startswith(f"--set {override}: ") and part in found and "good.yaml" not in found


def test_a_wrong_value_is_said_of_the_file_that_has_it(files, tmp_path):
    path = files(low="model: {hidden_size: 0}\n", c="base: low.yaml\nmodel: {maxout_size: 3}\n")
    assert refused(path).startswith(f"{tmp_path}/low.yaml: model.hidden_size: expected at least 1")
    assert refused(tmp_path / "none.yaml").startswith(f"{tmp_path}/none.yaml: ")
    assert refused(tmp_path).startswith(str(tmp_path))
    two = files(two="training: {schedule: cosine}\n")  # of two options, the one that is named
    assert refused(two, ["training.epochs=3"]).startswith(f"{two}: training.schedule: ")
    load_config(path, ["model.hidden_size=3"])  # what is wrong below is mended above


def test_defaults_then_bases_then_the_file_then_values_then_overrides(files):
    path = files(
        low="model: {hidden_size: 3, embedding_size: 4}\ndata: {train_source: [a, b]}\n",
        middle="base: low.yaml\nmodel: {hidden_size: 5, maxout_size: 6}\ndata: {train_source: [c]}",
        high="base: middle.yaml\nmodel: {maxout_size: 8}\n",
    )
    values = {"data": {"batch_size": 8, "held_out": 5}}
    config = load_config(path, ["data.batch_size=9", "training.learning_rate=1e-3"], values)
    model = config.model
    assert (model.hidden_size, model.embedding_size, model.maxout_size) == (5, 4, 8)
    assert (model.output_rank, config.data.batch_size) == (Config().model.output_rank, 9)
    assert config.data.held_out == 5
    assert config.data.train_source == ("c",)  # a list is replaced as a whole
    assert config.training.learning_rate == 0.001  # YAML itself reads 1e-3 as text


def test_a_base_is_a_name_or_a_path_relative_to_its_file(files, tmp_path, monkeypatch):
    path = files(mine="base: phrasebook\nmodel: {hidden_size: 7}\n")
    assert load_config(path) == load_config("phrasebook", ["model.hidden_size=7"])
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.yaml").write_text("base: ../mine.yaml\n")
    monkeypatch.chdir(tmp_path / "deep")
    assert load_config("c.yaml") == load_config(path)
    assert load_config("phrasebook") == load_config(shipped_configs()["phrasebook"])
    (tmp_path / "deep" / "phrasebook").write_text("model: {hidden_size: 11}")
    assert load_config("phrasebook").model.hidden_size == 11  # a file comes first
    assert "did you mean phrasebook?" in refused("phrasebok")


def test_an_option_of_another_system_is_refused_where_it_is_given_and_reset_where_inherited(files):
    files(low="model: {attention: gaussian_window, windows: 3}\n")
    path = files(c="base: low.yaml\nmodel: {system: luong}\n")
    assert load_config(path).model.windows == Config().model.windows
    assert load_config(path, ["model.system=rnnsearch"]).model.windows == 3
    assert "c.yaml: model.windows: " in refused(
        files(c="base: low.yaml\nmodel: {system: luong, windows: 4}\n"), ["model.system=rnnsearch"]
    )
    copying = files(d="search: {replace_unknown: true}\n")
    assert not load_config(copying, ["model.system=rnnencdec"]).search.replace_unknown
    saved = dataclasses.asdict(ModelConfig(system="luong", windows=4))
    assert load_config(values={"model": saved}).model == ModelConfig(system="luong")


def test_what_is_saved_is_complete_and_loads_equal(files):
    config = load_config(files(c="base: phrasebook\nmodel: {system: rnnencdec}\n"))
    path = files(config="")
    assert load_config(path) == Config()
    save_config(config, path)
    assert load_config(path) == config
    written = yaml.safe_load(path.read_text())
    assert {f"{section}.{key}" for section in written for key in written[section]} == {
        name for name, _ in option_fields()
    }


def test_every_default_is_within_its_own_limits():
    tree = dataclasses.asdict(Config())
    for name, _ in option_fields():
        section, key = name.split(".")
        assert check_value(name, tree[section][key]) == tree[section][key]


def test_a_single_value_is_checked_under_the_name_it_was_given():
    with pytest.raises(UsageError, match="^--beam-size: expected at least 1, got 0$"):
        check_value("search.beam_size", 0, "--beam-size")
    assert type(check_value("search.beam_size", np.int64(3))) is int
    assert check_value("source.language", False) == "no"  # YAML reads no, Norwegian, as false
