"""Whatever is sent, the server gives a proper status, keeps running, and does not grow.

    RNNSEARCH_FUZZ=10000 python -m pytest tests/serving/test_fuzz.py -s      the long run, 10,000 to
    the server and the same again

benchmarks/hostile.py does the same to a server that is a process of its own, and says how long
health took meanwhile.
"""

import collections
import ctypes
import gc
import os
import sys
import time

import pytest
from fuzzing import Fuzzer, attack
from toy_calls import toy_server
from watched_server import MOST_MEMORY, watched_server

from rnnsearch_tf.extras.server.client import Client

COUNT = int(os.environ.get("RNNSEARCH_FUZZ", "500"))
SEED = int(os.environ.get("RNNSEARCH_FUZZ_SEED", "1"))
KINDS = {
    "predict",
    "garbage",
    "damaged",
    "information",
    "packed",
    "json",
    "paths",
    "bad_http",
    "ranks",
    "filled",
    "rows",
    "nested",
    "connections",
}
SLOWEST_HEALTH = 5  # seconds, loosely: the machine that tests may be busy
MOST_GROWTH = (
    2  # MiB, while the same requests are sent again; some 0.5 were measured, for 500 requests
)


def test_whatever_is_sent(toy_base):
    with toy_server(toy_base) as server:
        address = f"127.0.0.1:{server.grpc_port}"
        outcomes = collections.Counter()
        in_use = []
        started = time.monotonic()
        # The server keeps buffers as large as the largest request so far. Sent again, the same
        # requests need no larger ones.
        for _ in range(2):
            fuzzer = Fuzzer(address, f"127.0.0.1:{server.rest_port}", "toy", SEED)
            fuzzer.send(COUNT)
            fuzzer.close()
            assert not fuzzer.improper, "\n".join(fuzzer.improper[:10])
            outcomes += fuzzer.outcomes
            in_use.append(mebibytes_in_use())
        assert server._models.restarts() == {"toy": 0}
        with Client(address, "toy", deadline=20) as client:
            assert [each.text for each in client.translate(["still there"])] == ["v2:still there"]
    growth = in_use[1] - in_use[0]
    report(outcomes, growth, time.monotonic() - started)
    kinds = collections.Counter(kind for kind, _ in outcomes.elements())
    assert set(kinds) >= KINDS
    assert outcomes["predict", "OK"] and outcomes["json", 200]  # some of it comes through
    assert growth < MOST_GROWTH


@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.slow)])
def test_whatever_is_sent_to_a_process(toy_base, count):
    """It lives, stays below the 4 GB of watched_server, and health answers all the while."""
    with watched_server(toy_base, "--enable_batching") as server:
        fuzzer, delays = attack(server, count, SEED)
        assert server.process.poll() is None, "".join(server.log[-20:])
        with Client(server.grpc, "toy", deadline=20) as client:
            assert [each.text for each in client.translate(["still there"])] == ["v2:still there"]
        assert server.peak() < MOST_MEMORY
    assert not fuzzer.improper, "\n".join(fuzzer.improper[:10])
    assert {kind for kind, _ in fuzzer.outcomes} >= KINDS
    assert delays and max(delays) < SLOWEST_HEALTH


class MallocInformation(ctypes.Structure):
    """struct mallinfo2 of the C library."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena",
            "ordblks",
            "smblks",
            "hblks",
            "hblkhd",
            "usmblks",
            "fsmblks",
            "uordblks",
            "fordblks",
            "keepcost",
        )
    ]


def mebibytes_in_use() -> float:
    """What is allocated, in C and in Python; unlike the resident memory it does not depend on which
    thread freed what.
    """
    gc.collect()
    library = ctypes.CDLL(None)
    library.mallinfo2.restype = MallocInformation
    information = library.mallinfo2()
    return (information.uordblks + information.hblkhd + 64 * sys.getallocatedblocks()) / 2**20


def report(outcomes, growth, seconds):
    """What came back, for those who run it with -s."""
    print(
        f"\n{sum(outcomes.values())} requests in {seconds:.0f} s, {growth:+.1f} MiB when they were"
        f" sent again, seed {SEED}"
    )
    for (kind, status), count in sorted(outcomes.items(), key=str):
        print(f"  {kind:12} {status!s:20} {count}")
