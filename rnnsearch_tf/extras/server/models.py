"""The models of a server: finds their versions, keeps a process for the newest of each.

A new version is loaded before the old one goes, and the old one stays while the new one does not
load. A process that ends is started again.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import pathlib
import time
from collections.abc import Collection
from typing import Any

from rnnsearch_tf.extras.server.attention_page import read_about
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument, not_found, unavailable
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.process import Launcher, ModelProcess

WATCH_SECONDS = 0.05
"""Seconds between checks of the memory."""

PROBE_INTERVAL = 0.25
"""Seconds between checks whether the models answer."""

RETRY_SECONDS = 60
"""Seconds before a version that failed to load is tried again, unless its folder changes."""

LONGEST_PAUSE = 30
"""Longest pause, in seconds, between restarts of a process that keeps failing."""

LONGEST_END = 5
"""Seconds to wait for killed processes when the server stops."""

LOADING, AVAILABLE, UNLOADING, END = 20, 30, 40, 50
"""The states of tensorflow.serving.ModelVersionStatus."""

Spec = tuple[str, int | None, str]
"""What a request says of its model: name, version and label."""

log = logging.getLogger("rnnsearch_tf")


@dataclasses.dataclass
class Version:
    """What is known of a version; `error` is why it did not load or answer the last time, `about`
    what its export says of the model.
    """

    state: int
    error: ServingError | None = None
    tried: float = 0.0
    changed: float = 0.0
    about: dict[str, Any] = dataclasses.field(default_factory=dict)


class Model:
    """One model: its base path, its versions and the process of the one that answers."""

    def __init__(self, name: str, base_path: str, flags: Flags, launcher: Launcher):
        self.name = name
        self.base_path = base_path
        self.versions: dict[int, Version] = {}
        self.process: ModelProcess | None = None
        self.alive: list[ModelProcess] = []
        self.answers = False
        self.restarts = 0
        self._loaded = 0.0  # when its process began to answer
        self._pause = 0.0
        self._flags = flags
        self._launcher = launcher
        self._leaving: set[asyncio.Task] = set()

    async def update(self, restarting: bool = False) -> None:
        """Look at the disk once; load the newest version if it does not answer yet.

        Args:
            restarting: whether :meth:`restart` asks. Nobody else loads a version while the process
                of the last one has ended, so that each restart is one.

        Raises:
            ServingError: it does not load, or there is none.
        """
        # a disk that does not answer must not stop the event loop
        found = await asyncio.to_thread(versions_on_disk, self.base_path)
        if not found:
            raise not_found(
                f"model {self.name}: {self.base_path}: expected a folder with a numbered folder for"
                f" each version, got {'none' if found is None else 'one without any'}; name the"
                " --output of rnnsearch export"
            )
        number = max(found)
        ended = self.process is not None and self.process.ended.is_set()
        if self.process is not None and not ended and self.process.version == number:
            return
        if ended and not restarting:
            return
        known = self.versions.get(number, Version(END))
        if known.state == LOADING:
            return  # by a look for new versions, or by a restart
        path, changed = found[number]
        if known.error and changed == known.changed:
            if time.monotonic() - known.tried < RETRY_SECONDS:
                raise known.error
        await self._load(number, path, changed)

    async def restart(self) -> None:
        """Start a process again, until one answers: of the newest version, or of the one that
        answered if that does not load. Pauses grow while processes end soon after their start.
        """
        ended = self.process
        if time.monotonic() - self._loaded > LONGEST_PAUSE:
            self._pause = 0.0
        while self.process is ended and ended is not None:
            self.restarts += 1
            log.warning(
                "warning: model %s version %d: its process ended (%s) and is started again",
                ended.name,
                ended.version,
                ended.reason or "by itself",
            )
            await asyncio.sleep(self._pause)
            self._pause = min(max(2 * self._pause, 1), LONGEST_PAUSE)
            began = time.monotonic()
            with contextlib.suppress(ServingError, OSError):
                await self.update(restarting=True)
            found = await asyncio.to_thread(versions_on_disk, self.base_path) or {}
            tried = self.versions[ended.version].tried >= began
            if self.process is ended and not tried and ended.version in found:
                with contextlib.suppress(ServingError, OSError):
                    await self._load(ended.version, *found[ended.version])

    async def close(self) -> None:
        """End its processes."""
        for task in self._leaving:
            task.cancel()
        for process in self.alive:
            process.kill("the server stops")
        ends = [asyncio.create_task(process.ended.wait()) for process in self.alive]
        if ends:
            await asyncio.wait(ends, timeout=LONGEST_END)

    async def _load(self, number: int, path: pathlib.Path, changed: float) -> None:
        version = self.versions[number] = Version(LOADING, None, time.monotonic(), changed)
        answering = self.process
        process = ModelProcess(self.name, number, path, self._flags)
        self.alive = [process, *(other for other in self.alive if not other.ended.is_set())]
        version.about = await asyncio.to_thread(read_about, path)
        try:
            await process.start(self._launcher)
        except ServingError as error:
            version.state, version.error = END, error
            log.error(
                "error: model %s version %d did not load: %s", self.name, number, error.message
            )
            raise
        except Exception:  # of the system; the next look tries it again
            version.state = END
            raise
        now = self.process
        if now and now is not answering and now.version > number and not now.ended.is_set():
            # a newer version was loaded during the restart
            process.kill("another version answers")
            version.state = END
            return
        version.state = AVAILABLE
        log.info("model %s version %d is available", self.name, number)
        before, self.process = self.process, process
        self.answers = True
        self._loaded = time.monotonic()
        if before is not None and not before.ended.is_set():
            task = asyncio.create_task(self._leave(before, self.versions[before.version]))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)
        elif before is not None and before.version != number:
            self.versions[before.version].state = END

    async def _leave(self, process: ModelProcess, version: Version) -> None:
        """End the process of an old version when its requests have ended."""
        version.state = UNLOADING
        await process.close()
        version.state = END
        log.info("model %s version %d is unloaded", self.name, process.version)


class Models:
    """All models of a server.

    Example::

        models = Models(flags)
        await models.start()
        answer = await models.process("mt").call(Kind.PREDICT, request, 30)
    """

    def __init__(self, flags: Flags):
        self._flags = flags
        self._tasks: list[asyncio.Task] = []
        self._models: dict[str, Model] = {}
        self._launcher: Launcher | None = None

    async def start(self) -> None:
        """Load the newest version of every model, then keep looking.

        Raises:
            ServingError: one does not load.
        """
        self._launcher = Launcher()
        self._models = {
            name: Model(name, path, self._flags, self._launcher)
            for name, path in self._flags.models.items()
        }
        self._tasks = [asyncio.create_task(self._watch_memory())]
        for model in self._models.values():
            await model.update()
        for model in self._models.values():
            self._tasks.append(asyncio.create_task(self._watch(model)))
            if self._flags.file_system_poll_wait_seconds:
                self._tasks.append(asyncio.create_task(self._poll(model)))

    async def close(self) -> None:
        """End all processes."""
        for task in self._tasks:
            task.cancel()
        for model in self._models.values():
            await model.close()
        if self._launcher is not None:
            self._launcher.close()

    @property
    def names(self) -> Collection[str]:
        """The models' names."""
        return self._flags.models

    @property
    def messages(self) -> bytes:
        """The FileDescriptorSet of the API, serialized."""
        return next(model.process.messages for model in self._models.values() if model.process)

    @property
    def answer(self) -> bool:
        """Whether every model answers."""
        return all(model.answers for model in self._models.values())

    def process(self, name: str, number: int | None = None, label: str = "") -> ModelProcess:
        """The process of a version; no number: the one that answers.

        Raises:
            ServingError: NOT_FOUND; INVALID_ARGUMENT for a label, which no version has here;
                UNAVAILABLE while it is started again.
        """
        if label:
            raise invalid_argument(f"Unrecognized servable version label: {label}")
        model = self._models.get(name)
        process = model.process if model else None
        if process is None or number not in (None, process.version):
            which = f"Latest({name})" if number is None else f"Specific({name}, {number})"
            raise not_found(f"Servable not found for request: {which}")
        if process.ended.is_set():
            raise unavailable("The model's process is started again; try again later")
        return process

    def versions(self, name: str, number: int | None = None, label: str = "") -> dict[int, Version]:
        """{number: Version} of a model, the newest first; also those that failed or have ended.

        Raises:
            ServingError: NOT_FOUND.
        """
        if label:
            raise invalid_argument(f"Unrecognized servable version label: {label}")
        known = self._models[name].versions if name in self._models else {}
        found = {
            version: known[version]
            for version in sorted(known, reverse=True)
            if number in (None, version)
        }
        if not found:
            which = "any versions" if number is None else f"version {number}"
            raise not_found(f"Could not find {which} of model {name}")
        return found

    def available(self) -> dict[str, tuple[int, dict[str, Any]]]:
        """{name: (number, what its export says of the model)} of the versions that answer."""
        return {
            name: (model.process.version, model.versions[model.process.version].about)
            for name, model in self._models.items()
            if model.process is not None and not model.process.ended.is_set()
        }

    def restarts(self) -> dict[str, int]:
        """{name: how often its process was started again}."""
        return {name: model.restarts for name, model in self._models.items()}

    def memory(self) -> dict[str, int]:
        """{name: bytes of its processes}."""
        return {
            name: sum(process.memory() for process in model.alive)
            for name, model in self._models.items()
        }

    async def _poll(self, model: Model) -> None:
        """Look for new versions; what is wrong is logged once while it stays the same."""
        logged = None
        while True:
            await asyncio.sleep(self._flags.file_system_poll_wait_seconds)
            try:
                await model.update()
                logged = None
            except (ServingError, OSError) as error:
                if str(error) != logged:
                    log.warning("warning: looking for new versions: %s", error)
                logged = str(error)

    async def _watch(self, model: Model) -> None:
        """Know within a second whether the model answers; start its process again if it ends."""
        while True:
            process = model.process
            assert process is not None  # from `start` on
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.ended.wait(), PROBE_INTERVAL)
            if model.process is not process:
                continue
            if process.ended.is_set():
                model.answers = False
                await model.restart()
                continue
            answers = await process.probe()
            if model.process is process:
                model.answers = answers

    async def _watch_memory(self) -> None:
        """Kill a process if all together take more than the limit: one that is loaded just now,
        else the largest.
        """
        limit = self._flags.memory_limit_in_mb << 20
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            sizes = {
                process: size
                for model in self._models.values()
                for process in model.alive
                if (size := process.memory())  # 0: it has ended, or has not been forked yet
            }
            if sum(sizes.values()) > limit:
                one = max(sizes, key=lambda process: (not process.messages, sizes[process]))
                one.kill(f"more than the {limit >> 20} MB of --memory_limit_in_mb were used")


def versions_on_disk(base_path: str) -> dict[int, tuple[pathlib.Path, float]] | None:
    """{version: (path, time of its last change)} of the numbered folders, without those that cannot
    be read, or None if the base path cannot.
    """
    try:
        entries = list(os.scandir(base_path))
    except (OSError, ValueError):  # ValueError: a path that no file system can have
        return None
    found = {}
    for entry in entries:
        if entry.name.isascii() and entry.name.isdecimal() and int(entry.name) < 2**63:
            with contextlib.suppress(OSError):  # a loop of links, say
                if entry.is_dir():
                    found[int(entry.name)] = pathlib.Path(entry.path), entry.stat().st_mtime
    return found
