"""Ask grpc.health.v1 ten times a second, on a new connection each time, until standard input ends.

    python health_watch.py ADDRESS

Prints a JSON list of the seconds that each answer took; one that did not come, or did not say
SERVING, is null. A process of its own, because a client that is busy would measure itself.
"""

import json
import sys
import threading
import time

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

PAUSE = 0.1  # seconds
PATIENCE = 30


def ask(address):
    """Seconds until the server said that it serves, or None."""
    with grpc.insecure_channel(address, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        started = time.monotonic()
        try:
            answer = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=PATIENCE
            )
        except grpc.RpcError:
            return None
        return (
            time.monotonic() - started
            if answer.status == health_pb2.HealthCheckResponse.SERVING
            else None
        )


def main():
    ended = threading.Event()
    delays = []
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    while not ended.wait(PAUSE):
        delays.append(ask(sys.argv[1]))
    print(json.dumps(delays))


if __name__ == "__main__":
    main()
