"""Counters and histograms of the server for Prometheus, under tensorflow_model_server's names.

prometheus_client appends ``_total`` to the names of its counters. So that the dashboards of the
stock server work here, the count of requests is exposed without a type.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

import prometheus_client
from prometheus_client.core import GaugeMetricFamily, Metric

PATH = "/monitoring/prometheus/metrics"
MICROSECONDS = 1e6
LATENCY_LIMITS = [10 * 1.8**power for power in range(33)]  # µs: 10 µs to about 25 minutes


class Metrics:
    """What one server has done so far.

    Args:
        models: Models, for what is measured when it is asked for; also their names: requests for
            others are counted as one, so that made-up names do not fill the memory.
    """

    def __init__(self, models: Any):
        self._models = models
        self._requests: collections.Counter[tuple[str, str]] = collections.Counter()
        self._registry = prometheus_client.CollectorRegistry()
        self._latency = prometheus_client.Histogram(
            ":tensorflow:serving:request_latency",
            "Microseconds of a request that was answered.",
            ("model_name", "API", "entrypoint"),
            registry=self._registry,
            buckets=LATENCY_LIMITS,
        )
        self._registry.register(self)

    def request(self, model: str, status: str, entrypoint: str, seconds: float) -> None:
        """A Predict was answered: status a gRPC code's name, entrypoint GRPC or REST; latency
        counts those that are OK.
        """
        if model not in self._models.names:
            model = "other"
        self._requests[model, status] += 1
        if status == "OK":
            self._latency.labels(model, "Predict", entrypoint).observe(seconds * MICROSECONDS)

    def page(self) -> bytes:
        """All that was counted so far, in Prometheus' text format."""
        return prometheus_client.generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """What prometheus_client asks a collector for."""
        requests = Metric(":tensorflow:serving:request_count", "Requests by status.", "unknown")
        for (model, status), count in list(self._requests.items()):
            labels = {"model_name": model, "status": status}
            requests.add_sample(requests.name, labels, count)
        yield requests
        for name, meaning, values in (
            ("memory_bytes", "Memory of a model's processes.", self._models.memory()),
            ("restarts", "How often a model's process was started again.", self._models.restarts()),
        ):
            gauge = GaugeMetricFamily(f"rnnsearch_model_{name}", meaning, labels=["model_name"])
            for model, value in values.items():
                gauge.add_metric([model], value)
            yield gauge
