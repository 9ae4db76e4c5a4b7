"""What the server can do, whatever the transport: gRPC and REST both call this."""

from __future__ import annotations

import contextlib
import time

from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_pb2,
)

from rnnsearch_tf.extras.server import checks
from rnnsearch_tf.extras.server import limits
from rnnsearch_tf.extras.server import rows
from rnnsearch_tf.extras.server.errors import (
    ServingError,
    cancelled_error,
    deadline_exceeded,
    invalid_argument,
    not_found,
)

SIGNATURES = "signature_def"


class Core:
    """Answers requests to the models of a Manager; every method raises ServingError and nothing
    else.

    Args:
        manager: a Manager.
        batcher: a Batcher, or None: every request is a run of its own.
        metrics: the counters of extras/server/metrics.py, or None.
        most_rows: of one request, and of those that run at once without a batcher.
    """

    def __init__(self, manager, batcher=None, metrics=None, most_rows=limits.REQUEST_ROWS):
        self.manager = manager
        self.metrics = metrics
        self._rows = rows.Rows(most_rows)
        self._batcher = batcher

    def predict(self, spec, inputs, output_filter=(), deadline=None, cancelled=None):
        """Run a signature.

        Args:
            spec: tensorflow_serving.apis.model_pb2.ModelSpec, or None if the request has none.
            inputs: dict of TensorProto or np.ndarray by input name.
            output_filter: names of the outputs wanted; none: all.
            deadline: time.monotonic() value after which nobody waits, or None.
            cancelled: threading.Event that is set when the caller has gone, or None.

        Returns:
            (ModelSpec with the version and signature used, dict of np.ndarray by output name).
        """
        with self._servable(spec) as servable:
            name, signature = checks.find_signature(servable.signatures, spec.signature_name)
            count = rows.count(inputs)
            self.check_rows(count)  # before the tensors are unfolded
            arrays = checks.to_arrays(signature, inputs)
            outputs = checks.output_names(signature, list(output_filter))
            if self._batcher is not None:
                values = self._batcher.run(servable, name, arrays, outputs, deadline, cancelled)
            else:
                with self._rows.running(count, deadline, cancelled):
                    values = servable.run(name, arrays, outputs, _time_left(deadline, cancelled))
            used = model_pb2.ModelSpec(name=servable.name, signature_name=name)
            used.version.value = servable.version
            return used, dict(zip(outputs, values))

    def metadata(self, request):
        """GetModelMetadataRequest → GetModelMetadataResponse."""
        spec = _spec(request)
        if not request.metadata_field:
            raise invalid_argument(
                "GetModelMetadataRequest must specify at least one metadata_field"
            )
        for field in request.metadata_field:
            if field != SIGNATURES:
                raise invalid_argument(f"Metadata field {field} is not supported")
        with self._servable(spec) as servable:
            answer = get_model_metadata_pb2.GetModelMetadataResponse(
                model_spec=model_pb2.ModelSpec(name=servable.name)
            )
            answer.model_spec.version.value = servable.version
            answer.metadata[SIGNATURES].Pack(
                get_model_metadata_pb2.SignatureDefMap(signature_def=servable.signatures)
            )
            return answer

    def status(self, request):
        """GetModelStatusRequest → GetModelStatusResponse."""
        spec = _spec(request)
        number = self.manager.number(spec.name, spec.version_label) if spec.version_label else None
        number = spec.version.value if spec.HasField("version") else number
        versions = [
            version
            for version in self.manager.versions(spec.name)
            if number in (None, version.number)
        ]
        if not versions:
            which = "any versions" if number is None else f"version {number}"
            raise not_found(f"Could not find {which} of model {spec.name}")
        answer = get_model_status_pb2.GetModelStatusResponse()
        for version in versions:
            status = answer.model_version_status.add(
                version=version.number, state=version.state
            ).status
            status.CopyFrom(_status_proto(version.error))
        return answer

    def reload(self, request):
        """ReloadConfigRequest → ReloadConfigResponse."""
        self.manager.reload(request.config)
        return model_management_pb2.ReloadConfigResponse(status=_status_proto(None))

    def signature(self, spec):
        """The SignatureDef of a ModelSpec (name, version or label, signature name): what REST needs
        to shape JSON.
        """
        with self._servable(spec) as servable:
            return checks.find_signature(servable.signatures, spec.signature_name)[1]

    def models(self) -> dict:
        """{name: numbers of the versions that answer, the newest first}."""
        return self.manager.available()

    def check_rows(self, count):
        """Refuse a request of so many rows, INVALID_ARGUMENT, before it is turned into tensors, if
        it has too many.
        """
        self._rows.check(count)

    @contextlib.contextmanager
    def _servable(self, spec):
        if spec is None:
            raise invalid_argument("Missing ModelSpec")
        if not spec.name:
            raise invalid_argument("ModelSpec has no name specified.")
        number = spec.version.value if spec.HasField("version") else None
        with self.manager.servable(spec.name, number, spec.version_label) as servable:
            yield servable


def _spec(request):
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")
    return request.model_spec


def _status_proto(error: ServingError | None):
    if error is None:
        return get_model_status_pb2.ModelVersionStatus(status={"error_code": 0}).status
    return get_model_status_pb2.ModelVersionStatus(
        status={"error_code": error.code.value[0], "error_message": error.message}
    ).status


def _time_left(deadline, cancelled):
    """Seconds a run may take, or None.

    Raises:
        ServingError: nobody waits any more.
    """
    if cancelled is not None and cancelled.is_set():
        raise cancelled_error()
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise deadline_exceeded()
    return left
