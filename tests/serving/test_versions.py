"""Which versions answer as folders come and go, and processes end. The processes here are
stand-ins: nothing is started or loaded.
"""

import asyncio
import functools
import io
import os
import threading
import time

import pytest

from rnnsearch_tf.extras.server import models
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument, unavailable
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.models import AVAILABLE, END, LOADING, UNLOADING, Models
from rnnsearch_tf.extras.server.process import ModelProcess

LONG = 20.0


class Process:
    """What models.py uses of a ModelProcess.

    Attributes:
        of: Place, which says what becomes of it.
        users: it is not closed before this is 0, as if so many requests were under way.
    """

    of = None

    def __init__(self, name, version, path, flags):
        self.name, self.version, self.path = name, version, path
        self.ended = asyncio.Event()
        self.reason = None
        self.messages = b""
        self.users = 0
        self.answers = True
        self.bytes = 1

    async def start(self, launcher):
        self.of.started.append(self.version)
        self.of.processes[self.version] = self
        if self.version in self.of.gates:
            await self.of.gates[self.version].wait()
        if self.ended.is_set():
            raise unavailable(f"its process ended while it was loaded: {self.reason}")
        if self.version in self.of.corrupt:
            self.kill("it did not load")
            raise invalid_argument(f"cannot parse {self.path.name}")
        self.messages = b"messages"

    async def probe(self):
        return self.answers and not self.ended.is_set()

    def memory(self):
        return 0 if self.ended.is_set() else self.bytes

    def kill(self, reason):
        self.reason = self.reason or reason
        self.ended.set()

    def end(self):
        """As by kill -9."""
        self.ended.set()

    async def close(self):
        while self.users:
            await asyncio.sleep(0.001)
        self.kill("another version answers")


class Launcher:
    def close(self):
        self.closed = True


class Place:
    """A folder of base paths, and Models of it.

    Attributes:
        started: versions whose processes were started, in order.
        processes: {version: the last of its processes}.
        corrupt: versions that do not load.
        gates: {version: asyncio.Event} that loading waits for.
    """

    def __init__(self, folder):
        self.folder = folder
        self.started, self.processes = [], {}
        self.corrupt, self.gates = set(), {}
        self.models = None

    async def start(self, names="m", **flags):
        """Start Models of the base paths with these names."""
        bases = {name: str(self.folder / name) for name in names}
        self.models = Models(Flags(bases, **{"file_system_poll_wait_seconds": 0.001} | flags))
        await self.models.start()

    @property
    def model(self):
        return self.models._models["m"]

    def publish(self, *numbers, base="m"):
        for number in numbers:
            (self.folder / base / str(number)).mkdir(parents=True)

    def withdraw(self, number):
        (self.folder / "m" / str(number)).rmdir()

    def answers(self):
        return self.models.process("m").version

    def states(self):
        return {number: known.state for number, known in self.models.versions("m").items()}

    async def until(self, expected):
        """Wait until the versions have the states {number: state}."""
        await until(lambda: self.states() == expected)


async def until(condition):
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "the condition did not come true"
        await asyncio.sleep(0.001)


def driven(test):
    """Run the test's coroutine in a loop of its own, with a Place."""

    @functools.wraps(test)
    def run(place, **fixtures):
        async def job():
            try:
                await test(place, **fixtures)
            finally:
                if place.models:
                    await place.models.close()

        asyncio.run(job())

    return run


@pytest.fixture
def place(tmp_path, monkeypatch):
    place = Place(tmp_path)
    monkeypatch.setattr(models, "ModelProcess", type("Process", (Process,), {"of": place}))
    monkeypatch.setattr(models, "Launcher", Launcher)
    return place


def refusal(function, *arguments, **options):
    with pytest.raises(ServingError) as caught:
        function(*arguments, **options)
    return caught.value.code.name, caught.value.message


async def with_a_corrupt_second(place):
    """Version 1 answers, and 2 is there, which does not load."""
    place.publish(1)
    await place.start()
    place.corrupt.add(2)
    place.publish(2)
    await place.until({2: END, 1: AVAILABLE})


# ---- new versions ----


@driven
async def test_the_newest_version_answers_and_the_one_before_goes(place):
    place.publish(1, 2)
    await place.start()
    assert (place.answers(), place.started) == (2, [2])
    assert place.states() == {2: AVAILABLE}
    place.gates[10] = asyncio.Event()
    place.publish(10)
    await place.until({10: LOADING, 2: AVAILABLE})
    assert place.answers() == 2, "the old version goes only after the new one has come"
    place.gates[10].set()
    await place.until({10: AVAILABLE, 2: END})
    assert place.answers() == 10 and place.started == [2, 10]


@driven
async def test_only_numbered_folders_are_versions(place):
    place.publish(1, ".tmp-2", "3.writing", "four", "٥", 99999999999999999999, 2**63)
    (place.folder / "m" / "6").write_text("no folder")
    await place.start()
    assert place.states() == {1: AVAILABLE}
    place.publish(2**63 - 1)
    await place.until({2**63 - 1: AVAILABLE, 1: END})


@driven
async def test_a_version_that_is_taken_away_makes_place_for_the_one_before(place):
    place.publish(1, 2)
    await place.start()
    place.withdraw(2)
    await place.until({2: END, 1: AVAILABLE})
    assert place.answers() == 1
    place.publish(2)
    await place.until({2: AVAILABLE, 1: END})


@driven
async def test_a_version_that_does_not_load_leaves_the_old_one_and_says_why(place, caplog):
    await with_a_corrupt_second(place)
    assert place.answers() == 1
    assert place.models.versions("m")[2].error.message == "cannot parse 2"
    assert "error: model m version 2 did not load: cannot parse 2" in caplog.text
    place.publish(3)
    await place.until({3: AVAILABLE, 2: END, 1: END})


@driven
async def test_a_version_that_failed_is_not_tried_at_every_look(place, monkeypatch):
    await with_a_corrupt_second(place)
    for _ in range(3):
        with pytest.raises(ServingError, match="cannot parse 2"):
            await place.model.update()
    assert place.started == [1, 2]
    monkeypatch.setattr(models, "RETRY_SECONDS", 0)
    place.corrupt.clear()
    await place.until({2: AVAILABLE, 1: END})
    assert place.models.versions("m")[2].error is None


@driven
async def test_a_version_that_failed_and_was_published_anew_is_tried_at_once(place):
    """Its folder was deleted, and the export takes the number that is free again."""
    await with_a_corrupt_second(place)
    place.withdraw(2)
    place.corrupt.clear()
    await asyncio.sleep(0.02)  # as long as any export takes: folders have a time of their own
    place.publish(2)
    await place.until({2: AVAILABLE, 1: END})


@driven
async def test_requests_on_their_way_finish_before_their_version_is_unloaded(place):
    place.publish(1)
    await place.start()
    old = place.models.process("m")
    old.users = 1
    place.publish(2)
    await place.until({2: AVAILABLE, 1: UNLOADING})
    assert place.answers() == 2, "new requests go to the new version"
    assert not old.ended.is_set()
    assert refusal(place.models.process, "m", 1)[0] == "NOT_FOUND"
    old.users = 0
    await place.until({2: AVAILABLE, 1: END})
    assert old.ended.is_set()


@driven
async def test_a_base_path_that_is_away_or_empty_unloads_nothing(place, caplog):
    place.publish(1)
    await place.start()
    (place.folder / "m").rename(place.folder / "away")
    await until(lambda: "got none; name" in caplog.text)
    assert place.states() == {1: AVAILABLE} and place.answers() == 1
    (place.folder / "m").mkdir()
    await until(lambda: "got one without any; name" in caplog.text)
    await asyncio.sleep(0.02)
    assert place.states() == {1: AVAILABLE} and place.answers() == 1
    assert caplog.text.count("looking for new versions: ") == 2, "it is said once"
    place.publish(2)
    await place.until({2: AVAILABLE, 1: END})


@driven
async def test_an_entry_that_cannot_be_read_hides_no_other(place):
    place.publish(1)
    (place.folder / "m" / "9").symlink_to("9")
    await place.start()
    place.publish(2)
    await place.until({2: AVAILABLE, 1: END})


@driven
async def test_what_an_export_says_of_its_model_is_read_once(place):
    place.publish(1)
    about = place.folder / "m" / "1" / "assets.extra" / "about.json"
    about.parent.mkdir()
    about.write_text('{"source": "en"}')
    await place.start()
    about.unlink()
    assert place.models.available() == {"m": (1, {"source": "en"})}


@driven
async def test_the_disk_is_read_in_other_threads(place, monkeypatch):
    """One that does not answer must not stop the event loop."""
    here = []
    for module, name in ((os, "stat"), (os, "scandir"), (io, "open")):
        function = getattr(module, name)

        def noted(path, *arguments, function=function, **options):
            if threading.current_thread() is threading.main_thread():
                here.append(str(path))
            return function(path, *arguments, **options)

        monkeypatch.setattr(module, name, noted)
    await with_a_corrupt_second(place)
    place.models.process("m").end()
    await until(lambda: place.started == [1, 2, 1] and place.models.answer)
    assert place.models.available() == {"m": (1, {})}
    assert not [path for path in here if path.startswith(str(place.folder))]


@driven
async def test_without_looks_no_version_is_found(place):
    place.publish(1)
    await place.start(file_system_poll_wait_seconds=0)
    place.publish(2)
    await asyncio.sleep(0.05)
    assert place.states() == {1: AVAILABLE}


@driven
async def test_a_model_whose_disk_fails_keeps_no_other_from_its_new_versions(place, monkeypatch):
    for base in "bm":
        place.publish(1, base=base)
    await place.start("bm")
    look = os.scandir

    def fails(path):
        if str(path).endswith("b"):
            raise PermissionError(13, "no entry")
        return look(path)

    monkeypatch.setattr(os, "scandir", fails)
    place.publish(2)
    await place.until({2: AVAILABLE, 1: END})
    assert place.models.process("b").version == 1


@driven
async def test_any_error_while_loading_is_one_to_try_again_after(place, monkeypatch):
    """A disk that does not answer, say."""
    place.publish(1)
    await place.start()
    fails = [PermissionError(13, "no entry"), OSError(5, "odd")]
    start = models.ModelProcess.start

    async def at_first_not(process, launcher):
        if fails:
            raise fails.pop()
        await start(process, launcher)

    monkeypatch.setattr(models.ModelProcess, "start", at_first_not)
    place.publish(2)
    await until(lambda: place.answers() == 2)
    await place.until({2: AVAILABLE, 1: END})
    assert not fails


# ---- processes that end ----


def noted_pauses(monkeypatch):
    """The list that the pauses between restarts are added to; from now on all are short. The server
    that other tests share keeps its own, in another thread.
    """
    pauses = []
    sleep = asyncio.sleep

    async def noted(seconds):
        if threading.current_thread() is not threading.main_thread():
            return await sleep(seconds)
        if seconds == 0 or seconds >= 1:
            pauses.append(seconds)
        await sleep(min(seconds, 0.001))

    monkeypatch.setattr(asyncio, "sleep", noted)
    return pauses


@driven
async def test_a_process_that_ends_is_started_again(place, caplog):
    place.publish(1)
    await place.start()
    first = place.models.process("m")
    place.gates[1] = asyncio.Event()
    first.end()
    await place.until({1: LOADING})
    assert not place.models.answer and place.models.available() == {}
    assert refusal(place.models.process, "m") == (
        "UNAVAILABLE",
        "The model's process is started again; try again later",
    )
    place.gates[1].set()
    await until(lambda: place.models.answer)
    assert place.models.process("m") is not first and place.started == [1, 1]
    assert place.models.restarts() == {"m": 1} and place.states() == {1: AVAILABLE}
    assert "version 1: its process ended (by itself) and is started again" in caplog.text


@driven
async def test_one_that_ends_again_and_again_is_started_after_longer_and_longer_pauses(
    place, monkeypatch
):
    place.publish(1)
    await place.start()
    pauses = noted_pauses(monkeypatch)
    place.corrupt.add(1)
    place.models.process("m").end()
    await until(lambda: len(pauses) > 8)
    assert pauses[:8] == [0, 1, 2, 4, 8, 16, 30, 30]
    assert not place.models.answer
    place.corrupt.clear()
    await until(lambda: place.models.answer)
    assert place.states() == {1: AVAILABLE} and place.models.versions("m")[1].error is None


@driven
async def test_one_that_loads_and_ends_again_and_again_waits_longer(place, monkeypatch):
    """As one that takes too much memory for its requests does."""
    place.publish(1)
    await place.start(file_system_poll_wait_seconds=0)
    pauses = noted_pauses(monkeypatch)
    for restarts in range(1, 7):
        place.models.process("m").end()
        await until(lambda: place.models.restarts()["m"] == restarts and place.models.answer)
    assert pauses == [0, 1, 2, 4, 8, 16]
    # one that has answered for long enough begins anew
    monkeypatch.setattr(models, "LONGEST_PAUSE", 0)
    place.models.process("m").end()
    await until(lambda: place.models.restarts()["m"] == 7 and place.models.answer)
    assert pauses[6:] == [0]


@driven
async def test_a_newer_version_takes_the_place_of_one_that_ends(place):
    """Without looks, and although the one that ended would load again."""
    place.publish(1)
    await place.start(file_system_poll_wait_seconds=0)
    place.publish(2)
    place.models.process("m").end()
    await until(lambda: place.models.answer and place.models.restarts() == {"m": 1})
    assert place.answers() == 2 and place.started == [1, 2]
    assert place.states() == {2: AVAILABLE, 1: END}


@driven
async def test_a_new_version_that_ends_is_started_again_while_the_old_one_has_requests(place):
    place.publish(1)
    await place.start()
    old = place.models.process("m")
    old.users = 1
    place.publish(2)
    await place.until({2: AVAILABLE, 1: UNLOADING})
    place.models.process("m").end()
    await until(lambda: place.started == [1, 2, 2] and place.models.answer)
    assert place.states() == {2: AVAILABLE, 1: UNLOADING} and not old.ended.is_set()
    old.users = 0
    await place.until({2: AVAILABLE, 1: END})


@driven
async def test_while_a_new_version_does_not_load_the_one_that_answered_is_started_again(place):
    await with_a_corrupt_second(place)
    place.models.process("m").end()
    await until(lambda: place.models.answer and place.models.restarts() == {"m": 1})
    assert place.answers() == 1 and place.started == [1, 2, 1]
    assert place.states() == {2: END, 1: AVAILABLE}


@driven
async def test_one_whose_folder_is_gone_is_followed_by_the_newest_that_is_there(place):
    place.publish(1, 3)
    await place.start(file_system_poll_wait_seconds=0)
    place.withdraw(3)
    place.models.process("m").end()
    await until(lambda: place.model.process.version == 1)
    assert place.answers() == 1 and place.models.answer
    assert place.states() == {3: END, 1: AVAILABLE}


@driven
async def test_a_new_version_that_comes_while_the_old_one_is_started_again_stays(place):
    place.publish(1)
    await place.start()
    place.gates |= {1: asyncio.Event(), 2: asyncio.Event()}
    place.publish(2)
    await place.until({2: LOADING, 1: AVAILABLE})
    place.models.process("m").end()
    await place.until({2: LOADING, 1: LOADING})
    place.gates[2].set()
    await until(lambda: place.model.process.version == 2)
    place.gates[1].set()
    await until(lambda: place.processes[1].ended.is_set() and place.states()[1] == END)
    assert place.answers() == 2 and place.states()[2] == AVAILABLE
    assert place.started == [1, 2, 1], "the old one has not taken its place for a while"


@driven
async def test_a_model_that_does_not_answer_is_said_and_so_is_its_return(place):
    for base in "mn":
        place.publish(1, base=base)
    await place.start("mn")
    process = place.models.process("m")
    assert place.models.answer
    process.answers = False
    await until(lambda: not place.models.answer)
    process.answers = True
    await until(lambda: place.models.answer)


@driven
async def test_the_largest_process_is_killed_when_all_take_more_than_the_limit(place, monkeypatch):
    monkeypatch.setattr(models, "WATCH_SECONDS", 0.001)
    for base in "mn":
        place.publish(1, base=base)
    await place.start("mn", memory_limit_in_mb=200)
    small, large = place.models.process("m"), place.models.process("n")
    small.bytes, large.bytes = 90 << 20, 110 << 20
    await asyncio.sleep(0.02)
    assert not small.ended.is_set() and not large.ended.is_set(), "200 MB are allowed"
    assert place.models.memory() == {"m": 90 << 20, "n": 110 << 20}
    large.bytes += 1
    await until(large.ended.is_set)
    assert large.reason == "more than the 200 MB of --memory_limit_in_mb were used"
    await until(lambda: place.models.restarts() == {"m": 0, "n": 1})
    await until(lambda: place.models.answer)
    assert not small.ended.is_set()


@driven
async def test_a_model_above_the_limit_does_not_come_up(place, monkeypatch):
    """It is not served first and killed then, again and again."""
    monkeypatch.setattr(models, "WATCH_SECONDS", 0.001)
    place.publish(1)
    place.gates[1] = asyncio.Event()
    starting = asyncio.create_task(place.start(memory_limit_in_mb=200))
    await until(lambda: 1 in place.processes)
    place.processes[1].bytes = 201 << 20
    await until(place.processes[1].ended.is_set)
    place.gates[1].set()
    with pytest.raises(ServingError, match="ended while it was loaded: more than the 200 MB"):
        await starting


@driven
async def test_one_that_is_loaded_goes_before_one_that_answers(place, monkeypatch):
    monkeypatch.setattr(models, "WATCH_SECONDS", 0.001)
    place.publish(1)
    await place.start(memory_limit_in_mb=200)
    old = place.models.process("m")
    old.bytes = 150 << 20
    place.gates[2] = asyncio.Event()
    place.publish(2)
    await place.until({2: LOADING, 1: AVAILABLE})
    place.processes[2].bytes = 60 << 20
    await until(place.processes[2].ended.is_set)
    place.gates[2].set()
    await place.until({2: END, 1: AVAILABLE})
    assert "--memory_limit_in_mb" in place.models.versions("m")[2].error.message
    assert place.models.process("m") is old and not old.ended.is_set()
    # what has ended already does not stand in for what takes too much now
    old.bytes = 210 << 20
    await until(old.ended.is_set)


@driven
async def test_one_that_is_not_there_yet_does_not_stand_in_for_what_takes_too_much(
    place, monkeypatch
):
    """It has no process that could be killed while the launcher is busy, say."""
    monkeypatch.setattr(models, "WATCH_SECONDS", 0.001)
    place.publish(1)
    await place.start(memory_limit_in_mb=200)
    place.gates[2] = asyncio.Event()
    place.publish(2)
    await place.until({2: LOADING, 1: AVAILABLE})
    old, new = place.models.process("m"), place.processes[2]
    new.bytes, old.bytes = 0, 210 << 20
    await until(lambda: old.ended.is_set() or new.ended.is_set())
    assert old.ended.is_set() and not new.ended.is_set()
    place.gates[2].set()


def test_a_process_that_is_not_there_yet_is_not_killed():
    process = ModelProcess("m", 1, "/m/1", Flags({"m": "/m"}))
    process.kill("too much memory")
    assert process.reason is None


# ---- start, end, names ----


@driven
async def test_a_model_that_does_not_come_up(place):
    place.publish(1)
    place.corrupt.add(1)
    with pytest.raises(ServingError, match="cannot parse 1"):
        await place.start()
    with pytest.raises(ServingError, match="model n: .*/n: expected a folder .*, got none; name"):
        await place.start("n")
    (place.folder / "n").mkdir()
    with pytest.raises(ServingError, match="model n: .*/n: .*, got one without any; name"):
        await place.start("n")


@driven
async def test_the_end_ends_every_process(place):
    place.publish(1)
    await place.start()
    old = place.models.process("m")
    old.users = 1
    place.publish(2)
    await place.until({2: AVAILABLE, 1: UNLOADING})
    place.gates[3] = asyncio.Event()
    place.publish(3)
    await until(lambda: 3 in place.processes)
    await place.models.close()
    assert all(process.ended.is_set() for process in (old, *place.processes.values()))
    assert place.models._launcher.closed


@driven
async def test_versions_and_models_that_are_not_there(place):
    place.publish(1)
    await place.start()
    found = place.models
    for function in (found.process, found.versions):
        assert refusal(function, "m", None, "stable") == (
            "INVALID_ARGUMENT",
            "Unrecognized servable version label: stable",
        )
    for words, message in (
        (("n",), "Latest(n)"),
        (("n", 1), "Specific(n, 1)"),
        (("m", 7), "Specific(m, 7)"),
        (("m", 0), "Specific(m, 0)"),
    ):
        assert refusal(found.process, *words) == (
            "NOT_FOUND",
            f"Servable not found for request: {message}",
        )
    assert refusal(found.versions, "n") == ("NOT_FOUND", "Could not find any versions of model n")
    assert refusal(found.versions, "m", 7) == (
        "NOT_FOUND",
        "Could not find version 7 of model m",
    )
    assert found.process("m", 1) is found.process("m")
    assert list(found.names) == ["m"]
    assert found.available() == {"m": (1, {})}


@pytest.mark.parametrize("path", ["/no/such/place", "/a\0b"], ids=ascii)
def test_a_path_that_cannot_be_read(path):
    assert models.versions_on_disk(path) is None
