"""Counters and histograms of the server, as the Prometheus page of tensorflow_model_server shows
them.

Names and labels are that server's, so that its dashboards work here. They are
written out by hand because a client library would append ``_total`` to every
counter's name.
"""

from __future__ import annotations

import bisect
import itertools
import threading

DEFAULT_PATH = "/monitoring/prometheus/metrics"

MICROSECONDS = 1e6
LATENCY_LIMITS = [10 * 1.8**power for power in range(33)]  # µs: 10 µs to about 25 minutes
MOST_SERIES = 1000  # of one name: a client that makes up model names does not fill the memory
LONGEST_LABEL = 100


class Metrics:
    """What one server has done so far; safe to use from many threads.

    Example:
        >>> metrics = Metrics()
        >>> metrics.request("mt", "OK", "GRPC", 0.002)
        >>> print(metrics.page().splitlines()[1])
        :tensorflow:serving:request_count{model_name="mt",status="OK"} 1
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._requests = _Counter("serving:request_count", ("model_name", "status"))
        self._request_latency = _Histogram(
            "serving:request_latency", ("model_name", "API", "entrypoint")
        )
        self._runtime_latency = _Histogram(
            "serving:runtime_latency", ("model_name", "API", "runtime")
        )
        self._graph_runs = _Counter("core:graph_runs", ())
        self._graph_run_time = _Counter("core:graph_run_time_usecs", ())
        self._queuing_latency = _Histogram(
            "serving:batching_session:queuing_latency", ("thread_pool_name",)
        )
        self._batches = _Counter("serving:batching_session:wrapped_run_count", ())

    def request(self, model_name: str, status: str, entrypoint: str, seconds: float):
        """A Predict was answered: status a gRPC code's name, entrypoint GRPC or REST; latency
        counts those that are OK.
        """
        with self._lock:
            self._requests.add((model_name, status), 1)
            if status == "OK":
                self._request_latency.add(
                    (model_name, "Predict", entrypoint), seconds * MICROSECONDS
                )

    def run(self, model_name: str, seconds: float):
        """The graph of a model was run once, for one request or for a batch of them."""
        with self._lock:
            self._runtime_latency.add((model_name, "Predict", "TF1"), seconds * MICROSECONDS)
            self._graph_runs.add((), 1)
            self._graph_run_time.add((), round(seconds * MICROSECONDS))

    def batch(self, thread_pool_name: str, waits):
        """A batch was formed of requests that waited in the queue; waits: seconds of each."""
        with self._lock:
            self._batches.add((), 1)
            for seconds in waits:
                self._queuing_latency.add((thread_pool_name,), seconds * MICROSECONDS)

    def page(self) -> str:
        """All that was counted so far, in Prometheus' text format, without what never happened."""
        with self._lock:
            metrics = [
                metric
                for metric in vars(self).values()
                if isinstance(metric, _Metric) and metric.series
            ]
            return "".join(line + "\n" for metric in metrics for line in metric.lines())


class _Metric:
    """A name and its series, one for each tuple of label values."""

    kind: str

    def __init__(self, name, labels):
        self.name = f":tensorflow:{name}"
        self.labels = labels
        self.series = {}

    def _series(self, values, empty):
        values = tuple(value[:LONGEST_LABEL] for value in values)
        if values not in self.series and len(self.series) >= MOST_SERIES:
            values = ("other",) * len(values)
        return self.series.setdefault(values, empty)

    def lines(self):
        yield f"# TYPE {self.name} {self.kind}"
        for values, series in self.series.items():
            yield from self._lines(
                [f'{label}="{_escaped(value)}"' for label, value in zip(self.labels, values)],
                series,
            )


class _Counter(_Metric):
    kind = "counter"

    def add(self, values, amount):
        self._series(values, [0])[0] += amount

    def _lines(self, labels, series):
        yield f"{self.name}{{{','.join(labels)}}} {series[0]}"


class _Histogram(_Metric):
    kind = "histogram"

    def add(self, values, microseconds):
        series = self._series(values, {"counts": [0] * (len(LATENCY_LIMITS) + 1), "sum": 0.0})
        series["counts"][bisect.bisect_left(LATENCY_LIMITS, microseconds)] += 1
        series["sum"] += microseconds

    def _lines(self, labels, series):
        for limit, count in zip(
            [f"{limit:g}" for limit in LATENCY_LIMITS] + ["+Inf"],
            itertools.accumulate(series["counts"]),
        ):
            bound = f'le="{limit}"'
            yield f"{self.name}_bucket{{{','.join([*labels, bound])}}} {count}"
        yield f"{self.name}_sum{{{','.join(labels)}}} {series['sum']:.3f}"
        yield f"{self.name}_count{{{','.join(labels)}}} {sum(series['counts'])}"


def _escaped(value) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
