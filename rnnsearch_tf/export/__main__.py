"""``python -m rnnsearch_tf.export …`` is ``rnnsearch export …``."""

import sys

from rnnsearch_tf.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["export", *sys.argv[1:]]))
