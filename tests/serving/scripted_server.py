"""The whole server without TensorFlow behind it: a test writes what its models answer."""

import asyncio
import inspect
import pathlib
import threading

from rnnsearch_tf.extras.server.core import Core
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.metrics import Metrics
from rnnsearch_tf.extras.server.models import AVAILABLE, Model, Models, Version
from rnnsearch_tf.extras.server.server import Server

VERSION = 3


class ScriptedProcess:
    """Stands for process.ModelProcess: `answer` is a function of (name, Kind, bytes, seconds) that
    returns the answer's bytes, or an awaitable of them, or raises.

    `call` waits while `gate` is cleared; `waiting` requests do so now, `seconds` is what the last
    of them was given.
    """

    def __init__(self, name, answer, messages=b""):
        self.name, self.version, self.path = name, VERSION, pathlib.Path("/nowhere")
        self.messages = messages
        self.ended = asyncio.Event()
        self.gate = threading.Event()
        self.gate.set()
        self.waiting = 0
        self.seconds = None
        self._answer = answer

    async def call(self, kind, data, seconds):
        self.seconds = seconds
        self.waiting += 1
        try:
            while not self.gate.is_set():
                await asyncio.sleep(0.01)
        finally:
            self.waiting -= 1
        answer = self._answer(self.name, kind, data, seconds)
        return await answer if inspect.isawaitable(answer) else answer


class ScriptedModels(Models):
    """Models whose processes are ScriptedProcess, {name: process}; what is asked for is found as in
    any other server.
    """

    def __init__(self, flags, processes, about):
        super().__init__(flags)
        self.processes, self.about = processes, about

    def available(self):
        return {
            name: (number, self.about.get(name, {}))
            for name, (number, _) in super().available().items()
        }

    async def start(self):
        for name, process in self.processes.items():
            model = Model(name, "/nowhere", self._flags, None)
            model.process, model.answers = process, True
            model.versions = {VERSION: Version(AVAILABLE)}
            self._models[name] = model

    async def close(self):
        pass


class ScriptedServer(Server):
    """A Server of these models.

    Args:
        answer: see ScriptedProcess.
        names: of the models.
        flags: of the server; both ports are free ones unless told.

    Example:
        with ScriptedServer(lambda name, kind, data, seconds: b"{}") as server:
            http.client.HTTPConnection("127.0.0.1", server.rest_port)
    """

    def __init__(self, answer, names=("toy",), **flags):
        from rnnsearch_tf.extras.server import worker

        self.flags = Flags(
            {name: "/nowhere" for name in names}, **{"port": FREE, "rest_api_port": FREE} | flags
        )
        super().__init__(self.flags)
        messages = worker.messages()
        self.processes = {name: ScriptedProcess(name, answer, messages) for name in names}
        self.about = {}  # what the export of each model says of it
        self._models = ScriptedModels(self.flags, self.processes, self.about)
        self._core = Core(self._models, self.flags, Metrics(self._models))

    @property
    def process(self):
        """The process of the only model."""
        (process,) = self.processes.values()
        return process
