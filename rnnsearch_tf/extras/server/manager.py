"""The models of a server: looks for their versions, loads what is wanted, unloads what is not.

A new version is loaded before an old one goes, and an old one stays while no
new one loads: the server always has an answer if it ever had one.
"""

from __future__ import annotations

import contextlib
import logging
import pathlib
import threading
import time

import grpc

from rnnsearch_tf.extras.server import model_config
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument, not_found
from rnnsearch_tf.extras.server.grace import Grace
from rnnsearch_tf.extras.server.version import State, Version

log = logging.getLogger("rnnsearch_tf")


class Manager:
    """Models by name, each with its versions.

    Args:
        load: function of (name, number, path) that returns a Servable or raises ServingError.
        flags: Flags, for polling, retries and labels.

    Example:
        manager.configure(config)
        with manager.servable("mt") as servable:
            servable.run(…)
    """

    def __init__(self, load, flags):
        self._load = load
        self._flags = flags
        self._models = {}  # name → ModelConfig
        self._versions = {}  # name → {number: Version}
        self._labels = {}  # name → {label: number}
        self._changed = threading.Condition()
        self._updating = threading.Lock()  # one look at the disk at a time

    def configure(self, config):
        """Serve what a ModelServerConfig lists, and nothing else; returns when new models answer.

        Raises:
            ServingError: INVALID_ARGUMENT or PERMISSION_DENIED as model_config.check; UNKNOWN, a
                new model has no version that loads.
        """
        model_config.check(config, self._flags.model_roots)
        with self._updating:
            models = {model.name: model for model in config.model_config_list.config}
            added = models.keys() - self._models.keys()
            self._models = models
            wanted = self._load_wanted()
            self._warn_of_moved_versions(wanted)
            try:
                self._require(added)
                self._label()
            finally:
                self._unload_unwanted(wanted)  # last: a label must not point to what is gone

    def reload(self, config):
        """What `configure` does, for a client; PERMISSION_DENIED where clients may not."""
        if not self._flags.allow_reload_requests:
            message = (
                "Reload requests are not allowed: the server was started with"
                " --allow_reload_requests=false"
            )
            raise ServingError(grpc.StatusCode.PERMISSION_DENIED, message)
        self.configure(config)

    def update(self):
        """Look at the disk once, load and unload."""
        with self._updating:
            self._unload_unwanted(self._load_wanted())

    @contextlib.contextmanager
    def servable(self, name, number=None, label=""):
        """The Servable of a version, kept loaded inside the `with`; no number and no label: the
        newest that answers.

        Raises:
            ServingError: NOT_FOUND; INVALID_ARGUMENT for an unknown label.
        """
        version, servable = self._acquire(name, number, label)
        try:
            yield servable
        finally:
            version.release()

    def versions(self, name) -> list:
        """The Versions of a model, the newest first; also those that failed or have ended."""
        numbered = self._versions.get(name, {})
        return [numbered[number] for number in sorted(numbered, reverse=True)]

    def number(self, name, label) -> int:
        """The version that a label stands for; INVALID_ARGUMENT if there is no such label."""
        try:
            return self._labels[name][label]
        except KeyError:
            raise invalid_argument(f"Unrecognized servable version label: {label}") from None

    def is_available(self, name, number=None) -> bool:
        return any(
            version.state == State.AVAILABLE
            for version in self.versions(name)
            if number in (None, version.number)
        )

    def available(self) -> dict:
        """{name: numbers of the versions that answer, the newest first} of all models."""
        return {
            name: [
                version.number
                for version in self.versions(name)
                if version.state == State.AVAILABLE
            ]
            for name in self._models
        }

    def missing(self) -> list:
        """Names of the models that have no version to answer."""
        return [name for name in self._models if not self.is_available(name)]

    def wait_until_available(self, timeout=None) -> bool:
        """Wait until every model has a version to answer; whether it came so far in `timeout`
        seconds (None: however long).
        """
        with self._changed:
            return self._changed.wait_for(lambda: not self.missing(), timeout)

    def close(self, timeout=None):
        """Unload everything, waiting for requests on their way, but no longer than `timeout`
        seconds (None: however long).

        Returns:
            bool, whether all requests ended by themselves.
        """
        grace = Grace(timeout)
        # else something is loading and is left to it
        idle = self._updating.acquire(timeout=-1 if timeout is None else timeout)
        try:
            versions = [version for name in list(self._versions) for version in self.versions(name)]
            return all([version.unload(grace.left()) for version in versions])
        finally:
            if idle:
                self._updating.release()

    def _acquire(self, name, number, label):
        while True:
            known = self._versions.get(name)
            labels = self._labels
            wanted = self.number(name, label) if label else number
            for version in self.versions(name):
                if wanted in (None, version.number):
                    servable = version.acquire()
                    if servable is not None:
                        return version, servable
            # else a new version came meanwhile: look again
            if known is self._versions.get(name) and labels is self._labels:
                which = f"Latest({name})" if wanted is None else f"Specific({name}, {wanted})"
                raise not_found(f"Servable not found for request: {which}")

    def _load_wanted(self) -> dict:
        """Load what is wanted and not there yet; {model name: wanted versions} of the models whose
        disk can be read.
        """
        result = {}
        for name, model in self._models.items():
            on_disk = model_config.versions_on_disk(model.base_path)
            if on_disk is None:  # a disk that is away for a while unloads nothing
                log.warning("warning: model %s: cannot read base path %s", name, model.base_path)
                continue
            self._forget_failed(name, on_disk)
            result[name] = model_config.wanted_versions(model, on_disk)
            for number in result[name]:
                self._load_version(name, number, on_disk[number])
        return result

    def _forget_failed(self, name, on_disk):
        """Forget versions that did not load and are gone: what comes under such a number again is
        another.
        """
        known = self._versions.get(name, {})
        kept = {
            number: version
            for number, version in known.items()
            if number in on_disk or version.state != State.END or version.error is None
        }
        if len(kept) < len(known):
            self._versions[name] = kept

    def _load_version(self, name, number, path):
        known = self._versions.get(name, {})
        version = known.get(number)
        if version is None or self._is_new_again(version, path):
            version = Version(name, number, path, self._load)
            # readers see the old dict or the new one, never one that changes
            self._versions[name] = known | {number: version}
        if version.state == State.START or self._is_due(version):
            version.load()

    def _unload_unwanted(self, wanted):
        """Unload what is not wanted, unless nothing would answer instead."""
        for name, numbers in wanted.items():
            if not numbers or any(self.is_available(name, number) for number in numbers):
                self._unload(
                    version for version in self.versions(name) if version.number not in numbers
                )
        for name in self._versions.keys() - self._models.keys():
            self._unload(self.versions(name))
        with self._changed:
            self._changed.notify_all()

    def _is_new_again(self, version, path) -> bool:
        """Whether a version that was unloaded, or that failed and stands elsewhere now, is to be
        loaded from the path.

        One that answers stays what it is: its number stands for one model, whatever base path is
        named later.
        """
        return version.state == State.END and (version.error is None or version.path != path)

    def _warn_of_moved_versions(self, wanted):
        for name, numbers in wanted.items():
            for version in self.versions(name):
                moved = version.path.parent != pathlib.Path(self._models[name].base_path)
                if moved and version.number in numbers and version.state == State.AVAILABLE:
                    log.warning(
                        "warning: model %s version %d is still the one of %s; under another base"
                        " path give a model another number",
                        name,
                        version.number,
                        version.path,
                    )

    def _is_due(self, version) -> bool:
        """Whether a version that failed to load is to be tried again."""
        failed = version.state == State.END and version.error is not None
        waited = (
            time.monotonic() - version.last_attempt >= self._flags.load_retry_interval_micros / 1e6
        )
        return failed and waited and version.attempts <= self._flags.max_num_load_retries

    def _unload(self, versions):
        """Each in a thread of its own: one that still answers must not hold up the loading of
        others.
        """
        for version in versions:
            if version.state == State.AVAILABLE:
                threading.Thread(
                    target=version.unload,
                    name=f"unload-{version.name}-{version.number}",
                    daemon=True,
                ).start()

    def _require(self, names):
        missing = [name for name in sorted(names) if not self.is_available(name)]
        if missing:
            reasons = "".join(
                f"{{{reason}}}, " for name in missing for reason in self._reasons(name)
            )
            raise ServingError(
                grpc.StatusCode.UNKNOWN,
                f"{len(missing)} model(s) did not become available: {{{reasons}}}",
            )

    def _reasons(self, name):
        failed = [version for version in self.versions(name) if version.error]
        if not failed:
            return [f"name: {name}: no version in {self._models[name].base_path}"]
        return [
            f"name: {name} version: {version.number} due to error: {version.error}"
            for version in failed
        ]

    def _label(self):
        self._labels = model_config.labels(
            self._models.values(),
            self._labels,
            self.is_available,
            allow_new=self._flags.allow_version_labels_for_unavailable_models,
            allow_any=self._flags.force_allow_any_version_labels_for_unavailable_models,
        )
