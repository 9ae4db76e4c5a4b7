"""The metrics page, read by Prometheus' own parser."""

import threading

import pytest

from rnnsearch_tf.extras.server.metrics import LATENCY_LIMITS, MOST_SERIES, Metrics

parser = pytest.importorskip("prometheus_client.parser")


def families(metrics):
    return {family.name: family for family in parser.text_string_to_metric_families(metrics.page())}


def value(metrics, name, **labels):
    # the parser adds it to counters
    found = [
        sample.value
        for family in families(metrics).values()
        for sample in family.samples
        if sample.name.removesuffix("_total") == name and sample.labels == labels
    ]
    assert len(found) == 1, f"{name} {labels}: {found}"
    return found[0]


def test_requests_are_counted_by_model_and_status():
    metrics = Metrics()
    for status in ("OK", "OK", "NOT_FOUND"):
        metrics.request("mt", status, "REST", 0.5)
    name = ":tensorflow:serving:request_count"
    assert value(metrics, name, model_name="mt", status="OK") == 2
    assert value(metrics, name, model_name="mt", status="NOT_FOUND") == 1
    assert families(metrics)[name].type == "counter"
    # to the letter, as dashboards ask for it
    assert f'{name}{{model_name="mt",status="OK"}} 2\n' in metrics.page()


def test_latency_is_a_histogram_in_microseconds():
    metrics = Metrics()
    for seconds in (0.000005, 0.002, 0.002, 1e9):
        metrics.request("mt", "OK", "GRPC", seconds)
    name = ":tensorflow:serving:request_latency"
    labels = {"model_name": "mt", "API": "Predict", "entrypoint": "GRPC"}
    family = families(metrics)[name]
    buckets = [
        (float(sample.labels["le"]), sample.value)
        for sample in family.samples
        if sample.name.endswith("_bucket")
    ]
    assert family.type == "histogram" and len(buckets) == len(LATENCY_LIMITS) + 1
    for limit, count in buckets:
        assert count == sum(microseconds <= limit for microseconds in (5, 2000, 2000, 1e15))
    assert value(metrics, f"{name}_count", **labels) == 4
    assert value(metrics, f"{name}_sum", **labels) == pytest.approx(1e15 + 4005)


def test_runs_and_batches():
    metrics = Metrics()
    metrics.run("mt", 0.25)
    metrics.batch("batch_threads", [0.001, 0.003])
    assert value(metrics, ":tensorflow:core:graph_runs") == 1
    assert value(metrics, ":tensorflow:core:graph_run_time_usecs") == 250_000
    assert (
        value(
            metrics,
            ":tensorflow:serving:runtime_latency_count",
            model_name="mt",
            API="Predict",
            runtime="TF1",
        )
        == 1
    )
    assert value(metrics, ":tensorflow:serving:batching_session:wrapped_run_count") == 1
    assert (
        value(
            metrics,
            ":tensorflow:serving:batching_session:queuing_latency_count",
            thread_pool_name="batch_threads",
        )
        == 2
    )


def test_labels_of_any_kind():
    metrics = Metrics()
    metrics.request('a"b\\c\nd é', "OK", "REST", 0.1)
    assert (
        value(metrics, ":tensorflow:serving:request_count", model_name='a"b\\c\nd é', status="OK")
        == 1
    )


def test_made_up_model_names_do_not_fill_the_memory():
    metrics = Metrics()
    for number in range(2 * MOST_SERIES):
        metrics.request(f"{number}" + "x" * 10_000, "NOT_FOUND", "REST", 0.1)
    counted = families(metrics)[":tensorflow:serving:request_count"].samples
    assert sum(sample.value for sample in counted) == 2 * MOST_SERIES
    assert len(counted) <= MOST_SERIES + 1 and len(metrics.page()) < 1_000_000


def test_many_threads_lose_nothing():
    metrics = Metrics()
    threads = [
        threading.Thread(target=lambda: [metrics.run("mt", 0.1) for _ in range(500)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert value(metrics, ":tensorflow:core:graph_runs") == 4000
