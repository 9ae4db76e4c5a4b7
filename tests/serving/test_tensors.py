"""TensorProtos read as TensorFlow's C++ reads them (tf.io.parse_tensor), and written in the fields
that upstream clients look at.
"""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto

from rnnsearch_tf.extras.server import tensors
from rnnsearch_tf.extras.server.errors import ServingError

FLOAT, STRING, INT8, HALF, BOOL = (
    tf.as_dtype(name).as_datatype_enum for name in ("float32", "string", "int8", "half", "bool")
)
FIELDS = {
    "float32": "float_val",
    "float64": "double_val",
    "int8": "int_val",
    "int16": "int_val",
    "int32": "int_val",
    "uint8": "int_val",
    "uint16": "int_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    "bool": "bool_val",
    "float16": "half_val",
    "bfloat16": "half_val",
    "string": "string_val",
}


def proto(dtype, sizes=(), **fields):
    result = TensorProto(dtype=dtype, **fields)
    for size in sizes:
        result.tensor_shape.dim.add(size=size)
    return result


@pytest.mark.parametrize("dtype, field", FIELDS.items(), ids=FIELDS)
def test_an_answer_has_its_values_in_the_typed_field(dtype, field):
    values = (
        np.array([[b"a", b"\xff\x00"], [b"", "ü".encode()]], object)
        if dtype == "string"
        else [[0, 1], [1, 0]]
    )
    array = np.array(values, tf.as_dtype(dtype).as_numpy_dtype)
    written = tensors.to_proto(array)
    assert len(getattr(written, field)) == 4 and not written.tensor_content
    read = tf.io.parse_tensor(written.SerializeToString(), dtype).numpy()
    np.testing.assert_array_equal(read, array)
    assert tensors.to_array("x", written).dtype == array.dtype
    np.testing.assert_array_equal(tensors.to_array("x", written), array)


@pytest.mark.parametrize(
    "array",
    [np.float32(1.5), np.zeros((0, 3), np.int64), np.array([1 + 2j]), np.array([], object)],
    ids=["scalar", "no-rows", "complex", "no-strings"],
)
def test_odd_shapes_and_types_come_back(array):
    dtype = "string" if np.asarray(array).dtype == object else np.asarray(array).dtype
    read = tf.io.parse_tensor(tensors.to_proto(array).SerializeToString(), dtype).numpy()
    assert read.shape == np.shape(array)
    np.testing.assert_array_equal(read, array)


@pytest.mark.parametrize(
    "given",
    [
        proto(FLOAT, [3], float_val=[1, 2, 3]),
        proto(FLOAT, [2, 2], float_val=[7]),
        proto(FLOAT, [4], float_val=[1, 2]),
        proto(FLOAT, [2]),
        proto(FLOAT, [2], float_val=[1, 2, 3]),
        proto(FLOAT, [2], tensor_content=np.float32([1, 2]).tobytes()),
        proto(FLOAT, [0]),
        proto(FLOAT, float_val=[3]),
        proto(STRING, [3], string_val=[b"a"]),
        proto(STRING, [2]),
        proto(STRING, string_val=[b"a\0"]),
        proto(STRING, [1], string_val=[b"a", b"b"]),
        proto(INT8, [2], int_val=[1, -1]),
        proto(HALF, [2], half_val=[15360, 0]),
        proto(BOOL, [2], bool_val=[True]),
    ],
    ids=str,
)
def test_a_request_is_read_as_tensorflow_reads_it(given):
    expected = tf.io.parse_tensor(given.SerializeToString(), given.dtype).numpy()
    read = tensors.to_array("x", given)
    assert read.shape == np.shape(expected)
    assert read.dtype == (object if given.dtype == STRING else expected.dtype)
    assert read.tolist() == (expected if isinstance(expected, bytes) else expected.tolist())


@pytest.mark.parametrize(
    "given",
    [
        proto(FLOAT, [2], tensor_content=b"\0\0\0"),
        proto(FLOAT, [-1], float_val=[1]),
        proto(FLOAT, [2**62, 8], float_val=[1]),
        proto(FLOAT, [10**9], float_val=[1]),
        proto(STRING, [2_000_000], string_val=[b"a"]),
        proto(STRING, [100], string_val=[b"a" * 1_000_000]),
        proto(STRING, [0, 2**40]),
        proto(0, [1], float_val=[1]),
        proto(99, [1], float_val=[1]),
        proto(tf.resource.as_datatype_enum, [1]),
        proto(tf.variant.as_datatype_enum, [1]),
        proto(FLOAT + 100, [1], float_val=[1]),
        proto(tf.uint8.as_datatype_enum, [2], int_val=[-1]),
    ],
    ids=[
        "content",
        "negative",
        "overflow",
        "memory",
        "strings",
        "long-strings",
        "nothing",
        "no-type",
        "unknown-type",
        "resource",
        "variant",
        "reference",
        "out-of-range",
    ],
)
def test_what_is_no_tensor(given):
    with pytest.raises(ServingError) as caught:
        tensors.to_array("text", given)
    assert (caught.value.code.name, caught.value.message) == (
        "INVALID_ARGUMENT",
        "tensor parsing error: text",
    )


@pytest.mark.parametrize("rank", [33, 64, 254, 1000])
def test_dimensions_have_a_limit(rank):
    with pytest.raises(
        ServingError, match=f"INVALID_ARGUMENT: text: expected at most 32 dimensions, got {rank}"
    ):
        tensors.to_array("text", proto(STRING, [1] * rank, string_val=[b"a"]))
    assert tensors.to_array("text", proto(STRING, [1] * 32, string_val=[b"a"])).shape == (1,) * 32


def test_strings_that_were_sent_are_taken_however_many_bytes_they_have():
    assert tensors.to_array(
        "text", proto(STRING, [3], string_val=[b"a" * (30 << 20)] * 3)
    ).shape == (3,)
