"""Tiny SavedModels for the servers' tests, told apart by their version.

Signatures (B rows each):
    serving_default  text string[B] → translation "v<version>:<text>", score float[B] = bytes of
        text, source_truncated bool[B] = False
    half_plus        x float[B] → y float[B] = x/2 + 1 + version (version 1 is the published tests'
                     half_plus_two)
    column           x float[B, 1] → y = x/2 + 1 + version, of any shape; product = x · [[2]], which
                     needs a matrix
    rows             x float[B] → rows int64[B]: how many rows the call had, so that merged requests
                     show
    echo             a_bytes string, b bool, i32, i64, f32, f64, u8: each [B, …] → the same
    slow             x float[B], seconds float[B] → y = x after the longest of `seconds`, in a tf
                     loop
    gate             path string[B] → opened string[B]: writes path[0].entered, then waits until the
                     file path[0] exists
    block            path string[B] → content string[B]: reads the file path[0]; one of os.mkfifo
                     keeps the kernel waiting until somebody writes to it, whatever the deadline
    large            megabytes int32[B], seconds float[B] → y float[B]: holds so much memory for so
                     long
    refuse           x float[B] → y, or INVALID_ARGUMENT "x must not be negative"
"""

import contextlib
import pathlib
import time

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


def write_toy(folder, version, warm_up=()):
    """Write folder/<version> by a rename, as an export does, and return its path.

    Args:
        folder: the base path.
        version: int, which is in the answers.
        warm_up: PredictionLog messages to put in assets.extra.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f".writing-{version}"
    with tf.Graph().as_default(), v1.Session() as session:
        signatures = _signatures(version)
        builder = v1.saved_model.Builder(str(hidden))
        with _quiet():
            builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
            builder.save()
    if warm_up:
        (hidden / "assets.extra").mkdir()
        with tf.io.TFRecordWriter(
            str(hidden / "assets.extra" / "tf_serving_warmup_requests")
        ) as writer:
            for log in warm_up:
                writer.write(log.SerializeToString())
    return hidden.rename(folder / str(version))


def write_corrupt(folder, version):
    """Write folder/<version> whose graph is no protocol buffer."""
    hidden = pathlib.Path(folder) / f".writing-{version}"
    hidden.mkdir(parents=True)
    (hidden / "saved_model.pb").write_bytes(b"not a SavedModel")
    return hidden.rename(pathlib.Path(folder) / str(version))


class Gate:
    """A file that a `gate` call waits for.

    Example:
        gate = Gate(tmp_path)
        …predict(path=[gate.path]) in a thread…
        gate.wait_until_entered()   # the model is running that call
        gate.open()                 # it may end
    """

    def __init__(self, folder, name="gate"):
        self.file = pathlib.Path(folder) / name
        self.path = str(self.file)

    def wait_until_entered(self, timeout=20):
        end = time.monotonic() + timeout
        while not self.file.with_name(self.file.name + ".entered").exists():
            assert time.monotonic() < end, "no gate call began"
            time.sleep(0.005)

    def open(self):
        self.file.touch()


def _signatures(version):
    return {
        "serving_default": _default(version),
        "half_plus": _of_x("y", lambda x: x / 2 + 1 + version),
        "column": _column(version),
        "rows": _of_x("rows", lambda x: tf.fill(tf.shape(x), tf.size(x, out_type=tf.int64))),
        "echo": _echo(),
        "slow": _slow(),
        "gate": _gate(),
        "block": _block(),
        "large": _large(),
        "refuse": _of_x("y", _refuse),
    }


def _signature(inputs, outputs):
    return v1.saved_model.predict_signature_def(inputs, outputs)


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


def _of_x(output, function):
    x = v1.placeholder(tf.float32, [None])
    return _signature({"x": x}, {output: function(x)})


def _column(version):
    x = v1.placeholder(tf.float32, [None, 1])
    return _signature(
        {"x": x}, {"y": x / 2 + 1 + version, "product": tf.linalg.matmul(x, tf.constant([[2.0]]))}
    )


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
    with tf.control_dependencies(_waited(seconds)):
        return _signature({"x": x, "seconds": seconds}, {"y": tf.identity(x)})


def _waited(seconds):
    end = tf.timestamp() + tf.cast(tf.reduce_max(seconds), tf.float64)
    return tf.while_loop(
        lambda now: now < end, lambda now: [tf.timestamp()], [tf.zeros([], tf.float64)]
    )


def _large():
    megabytes = v1.placeholder(tf.int32, [None])
    seconds = v1.placeholder(tf.float32, [None])
    filled = tf.fill([tf.reduce_max(megabytes), 1 << 20], tf.constant(1, tf.uint8))
    with tf.control_dependencies([filled]):
        waited = _waited(seconds)
    with tf.control_dependencies(waited):
        size = tf.cast(tf.reduce_max(tf.identity(filled)), tf.float32)
        return _signature(
            {"megabytes": megabytes, "seconds": seconds}, {"y": tf.fill(tf.shape(seconds), size)}
        )


def _block():
    path = v1.placeholder(tf.string, [None])
    with tf.control_dependencies([tf.io.write_file(path[0] + ".entered", "")]):
        waiting = tf.identity(path)
    return _signature(
        {"path": path}, {"content": tf.fill(tf.shape(path), tf.io.read_file(waiting[0]))}
    )


def _gate():
    path = v1.placeholder(tf.string, [None])
    with tf.control_dependencies([tf.io.write_file(path[0] + ".entered", "")]):
        closed = tf.identity(True)
    waited = tf.while_loop(
        lambda closed: closed,
        lambda closed: [tf.equal(tf.size(tf.io.matching_files(path[0])), 0)],
        [closed],
    )
    with tf.control_dependencies(waited):
        return _signature({"path": path}, {"opened": tf.identity(path)})


@contextlib.contextmanager
def _quiet():
    """TensorFlow's log says nothing of where it writes."""
    level = v1.logging.get_verbosity()
    v1.logging.set_verbosity(v1.logging.ERROR)
    try:
        yield
    finally:
        v1.logging.set_verbosity(level)
