"""Asks the embedded server what tensorflow_model_server's own tests ask:
tensorflow_model_server_test.py, one test after the other.

    python tests/serving/upstream.py CHECKOUT [TEST …]

CHECKOUT is a working copy of tensorflow/serving; nothing of it is copied here. Each test runs in a
process of its own, with servers of its own, and is listed with its outcome and, where it does not
pass, the reason. Exit code 1: another one failed than is listed here. All of them take some ten
minutes, most of it the waits of those that cannot pass.

The tests start every server with flags that this one does not have; `own_flags` leaves them out,
and names the models of a configuration file one by one.
"""

import argparse
import importlib.util
import os
import pathlib
import re
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import types

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

ROOT = pathlib.Path(__file__).parents[2]
TESTS = pathlib.PurePath("model_servers", "tensorflow_model_server_test.py")
SERVE = "--serve"
LEFT_OUT = (
    "--grpc_socket_path",
    "--grpc_channel_arguments",
    "--monitoring_config_file",
    "--batching_parameters_file",
    "--model_config_file_poll_wait_seconds",
    "--prefer_tflite_model",
)
PATIENCE = 240  # seconds for one test; those that cannot pass wait a minute for the server

EXAMPLES = "tf.Example is not served: Classify, Regress and MultiInference answer UNIMPLEMENTED"
TFLITE = "TensorFlow Lite is not served"
NO_FILE = "configuration files are not read"
SOCKET = "UNIX sockets are not listened on"
CHANNEL = "gRPC's channel arguments are not flags"
KERAS = "writes its model with Keras 2; Keras 3 gives the input another name"
OUTSIDE = {
    **dict.fromkeys(
        (
            "testClassify",
            "testClassifyTf2",
            "testClassifyREST",
            "testRegress",
            "testRegressTf2",
            "testRegressREST",
        ),
        EXAMPLES,
    ),
    **dict.fromkeys(("testMultiInference", "testMultiInferenceTf2"), EXAMPLES),
    **dict.fromkeys(
        ("testBadModelConfig", "testModelConfigReload", "testModelConfigReloadWithZeroPollPeriod"),
        NO_FILE,
    ),
    "testPredictUDS": SOCKET,
    "testGoodGrpcChannelArgs": CHANNEL,
    **dict.fromkeys(("testPredictOnTfLite", "testPredictWithSignatureDefOnTfLite"), TFLITE),
    **dict.fromkeys(
        (
            "test_sequential_keras_saved_model_save",
            "test_distrat_sequential_keras_saved_model_save",
        ),
        KERAS,
    ),
    "test_profiler_service_with_valid_trace_request": "the profiler's service is not served",
    "test_tf_text": (
        "its model is a Keras 2 fixture of more than 4 MB, which not every checkout has"
    ),
}
"""What a translation server does without: test → reason."""


def names(checkout) -> list:
    """The tests, in the order of the file."""
    return re.findall(
        r"^  def (test\w*)\(self",
        (package(checkout) / TESTS).read_text(encoding="utf-8"),
        re.MULTILINE,
    )


def run(checkout, name):
    """(whether it passes, its last line) of one test."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, str(checkout), name, "--alone", folder]
        environment = os.environ | {
            "TEST_SRCDIR": lay_out(checkout, folder),
            "PYTHONPATH": str(ROOT),
        }
        with subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process:
            try:
                said, _ = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                said = b"not done after %d seconds" % PATIENCE
            finally:
                end_group(process.pid)
    lines = [line for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    errors = [
        line for line in lines if re.match(r"\w*(Error|Exception|details = )|\s+details = ", line)
    ]
    return process.returncode == 0 and lines[-1] == "OK", (errors or lines)[-1].strip()


def end_group(leader):
    """End a test and the servers it has left."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass


def lay_out(checkout, folder) -> str:
    """The folder in which the tests look for their data and the server's program."""
    place = pathlib.Path(folder, "tf_serving", "tensorflow_serving")
    (place / "model_servers").mkdir(parents=True)
    (place / "servables").symlink_to(package(checkout) / "servables")
    program = place / "model_servers" / "tensorflow_model_server"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {__file__} {SERVE} "$@"\n')
    program.chmod(0o755)
    return folder


def own_flags(words) -> list:
    """The stock server's command line, as `rnnsearch serve` takes it."""
    known = []
    for word in words:
        name, _, value = word.partition("=")
        if name == "--model_config_file":
            text = pathlib.Path(value).read_text(encoding="utf-8")
            for model in text_format.Parse(text, ModelServerConfig()).model_config_list.config:
                known += [f"--model_name={model.name}", f"--model_base_path={model.base_path}"]
        elif name not in LEFT_OUT:
            known.append(word)
    return known


def serve(words):
    """Become the server. Does not return."""
    command = [sys.executable, "-m", "rnnsearch_tf", "serve", *own_flags(words)]
    os.execv(sys.executable, command)


def package(checkout):
    return pathlib.Path(checkout).absolute() / "tensorflow_serving"


def alone(checkout, name, folder):
    """Become the test's process: its program, told to run one test. Does not return."""
    import tensorflow_serving

    # the installed package has the messages but no tests
    tensorflow_serving.__path__.append(str(package(checkout)))
    if importlib.util.find_spec("portpicker") is None:
        sys.modules["portpicker"] = types.SimpleNamespace(pick_unused_port=unused_port)
    program = str(package(checkout) / TESTS)
    sys.argv = [program, f"TensorflowModelServerTest.{name}", f"--test_tmpdir={folder}"]
    runpy.run_path(program, run_name="__main__")


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def report(checkout, chosen) -> int:
    """List the tests; the exit code."""
    passed = 0
    surprises = []
    for name in chosen or names(checkout):
        good, last = run(checkout, name)
        passed += good
        if not good and name not in OUTSIDE:
            surprises.append(name)
        print(f"{name:55} {'passes' if good else 'fails: ' + OUTSIDE.get(name, last)}", flush=True)
    print(
        f"{passed} of {len(chosen or names(checkout))} pass; unexpected:"
        f" {', '.join(surprises) or 'none'}"
    )
    return 1 if surprises else 0


if __name__ == "__main__":
    if sys.argv[1:2] == [SERVE]:
        serve(sys.argv[2:])
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--alone", metavar="FOLDER", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if not (package(arguments.checkout) / TESTS).exists():
        parser.error(
            f"{arguments.checkout}: expected a working copy of tensorflow/serving, got none with"
            f" {TESTS}"
        )
    if arguments.alone:
        alone(arguments.checkout, arguments.tests[0], arguments.alone)
    sys.exit(report(arguments.checkout, arguments.tests))
