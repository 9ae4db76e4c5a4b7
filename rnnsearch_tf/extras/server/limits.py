"""What the embedded server takes from its clients, unless a flag says otherwise. A machine of 4 GB
survives all of it at once.
"""

REQUEST_ROWS = 512
REQUEST_BYTES = 16 << 20
WAITING_REQUESTS = 1000

JSON_VALUES = 500_000
"""Of a request's body: each takes up to a hundred times its bytes, and the time to read it stops
every other thread.
"""

CLIENT_SECONDS = 30
"""For a client to send a request, or to take an answer."""

IDLE_SECONDS = 120
"""For a connection without a request."""

DIMENSIONS = 32
"""Of a tensor, without a flag: TensorFlow's way from and to NumPy ends there, by a crash of the
process.
"""
