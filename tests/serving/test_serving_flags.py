"""The flags of the server, and what is said of wrong ones."""

import os

import pytest

from rnnsearch_tf.cli.main import Parser
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.server import flags

BASE = "--model_base_path=/m"


def read(*words):
    parser = Parser(prog="rnnsearch serve")
    flags.add_to(parser)
    return flags.from_arguments(parser.parse(list(words)))


@pytest.mark.parametrize(
    "words",
    [
        ["--model_base_path=/m", "--rest_api_port=9000", "--enable_batching=true"],
        ["--model-base-path", "/m", "--rest-api-port", "9000", "--enable-batching"],
        ["--model_base_path", "/m", "--enable_batching", "--rest_api_port", "9000"],
        ["--model-base-path=/m", "--rest_api_port=9000", "--enable-batching=1"],
    ],
    ids=["equals", "hyphens", "bare-boolean", "mixed"],
)
def test_ways_to_write_a_flag(words):
    assert read(*words) == flags.Flags({"default": "/m"}, rest_api_port=9000, enable_batching=True)


@pytest.mark.parametrize("name", [*flags.FLAGS, "model_name", "model_base_path"])
def test_every_flag_may_be_written_both_ways(name, capsys):
    parser = Parser(prog="rnnsearch serve")
    flags.add_to(parser)
    (action,) = (action for action in parser._actions if action.dest == name)
    assert {f"--{name}", f"--{name.replace('_', '-')}"} == set(action.option_strings)
    assert action.help


def test_defaults_are_the_stock_servers():
    default = read(BASE)
    assert (default.port, default.rest_api_port, default.models, default.host) == (
        8500,
        8501,
        {"default": "/m"},
        "127.0.0.1",
    )
    assert default.rest_api_timeout_in_ms == 30_000 and default.file_system_poll_wait_seconds == 1
    assert default.enable_model_warmup and not default.enable_batching
    assert read(BASE, "--enable_model_warmup=false").enable_model_warmup is False


def test_several_models():
    words = "--model_name=a --model_base_path=/m/a --model-name=b --model-base-path=/m/b".split()
    assert read(*words).models == {"a": "/m/a", "b": "/m/b"}
    assert read("--model_name=a", "--model_name=b", *words[1::2]).models == read(*words).models


def test_a_base_path_may_be_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read("--model_base_path=models/../m").models == {"default": os.path.join(tmp_path, "m")}


@pytest.mark.parametrize(
    "host, names, expected",
    [
        ("127.0.0.1", "", ["127.0.0.1", "::1", "localhost"]),
        ("::1", "", ["127.0.0.1", "::1", "localhost"]),
        ("127.0.0.2", "", ["127.0.0.1", "::1", "localhost", "127.0.0.2"]),
        ("0.0.0.0", "", []),
        ("0.0.0.0", "mt.example.org,mt", ["mt.example.org", "mt"]),
        ("localhost", "mt", ["mt"]),
        ("0.0.0.0", "[::1], MT,", ["::1", "mt"]),
        ("localhost", " , ", ["127.0.0.1", "::1", "localhost"]),
    ],
)
def test_names_that_the_host_header_may_have(host, names, expected):
    assert read(BASE, f"--host={host}", f"--allowed_hosts={names}").hosts == expected


@pytest.mark.parametrize(
    "words, message",
    [
        (["--prot=8500"], "unknown option --prot; did you mean --port?"),
        (["--model_base_pth=/m"], "did you mean --model_base_path?"),
        (
            ["--port=8500"],
            "expected --model-base-path, got none; name the folder of versions, for example:"
            " rnnsearch serve --model-name mine --model-base-path",
        ),
        ([BASE, "--model_config_file=f"], "unknown option --model_config_file"),
        ([BASE, "--port=x"], "--port"),
        ([BASE, "--port=70000"], "--port: expected a number from -1 to 65535, got 70000"),
        ([BASE, "--port=-2"], "--port: expected a number from -1 to 65535, got -2"),
        (
            [BASE, "--port=9", "--rest_api_port=9"],
            "expected different ports for gRPC and REST, got 9 for both",
        ),
        (
            [BASE, "--port=0", "--rest_api_port=0"],
            "expected --port or --rest_api_port, got 0 for both",
        ),
        ([BASE, "--enable_batching=perhaps"], "expected true or false, got 'perhaps'"),
        (
            [BASE, "--max_request_rows=0"],
            "--max_request_rows: expected a number from 1 to 1000000000, got 0",
        ),
        (
            [BASE, "--max-request-bytes=3000000000"],
            "--max_request_bytes: expected a number from 1 to 67108864, got 3000000000",
        ),
        (
            [BASE, BASE],
            "expected as many --model_name as --model_base_path, got 0 and 2",
        ),
        (
            [BASE, "--model_name=a", "--model_name=b"],
            "expected as many --model_name as --model_base_path, got 2 and 1",
        ),
        (
            [BASE, BASE, "--model_name=a", "--model_name=a"],
            "--model_name: expected different names, got a, a",
        ),
        (["--model_base_path="], "--model-base-path: expected a value, got an empty one"),
        ([BASE, "--model_name="], "--model-name: expected a value, got an empty one"),
        (
            [BASE, "--tls_key=k"],
            "expected --tls_certificate and --tls_key together, got one of them",
        ),
        ([BASE, "--tls-certificate=c"], "--tls_certificate and --tls_key together"),
        (
            [BASE, "--tls_client_ca=c"],
            "--tls_client_ca: expected --tls_certificate and --tls_key with it",
        ),
    ],
    ids=[
        "typo",
        "long-typo",
        "no-model",
        "dropped",
        "not-a-number",
        "no-port",
        "negative-port",
        "same-port",
        "no-interface",
        "boolean",
        "rows",
        "bytes",
        "two-without-names",
        "two-names",
        "same-names",
        "no-path",
        "no-name",
        "key-alone",
        "certificate-alone",
        "authority-alone",
    ],
)
def test_wrong_usage(words, message):
    with pytest.raises(UsageError) as caught:
        read(*words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "name, wrong, limits",
    [
        ("shutdown_grace_in_seconds", ["nan", "-1", "86401"], "0 to 86400"),
        ("file_system_poll_wait_seconds", ["nan", "-1", "inf"], "0 to 1000000000"),
        ("request_timeout_in_seconds", ["nan", "0", "inf"], "0.001 to 1000000000"),
        ("rest_api_timeout_in_ms", ["0"], "1 to 1000000000"),
        ("memory_limit_in_mb", ["0", "199"], "200 to 1000000000"),
        ("max_waiting_requests", ["0", "100001"], "1 to 100000"),
        ("tensorflow_intra_op_parallelism", ["-1", "1025"], "0 to 1024"),
    ],
)
def test_numbers_have_limits(name, wrong, limits):
    for word in wrong:
        with pytest.raises(UsageError) as caught:
            read(BASE, f"--{name}={word}")
        message = str(caught.value)
        assert message.startswith(f"--{name}: expected a number from {limits}, got {word}")


def test_flags_are_checked_in_python_too():
    with pytest.raises(UsageError, match="expected --model-base-path, got none"):
        flags.Flags({})
    with pytest.raises(UsageError, match="--max_request_rows: expected a number from 1"):
        flags.Flags({"m": "/m"}, max_request_rows=0)
    free = flags.Flags({"m": "/m"}, port=flags.FREE, rest_api_port=flags.FREE)
    assert free.port == free.rest_api_port == -1


def test_an_empty_host_is_refused():
    """It would listen on every address; the parser refuses an empty value of any flag."""
    with pytest.raises(UsageError, match="--host: expected an address, got none"):
        flags.Flags({"m": "/m"}, host="")
    for flag in ("--host=", "--model_base_path="):
        with pytest.raises(UsageError, match="expected a value, got an empty one"):
            read(BASE, flag)


@pytest.mark.parametrize("models", [{"": "/m"}, {"default": ""}])
def test_a_model_needs_a_name_and_a_path(models):
    with pytest.raises(UsageError, match="expected a name and a base path, got"):
        flags.Flags(models)
