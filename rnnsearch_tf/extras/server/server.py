"""The whole server, from its flags: models, batching, gRPC, REST, looks for new versions."""

from __future__ import annotations

import concurrent.futures
import functools
import logging
import threading

import tensorflow as tf

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server import config_files
from rnnsearch_tf.extras.server import tls
from rnnsearch_tf.extras.server.attention_page import AttentionPage
from rnnsearch_tf.extras.server.batching import Batcher
from rnnsearch_tf.extras.server.batching_parameters import Parameters
from rnnsearch_tf.extras.server.connections import Limits
from rnnsearch_tf.extras.server.core import Core
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.flags import FREE
from rnnsearch_tf.extras.server.grace import Grace
from rnnsearch_tf.extras.server.grpc_server import GrpcServer
from rnnsearch_tf.extras.server.manager import Manager
from rnnsearch_tf.extras.server.metrics import DEFAULT_PATH, Metrics
from rnnsearch_tf.extras.server.polling import Poller
from rnnsearch_tf.extras.server.rest import RestServer
from rnnsearch_tf.extras.server.servable import Servable
from rnnsearch_tf.extras.server.warm_up import warm_up

log = logging.getLogger("rnnsearch_tf")


class Server:
    """A server in this process; it listens once its models answer.

    Args:
        flags: Flags.

    Attributes:
        core: the Core behind both interfaces.
        grpc_port, rest_port: where it listens, None where it does not.

    Raises:
        UserError: a configuration file is wrong; from `start`, a model does not load or a port is
            taken.

    Example:
        with Server(Flags(model_name="mt", model_base_path="/models/mt", port=FREE,
        rest_api_port=0)) as server:
            channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
    """

    def __init__(self, flags):
        self._flags = flags
        self._config = (
            config_files.read_models(flags.model_config_file)
            if flags.model_config_file
            else config_files.single_model(flags.model_name, flags.model_base_path)
        )
        metrics = Metrics()
        self._batcher = Batcher(_batching(flags), metrics) if flags.enable_batching else None
        self._manager = Manager(functools.partial(_load, flags, metrics), flags)
        self.core = Core(self._manager, self._batcher, metrics, flags.max_request_rows)
        self._grpc, self._rest = _grpc(flags, self.core), _rest(flags, self.core)
        self._interfaces = [self._grpc] if self._rest is None else [self._grpc, self._rest]
        self._pollers = []
        self._stopping = threading.Lock()

    @property
    def grpc_port(self):
        return self._grpc.port

    @property
    def rest_port(self):
        return None if self._rest is None else self._rest.port

    def start(self):
        """Load the models, then listen."""
        try:
            for interface in self._interfaces:
                interface.check_address()
            self._manager.configure(self._config)
            for interface in self._interfaces:
                interface.start()
        except ServingError as error:
            self.stop()
            raise UserError(error.message) from None
        except UserError:
            self.stop()
            raise
        self._pollers = list(_pollers(self._flags, self._manager))
        self._grpc.set_serving(True)

    def wait_until_available(self, timeout=None):
        """Wait until every model has a version that answers; whether it came so far in time."""
        return self._manager.wait_until_available(timeout)

    def stop(self, grace=None):
        """Take no new request, finish those on their way for at most `grace` seconds (None: however
        long), end.

        Returns:
            bool, whether they ended by themselves: those that had not were broken off.
        """
        with self._stopping:
            for poller in self._pollers:
                # a load that runs does not use up the grace
                poller.stop(None if grace is None else 0)
            grace = Grace(grace)
            with concurrent.futures.ThreadPoolExecutor(len(self._interfaces)) as pool:
                list(pool.map(lambda interface: interface.stop(grace.left()), self._interfaces))
            if self._batcher is not None:
                self._batcher.close(grace.left())
            return self._manager.close(grace.left())

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()


def _load(flags, metrics, name, number, path):
    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=flags.tensorflow_intra_op_parallelism
        or flags.tensorflow_session_parallelism,
        inter_op_parallelism_threads=flags.tensorflow_inter_op_parallelism
        or flags.tensorflow_session_parallelism,
    )
    servable = Servable(name, number, path, flags.saved_model_tags.split(","), config, metrics)
    if flags.enable_model_warmup:
        try:
            warm_up(servable, path, flags.num_request_iterations_for_warmup)
        except BaseException:
            servable.close()
            raise
    return servable


def _batching(flags):
    if not flags.batching_parameters_file:
        return Parameters()
    return Parameters.of(
        config_files.read_batching(flags.batching_parameters_file), flags.batching_parameters_file
    )


def _grpc(flags, core):
    return GrpcServer(
        core,
        flags.host,
        _port(flags.port),
        socket_path=flags.grpc_socket_path,
        threads=flags.grpc_max_threads,
        ssl=_ssl(flags),
        arguments=flags.grpc_channel_arguments,
        with_health=flags.enable_grpc_healthcheck_service,
        message_limit=flags.max_request_bytes,
        waiting=flags.max_waiting_requests,
    )


def _ssl(flags):
    if not flags.ssl_config_file:
        return None
    config = config_files.read_ssl(flags.ssl_config_file)
    tls.check(config, flags.ssl_config_file)
    return config


def _rest(flags, core):
    if not flags.rest_api_port:
        return None
    if flags.ssl_config_file:
        log.warning(
            "warning: REST is off: --ssl_config_file asks for TLS, which only gRPC has here;"
            " --rest_api_port=0 says so, a proxy that speaks TLS can stand before a server"
            " without it"
        )
        return None
    return RestServer(
        core,
        flags.host,
        _port(flags.rest_api_port),
        threads=flags.rest_api_num_threads,
        timeout=flags.rest_api_timeout_in_ms / 1000,
        metrics_path=_metrics_path(flags),
        page=None if flags.no_page else AttentionPage(core.models),
        limits=Limits(
            body=flags.max_request_bytes,
            values=flags.rest_api_max_values,
            waiting=flags.max_waiting_requests,
            client_timeout=flags.rest_api_client_timeout_in_ms / 1000,
            idle_timeout=flags.rest_api_idle_timeout_in_ms / 1000,
        ),
    )


def _metrics_path(flags):
    if not flags.monitoring_config_file:
        return None
    config = config_files.read_monitoring(flags.monitoring_config_file).prometheus_config
    return (config.path or DEFAULT_PATH) if config.enable else None


def _port(port):
    """A flag's port as the servers here take it: 0 is a free one, None is none."""
    return {0: None, FREE: 0}.get(port, port)


def _pollers(flags, manager):
    """What looks for changes while the server runs."""
    if flags.file_system_poll_wait_seconds > 0:
        yield Poller("versions", flags.file_system_poll_wait_seconds, manager.update)
    if flags.model_config_file and flags.model_config_file_poll_wait_seconds > 0:
        seen = [config_files.read_models(flags.model_config_file)]

        def reread():
            config = config_files.read_models(flags.model_config_file)
            if config != seen[0]:
                manager.configure(config)
                # only now: what was refused is asked again, a label once its version is there
                seen[0] = config

        yield Poller("configuration", flags.model_config_file_poll_wait_seconds, reread)
