"""The flags of tensorflow_model_server, declared once, with its names and defaults.

``--model_name`` and ``--model-name`` are the same flag, ``--flag value`` and
``--flag=value`` too; a boolean may stand alone. Four departures: what listens
does so on ``--host``, loopback unless told; REST listens unless told not to;
a port of -1 takes a free one; requests and connections have limits, which the
stock server does not know.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras.server import limits

log = logging.getLogger("rnnsearch_tf")

FREE = -1  # a port nobody uses
LONGEST_GRACE = 86_400  # seconds
LONGEST_POLL = 31_536_000  # seconds, a year


def flag(default, meaning):
    return dataclasses.field(default=default, metadata={"meaning": meaning})


def limit(default, most, meaning):
    """A flag of this server alone: from 1 to `most`."""
    return dataclasses.field(
        default=default,
        metadata={"meaning": f"{meaning} (not in tensorflow_model_server)", "most": most},
    )


@dataclasses.dataclass(frozen=True)
class Flags:
    """What a Server is told.

    Example:
        >>> Flags(model_name="mt", model_base_path="/models/mt", rest_api_port=FREE).port
        8500
    """

    model_name: str = flag("default", "name of the model in --model_base_path")
    model_base_path: str = flag("", "folder with a numbered folder for each version")
    model_config_file: str = flag(
        "", "file with a ModelServerConfig: several models, version policies, labels"
    )
    model_config_file_poll_wait_seconds: int = flag(
        0, "seconds between looks at that file; 0: it is read once"
    )
    file_system_poll_wait_seconds: float = flag(
        1.0, "seconds between looks for new versions; 0: one look; negative: none after the start"
    )
    allow_version_labels_for_unavailable_models: bool = flag(
        False, "a new label may point to a version that is not there yet"
    )
    force_allow_any_version_labels_for_unavailable_models: bool = flag(
        False, "so may one that pointed elsewhere"
    )
    saved_model_tags: str = flag("serve", "tags of the graph to load, with commas between them")
    max_num_load_retries: int = flag(5, "how often a version that failed to load is tried again")
    load_retry_interval_micros: int = flag(60_000_000, "microseconds before that")
    enable_model_warmup: bool = flag(
        True, "replay the requests of assets.extra before a version answers"
    )
    num_request_iterations_for_warmup: int = flag(1, "how often")
    allow_reload_requests: bool = flag(
        True,
        "gRPC requests may change what is served (not in tensorflow_model_server, nor the next"
        " two)",
    )
    allowed_model_roots: str = flag(
        "",
        "folders, with commas between them, under one of which base paths must be; none given:"
        " anywhere",
    )
    shutdown_grace_in_seconds: float = flag(
        30.0, "seconds that requests on their way get when it is told to end"
    )

    host: str = flag(
        "127.0.0.1", "address to listen on (not in tensorflow_model_server, which takes 0.0.0.0)"
    )
    port: int = flag(8500, "gRPC port; 0: none; -1: a free one")
    rest_api_port: int = flag(8501, "REST port; 0: none; -1: a free one")
    grpc_socket_path: str = flag("", "UNIX socket to listen on as well, for gRPC")
    grpc_channel_arguments: str = flag("", "gRPC arguments, key=value with commas between them")
    grpc_max_threads: int = flag(64, "gRPC requests that are worked on at once")
    rest_api_num_threads: int = flag(32, "REST requests that are worked on at once")
    rest_api_timeout_in_ms: int = flag(
        30_000, "milliseconds after which a REST request is answered with 504"
    )
    enable_grpc_healthcheck_service: bool = flag(True, "grpc.health.v1, for readiness probes")
    ssl_config_file: str = flag(
        "", "file with an SSLConfig: TLS for gRPC; REST, which has none, is off then"
    )
    monitoring_config_file: str = flag(
        "", "file with a MonitoringConfig: where the Prometheus page is"
    )
    no_page: bool = flag(
        False, "no page for people at / of the REST port (not in tensorflow_model_server)"
    )

    enable_batching: bool = flag(False, "merge concurrent requests into one call")
    batching_parameters_file: str = flag(
        "", "file with BatchingParameters; needs --enable_batching"
    )
    tensorflow_session_parallelism: int = flag(
        0, "threads of a session, for both of the next; 0: TensorFlow chooses"
    )
    tensorflow_intra_op_parallelism: int = flag(0, "threads of one operation")
    tensorflow_inter_op_parallelism: int = flag(0, "operations at once")

    max_request_rows: int = limit(
        limits.REQUEST_ROWS,
        10**9,
        "rows of one request, and of all that run at once without batching; more are refused",
    )
    max_request_bytes: int = limit(
        limits.REQUEST_BYTES,
        2**31 - 1,
        "bytes of one request, unpacked; more are RESOURCE_EXHAUSTED, or 413",
    )
    max_waiting_requests: int = limit(
        limits.WAITING_REQUESTS,
        10**5,
        "predictions that wait for a thread, gRPC and REST each; more are UNAVAILABLE, or 503",
    )
    rest_api_max_values: int = limit(
        limits.JSON_VALUES,
        10**9,
        "commas and opening brackets in the JSON of one request; more are 400",
    )
    rest_api_client_timeout_in_ms: int = limit(
        1000 * limits.CLIENT_SECONDS,
        10**9,
        "milliseconds that a client may take to send a request or take an answer",
    )
    rest_api_idle_timeout_in_ms: int = limit(
        1000 * limits.IDLE_SECONDS,
        10**9,
        "milliseconds after which a connection without a request is closed",
    )

    @property
    def model_roots(self) -> list:
        return [root for root in self.allowed_model_roots.split(",") if root]

    def __post_init__(self):
        if bool(self.model_base_path) == bool(self.model_config_file):
            given = "both" if self.model_base_path else "neither"
            raise UsageError(f"expected --model_base_path or --model_config_file, got {given}")
        if self.batching_parameters_file and not self.enable_batching:
            raise UsageError(
                "--batching_parameters_file: expected --enable_batching with it; add that"
            )
        for root in self.model_roots:
            if not os.path.isabs(root):
                raise UsageError(f"--allowed_model_roots: expected absolute paths, got {root!r}")
        if not 0 <= self.shutdown_grace_in_seconds <= LONGEST_GRACE:
            raise UsageError(
                f"--shutdown_grace_in_seconds: expected a number from 0 to {LONGEST_GRACE}, got"
                f" {self.shutdown_grace_in_seconds}"
            )
        for name in ("file_system_poll_wait_seconds", "model_config_file_poll_wait_seconds"):
            if not getattr(self, name) <= LONGEST_POLL:
                raise UsageError(
                    f"--{name}: expected at most {LONGEST_POLL} seconds, got {getattr(self, name)}"
                )
        if self.port == self.rest_api_port > 0:
            raise UsageError(
                f"expected different ports for gRPC and REST, got {self.port} for both"
            )
        for name in ("port", "rest_api_port"):
            if not -1 <= getattr(self, name) <= 65535:
                raise UsageError(
                    f"--{name}: expected a port from 0 to 65535, or -1, got {getattr(self, name)}"
                )
        for name in (
            "grpc_max_threads",
            "rest_api_num_threads",
            "rest_api_timeout_in_ms",
            "num_request_iterations_for_warmup",
        ):
            if getattr(self, name) < 1:
                raise UsageError(f"--{name}: expected at least 1, got {getattr(self, name)}")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            most = field.metadata.get("most")
            if most is not None and not 1 <= value <= most:
                raise UsageError(f"--{field.name}: expected a number from 1 to {most}, got {value}")


FLAGS = {
    field.name: (field.default, field.metadata["meaning"]) for field in dataclasses.fields(Flags)
}
"""Default and meaning of each."""

WITHOUT_EFFECT = {
    "flush_filesystem_caches": (True, "caches of remote file systems"),
    "num_load_threads": (0, "versions load one after the other"),
    "num_unload_threads": (0, "versions unload when their last request has ended"),
    "per_process_gpu_memory_fraction": (0.0, "GPU memory"),
    "rest_api_enable_cors_support": (False, "requests from pages of other sites"),
    "enable_per_model_batching_parameters": (False, "batching parameters beside a model"),
    "enable_signature_method_name_check": (False, "method names"),
    "enable_profiler": (True, "profiler service"),
    "remove_unused_fields_from_bundle_metagraph": (True, "memory of the graph"),
    "tensorflow_session_config_file": ("", "session options"),
    "platform_config_file": ("", "platforms other than tensorflow"),
    "thread_pool_factory_config_file": ("", "thread pools"),
    "prefer_tflite_model": (False, "TensorFlow Lite"),
    "num_tflite_pools": (0, "TensorFlow Lite"),
    "num_tflite_interpreters_per_pool": (0, "TensorFlow Lite"),
    "xla_cpu_compilation_enabled": (False, "XLA"),
    "mixed_precision": ("", "mixed precision"),
    "skip_initialize_tpu": (False, "TPU"),
}
"""Flags of tensorflow_model_server that are accepted and have no effect here: default, what it is
about.
"""


def add_to(parser):
    """Declare every flag, with underscores and with hyphens, to an argparse parser."""
    ignored = {
        name: (default, f"accepted, without effect here: {meaning}")
        for name, (default, meaning) in WITHOUT_EFFECT.items()
    }
    for name, (default, meaning) in (FLAGS | ignored).items():
        kind = type(default)
        names = dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}"))
        shown = "" if default == "" else f" (default: {default})"
        options = {"type": kind, "metavar": kind.__name__.upper()}
        if kind is bool:
            options = {"type": _truth, "nargs": "?", "const": True, "metavar": "true|false"}
        parser.add_argument(*names, dest=name, default=None, help=meaning + shown, **options)


def from_arguments(arguments) -> Flags:
    """The Flags of what a parser of `add_to` has read; warns of those without effect."""
    for name, (default, _) in WITHOUT_EFFECT.items():
        if getattr(arguments, name) not in (None, default):
            log.warning("warning: --%s has no effect in this server", name)
    return Flags(
        **{name: getattr(arguments, name) for name in FLAGS if getattr(arguments, name) is not None}
    )


def _truth(word) -> bool:
    if word.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(f"expected true or false, got {word!r}")
    return word.lower() in ("true", "1")
