"""Compares the C++ runner's answers with those of a v1 Session; what ``make -C export check`` runs.

    python check_runner.py RUNNER SAVED_MODEL [--signature NAME] [--output NAME]

SAVED_MODEL is the folder of one version.
"""

import argparse
import os
import pathlib
import subprocess
import sys

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
    parser.add_argument("saved_model", type=pathlib.Path, help="folder of one version")
    parser.add_argument("--signature", default="serving_default")
    parser.add_argument("--output", default="translation")
    arguments = parser.parse_args()
    compare(arguments.runner, arguments.saved_model, arguments.signature, arguments.output)


if __name__ == "__main__":
    main()
