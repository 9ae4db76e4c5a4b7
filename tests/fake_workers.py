"""``rnnsearch launch`` with workers that are no processes: what they are started with, and which
signals they get.
"""

import signal


class Worker:
    """In place of subprocess.Popen.

    Attributes:
        words: of its command, behind ``rnnsearch``.
        environment: dict.
        signals: list of (number, the launcher's time).
    """

    pid = 0

    def __init__(self, command, environment, returncode, clock):
        self.words = command[3:]
        self.environment = environment
        self.returncode = returncode
        self.signals = []
        self._clock = clock

    def poll(self):
        return self.returncode

    def send_signal(self, number):
        self.signals.append((number, self._clock.monotonic()))
        if number == signal.SIGKILL:
            self.returncode = -number


def started(words, monkeypatch, ends=(0,), code=0):
    """The workers that a launcher starts.

    Args:
        words: of the launcher's command, behind ``rnnsearch``.
        ends: the exit code of each worker, in the order of their start; None: only SIGKILL ends it.
        code: the launcher's exit code.

    Returns:
        list[Worker].
    """
    from rnnsearch_tf.cli import launch
    from rnnsearch_tf.cli.main import run

    workers = []
    left = iter(ends)

    def start(command, env, **_):
        workers.append(Worker(command, env, next(left), launch.time))
        return workers[-1]

    with monkeypatch.context() as patch:
        patch.setattr(launch.subprocess, "Popen", start)
        patch.setattr(launch.os, "sched_setaffinity", lambda pid, cores: None, raising=False)
        assert run([str(word) for word in words]) == code
    return workers
