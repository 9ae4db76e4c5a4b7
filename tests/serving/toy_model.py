"""Tiny SavedModels for the servers' tests, told apart by their version.

    PYTHONPATH=tests python -m serving.toy_model FOLDER

writes FOLDER/toy/1 and FOLDER/toy/2, for the conformance tests of another server.

Signatures (B rows each):
    serving_default  text string[B] → translation "v<version>:<text>", score float[B] = bytes of
        text, source_truncated bool[B] = False
    half_plus        x float[B] → y float[B] = x/2 + 1 + version (version 1 is the published tests'
                     half_plus_two)
    echo             a_bytes string, b bool, i32, i64, f32, f64, u8: each [B, …] → the same
    slow             x float[B], seconds float[B] → y = x after the longest of `seconds`, in a tf
                     loop
    refuse           x float[B] → y, or INVALID_ARGUMENT "x must not be negative"
"""

import pathlib
import sys

import tensorflow as tf

v1 = tf.compat.v1
ECHO = {
    "a_bytes": tf.string,
    "b": tf.bool,
    "i32": tf.int32,
    "i64": tf.int64,
    "f32": tf.float32,
    "f64": tf.float64,
    "u8": tf.uint8,
}


def write_toy(folder, version):
    """Write folder/<version>; the number is in its answers."""
    path = pathlib.Path(folder) / str(version)
    with tf.Graph().as_default(), v1.Session() as session:
        builder = v1.saved_model.Builder(str(path))
        builder.add_meta_graph_and_variables(
            session, ["serve"], signature_def_map=_signatures(version)
        )
        builder.save()


def _signatures(version):
    return {
        "serving_default": _default(version),
        "half_plus": _of_x(lambda x: x / 2 + 1 + version),
        "echo": _echo(),
        "slow": _slow(),
        "refuse": _of_x(_refuse),
    }


_signature = v1.saved_model.predict_signature_def


def _default(version):
    text = v1.placeholder(tf.string, [None])
    return _signature(
        {"text": text},
        {
            "translation": tf.strings.join([f"v{version}:", text]),
            "score": tf.cast(tf.strings.length(text), tf.float32),
            "source_truncated": tf.zeros(tf.shape(text), tf.bool),
        },
    )


def _of_x(function):
    x = v1.placeholder(tf.float32, [None])
    return _signature({"x": x}, {"y": function(x)})


def _refuse(x):
    with tf.control_dependencies([v1.assert_non_negative(x, message="x must not be negative")]):
        return tf.identity(x)


def _echo():
    inputs = {
        name: v1.placeholder(dtype, [None, None] if name == "f32" else [None])
        for name, dtype in ECHO.items()
    }
    return _signature(inputs, {name: tf.identity(tensor) for name, tensor in inputs.items()})


def _slow():
    x = v1.placeholder(tf.float32, [None])
    seconds = v1.placeholder(tf.float32, [None])
    end = tf.timestamp() + tf.cast(tf.reduce_max(seconds), tf.float64)
    waited = tf.while_loop(
        lambda now: now < end, lambda now: [tf.timestamp()], [tf.zeros([], tf.float64)]
    )
    with tf.control_dependencies(waited):
        return _signature({"x": x, "seconds": seconds}, {"y": tf.identity(x)})


def write_base(folder):
    """Write versions 1 and 2, and return the base path."""
    base = pathlib.Path(folder) / "toy"
    for version in (1, 2):
        write_toy(base, version)
    return base


if __name__ == "__main__":
    write_base(sys.argv[1])
