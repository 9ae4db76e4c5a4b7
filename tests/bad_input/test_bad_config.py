"""Every wrong configuration ends in an error that says what was expected, what came, and where."""

import pytest

from rnnsearch_tf.config import (
    Config,
    as_dictionary,
    check_value,
    load_config,
    option_fields,
    save_config,
)
from rnnsearch_tf.config.yaml_files import read_value
from rnnsearch_tf.errors import UsageError


def message(tmp_path, text, overrides=()):
    path = tmp_path / "bad.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as error:
        load_config(path, overrides=overrides)
    assert error.value.exit_code == 2
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    "text, parts",
    [
        (
            "model:\n  hiden_size: 3\n",
            ["unknown option model.hiden_size", "did you mean model.hidden_size?"],
        ),
        ("modle: {}\n", ["unknown option modle", "did you mean model?"]),
        ("hidden_size: 3\n", ["unknown option hidden_size", "did you mean model.hidden_size?"]),
        ("model:\n  zzz: 3\n", ["unknown option model.zzz", "expected one of system"]),
        ("model:\n  hidden_size: big\n", ["model.hidden_size", "expected a whole number", "'big'"]),
        ("model:\n  hidden_size: 1.5\n", ["model.hidden_size", "expected a whole number", "1.5"]),
        ("model:\n  hidden_size: true\n", ["model.hidden_size", "expected a whole number", "True"]),
        ("model:\n  hidden_size: null\n", ["model.hidden_size", "expected a whole number", "None"]),
        ("model:\n  hidden_size: 0\n", ["model.hidden_size", "at least 1", "got 0"]),
        (
            "model:\n  embedding_dropout: 0.99\n",
            ["model.embedding_dropout", "at most 0.95", "0.99"],
        ),
        ("training:\n  learning_rate: 0\n", ["training.learning_rate", "more than 0.0", "got 0.0"]),
        (
            f"training:\n  learning_rate: {10**400}\n",
            ["training.learning_rate", "expected a number", "inf"],
        ),
        (
            "training:\n  learning_rate: .nan\n",
            ["training.learning_rate", "expected a number", "nan"],
        ),
        (
            "training:\n  optimizer: adam2\n",
            ["training.optimizer", "adadelta, adam, sgd", "'adam2'", "did you mean adam?"],
        ),
        (
            "data:\n  corpus: null\n",
            ["data.corpus", "expected one of files, phrasebook, got None"],
        ),
        ("source:\n  lowercase: 1\n", ["source.lowercase", "expected true or false", "got 1"]),
        (
            "preset: groundhogg\n",
            ["preset", "groundhog, groundhog_phrases, paper", "did you mean groundhog?"],
        ),
        (
            "preset: [groundhog]\n",
            [
                "preset: expected one of groundhog, groundhog_phrases, paper, got ['groundhog'];"
                " did you mean groundhog?"
            ],
        ),
        ("model: 3\n", ["model", "expected a section", "got 3"]),
        ("model: {layers: !!int }\n", ["bad.yaml: expected YAML, got a file that does not parse"]),
        ("model: {layers: !!bool x}\n", ["bad.yaml: expected YAML, got a file that does not pars"]),
        ("- a\n- b\n", ["expected a YAML file of `key: value` lines", "got a list"]),
        (
            "model: [1\n",
            ["bad.yaml:2: expected YAML", "got the end of the file", "expected ',' or ']'"],
        ),
        (
            "model:\n\thidden_size: 3\n",
            ["bad.yaml:2: expected YAML", "got 'hidden_size: 3'", "'\\t'"],
        ),
        ("preset: 'paper\n", ["bad.yaml:2: expected YAML", "got the end of the file"]),
        ("preset: \x01\n", ["expected YAML", "does not parse", "#x0001"]),
        (
            "model:\n  tie_target_embeddings: true\n  output_rank: 10\n",
            ["model.tie_target_embeddings", "620", "got 10"],
        ),
        (
            "data: {train_weights: [1, 0]}\n",
            ["data.train_weights", "expected more than 0.0, got 0.0"],
        ),
        (
            "data: {corpus: phrasebook, train_weights: [1]}\n",
            ["data.train_weights: has no effect with data.corpus=phrasebook; set data.corpus"],
        ),
        ("data: {variants: 2}\n", ["data.variants: expected at most 1.0, got 2.0"]),
        (
            "data:\n  held_out: 9\n  development_source: a\n",
            ["data.held_out", "data.development_source=a", "set data.held_out=0"],
        ),
        (
            "data:\n  held_out: 9\n  development_target: a\n",
            ["data.held_out", "data.development_target=a", "set data.held_out=0"],
        ),
        ("training:\n  average: 1\n", ["training.average: expected 0, or 2 or more"]),
        (
            "model: {system: deep_lstm, forget_bias: 1, biases: none}\n",
            ["model.forget_bias: has no effect with model.biases=none"],
        ),
        (
            "model:\n  layers: 2\n",
            [
                "model.layers",
                "has no effect with model.system=rnnsearch",
                "deep_lstm, luong or stacked",
            ],
        ),
        (
            "model:\n  system: luong\n  output_rank: 9\n",
            [
                "model.output_rank",
                "its default, 620",
                "model.system=luong",
                "rnnsearch, rnnencdec or",
            ],
        ),
        (
            "model:\n  system: luong\n  tie_target_embeddings: true\n",
            ["model.hidden_size = model.embedding_size = 620", "got 1000"],
        ),
        (
            "data:\n  held_out: 9\nmodel: {}\ndata:\n  batch_size: 3\n",
            ["bad.yaml:4: expected YAML", "got 'data:': data occurs here for the second time"],
        ),
        (
            "data:\n  held_out: 9\n  held_out: 8\n",
            ["bad.yaml:3: expected YAML", "held_out occurs here for the second time"],
        ),
        (
            "training:\n  seed: 20240101123\n",
            ["training.seed: expected at most 4294967295, got 20240101123"],
        ),
        (
            "model:\n  windows: 3\n",
            ["model.windows", "no effect with model.attention=content", "gaussian_window"],
        ),
        (
            "training:\n  schedule: cosine\n",
            ["training.schedule", "maximum_updates", "got neither"],
        ),
    ],
)
def test_a_wrong_file_is_named_with_what_was_expected_and_what_came(tmp_path, text, parts):
    found = message(tmp_path, text)
    assert found.startswith(str(tmp_path / "bad.yaml"))
    for part in parts:
        assert part in found


@pytest.mark.parametrize(
    "override, parts",
    [
        ("model.hiden_size=3", ["model.hiden_size", "did you mean model.hidden_size?"]),
        ("model.hidden_size=-3", ["model.hidden_size", "at least 1", "-3"]),
        ("model.hidden_size", ["--set model.hidden_size", "expected section.key=value"]),
        ("=3", ["--set =3", "expected section.key=value"]),
        ("model.hidden_size=[", ["--set model.hidden_size=[", "expected a YAML value"]),
        ("model=3", ["model", "expected a section", "got 3"]),
        ("model.hidden_size.x=3", ["model.hidden_size", "expected a whole number"]),
    ],
)
def test_a_wrong_override(tmp_path, override, parts):
    found = message(tmp_path, "", [override])
    # the file is not to blame
    assert found.startswith(f"--set {override}: ") and "bad.yaml" not in found
    for part in parts:
        assert part in found


def test_files_that_are_no_configuration(tmp_path):
    for path, part in (
        (tmp_path / "missing.yaml", "found none"),
        (tmp_path, "expected a YAML file that can be read, got: Is a directory; check the path"),
    ):
        with pytest.raises(UsageError) as error:
            load_config(path)
        assert str(path) in str(error.value) and part in str(error.value)
    (tmp_path / "latin.yaml").write_bytes(b"preset: \xe9\n")
    with pytest.raises(
        UsageError,
        match=("latin.yaml: expected a YAML file in UTF-8, got byte 0xe9; check the path"),
    ):
        load_config(tmp_path / "latin.yaml")


def test_an_empty_file_is_the_defaults_and_a_saved_one_loads_equal(tmp_path):
    (tmp_path / "empty.yaml").write_text("")
    assert load_config(tmp_path / "empty.yaml") == Config()
    config = load_config(overrides=["preset=groundhog", "training.learning_rate=1e-3"])
    assert config.training.learning_rate == 0.001  # YAML itself reads 1e-3 as text
    save_config(config, tmp_path / "saved.yaml")
    assert load_config(tmp_path / "saved.yaml") == config


def test_later_wins_preset_file_set(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("preset: groundhog\nmodel:\n  hidden_size: 7\n  maxout_size: 3\n")
    config = load_config(path, overrides=["model.maxout_size=4"])
    assert (config.model.hidden_size, config.model.maxout_size, config.model.output_rank) == (
        7,
        4,
        620,
    )
    assert config.training.non_finite_gradient == "decay_weights"


def test_every_default_is_within_its_own_limits():
    tree = as_dictionary(Config())
    for name, _ in option_fields():
        value = tree
        for key in name.split("."):
            value = value[key]
        assert check_value(name, value) == value


def test_a_single_value_is_checked_under_the_name_it_was_given():
    with pytest.raises(UsageError, match="^--beam-size: expected at least 1, got 0$"):
        check_value("search.beam_size", 0, "--beam-size")


@pytest.mark.parametrize(
    "text, found",
    [
        ("010", "010"),
        ("12:30", "12:30"),
        ("1:30.5", "1:30.5"),
        ("10", 10),
        ("1_000", 1000),
        ("0x10", 16),
        ("1.5e+3", 1500.0),
        (".5", 0.5),
        ("-3", -3),
        ("0", 0),
        ("true", True),
        ("null", None),
        ("2020-13-45", "2020-13-45"),
        ("0x_", "0x_"),
        ("!!int", "!!int"),
        ("!!bool x", "!!bool x"),
        ("!!timestamp x", "!!timestamp x"),
    ],
)
def test_numbers_are_decimal(text, found):
    """YAML 1.1 has octal numbers and those of base 60: what nobody means."""
    value = read_value(text)
    assert value == found and type(value) is type(found)


def test_numbers_and_paths_as_they_are_written(tmp_path):
    for option in ("data.batch_size=010", "data.batch_size=12:30", "training.learning_rate=1:30"):
        with pytest.raises(UsageError, match="expected a (whole )?number, got '"):
            load_config(overrides=[option])
    (tmp_path / "c.yaml").write_text("data: {batch_size: 12:30}\n")
    with pytest.raises(UsageError, match="data.batch_size: expected a whole number, got '12:30'"):
        load_config(tmp_path / "c.yaml")
    for text, folder in (
        ("/a/d #1", "/a/d #1"),
        ("010", "010"),
        ("a: b", "a: b"),
        ("'a b'", "a b"),
        ("null", None),
        ("", None),
    ):
        assert load_config(overrides=[f"data.folder={text}"]).data.folder == folder
    assert load_config(
        overrides=["data.train_source=[a, b]", "data.train_target=x #1"]
    ).data.train_source == ("a", "b")


def test_a_section_is_a_mapping():
    with pytest.raises(UsageError, match="search: expected a section"):
        load_config(values={"search": 3}, overrides=["search.beam_size=2"])
