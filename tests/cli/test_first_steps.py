"""What the program says of itself: what to do first, shipped configurations by name, options with
their limits.
"""

import dataclasses
import functools
import pathlib
import typing

import pytest
import yaml

from rnnsearch_tf.cli.main import VERBS, run
from rnnsearch_tf.config import Config, CorpusConfig, as_dictionary, load_config, option_fields
from rnnsearch_tf.errors import UsageError


@pytest.fixture
def configs_folder():
    return pathlib.Path(__file__).parents[2] / "configs"


def printed(capsys, *words, code=0):
    assert run(list(words)) == code
    streams = capsys.readouterr()
    return streams.out if code == 0 else streams.err


def test_alone_it_says_what_to_do_next(capsys):
    text = printed(capsys)
    commands = [line.split()[1] for line in text.splitlines() if line.startswith("  rnnsearch ")]
    assert commands and set(commands) <= set(VERBS)


@pytest.mark.parametrize("verb", ["translate", "phrase-table"])
def test_help_verb_is_verb_help(capsys, verb):
    assert printed(capsys, "help", verb) == printed(capsys, verb, "--help")
    assert printed(capsys, "help") == printed(capsys, "--help")


def test_help_of_an_unknown_verb_names_the_nearest(capsys):
    assert "translate" in printed(capsys, "help", "translat", code=2)


def test_every_shipped_configuration_is_listed_with_its_purpose(capsys, configs_folder):
    text = printed(capsys, "configs")
    listed = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
    assert listed == sorted(path.stem for path in configs_folder.glob("*.yaml"))
    assert all(line.split()[1:] for line in text.splitlines() if not line.startswith(" "))
    assert "Cho et al. 2014a" in text  # the abbreviation does not end a sentence


def test_a_configuration_is_printed_as_it_is(capsys, configs_folder):
    assert printed(capsys, "configs", "phrasebook") == (
        configs_folder / "phrasebook.yaml"
    ).read_text(encoding="utf-8")
    assert "did you mean phrasebook" in printed(capsys, "configs", "frasebook", code=2)


def test_a_configuration_is_found_by_name_and_a_file_comes_first(
    configs_folder, tmp_path, monkeypatch
):
    assert load_config("phrasebook") == load_config(configs_folder / "phrasebook.yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phrasebook").write_text("model: {hidden_size: 7}")
    assert load_config("phrasebook").model.hidden_size == 7
    with pytest.raises(UsageError, match="multi30k-en-ft: .*did you mean multi30k-en-f"):
        load_config("multi30k-en-ft")
    with pytest.raises(
        UsageError, match="folder/phrasebook: expected a YAML configuration file, found none"
    ):
        load_config("folder/phrasebook")


def test_options_prints_each_with_its_default_limits_and_meaning(capsys):
    text = printed(capsys, "options")
    entries = dict(
        line.partition(": ")[::2] for line in text.splitlines() if not line.startswith(" ")
    )
    declared = dict(option_fields())
    of_corpora = {field.name for field in dataclasses.fields(CorpusConfig)}
    listed = [name for name in entries if "[]" not in name]
    assert listed == list(declared)
    assert {*entries} - {*listed} == {f"data.corpora[].{name}" for name in of_corpora}
    for name, field in declared.items():
        default = entries[name].split("  (")[0]
        expected = functools.reduce(
            lambda tree, key: tree[key], name.split("."), as_dictionary(Config())
        )
        assert yaml.safe_load(default) == (
            list(expected) if isinstance(expected, tuple) else expected
        ), name
        assert all(str(choice) in entries[name] for choice in field.metadata["choices"] or ())
    words = " ".join(text.split())
    assert all(" ".join(field.metadata["meaning"].split()) in words for field in declared.values())


@pytest.mark.parametrize(
    "asked, first, count",
    [
        ("search.beam_size", "search.beam_size", 1),
        (
            "training.",
            "training.optimizer",
            len(dataclasses.fields(typing.get_type_hints(Config)["training"])),
        ),
        ("dropout", "model.embedding_dropout", 3),
        ("data.corpora", "data.corpora", 5),
        ("weight", "data.corpora[].weight", 2),
    ],
)
def test_options_by_name_section_or_word(capsys, asked, first, count):
    lines = [
        line for line in printed(capsys, "options", asked).splitlines() if not line.startswith(" ")
    ]
    assert lines[0].startswith(f"{first}: ") and len(lines) == count


@pytest.mark.parametrize(
    "asked, hint",
    [
        ("nosuchthing", "rnnsearch options lists them"),
        ("serch.", "did you mean search.?"),
        ("beamsize", "did you mean beam_size?"),
        ("search.beamsize", "did you mean search.beam_size?"),
    ],
)
def test_no_such_option_is_wrong_usage(capsys, asked, hint):
    assert f"expected the name of an option or a part of one, got {asked}; {hint}" in printed(
        capsys, "options", asked, code=2
    )


@pytest.mark.parametrize("verb", ["train", "prepare"])
@pytest.mark.parametrize("option", ["train_target", "development_source"])
def test_a_file_that_is_not_there_is_said_before_tensorflow_is_loaded(
    capsys, tmp_path, monkeypatch, verb, option
):
    monkeypatch.setattr(f"rnnsearch_tf.cli.{verb}.import_tensorflow", lambda: pytest.fail("loaded"))
    (tmp_path / "text").write_text("a\n")
    files = {
        name: tmp_path / "text"
        for name in ("train_source", "train_target", "development_source", "development_target")
    }
    settings = [
        "--set=data.folder=null",
        *(
            f"--set=data.{name}={path}"
            for name, path in (files | {option: tmp_path / "no-such"}).items()
        ),
    ]
    assert (
        run(
            [verb, "--config", "multi30k-en-fr-words", *settings, "--output", str(tmp_path / "run")]
        )
        == 1
    )
    assert (
        f"data.{option}: {tmp_path}/no-such: expected a text file, found none; check the path"
        in capsys.readouterr().err
    )


def test_a_misspelt_model_gets_the_nearest_name(capsys):
    assert "that come with the program; did you mean tatoeba-en-fr?" in printed(
        capsys, "models", "tatoeba-en-f", code=1
    )


def test_a_demo_leaves_another_training_alone(run_folder, capsys):
    before = {
        path: path.read_bytes() for path in pathlib.Path(run_folder).rglob("*") if path.is_file()
    }
    assert "expected a new folder, or a demo with these settings, got another training" in printed(
        capsys, "demo", "--output", run_folder, code=2
    )
    assert {
        path: path.read_bytes() for path in pathlib.Path(run_folder).rglob("*") if path.is_file()
    } == before
