"""Files that want to run code, to read what is not theirs, or to fill the memory: refused in words,
and nothing of it happens.
"""

import gzip
import json
import os
import pickle
import random
import stat
import zipfile

import h5py
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config
from rnnsearch_tf.runs.eight_bit import load_weights, save_weights
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import reading, streams
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import vocabulary
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import load_model
from rnnsearch_tf.files.untrusted import (
    MODEL_FILES,
    check_archive,
    check_model_archive,
    check_preset,
)


class Bomb:
    """Makes the file BOOM in the current folder when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("BOOM",)


@pytest.fixture(autouse=True)
def nothing_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "BOOM").exists()


def layer(name, module="keras.layers", **config):
    return {"class_name": name, "module": module, "registered_name": None, "config": config}


def a_lambda():
    import keras

    model = keras.Sequential(
        [
            keras.Input((2,)),
            keras.layers.Lambda(lambda x: (__import__("os").makedirs("BOOM", exist_ok=True), x)[1]),
        ]
    )
    model.save("lambda.keras")
    os.rmdir("BOOM")  # it does what it says
    with zipfile.ZipFile("lambda.keras") as archive:
        return json.loads(archive.read("config.json"))


HOSTILE = {
    "lambda": a_lambda,
    "lambda below an own class": lambda: {
        "class_name": "RNNSearch",
        "registered_name": "rnnsearch_tf>RNNSearch",
        "config": {"config": a_lambda()},
    },
    "any function": lambda: layer("mkdir", module="os", registered_name="mkdir"),
    "getting a file": lambda: layer(
        "get_file", module="keras.utils", fname="BOOM", origin="file:///etc/passwd"
    ),
    "graph file": lambda: layer("TFSMLayer", filepath="BOOM"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_saved_model_that_names_code(tmp_path, kind):
    with zipfile.ZipFile("hostile.keras", "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(HOSTILE[kind]()))
        archive.writestr("model.weights.h5", b"")
    with pytest.raises(
        UserError, match="hostile.keras: config.json: refused: expected classes of rnnsearch_tf"
    ):
        load_model(tmp_path / "hostile.keras")


@pytest.mark.parametrize(
    "file", ["config.json", "task.json", "preprocessor.json", "tokenizer.json"]
)
def test_a_preset_that_names_code(tmp_path, file, capsys):
    (tmp_path / "preset").mkdir()
    (tmp_path / "preset" / "task.json").write_text("{}")  # by which a preset is told from a RUN
    (tmp_path / "preset" / file).write_text(json.dumps(a_lambda()))
    assert rnnsearch(["preset", str(tmp_path / "preset"), str(tmp_path / "run")]) == 1
    said = capsys.readouterr().err
    assert f"{file}: refused: expected classes of rnnsearch_tf" in said and said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_a_preset_that_links_elsewhere(tmp_path):
    (tmp_path / "preset").mkdir()
    (tmp_path / "preset" / "vocabulary.source.txt").symlink_to("/etc/passwd")
    with pytest.raises(
        UserError,
        match="vocabulary.source.txt: refused: expected a file of .*, got a link to /etc/passwd",
    ):
        check_preset(tmp_path / "preset")


@pytest.mark.parametrize("name", ["config.yaml", "vocabulary.source.txt", "best/model.weights.h5"])
def test_a_run_that_links_elsewhere(run, name):
    (run / name).unlink()
    (run / name).symlink_to("/etc/passwd")
    with pytest.raises(
        UserError,
        match=f"{name}: refused: expected a file of .*, got a link to /etc/passwd, outside it",
    ):
        Translator.load(run)


def archive_with(*entries):
    with zipfile.ZipFile("a.keras", "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries:
            archive.writestr(entry, content)


def a_link(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry


@pytest.mark.parametrize(
    "entry, content, got",
    [
        ("../BOOM.json", b"x", "'../BOOM.json'"),
        ("/BOOM.json", b"x", "'/BOOM.json'"),
        ("..\\BOOM.json", b"x", "BOOM.json'"),
        ("BOOM.py", b"x", "'BOOM.py'"),
        (a_link("config.json"), b"/etc/passwd", "a link, 'config.json'"),
        ("config.json", bytes(1 << 25), "33,554,432"),
    ],
    ids=["parent", "root", "backslash", "program", "link", "bomb"],
)
def test_an_archive_that_reaches_out(entry, content, got):
    archive_with((entry, content))
    with pytest.raises(UserError, match="a.keras: refused: expected .*, got ") as raised:
        check_archive("a.keras", MODEL_FILES)
    assert got in str(raised.value)


def test_python_objects_among_the_weights_are_not_read(run):
    class Variable:
        shape = (1,)
        path = "v"

    np.savez("w.npz", w0=np.array([Bomb()], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        load_weights("w.npz", [Variable])
    (run / "best" / "model.weights.h5").write_bytes(pickle.dumps(Bomb()))
    (run / "SHA256SUMS").unlink()
    with pytest.raises(UserError, match="expected the weights of the model"):
        Translator.load(run)
    save_weights("w.npz", [np.zeros(3)])
    check_archive("w.npz", [".npy"])


def test_weights_that_lie_in_another_file(run):
    path = run / "best" / "model.weights.h5"
    for elsewhere in (False, True):  # the same numbers in the file itself are read
        with h5py.File(path, "r+") as file:
            names = []
            file.visititems(
                lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None
            )
            shape = file[names[0]].shape
            del file[names[0]]
            more = {"external": [("/etc/passwd", 0, 4 * int(np.prod(shape)))]} if elsewhere else {}
            file.create_dataset(names[0], shape, "float32", **more)
        Run(run).record()
        if not elsewhere:
            Translator.load(run)
    with pytest.raises(UserError, match="model.weights.h5: expected the weights of the model"):
        Translator.load(run)


def test_a_refused_archive_is_called_refused_and_not_damaged(run):
    """Whoever reads an archive for a RUN must not say "a damaged file" of one that wants to write
    elsewhere.
    """
    with zipfile.ZipFile(run / "best" / "model.weights.int8.npz", "w") as archive:
        archive.writestr("../BOOM.npy", b"x")
    (run / "best" / "model.weights.h5").unlink()
    (run / "SHA256SUMS").unlink()
    with pytest.raises(
        UserError,
        match=r"int8.npz: refused: expected files \*.npy without folders, got '../BOOM.npy'",
    ) as raised:
        Translator.load(run)
    assert "damaged" not in str(raised.value) and not isinstance(
        raised.value, (ValueError, OSError, KeyError)
    )


def test_whatever_byte_of_a_packed_archive_is_damaged():
    names = json.dumps([str(number) for number in range(300)])
    archive_with(("config.json", names), ("model.weights.h5", ""))
    with open("a.keras", "rb") as file:
        whole = file.read()
    refused = 0
    for place in range(0, len(whole), 3):
        with open("a.keras", "wb") as file:
            file.write(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            check_model_archive("a.keras")
        except UserError as error:
            assert "expected " in str(error) and "a.keras" in str(error)
            refused += 1
    assert refused > 100


def test_damaged_weights_of_a_packed_model(run, tmp_path):
    Translator.load(run).model.save("whole.keras")
    with zipfile.ZipFile("whole.keras") as archive:
        archive_with(*((name, archive.read(name)) for name in archive.namelist()))
    with zipfile.ZipFile("a.keras") as archive:
        place = archive.getinfo("model.weights.h5").header_offset + 200
    with open("a.keras", "r+b") as file:
        file.seek(place)
        file.write(b"\xff" * 100)
    with pytest.raises(UserError, match="a.keras: expected a model .*, got a damaged or other fil"):
        load_model(tmp_path / "a.keras")


def test_whatever_byte_of_the_weights_is_damaged(run):
    """Without checksums HDF5 and Keras meet it; h5py has RuntimeErrors for some of it."""
    path = run / "best" / "model.weights.h5"
    whole = path.read_bytes()
    places = random.Random(1)
    config = load_config(run / "config.yaml")
    model = build_model(
        config,
        *(Vocabulary.load(run / f"vocabulary.{side}.txt").size for side in ("source", "target")),
    )
    refused = 0
    for _ in range(150):
        data = bytearray(whole)
        for _ in range(places.choice([1, 8, 64])):
            data[places.randrange(4000)] = places.randrange(256)
        path.write_bytes(data)
        try:
            Run(run).read_weights(model)
        except UserError as error:
            assert str(error).startswith(f"{path}: expected the weights of the model")
            refused += 1
    assert refused > 50


def test_pieces_that_are_no_text(tmp_path, monkeypatch):
    from rnnsearch_tf.text import subwords

    class Pieces:
        def __init__(self, *_, **__): ...

        def vocab_size(self):
            return tf.constant(4)

        def id_to_string(self, ids):
            return tf.constant([b"<pad>", b"</s>", b"<unk>", b"caf\xe9"])

    monkeypatch.setattr(subwords, "_tokenizer", Pieces)
    with pytest.raises(
        UserError, match="s.spm: expected pieces in UTF-8, got a damaged SentencePiece model"
    ):
        subwords.Subwords(b"model", "s.spm")


@pytest.mark.parametrize(
    "text, expected",
    [
        (
            "model: !!python/object/apply:os.mkdir [BOOM]",
            "expected YAML such as .* could not determine a constructor",
        ),
        (
            "!!python/object/new:os.mkdir [BOOM]",
            "expected YAML such as .* could not determine a constructor",
        ),
        (
            "\n".join(
                [
                    "a0: &a0 [x, x]",
                    *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)),
                ]
            ),
            "too many values by anchors and aliases",
        ),
        ("model: &m {hidden_size: *m}", "too many values by anchors and aliases|expected YAML"),
        ("model: " + "[" * 5000, "too deeply nested|does not parse"),
        ("#" * 1_000_001, "at most 1,000,000 characters"),
        (
            "source: {vocabulary_size: 100000000}",
            "source.vocabulary_size: expected at most 10000000",
        ),
    ],
    ids=["python object", "python call", "billion", "in itself", "deep", "long", "vocabulary"],
)
def test_a_configuration_that_wants_more(tmp_path, text, expected):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(UsageError, match=expected):
        load_config(tmp_path / "c.yaml")


@pytest.mark.parametrize("name", ["t", "t.gz"])
def test_a_line_without_end(tmp_path, name):
    content = b"short\n" + b"x" * (streams.LONGEST_LINE + 1)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    with pytest.raises(
        UserError, match=f"{name}:2: expected lines of at most 1,048,576 bytes, got a longer one"
    ):
        list(reading.read_lines(name))
    (tmp_path / "t").write_bytes(b"short\n" + b"x" * streams.LONGEST_LINE + b"\nz")
    assert [len(line) for line in reading.read_lines("t")] == [5, streams.LONGEST_LINE, 1]


def test_a_vocabulary_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(vocabulary, "MOST_TOKENS", 5)
    (tmp_path / "v").write_text("<pad>\n</s>\n<unk>\na\nb\nc\n")
    with pytest.raises(UserError, match="v: expected at most 5 tokens, got more"):
        Vocabulary.load("v")
