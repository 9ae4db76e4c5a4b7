"""Compares the C++ runner's answers with those of a v1 Session; what ``make -C export check`` runs.

    python check_runner.py RUNNER [--saved-model FOLDER] [--signature NAME] [--output NAME]

Without ``--saved-model`` a tiny one is written first, with a table, a variable and an op of
tensorflow_text.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

LINES = [
    b"",
    b"a cat sleeps .",
    b"Did the dogs see it ?",
    b" two  spaces\t",
    "Ünïcödé e\u0301 \U0001f642 שלום".encode(),
    b"word " * 200,
    b"not \xff UTF-8",
] * 6  # two calls
TOLERANCE = 1e-5


def write_tiny_model(folder):
    """Write a SavedModel with one signature, ``text`` → ``translation`` (words as their ids, in a
    table) and ``score``.
    """
    import keras
    import tensorflow as tf
    import tensorflow_text

    words = tf.constant(["a", "cat", "sleeps", "."])
    initializer = tf.lookup.KeyValueTensorInitializer(words, tf.range(4, dtype=tf.int64))
    table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=1)
    weight = tf.Variable([0.1, 0.2, 0.3, 0.4, 0.5])
    tokenizer = tensorflow_text.WhitespaceTokenizer()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def translate(text):
        ids = tf.ragged.map_flat_values(table.lookup, tokenizer.tokenize(text))  # [B, (words)]
        scores = tf.reduce_sum(
            tf.ragged.map_flat_values(lambda flat: tf.gather(weight, flat), ids), axis=1
        )
        return {
            "translation": tf.strings.reduce_join(tf.strings.as_string(ids), axis=1, separator=" "),
            "score": scores,
        }

    archive = keras.export.ExportArchive()
    archive.track(table)
    archive.add_endpoint("serving_default", translate)
    archive.write_out(str(folder), verbose=False)


def runner_answers(runner, saved_model, signature, output):
    """The output for LINES, by the runner, one result a line."""
    words = [runner, saved_model, "--signature", signature, "--output", output, *text_ops()]
    environment = {"PATH": os.environ["PATH"], "TF_CPP_MIN_LOG_LEVEL": "3"}
    text = b"".join(line + b"\n" for line in LINES)
    result = subprocess.run(words, input=text, capture_output=True, env=environment)
    if result.returncode:
        sys.exit(result.stderr.decode("utf-8", "replace"))
    return result.stdout.split(b"\n")[:-1]


def text_ops():
    """The runner's option that loads tensorflow_text's ops, where that package is installed."""
    folders = [pathlib.Path(folder, "tensorflow_text/python/ops") for folder in sys.path]
    return [word for folder in folders if folder.is_dir() for word in ("--ops", folder)][:2]


def compare(runner, saved_model, signature, output):
    """Print how many lines agree, strings to the byte; exit with the first that does not."""
    from rnnsearch_tf.export.saved_model import SavedModel

    got = runner_answers(runner, saved_model, signature, output)  # first: it explains bad options
    model = SavedModel(saved_model)
    (source,) = model.signatures[signature].inputs
    expected = model(signature, **{source: LINES})[output].tolist()
    for line, ours, theirs in zip(LINES, got, expected, strict=True):
        same = (
            ours == theirs if isinstance(theirs, bytes) else abs(float(ours) - theirs) < TOLERANCE
        )
        if not same:
            sys.exit(f"for the line {line!r} the runner says {ours!r}, a Session says {theirs!r}")
    print(f"{signature} {output}: {len(got)} lines, the runner and a Session agree")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runner", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument(
        "--saved-model",
        type=pathlib.Path,
        help="folder of one version (default: a tiny one made for the check)",
    )
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--output", default="translation")
    arguments = parser.parse_args()
    if arguments.saved_model:
        compare(arguments.runner, arguments.saved_model, arguments.signature, arguments.output)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name) / "1"
        write_tiny_model(folder)
        for output in ("translation", "score"):
            compare(arguments.runner, folder, arguments.signature, output)


if __name__ == "__main__":
    main()
