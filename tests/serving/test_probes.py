"""Whether a model answers, as the server knows it. The model's process is a stand-in here, which
answers only some kinds of requests.
"""

import asyncio
import socket
import subprocess

import grpc
import pytest

from rnnsearch_tf.extras.server import frames, process
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.process import ModelProcess

OK, REFUSED = grpc.StatusCode.OK.value[0], grpc.StatusCode.INVALID_ARGUMENT.value[0]


class Launcher:
    """Starts a program that does nothing, and answers in its place.

    Args:
        answers: {Kind: status code}; other requests are not answered.
    """

    def __init__(self, answers):
        self.answers = answers
        self.seen = []

    async def fork(self, settings):
        ours, theirs = socket.socketpair()
        self.sleeping = subprocess.Popen(["sleep", "60"])
        self.task = asyncio.create_task(self._answer(theirs))
        return self.sleeping.pid, ours

    async def _answer(self, connection):
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(frames.ANSWER.pack(0, OK, 0))
        while True:
            header = await reader.readexactly(frames.REQUEST.size)
            number, kind, _, size = frames.REQUEST.unpack(header)
            await reader.readexactly(size)
            self.seen.append(Kind(kind))
            if kind in self.answers:
                writer.write(frames.ANSWER.pack(number, self.answers[kind], 0))


@pytest.mark.parametrize(
    "kind, code, answers",
    [
        (Kind.PREDICT, OK, True),
        (Kind.PREDICT, REFUSED, False),
        (Kind.METADATA, OK, False),
        (Kind.REST_METADATA, OK, False),
    ],
)
def test_what_needs_no_model_is_no_sign_of_it(monkeypatch, kind, code, answers):
    """A model that hangs answers no probe, whatever a monitor asks its process meanwhile."""
    monkeypatch.setattr(process, "IDLE_SECONDS", 0.2)
    monkeypatch.setattr(process, "PROBE_SECONDS", 0.2)

    async def job():
        launcher = Launcher({kind: code})
        model = ModelProcess("m", 1, "/m/1", Flags({"m": "/m"}))
        await model.start(launcher)
        try:
            await asyncio.sleep(0.25)
            try:
                await model.call(kind, b"", 10)
            except ServingError as error:
                assert (error.code, code) == (grpc.StatusCode.INVALID_ARGUMENT, REFUSED)
            assert await model.probe() == answers
            assert launcher.seen == [kind, *([] if answers else [Kind.PROBE])]
        finally:
            model.kill("the test ends")
            launcher.sleeping.wait()
            launcher.task.cancel()

    asyncio.run(job())
