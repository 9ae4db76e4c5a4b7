"""``python -m rnnsearch_tf COMMAND …`` is ``rnnsearch COMMAND …``."""

import sys

from rnnsearch_tf.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
