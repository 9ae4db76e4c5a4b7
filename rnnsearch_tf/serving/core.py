"""What the server can do, whatever the transport: gRPC and REST both call this."""

from __future__ import annotations


class Core:
    """Answers requests to the models of a Manager; every method raises ServingError and nothing else.

    Attributes:
        metrics: the counters of serving/metrics.py, or None.
    """

    def __init__(self, manager, metrics=None):
        self.manager = manager
        self.metrics = metrics

    def predict(self, spec, inputs, output_filter=(), deadline=None, cancelled=None):
        """Run a signature.

        Args:
            spec: tensorflow_serving.apis.model_pb2.ModelSpec.
            inputs: dict of TensorProto or np.ndarray by input name.
            output_filter: names of the outputs wanted; none: all.
            deadline: time.monotonic() value after which nobody waits, or None.
            cancelled: threading.Event that is set when the caller has gone, or None.

        Returns:
            (ModelSpec with the version and signature used, dict of np.ndarray by output name).
        """
        raise NotImplementedError

    def metadata(self, request):
        """GetModelMetadataRequest → GetModelMetadataResponse."""
        raise NotImplementedError

    def status(self, request):
        """GetModelStatusRequest → GetModelStatusResponse."""
        raise NotImplementedError

    def reload(self, request):
        """ReloadConfigRequest → ReloadConfigResponse."""
        raise NotImplementedError

    def signature(self, spec):
        """The SignatureDef of a ModelSpec (name, version or label, signature name): what REST needs to shape JSON."""
        raise NotImplementedError
