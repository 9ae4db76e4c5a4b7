"""The flags and configuration files of tensorflow_model_server, and what is said of wrong ones."""

import contextlib
import logging

import pytest

from rnnsearch_tf.cli.main import Parser
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.server import config_files
from rnnsearch_tf.extras.server import flags


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
    ],
    ids=["equals", "hyphens", "bare-boolean"],
)
def test_ways_to_write_a_flag(words):
    assert read(*words) == flags.Flags(
        model_base_path="/m", rest_api_port=9000, enable_batching=True
    )


def test_defaults_are_the_stock_servers():
    default = read("--model_base_path=/m")
    assert (default.port, default.rest_api_port, default.model_name, default.host) == (
        8500,
        8501,
        "default",
        "127.0.0.1",
    )
    assert read("--model_base_path=/m", "--enable_model_warmup=false").enable_model_warmup is False


@pytest.mark.parametrize(
    "words, message",
    [
        (["--prot=8500"], "unknown option --prot; did you mean --port?"),
        (["--model_base_pth=/m"], "did you mean --model_base_path?"),
        (["--port=8500"], "expected --model_base_path or --model_config_file, got neither"),
        (["--model_base_path=/m", "--model_config_file=f"], "got both"),
        (["--model_base_path=/m", "--port=x"], "--port"),
        (
            ["--model_base_path=/m", "--port=70000"],
            "--port: expected a port from 0 to 65535, or -1, got 70000",
        ),
        (["--model_base_path=/m", "--port=9", "--rest_api_port=9"], "different ports"),
        (
            ["--model_base_path=/m", "--enable_batching=perhaps"],
            "expected true or false, got 'perhaps'",
        ),
        (["--model_base_path=/m", "--batching_parameters_file=f"], "expected --enable_batching"),
        (
            ["--model_base_path=/m", "--grpc_max_threads=0"],
            "--grpc_max_threads: expected at least 1, got 0",
        ),
        (
            ["--model_base_path=/m", "--max_request_rows=0"],
            "--max_request_rows: expected a number from 1 to 1000000000, got 0",
        ),
        (
            ["--model_base_path=/m", "--max-request-bytes=3000000000"],
            "--max_request_bytes: expected a number from 1 to 2147483647, got 3",
        ),
    ],
    ids=[
        "typo",
        "long-typo",
        "no-model",
        "both",
        "not-a-number",
        "no-port",
        "same-port",
        "boolean",
        "batching",
        "threads",
        "rows",
        "bytes",
    ],
)
def test_wrong_usage(words, message):
    with pytest.raises(UsageError) as caught:
        read(*words)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "word, message",
    [
        (
            "--shutdown_grace_in_seconds=nan",
            "--shutdown_grace_in_seconds: expected a number from 0 to 86400, got nan",
        ),
        (
            "--shutdown_grace_in_seconds=-1",
            "--shutdown_grace_in_seconds: expected a number from 0 to 86400, got -1.0",
        ),
        (
            "--file_system_poll_wait_seconds=inf",
            "--file_system_poll_wait_seconds: expected at most 31536000 seconds, got inf",
        ),
        (
            "--file_system_poll_wait_seconds=nan",
            "--file_system_poll_wait_seconds: expected at most 31536000 seconds, got nan",
        ),
        (
            "--model_config_file_poll_wait_seconds=10000000000",
            (
                "--model_config_file_poll_wait_seconds: expected at most 31536000 seconds, got"
                " 10000000000"
            ),
        ),
        (
            "--allowed_model_roots=/m,models",
            "--allowed_model_roots: expected absolute paths, got 'models'",
        ),
    ],
)
def test_limits_of_this_servers_own_flags(word, message):
    with pytest.raises(UsageError) as caught:
        read("--model_base_path=/m", word)
    assert str(caught.value) == message


def test_flags_without_effect_are_taken_and_told(caplog):
    with caplog.at_level(logging.WARNING, "rnnsearch_tf"):
        read(
            "--model_base_path=/m",
            "--per_process_gpu_memory_fraction=0.5",
            "--flush_filesystem_caches=true",
        )
    assert [record.getMessage() for record in caplog.records] == [
        "warning: --per_process_gpu_memory_fraction has no effect in this server"
    ]


def test_a_file_that_is_no_such_message_is_named_with_its_line(tmp_path):
    file = tmp_path / "batching.config"
    file.write_text("max_batch_size { value: 4 }\nmax_batch_sise { value: 4 }\n")
    with pytest.raises(UserError, match=r"batching.config:2:1: .*max_batch_sise") as caught:
        config_files.read_batching(file)
    assert "Error parsing text-format tensorflow.serving.BatchingParameters: " in str(
        caught.value
    ), "the stock server's words"
    with pytest.raises(UserError, match="missing.config: expected a readable ModelServerConfig"):
        config_files.read_models(tmp_path / "missing.config")


def test_a_file_that_names_no_model_is_refused_at_the_start(tmp_path):
    for text in ("", "model_config_list {}"):
        (tmp_path / "models.config").write_text(text)
        with (
            contextlib.nullcontext()
            if text
            else pytest.raises(
                UserError, match="models.config: expected model_config_list .*, got none; add it"
            )
        ):
            config_files.read_models(tmp_path / "models.config")


def test_the_files_have_the_stock_servers_fields(tmp_path):
    def parsed(reader, text):
        (tmp_path / "f").write_text(text)
        return reader(tmp_path / "f")

    batching = parsed(
        config_files.read_batching,
        "num_batch_threads { value: 3 } allowed_batch_sizes: 2 allowed_batch_sizes: 4 "
        "pad_variable_length_inputs: true enable_large_batch_splitting { value: true }",
    )
    assert (
        batching.num_batch_threads.value,
        list(batching.allowed_batch_sizes),
        batching.HasField("max_batch_size"),
    ) == (3, [2, 4], False)
    monitoring = parsed(
        config_files.read_monitoring, 'prometheus_config { enable: true path: "/m" }'
    )
    assert (monitoring.prometheus_config.enable, monitoring.prometheus_config.path) == (True, "/m")
    ssl = parsed(config_files.read_ssl, 'server_key: "k" server_cert: "c" client_verify: true')
    assert (ssl.server_key, ssl.server_cert, ssl.client_verify) == ("k", "c", True)
    with pytest.raises(UserError, match="expected server_key and server_cert"):
        parsed(config_files.read_ssl, 'server_key: "k"')
