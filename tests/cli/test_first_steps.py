"""What the program says of itself: what to do first, shipped configurations, options."""

import dataclasses
import pathlib
import typing

import pytest

from rnnsearch_tf.cli.main import VERBS, run
from rnnsearch_tf.config import Config, default_of, load_config, option_fields
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


def test_help_command_is_command_help(capsys):
    assert printed(capsys, "help", "translate") == printed(capsys, "translate", "--help")
    assert printed(capsys, "help") == printed(capsys, "--help")


def test_options_lists_every_configuration_with_its_purpose_and_every_option(
    capsys, configs_folder
):
    text = printed(capsys, "options")
    configurations, _, options = text.partition("\noptions ")
    lines = [line for line in configurations.splitlines()[1:] if not line.startswith("   ")]
    assert [line.split()[0] for line in lines] == sorted(
        path.stem for path in configs_folder.glob("*.yaml")
    )
    assert all(line.split()[1:] for line in lines)
    assert "Cho et al. 2014a" in text  # the abbreviation does not end a sentence
    words = options.replace(",", " ").split()
    assert {name.rpartition(".")[2] for name, _ in option_fields()} <= set(words)


def test_a_configuration_is_printed_as_it_is(capsys, configs_folder):
    assert printed(capsys, "options", "phrasebook") == (
        configs_folder / "phrasebook.yaml"
    ).read_text(encoding="utf-8")
    assert "did you mean phrasebook" in printed(capsys, "options", "frasebook", code=2)


def test_a_configuration_is_found_by_name_and_a_file_comes_first(
    configs_folder, tmp_path, monkeypatch
):
    assert load_config("phrasebook") == load_config(configs_folder / "phrasebook.yaml")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "phrasebook").write_text("model: {hidden_size: 7}")
    assert load_config("phrasebook").model.hidden_size == 7
    with pytest.raises(UsageError, match="multi30k-en-ft: .*did you mean multi30k-en-f"):
        load_config("multi30k-en-ft")


def test_an_option_is_explained(capsys):
    for name, field in option_fields():
        text = printed(capsys, "options", name)
        assert " ".join(field.metadata["meaning"].split()) in " ".join(text.split())
    assert default_of("search.beam_size") == 12
    first, *_ = printed(capsys, "options", "search.beam_size").splitlines()
    assert first == "search.beam_size: 12  (hypotheses; at least 1)"


@pytest.mark.parametrize(
    "asked, first, count",
    [
        (
            "training.",
            "training.optimizer",
            len(dataclasses.fields(typing.get_type_hints(Config)["training"])),
        ),
        ("dropout", "model.embedding_dropout", 3),
    ],
)
def test_options_by_section_or_word(capsys, asked, first, count):
    lines = [
        line for line in printed(capsys, "options", asked).splitlines() if not line.startswith(" ")
    ]
    assert lines[0].startswith(f"{first}: ") and len(lines) == count


def test_a_file_that_is_not_there_is_said_before_tensorflow_is_loaded(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr("rnnsearch_tf.cli.train.import_tensorflow", lambda: pytest.fail("loaded"))
    (tmp_path / "text").write_text("a\n")
    settings = [
        "--set=data.folder=null",
        f"--set=data.train_source={tmp_path / 'text'}",
        f"--set=data.train_target={tmp_path / 'no-such'}",
    ]
    words = ["train", "--config", "multi30k-en-fr-words", *settings]
    said = printed(capsys, *words, "--output", str(tmp_path / "run"), code=1)
    expected = f"data.train_target: {tmp_path}/no-such: expected a text file, found none"
    assert expected in said


def test_a_misspelt_model_gets_the_nearest_name(capsys):
    words = ["translate", "--model", "tatoeba-en-f"]
    assert "did you mean tatoeba-en-fr?" in printed(capsys, *words, code=1)


def test_a_demo_leaves_another_training_alone(run_folder, capsys):
    def content():
        files = [path for path in pathlib.Path(run_folder).rglob("*") if path.is_file()]
        return {path: path.read_bytes() for path in files}

    before = content()
    said = printed(capsys, "demo", "--output", run_folder, code=2)
    assert "expected a new folder, or a demo with these settings, got another training" in said
    assert content() == before
