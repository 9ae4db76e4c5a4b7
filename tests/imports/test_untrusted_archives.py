"""Archives of arrays with false sizes or unusual damage: an error, before memory is taken."""

import io
import os
import pickle
import zipfile

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.importing.npz import NpzFile
from rnnsearch_tf.extras.importing.tensorflow_file import CheckpointFile
from rnnsearch_tf.extras.importing.torch_file import TorchFile


def npy_header(text):
    """The beginning of an ``.npy`` file of version 1.0."""
    text = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def npz_of(path, header, numbers=b""):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W.npy", npy_header(header) + numbers)
    return path


def test_an_array_of_an_npz_file_that_is_larger_than_its_bytes(tmp_path):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 100000)}"
    with pytest.raises(UserError, match="W: expected an array, got damaged bytes .*cut off"):
        NpzFile(npz_of(tmp_path / "model.npz", header, b"\0" * 400))


@pytest.mark.parametrize(
    "header",
    ["{'descr': (", "-" * 9000 + "1", "(" * 9000, "{'descr': '<f4', 'fortran_order': False}"],
)
def test_damaged_headers_of_an_npz_file(tmp_path, header):
    with pytest.raises(UserError, match="W: expected an array, got damaged bytes"):
        NpzFile(npz_of(tmp_path / "model.npz", header))


def written(path, method=zipfile.ZIP_STORED):
    """An ``.npz`` file with one array."""
    array = io.BytesIO()
    np.save(array, np.random.default_rng(1).normal(size=1000).astype(np.float32))
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("W.npy", array.getvalue())
    return path


@pytest.mark.parametrize(
    "place, value",
    [(8, b"\x01"), (10, b"\x63")],  # of the directory's entry: encrypted; no known compression
)
def test_entries_of_an_npz_file_that_cannot_be_read(tmp_path, place, value):
    path = written(tmp_path / "model.npz")
    data = bytearray(path.read_bytes())
    begin = data.index(b"PK\x01\x02")
    data[begin + place : begin + place + 1] = value
    path.write_bytes(data)
    with pytest.raises(UserError, match="W: expected an array, got damaged bytes"):
        NpzFile(path)


def test_a_damaged_compressed_array(tmp_path):
    path = written(tmp_path / "model.npz", zipfile.ZIP_DEFLATED)
    data = bytearray(path.read_bytes())
    data[1500:1600] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(UserError, match="W: expected an array, got damaged bytes"):
        NpzFile(path).read("W")


class Storage:
    """Stands for a storage of 12 numbers; the Writer below writes its name."""


class Called:
    """An object whose pickle calls a function of PyTorch, or makes an object of a class."""

    def __init__(self, name, arguments, state=None):
        self.name = name
        self.arguments = arguments
        self.state = state


STORAGE = Storage()


class Names(pickle._Pickler):
    """Writes the names of PyTorch's functions without having them."""

    def persistent_id(self, value):
        return ("storage", FLOATS, "0", "cpu", 12) if value is STORAGE else None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Called):
            self.write(b"c" + value.name.encode() + b"\n")
            if value.arguments is not None:
                self.save(value.arguments)
                self.write(b"R")
            if value.state is not None:
                self.save(value.state)
                self.write(b"b")
        else:
            super().save(value, save_persistent_id)


FLOATS = Called("torch\nFloatStorage", None)


def tensor(storage=STORAGE, offset=0, shape=(3, 4), strides=(4, 1)):
    return Called("torch._utils\n_rebuild_tensor_v2", (storage, offset, shape, strides, False, {}))


def torch_file(
    path, tree, method=zipfile.ZIP_STORED, data=np.arange(12, dtype="<f4").tobytes(), fast=True
):
    """A file of torch.save with one storage of 12 numbers."""
    description = io.BytesIO()
    pickler = Names(description, 2)
    pickler.fast = fast
    pickler.dump(tree)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("archive/data.pkl", description.getvalue())
        archive.writestr("archive/data/0", data)
    return path


def test_a_tensor_of_pytorch(tmp_path):
    path = torch_file(
        tmp_path / "F.ckpt", {"model_state": {"W": tensor(), "T": tensor(strides=(1, 3))}}
    )
    arrays = TorchFile(path, "model_state")
    np.testing.assert_array_equal(arrays.read("W"), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(arrays.read("T"), np.arange(12.0).reshape(4, 3).T)


@pytest.mark.parametrize(
    "parts",
    [
        dict(shape=(1 << 20, 1 << 20), strides=(0, 0)),
        dict(shape=(4, 4)),
        dict(offset=1),
        dict(shape=(3, 4, 1)),
        dict(strides=(4, -1)),
        dict(strides=(1 << 70, 1)),
        dict(shape=(1, 1), strides=(1 << 62, 1 << 62)),
        dict(shape=5),
        dict(shape=(3, "4")),
        dict(shape=[3, 4]),  # would be copied for each tensor
        dict(offset=None),
        dict(storage="0"),
    ],
)
def test_tensors_of_pytorch_that_do_not_fit_their_storage(tmp_path, parts):
    path = torch_file(tmp_path / "F.ckpt", {"model_state": {"W": tensor(**parts)}})
    with pytest.raises(UserError, match="expected (an array|a file of torch.save)"):
        TorchFile(path, "model_state")


def test_attributes_of_objects_of_pytorch_are_ignored(tmp_path):
    """A dictionary of tensors has some; they must not replace its methods."""
    state = Called("collections\nOrderedDict", ([("W", tensor())],), {"items": 5, "_metadata": 1})
    tree = Called("collections\nOrderedDict", ([("model_state", state)],), {"get": 5})
    path = torch_file(tmp_path / "F.ckpt", tree)
    assert TorchFile(path, "model_state").shapes == {"W": (3, 4)}


def test_no_copies_of_a_dictionary_of_pytorch(tmp_path):
    """A few bytes could make another copy of a large one each."""
    pairs = [("W", tensor())]
    one, other = (Called("collections\nOrderedDict", (pairs,)) for _ in range(2))
    path = torch_file(tmp_path / "F.ckpt", {"one": one, "other": other}, fast=False)
    assert TorchFile(path, "one").shapes == {"W": (3, 4)}
    assert TorchFile(path, "other").shapes == {}


def test_a_description_changes_no_class(tmp_path):
    one = Called("some\nClass", None, (None, {"__init__": "x"}))
    torch_file(tmp_path / "F.ckpt", {"model_state": {}, "x": one})
    with pytest.raises(UserError, match="expected a file of torch.save"):
        TorchFile(tmp_path / "F.ckpt", "model_state")
    torch_file(tmp_path / "F.ckpt", {"model_state": {}, "x": Called("some\nClass", (1, 2))})
    assert TorchFile(tmp_path / "F.ckpt", "model_state").shapes == {}


def test_a_storage_with_a_name_that_is_long_only_when_written_out(tmp_path):
    """Its text has 2^60 items."""
    name = []
    for _ in range(60):
        name = [name, name]
    path = tmp_path / "F.ckpt"
    with zipfile.ZipFile(path, "w") as archive:
        identity = pickle.dumps(("storage", "<f4", name, "cpu", 12), 2)[:-1]
        archive.writestr("archive/data.pkl", identity + b"Q.")
    with pytest.raises(UserError, match="expected a file of torch.save"):
        TorchFile(path, "model_state")


def test_an_archive_of_pytorch_with_invented_packed_sizes(tmp_path):
    """The limit is a multiple of the file's size, whatever its directory says."""
    path = tmp_path / "F.ckpt"
    torch_file(path, {"model_state": {}}, zipfile.ZIP_DEFLATED, bytes(1 << 25))
    data = bytearray(path.read_bytes())
    place = data.index(b"PK\x01\x02") + 20  # compress_size of the first entry
    data[place : place + 4] = (1 << 30).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UserError, match="refused: expected at most 16,777,216 bytes, unpacked"):
        TorchFile(path, "model_state")


def test_a_storage_with_an_invented_size(tmp_path):
    """No number is read from beyond the bytes that the archive has."""
    path = torch_file(tmp_path / "F.ckpt", {"model_state": {"W": tensor(shape=(5, 4))}})
    data = bytearray(path.read_bytes())
    place = data.rindex(b"PK\x01\x02") + 24  # file_size of the storage
    data[place : place + 4] = (80).to_bytes(4, "little")
    path.write_bytes(data)
    arrays = TorchFile(path, "model_state")
    with pytest.raises(UserError, match="W: expected an array, got damaged bytes"):
        arrays.read("W")


@pytest.mark.parametrize(
    "place, value", [(8, b"\x01"), (10, b"\x63")], ids=["encrypted", "unknown compression"]
)
def test_entries_of_a_file_of_pytorch_that_cannot_be_read(tmp_path, place, value):
    path = torch_file(tmp_path / "F.ckpt", {"model_state": {"W": tensor()}})
    original = path.read_bytes()
    first = original.index(b"PK\x01\x02")
    for begin in (first, original.index(b"PK\x01\x02", first + 1)):
        data = bytearray(original)
        data[begin + place : begin + place + 1] = value
        path.write_bytes(data)
        with pytest.raises(UserError, match="expected (an array|a file of torch.save)"):
            TorchFile(path, "model_state").read("W")


def test_a_checkpoint_whose_arrays_are_larger_than_its_data(tmp_path):
    prefix = os.path.join(tmp_path, "ckpt")
    arrays = [tf.ones((300, 5)), tf.constant(["no number"])]
    tf.raw_ops.SaveV2(
        prefix=prefix, tensor_names=["W", "text"], shape_and_slices=["", ""], tensors=arrays
    )
    assert CheckpointFile(f"{prefix}.index").shapes == {"W": (300, 5)}
    with open(f"{prefix}.data-00000-of-00001", "r+b") as file:
        file.truncate(5000)
    with pytest.raises(UserError, match=r"expected 6,000 bytes .*, got 5,000"):
        CheckpointFile(f"{prefix}.index")
