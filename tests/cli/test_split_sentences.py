"""Paragraphs in, paragraphs out: `rnnsearch translate --split-sentences`."""

import json
import shutil

import pytest
import yaml


PARAGRAPHS = [
    "My sister sells an old book. Mr. Smith has a red car! Who is there?",
    "",
    "The door is white.",
]
SENTENCES = [
    ["My sister sells an old book.", "Mr. Smith has a red car!", "Who is there?"],
    [],
    ["The door is white."],
]


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("".join(f"{line}\n" for line in PARAGRAPHS), encoding="utf-8")
    (tmp_path / "sentences").write_text(
        "".join(f"{line}\n" for lines in SENTENCES for line in lines), encoding="utf-8"
    )
    return tmp_path


def test_each_line_is_its_sentences_translated_one_by_one(text, run_folder, rnnsearch):
    """The sentences are translated by another call."""
    translate = ["translate", "--model", run_folder]
    joined, _ = rnnsearch(*translate, "--split-sentences", text / "text")
    single, _ = rnnsearch(*translate, text / "sentences")
    assert joined == [" ".join(filter(None, single[:3])), "", single[3]]

    options = ["--json", "--alignment", "--n-best", "2"]
    objects, _ = rnnsearch(*translate, *options, text / "sentences")
    lines, _ = rnnsearch(*translate, *options, "--split-sentences", text / "text")
    found = [json.loads(line) for line in lines]
    objects = [json.loads(line) for line in objects]
    assert [line["sentences"] for line in found] == [objects[:3], [], objects[3:]]
    assert [line["text"] for line in found] == joined


def test_sentences_are_joined_as_the_target_is_written(text, run_folder, rnnsearch, tmp_path):
    shutil.copytree(run_folder, tmp_path / "ja")
    config = yaml.safe_load((tmp_path / "ja" / "config.yaml").read_text())
    config["target"] |= {"language": "ja", "tokenization": "space"}
    (tmp_path / "ja" / "config.yaml").write_text(yaml.safe_dump(config))
    translate = ["translate", "--model", tmp_path / "ja"]
    single, _ = rnnsearch(*translate, text / "sentences")
    joined, _ = rnnsearch(*translate, "--split-sentences", text / "text")
    assert joined == ["".join(single[:3]), "", single[3]]
