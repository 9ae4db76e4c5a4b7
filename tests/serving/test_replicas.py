"""Two replicas behind one address: they share the requests, and one that is killed costs no answer.
The versions tell who answered.
"""

import collections
import signal
import time

import pytest
from fake_server import FakeServer
from toy_calls import toy_server
from toy_model import write_toy
from watched_server import watched_server

from rnnsearch_tf.extras.server.client import Client

ROUNDS = 40


@pytest.fixture
def replicas(tmp_path):
    """(address, WatchedServer): the first answers ``v1:…``, the second ``v2:…``."""
    for version in (1, 2):
        write_toy(tmp_path / str(version), version)
    with watched_server(tmp_path / "2") as second, toy_server(tmp_path / "1") as first:
        yield f"127.0.0.1:{first.grpc_port}", second


def until_both_answer(client):
    """A new channel asks who is connected first."""
    answered = set()
    for _ in range(1000):
        answered.add(client.translate([""])[0].text)
        if len(answered) == 2:
            return
    raise AssertionError(f"only {answered} answered")


def test_replicas_share_the_requests_and_a_killed_one_costs_no_answer(replicas):
    first, second = replicas
    with Client(f"ipv4:{first},{second.grpc}", "toy", deadline=60) as client:
        until_both_answer(client)
        shares = collections.Counter(client.translate([str(k)])[0].text[:2] for k in range(ROUNDS))
        assert shares == {"v1": ROUNDS // 2, "v2": ROUNDS // 2}

        def batches():
            for k in range(6 * ROUNDS):
                if k == 2 * ROUNDS:
                    second.process.send_signal(signal.SIGKILL)
                yield [f"{k} a", f"{k} b"]

        answers = list(client.translate_batches(batches(), concurrency=8))
        assert [each.text[3:] for batch in answers for each in batch] == [
            f"{k} {row}" for k in range(6 * ROUNDS) for row in "ab"
        ]
        by = [batch[0].text[:2] for batch in answers]
        assert set(by[:ROUNDS]) == {"v1", "v2"} and set(by[-ROUNDS:]) == {"v1"}


def test_a_client_whose_connection_is_ended_every_tenth_of_a_second_loses_nothing():
    """As servers do with a maximum age of connections, so that clients find new replicas."""
    server = FakeServer(options=[("grpc.max_connection_age_ms", 100)])
    end = time.monotonic() + 1.5
    number = 0
    with Client(server.address, "toy", deadline=60) as client:
        while time.monotonic() < end or number < 100:
            texts = [f"{number} {k}" for k in range(3)]
            assert [each.text for each in client.translate(texts)] == [
                text.upper() for text in texts
            ]
            number += 1
    server.stop()
