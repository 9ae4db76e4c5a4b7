"""Two replicas behind one address: they share the requests, and one that is killed costs no answer.
The versions tell who answered.
"""

import collections
import contextlib
import signal
import threading
import time

import pytest
from toy_model import write_toy
from watched_server import WatchedServer, watched_server

from rnnsearch_tf.extras.server.client import Client

ROUNDS = 40


@pytest.fixture
def replicas(tmp_path):
    """Two servers: the first answers ``v1:…``, the second ``v2:…``."""
    for version in (1, 2):
        write_toy(tmp_path / str(version), version)
    with contextlib.ExitStack() as stack:
        servers = [None, None]

        def start(k):
            servers[k] = stack.enter_context(watched_server(tmp_path / str(k + 1)))

        threads = [threading.Thread(target=start, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(isinstance(server, WatchedServer) for server in servers)
        yield servers


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
    with Client(f"ipv4:{first.grpc},{second.grpc}", "toy", deadline=60) as client:
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


def test_a_client_whose_connection_is_ended_every_tenth_of_a_second_loses_nothing(
    served, toy_base, caplog
):
    """As kubernetes.yaml does every minute, so that clients find new pods."""
    server = served(toy_base, grpc_channel_arguments="grpc.max_connection_age_ms=100")
    end = time.monotonic() + 1.5
    number = 0
    with Client(f"127.0.0.1:{server.grpc_port}", "toy", deadline=60) as client:
        while time.monotonic() < end or number < 100:
            texts = [f"{number} {k}" for k in range(3)]
            assert [each.text for each in client.translate(texts)] == [
                f"v2:{text}" for text in texts
            ]
            number += 1
    assert "trying again" not in caplog.text
