"""Starts models' processes: a process that imports TensorFlow once and forks itself.

    python -m rnnsearch_tf.extras.server.launcher DESCRIPTOR

The descriptor is a socket. Each message of it is the settings of a model's process as JSON, with
one end of a socket that the process will speak on; the answer is its process number. Importing
takes seconds, forking milliseconds: a model that was killed is back as soon as it is loaded.
TensorFlow may be forked as long as no session has started its threads.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys

PROCESS_NUMBER = struct.Struct("!q")
LONGEST = 1 << 16  # bytes of the settings


def main(descriptor: int) -> None:
    """Answer until the other side has gone."""
    # systemd may send it to every process; this one and its forks end when the server has ended
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    from rnnsearch_tf.runtime.tensorflow import import_tensorflow

    import_tensorflow()
    from rnnsearch_tf.extras.server import worker

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes
    control = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, *_ = socket.recv_fds(control, LONGEST, 1)
        if not message:
            return
        process = os.fork()
        if not process:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            control.close()
            worker.main(socket.socket(fileno=descriptors[0]), json.loads(message))
        os.close(descriptors[0])
        control.sendall(PROCESS_NUMBER.pack(process))


if __name__ == "__main__":
    main(int(sys.argv[1]))
