"""The configuration files of tensorflow_model_server: protocol buffers in their text form."""

from __future__ import annotations

import pathlib

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.config_protos import BatchingParameters, MonitoringConfig, SSLConfig


def read_models(path):
    """--model_config_file → ModelServerConfig."""
    config = _read(path, model_server_config_pb2.ModelServerConfig)
    if not config.HasField("model_config_list"):
        raise UserError(
            f'{path}: expected model_config_list {{ config {{ name: "…" base_path: "…"'
            ' model_platform: "tensorflow" } }, got none; add it'
        )
    return config


def read_batching(path):
    """--batching_parameters_file → BatchingParameters."""
    return _read(path, BatchingParameters)


def read_ssl(path):
    """--ssl_config_file → SSLConfig, whose key and certificates are PEM texts."""
    config = _read(path, SSLConfig)
    if not config.server_key or not config.server_cert:
        raise UserError(
            f"{path}: expected server_key and server_cert (PEM texts), got only one of them or none"
        )
    return config


def read_monitoring(path):
    """--monitoring_config_file → MonitoringConfig."""
    return _read(path, MonitoringConfig)


def single_model(name, base_path):
    """The ModelServerConfig that --model_name and --model_base_path stand for."""
    config = model_server_config_pb2.ModelServerConfig()
    config.model_config_list.config.add(
        name=name, base_path=str(pathlib.Path(base_path).absolute()), model_platform="tensorflow"
    )
    return config


def _read(path, message):
    """The message in a file.

    Raises:
        UserError: no such file, or not such a message; the text says which line.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        return text_format.Parse(text, message())
    except text_format.ParseError as error:
        place, _, reason = str(error).partition(" : ")
        what = f"tensorflow.serving.{message.DESCRIPTOR.name}"
        raise UserError(
            f"{path}:{place}: Error parsing text-format {what}: {reason.rstrip('.')}; correct that"
            " line"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UserError(
            f"{path}: expected a readable {message.DESCRIPTOR.name}, got: {reason}; check the path"
        ) from None
