"""A prepared corpus that does not fit the configuration, or is damaged, is refused in words."""

import json
import random
import shutil

import numpy as np
import pytest
from test_prepared_folders import Stop
from text_in_parts import SPACE

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.config import SPECIAL_TOKENS, load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training import fit as training_run


def training(folder, tokens=SPACE, **data):
    return load_config(
        values={"source": tokens, "target": tokens, "data": {"prepared": str(folder), **data}}
    )


@pytest.mark.parametrize(
    "tokens, data, message",
    [
        (
            SPACE | {"lowercase": True},
            {},
            (
                "source.lowercase: expected False, with which .* was prepared, got True; use that"
                " value, or prepare"
            ),
        ),
        (
            SPACE | {"tokenization": "moses"},
            {},
            "source.tokenization: expected space, with which .* was prepared, got moses",
        ),
        (
            SPACE,
            {"maximum_target_length": 30},
            "data.maximum_target_length: expected 50, with which .* was prepared, got 30",
        ),
    ],
)
def test_a_configuration_that_does_not_fit(made, tokens, data, message):
    with pytest.raises(UsageError, match=message):
        open_corpus(training(made, tokens, **data))


def test_vocabularies_that_do_not_fit(made):
    with pytest.raises(
        UsageError,
        match="source.vocabulary_size: expected 30001, with which .* was prepared, got 9",
    ):
        PreparedPairs(made).texts(training(made, SPACE | {"vocabulary_size": 9}))
    prepared = PreparedPairs(made)
    # beside a ready vocabulary: no effect
    earlier = {
        "vocabulary": "words.txt",
        "vocabulary_size": 9,
        "minimum_count": 2,
    }
    prepared.manifest = prepared.manifest | {
        side: prepared.manifest[side] | earlier for side in ("source", "target")
    }
    prepared.texts(training(made, SPACE | {"vocabulary": "words.txt"}))
    with pytest.raises(
        UsageError,
        match="source.vocabulary: expected words.txt, with which .* was prepared, got None",
    ):
        prepared.texts(training(made))
    config = training(made)
    small = [
        Text(section, Vocabulary([*SPECIAL_TOKENS, "x"]))
        for section in (config.source, config.target)
    ]
    with pytest.raises(
        UserError,
        match="expected ids of this training's source vocabulary, got ids of another",
    ):
        training_dataset(*small, PreparedPairs(made), config.data, 1)


@pytest.mark.parametrize(
    "values, message",
    [
        (
            {"data": {"prepared": "p", "train_source": "f"}},
            (
                "data.prepared: expected no data.train_source beside it, got f; .*set"
                " data.train_source=null"
            ),
        ),
        (
            {"data": {"prepared": "p", "held_out": 9}},
            "expected no data.held_out beside it, got 9; .*set data.held_out=0",
        ),
        (
            {"data": {"prepared": "p", "corpora": [{"source": "a", "target": "b"}]}},
            "expected no data.corpora beside it",
        ),
        (
            {"data": {"prepared": "p", "corpus": "phrasebook"}},
            "data.prepared: has no effect with data.corpus=phrasebook; set data.corpus=files",
        ),
        (
            {
                "data": {"prepared": "p"},
                "target": {"tokenization": "sentencepiece", "sampling": 0.3},
            },
            "target.sampling: samples new pieces every time.*set target.sampling=null",
        ),
    ],
)
def test_options_that_do_not_go_together(values, message):
    with pytest.raises(UsageError, match=message):
        load_config(values=values)


def changed(**values):
    def change(folder):
        path = folder / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def outside(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    changed(files=manifest["files"] | {"../secret": {"bytes": 0, "sha256": ""}})(folder)


def shifted(folder):
    offsets = np.fromfile(folder / "offsets.bin", "int64")
    (offsets + 1).tofile(folder / "offsets.bin")


@pytest.mark.parametrize(
    "damage, message",
    [
        (
            lambda folder: (folder / "manifest.json").unlink(),
            (
                "manifest.json: expected the manifest of a corpus .* got a folder without one;"
                " check data.prepared"
            ),
        ),
        (lambda folder: shutil.rmtree(folder), "got nothing there; check data.prepared"),
        (
            lambda folder: (folder / "manifest.json").write_text("{"),
            "expected the manifest of a prepared corpus, got Expecting",
        ),
        (
            lambda folder: (folder / "manifest.json").write_text("[" * 100_000),
            "expected the manifest of a prepared corpus, got maximum recursion depth",
        ),
        (
            lambda folder: (folder / "manifest.json").write_bytes(b"\xff"),
            "expected the manifest of a prepared corpus, got",
        ),
        (
            lambda folder: (folder / "manifest.json").write_text("[1]"),
            r"expected a prepared corpus of format 1, got \[1\]; prepare it again",
        ),
        (
            changed(format=2),
            "expected a prepared corpus of format 1, got 2; prepare it again with this version",
        ),
        (changed(ids="many"), "got one without ids; prepare it again"),
        (changed(id_type="float32"), "got one without id_type"),
        (changed(files=None), "got one without files; prepare it again"),
        (changed(files={}), "got one without ids.bin, offsets.bin, lengths.bin"),
        (changed(pairs=64), "a damaged one: the sizes in manifest.json are inconsistent"),
        (changed(ids=7), "the sizes in manifest.json are inconsistent"),
        (
            changed(corpora=[{"pairs": float("inf"), "weight": 1}]),
            "manifest.json has invalid corpora or report",
        ),
        (changed(corpora=[{"pairs": 65}]), "manifest.json has invalid corpora or report"),
        (
            changed(corpora=[{"pairs": 65, "weight": -1}]),
            "a corpus with an invalid size or weight",
        ),
        (changed(report={"kept": 1, "stolen": 2}), "manifest.json has invalid corpora or report"),
        (outside, "has an invalid file entry '../secret'"),
        (lambda folder: (folder / "ids.bin").unlink(), "ids.bin has no bytes, not"),
        (
            lambda folder: (folder / "lengths.bin").write_bytes(
                (folder / "lengths.bin").read_bytes()[:-1]
            ),
            "lengths.bin has 259 bytes, not 260; prepare it again",
        ),
        (shifted, "offsets.bin does not match ids.bin"),
    ],
)
def test_a_damaged_folder(copy, damage, message):
    damage(copy)
    with pytest.raises(UserError, match=message):
        open_corpus(training(copy))


def test_a_changed_bit_is_found_when_it_is_looked_for(copy, capsys):
    assert run(["prepare", "--output", str(copy), "--check"]) == 0
    assert capsys.readouterr().out == f"{copy}: 65 pairs, all checksums match\n"
    ids = bytearray((copy / "ids.bin").read_bytes())
    ids[100] ^= 4
    (copy / "ids.bin").write_bytes(ids)
    assert run(["prepare", "--output", str(copy), "--check"]) == 1
    assert "a damaged one: ids.bin has the SHA-256" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name",
    [
        "manifest.json",
        "ids.bin",
        "offsets.bin",
        "lengths.bin",
        "vocabulary.source.txt",
        "vocabulary.target.txt",
    ],
)
def test_no_training_begins_with_a_damaged_file(copy, tmp_path, name, monkeypatch):
    """Bits turned, bytes set, lines changed places or gone: of the same size most of it looks
    whole.
    """
    whole = (copy / name).read_bytes()
    places = random.Random(3)
    refused = []
    damaged = [
        bytes([*whole[:at], whole[at] ^ 1 << bit, *whole[at + 1 :]])
        for at, bit in [(places.randrange(len(whole)), k % 8) for k in range(16)]
    ]
    lines = whole.splitlines(keepends=True)
    if name.endswith((".txt", ".json")):
        damaged += [b"".join([*lines[:k], *lines[k + 1 :]]) for k in (1, 5, len(lines) - 2)]
    if name.endswith(".txt"):
        damaged += [b"".join([*lines[:4], lines[5], lines[4], *lines[6:]])]
    # it has gone too far then
    monkeypatch.setattr(training_run, "build_model", lambda *_: (_ for _ in ()).throw(Stop))
    for data in damaged:
        (copy / name).write_bytes(data)
        with pytest.raises((UserError, UsageError)) as raised:
            training_run.train(training(copy), tmp_path / "run")
        refused.append(str(raised.value))
    assert all(str(copy) in message for message in refused)
    if name != "manifest.json":
        assert all(
            name in message and f"`rnnsearch prepare --output {copy} --check`" in message
            for message in refused
        )
    (copy / name).write_bytes(whole)
    open_corpus(training(copy)).verify()


def test_a_manifest_of_an_older_version_has_no_checksum_of_its_own(copy):
    manifest = json.loads((copy / "manifest.json").read_text())
    del manifest["sha256"]
    (copy / "manifest.json").write_text(json.dumps(manifest))
    open_corpus(training(copy)).verify()


def test_there_is_no_text_to_read(made):
    with pytest.raises(
        UserError, match="expected text, got a prepared corpus, which has only ids; name the text"
    ):
        next(iter(PreparedPairs(made)))
