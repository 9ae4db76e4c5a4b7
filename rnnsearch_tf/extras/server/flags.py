"""The flags of `rnnsearch serve`, declared once.

Where tensorflow_model_server has the feature, the flag has its name and default:
``--rest_api_port`` and ``--rest-api-port`` are the same. Differences: the server listens on
``--host``, by default loopback; REST is on by default; a port of -1 takes a free one; memory, time
and size of requests have limits, which the stock server does not have.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
from typing import Any

from rnnsearch_tf.errors import UsageError

FREE = -1
"""Let the system choose a free port."""

LOOPBACK = "127.0.0.1", "::1", "localhost"
DEFAULT_MODEL = "default"


def flag(default: Any, meaning: str, least: float | None = None, most: float = 10**9) -> Any:
    """A flag of tensorflow_model_server; numbers have limits."""
    return dataclasses.field(
        default=default, metadata={"meaning": meaning, "least": least, "most": most}
    )


def own(default: Any, meaning: str, least: float | None = None, most: float = 10**9) -> Any:
    """A flag of this server alone."""
    return flag(default, f"{meaning} (not in tensorflow_model_server)", least, most)


@dataclasses.dataclass(frozen=True)
class Flags:
    """What a Server is told.

    Attributes:
        models: {name: base path}; a base path has a numbered folder for each version.

    Raises:
        UsageError: a value is out of its limits, or no model is given.

    Example:
        >>> Flags({"mt": "/models/mt"}, rest_api_port=FREE).port
        8500
    """

    models: dict[str, str]

    host: str = own("127.0.0.1", "address to listen on; tensorflow_model_server listens on 0.0.0.0")
    port: int = flag(8500, "gRPC port; 0: none; -1: a free one", -1, 65535)
    rest_api_port: int = flag(8501, "REST port; 0: none; -1: a free one", -1, 65535)
    rest_api_timeout_in_ms: int = flag(
        30_000, "milliseconds after which a REST request is answered with 504", 1
    )
    file_system_poll_wait_seconds: float = flag(
        1.0, "seconds between checks for new versions; 0: never", 0
    )
    enable_model_warmup: bool = flag(
        True, "run the requests in assets.extra before a version is served"
    )
    enable_batching: bool = flag(False, "merge waiting requests into one call")
    tensorflow_intra_op_parallelism: int = flag(
        0, "threads of one operation; 0: TensorFlow chooses", 0, 1024
    )
    no_page: bool = own(False, "disable the web page on the REST port")
    allowed_hosts: str = own(
        "",
        "comma-separated host names that REST accepts, without ports; replaces the default:"
        " if --host is a loopback address, it, 127.0.0.1, ::1 and localhost, else any name",
    )
    tls_certificate: str = own("", "TLS for gRPC and REST: the server's certificate, a PEM file")
    tls_key: str = own("", "private key of --tls-certificate, a PEM file")
    tls_client_ca: str = own(
        "", "PEM file of CA certificates; clients need a certificate signed by one of them"
    )
    shutdown_grace_in_seconds: float = own(
        30.0, "seconds to finish running requests when the server is told to end", 0, 86_400
    )

    memory_limit_in_mb: int = own(
        2800,
        "MiB that the models' processes may use together; beyond it one is killed: one that is"
        " loading, else the largest",
        200,
    )
    request_timeout_in_seconds: float = own(
        120.0, "longest time of a request in seconds, whatever its deadline", 0.001
    )
    max_request_rows: int = own(512, "rows of a request; more are INVALID_ARGUMENT", 1)
    max_request_bytes: int = own(
        4 << 20,
        "bytes of a request, unpacked; more are RESOURCE_EXHAUSTED, 413 or 429",
        1,
        64 << 20,
    )
    max_waiting_requests: int = own(
        1000,
        "predictions in progress, waiting or running, of all models; more are UNAVAILABLE, or 503",
        1,
        10**5,
    )

    @property
    def hosts(self) -> list[str]:
        """Names that the Host header may have, IPv6 addresses without brackets; empty: any."""
        names = [host.strip(" []").lower() for host in self.allowed_hosts.split(",")]
        if any(names):
            return list(filter(None, names))
        if self.host in LOOPBACK or self.host.startswith("127."):
            return list(dict.fromkeys([*LOOPBACK, self.host]))
        return []

    def __post_init__(self) -> None:
        if not self.models:
            raise UsageError(
                "expected --model-base-path, got none; name the folder of versions, for example:"
                ' rnnsearch serve --model-name mine --model-base-path "$PWD/served/mine"'
            )
        for name, path in self.models.items():
            if not name or not path:
                raise UsageError(f"expected a name and a base path, got {name!r} and {path!r}")
        if not self.host:
            raise UsageError("--host: expected an address, got none; leave it out for 127.0.0.1")
        if self.port == self.rest_api_port > 0:
            raise UsageError(
                f"expected different ports for gRPC and REST, got {self.port} for both"
            )
        if self.port == self.rest_api_port == 0:
            raise UsageError("expected --port or --rest_api_port, got 0 for both")
        if bool(self.tls_certificate) != bool(self.tls_key):
            raise UsageError("expected --tls_certificate and --tls_key together, got one of them")
        if self.tls_client_ca and not self.tls_key:
            raise UsageError("--tls_client_ca: expected --tls_certificate and --tls_key with it")
        for field in dataclasses.fields(self):
            value, least = getattr(self, field.name), field.metadata.get("least")
            if least is not None and not least <= value <= field.metadata["most"]:
                raise UsageError(
                    f"--{field.name}: expected a number from {least} to {field.metadata['most']},"
                    f" got {value}"
                )


FLAGS = {field.name: field for field in dataclasses.fields(Flags) if field.name != "models"}


def add_to(parser: argparse.ArgumentParser) -> None:
    """Declare every flag, with underscores and with hyphens, to an argparse parser."""
    several: dict[str, Any] = {"action": "append", "default": [], "metavar": "STR"}
    _add(
        parser,
        "model_name",
        several,
        f"name of a model (default: {DEFAULT_MODEL}); repeat it and the next for several models",
    )
    _add(
        parser,
        "model_base_path",
        several,
        "folder with a numbered folder for each version (required)",
    )
    for name, field in FLAGS.items():
        kind = type(field.default)
        shown = "" if field.default == "" else f" (default: {field.default})"
        options: dict[str, Any] = {"type": kind, "metavar": kind.__name__.upper()}
        if kind is bool:
            options = {"type": _truth, "nargs": "?", "const": True, "metavar": "true|false"}
        _add(parser, name, options | {"default": field.default}, field.metadata["meaning"] + shown)


def from_arguments(arguments: argparse.Namespace) -> Flags:
    """The Flags of what a parser of `add_to` has read."""
    names, paths = arguments.model_name, arguments.model_base_path
    if not names and len(paths) == 1:
        names = [DEFAULT_MODEL]
    if len(names) != len(paths):
        raise UsageError(
            f"expected as many --model_name as --model_base_path, got {len(names)} and {len(paths)}"
        )
    if len(set(names)) < len(names):
        raise UsageError(f"--model_name: expected different names, got {', '.join(names)}")
    models = {name: os.path.abspath(path) for name, path in zip(names, paths)}
    return Flags(models, **{name: getattr(arguments, name) for name in FLAGS})


def _add(parser: argparse.ArgumentParser, name: str, options: dict[str, Any], meaning: str) -> None:
    names = dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}"))
    parser.add_argument(*names, dest=name, help=meaning, **options)


def _truth(word: str) -> bool:
    if word.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false, got {word!r}")
    return word.lower() in ("true", "1")
