"""Waitress with limits of its own: who may keep a connection, and threads that predictions cannot
take.

Waitress closes what is idle, but a client that sends a byte now and then is not;
at its limit of connections it takes no new one, whoever holds the others. Here a
request has to come, and an answer has to be taken, in a set time, and at the
limit the connection that has done nothing for the longest time makes way.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import resource
import socket
import time

import waitress.adjustments
import waitress.channel
import waitress.server
import waitress.task

from rnnsearch_tf.extras.server import http_parser
from rnnsearch_tf.extras.server.limits import (
    CLIENT_SECONDS,
    IDLE_SECONDS,
    JSON_VALUES,
    REQUEST_BYTES,
    WAITING_REQUESTS,
)

INFORMATION_THREADS = 4  # for what is answered at once: status, metadata, metrics, refusals
SPARE_CONNECTIONS = 1000  # beside those that may have a prediction on its way
ACCEPTED_AT_ONCE = 64  # connections between two looks at those there are
DISCARDED_AT_ONCE = 64 << 10  # bytes
BACKLOG = 1000  # connections that the system holds until they are taken
WITHOUT_LIMIT = 10**9  # Waitress stops to listen at its own
NEW = 1.0  # seconds in which a connection that has sent nothing yet is not called idle
PAUSE = 0.01  # seconds, when the system has no more file descriptors


@dataclasses.dataclass(frozen=True)
class Limits:
    """What a client of REST may do.

    Attributes:
        body: most bytes of a request's body.
        values: most values of a body's JSON.
        waiting: most predictions that wait for a thread; more are answered with 503.
        client_timeout: seconds in which a request must have come, and an answer must have been
            taken.
        idle_timeout: seconds after which a connection without a request is closed.
    """

    body: int = REQUEST_BYTES
    values: int = JSON_VALUES
    waiting: int = WAITING_REQUESTS
    client_timeout: float = CLIENT_SECONDS
    idle_timeout: float = IDLE_SECONDS


def bound(host, port):
    """A listening socket of the address; OSError if it is taken or is none of this machine."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # "::" is every address, as gRPC takes it
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    return socket.create_server((host, port), family=family, backlog=BACKLOG, dualstack_ipv6=both)


def listen(application, sockets, listener, threads, limits, **settings):
    """Waitress' server on a listening socket; its loop is the caller's.

    Args:
        application: WSGI application.
        sockets: dict that the loop will look at.
        listener: socket.
        threads: predictions that are worked on at once.
        limits: Limits.
        settings: for Waitress.
    """
    adjustments = waitress.adjustments.Adjustments(
        sockets=[listener],
        cleanup_interval=1,
        connection_limit=WITHOUT_LIMIT,
        max_request_body_size=limits.body + 1,
        **settings,
    )
    most = min(
        threads + limits.waiting + SPARE_CONNECTIONS,
        resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2,
    )
    dispatcher = Dispatcher(threads, min(limits.waiting, most // 2))
    server = Listener(
        application,
        sockets,
        True,
        listener,
        dispatcher,
        adjustments,
        (listener.family, listener.type, 0, None),
        False,
    )
    server.limits = limits
    server.most_connections = most
    return server


class Dispatcher:
    """Waitress' threads, of two kinds: those for predictions and those for all that is answered at
    once.
    """

    def __init__(self, threads, waiting):
        self._predictions, self._information = (
            waitress.task.ThreadedTaskDispatcher(),
            waitress.task.ThreadedTaskDispatcher(),
        )
        self._predictions.set_thread_count(threads)
        self._information.set_thread_count(INFORMATION_THREADS)
        self._most_waiting = waiting

    def add_task(self, channel):
        request = channel.requests[0]
        if request.error is None and request.command == "POST":
            if len(self._predictions.queue) < self._most_waiting:
                self._predictions.add_task(channel)
                return
            request.error = Overload()
        channel.is_refused = request.error is not None
        self._information.add_task(channel)

    def shutdown(self, cancel_pending=True, timeout=5):
        ended = [
            pool.shutdown(cancel_pending, timeout)
            for pool in (self._predictions, self._information)
        ]
        return all(ended)


class Overload:
    """Waitress' way to answer a request without the application."""

    def to_response(self, ident=None):
        body = json.dumps({"error": "Too many requests are waiting; try again later"}).encode()
        return "503 Service Unavailable", [("Content-Type", "application/json")], body


class Connection(waitress.channel.HTTPChannel):
    """A connection that knows since when it has kept the server waiting.

    One whose request was refused is closed for writing only, and what the client still sends is
    thrown away: were it closed at once, the client would be told of a broken connection instead of
    the reason.
    """

    parser_class = http_parser.Parser
    is_refused = False
    _is_discarding = False
    _request_began = _answer_began = None
    _timed = None  # the request that _request_began is of

    def received(self, data):
        result = super().received(data)
        if self.request is not self._timed:
            self._timed = self.request
            self._request_began = None if self.request is None else time.monotonic()
        return result

    def readable(self):
        return self._is_discarding or super().readable()

    def handle_read(self):
        if not self._is_discarding:
            super().handle_read()
            return
        try:
            self.recv(DISCARDED_AT_ONCE)  # closes the connection when the client has
        except OSError:
            self.handle_close()

    def handle_write(self):
        if self.will_close or not (self.is_refused and self.close_when_flushed):
            super().handle_write()
            return
        if not self.requests:  # else a thread is about to end
            self._flush_exception(self._flush_some)
        if not self.total_outbufs_len and not self.will_close:
            self._discard()

    def _discard(self):
        self.close_when_flushed = False
        self._is_discarding = True
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:  # the client has gone
            self.handle_close()

    @property
    def is_at_work(self) -> bool:
        """Whether a request of it is answered just now, or an answer is on its way out."""
        return bool(self.requests or self.total_outbufs_len)

    def is_overdue(self, limits) -> bool:
        """Whether it has to be closed; to be asked once a second."""
        now = time.monotonic()
        if not self.total_outbufs_len:
            self._answer_began = None
        elif self._answer_began is None:
            self._answer_began = now
        if self._answer_began is not None:
            return now - self._answer_began > limits.client_timeout
        if self.requests:
            return False
        if self._request_began is not None:
            return now - self._request_began > limits.client_timeout
        return time.time() - self.last_activity > limits.idle_timeout

    def patience(self) -> tuple:
        """The smallest of these makes way first: idle ones, then those that are sending, then new
        ones; the oldest first.
        """
        if self._request_began is not None:
            return (1, self._request_began)
        return (2 if time.time() - self.last_activity < NEW else 0, self.last_activity)


class Listener(waitress.server.TcpWSGIServer):
    """Waitress' server, which `listen` gives its limits."""

    channel_class = Connection
    limits = Limits()
    most_connections = SPARE_CONNECTIONS

    def maintenance(self, now):
        """Called by the loop every second, while it looks through its sockets: they are closed
        after that.
        """
        overdue = [
            channel for channel in self.active_channels.values() if channel.is_overdue(self.limits)
        ]
        if overdue:
            self.trigger.pull_trigger(
                lambda: [channel.handle_close() for channel in overdue if channel.connected]
            )

    def handle_accept(self):
        """Take the connections that wait; then, and no earlier, close those that are too many.

        A descriptor that is closed first may be given to the next connection, and the loop would
        take an event of the old one for one of the new.
        """
        for _ in range(ACCEPTED_AT_ONCE):
            before = len(self.active_channels)
            super().handle_accept()
            if len(self.active_channels) == before:  # there is none, or it cannot be had
                break
        self._make_way(len(self.active_channels) - self.most_connections)

    def accept(self):
        try:
            return super().accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE) and not self._make_way(1):
                time.sleep(PAUSE)  # or the loop would try without end
            raise

    def _make_way(self, count) -> bool:
        """Close the connections that matter least; whether there was one."""
        channels = (
            [channel for channel in self.active_channels.values() if not channel.is_at_work]
            if count > 0
            else []
        )
        for channel in sorted(channels, key=Connection.patience)[: max(count, 0)]:
            channel.handle_close()
        return bool(channels)
