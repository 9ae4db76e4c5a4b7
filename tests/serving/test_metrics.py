"""The metrics page, read by Prometheus' own parser."""

import contextlib
import http.client
import types

import pytest
from prometheus_client import parser
from toy_calls import Toy, model_processes, refusal

from rnnsearch_tf.extras.server.metrics import LATENCY_LIMITS, PATH, Metrics

REQUESTS = ":tensorflow:serving:request_count"
LATENCY = ":tensorflow:serving:request_latency"


def models(*names):
    return types.SimpleNamespace(
        names=names,
        memory=lambda: dict.fromkeys(names, 3 << 20),
        restarts=lambda: dict.fromkeys(names, 2),
    )


def families(page):
    return {family.name: family for family in parser.text_string_to_metric_families(page.decode())}


def value(page, name, **labels):
    # the parser adds it to counters
    found = [
        sample.value
        for family in families(page).values()
        for sample in family.samples
        if sample.name.removesuffix("_total") == name and sample.labels == labels
    ]
    assert len(found) == 1, f"{name} {labels}: {found}"
    return found[0]


def test_requests_are_counted_by_model_and_status():
    metrics = Metrics(models("mt"))
    for status in ("OK", "OK", "NOT_FOUND"):
        metrics.request("mt", status, "REST", 0.5)
    page = metrics.page()
    assert value(page, REQUESTS, model_name="mt", status="OK") == 2
    assert value(page, REQUESTS, model_name="mt", status="NOT_FOUND") == 1
    # to the letter, as dashboards ask for it
    assert f'{REQUESTS}{{model_name="mt",status="OK"}} 2' in page.decode()


def test_latency_is_a_histogram_in_microseconds():
    metrics = Metrics(models("mt"))
    for seconds in (0.000005, 0.002, 0.002, 1e9):
        metrics.request("mt", "OK", "GRPC", seconds)
    metrics.request("mt", "UNAVAILABLE", "GRPC", 1.0)  # was not answered
    labels = {"model_name": "mt", "API": "Predict", "entrypoint": "GRPC"}
    page = metrics.page()
    family = families(page)[LATENCY]
    buckets = [
        (float(sample.labels["le"]), sample.value)
        for sample in family.samples
        if sample.name.endswith("_bucket")
    ]
    assert family.type == "histogram" and len(buckets) == len(LATENCY_LIMITS) + 1
    for limit, count in buckets:
        assert count == sum(microseconds <= limit for microseconds in (5, 2000, 2000, 1e15))
    assert value(page, f"{LATENCY}_count", **labels) == 4
    assert value(page, f"{LATENCY}_sum", **labels) == pytest.approx(1e15 + 4005)


def test_memory_and_restarts_are_those_of_the_models():
    page = Metrics(models("a", "b")).page()
    for name in "ab":
        assert value(page, "rnnsearch_model_memory_bytes", model_name=name) == 3 << 20
        assert value(page, "rnnsearch_model_restarts", model_name=name) == 2


def test_labels_of_any_kind():
    name = 'a"b\\c\nd é'
    metrics = Metrics(models(name))
    metrics.request(name, "OK", "REST", 0.1)
    assert value(metrics.page(), REQUESTS, model_name=name, status="OK") == 1


def test_made_up_model_names_do_not_fill_the_memory():
    metrics = Metrics(models("mt"))
    for number in range(1000):
        metrics.request(f"{number}" + "x" * 10_000, "NOT_FOUND", "REST", 0.1)
    page = metrics.page()
    assert value(page, REQUESTS, model_name="other", status="NOT_FOUND") == 1000
    assert len(families(page)[REQUESTS].samples) == 1 and len(page) < 10_000


def fetched(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=30)
    with contextlib.closing(connection):
        connection.request("GET", PATH)
        answer = connection.getresponse()
        assert answer.status == 200 and answer.getheader("Content-Type").startswith("text/plain")
        return answer.read()


def test_a_server_counts_what_it_answers(served, toy_base):
    before = model_processes()
    server = served(toy_base)
    with Toy(f"127.0.0.1:{server.grpc_port}") as toy:
        for _ in range(3):
            toy.predict("half_plus", x=[2.0])
        assert refusal(toy.predict, "no-such-signature", x=[2.0])[0] == "FAILED_PRECONDITION"
    with Toy(f"127.0.0.1:{server.grpc_port}", model="made-up") as toy:
        assert refusal(toy.predict, "half_plus", x=[2.0])[0] == "NOT_FOUND"
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=30)
    with contextlib.closing(connection):
        for body in ('{"instances": ["a"]}', '{"instances": [1]}'):
            connection.request("POST", "/v1/models/toy:predict", body)
            connection.getresponse().read()
    page = fetched(server)
    toys = {"model_name": "toy"}
    assert value(page, REQUESTS, status="OK", **toys) == 4
    assert value(page, REQUESTS, status="FAILED_PRECONDITION", **toys) == 1
    assert value(page, REQUESTS, status="INVALID_ARGUMENT", **toys) == 1
    assert value(page, REQUESTS, status="NOT_FOUND", model_name="other") == 1
    for entrypoint, count in (("GRPC", 3), ("REST", 1)):
        labels = toys | {"API": "Predict", "entrypoint": entrypoint}
        assert value(page, f"{LATENCY}_count", **labels) == count
        assert 0 < value(page, f"{LATENCY}_sum", **labels) < 30e6
    (process,) = model_processes() - before
    taken = value(page, "rnnsearch_model_memory_bytes", **toys)
    assert taken == pytest.approx(process.memory_info().rss, rel=0.6)
    assert value(page, "rnnsearch_model_restarts", **toys) == 0
