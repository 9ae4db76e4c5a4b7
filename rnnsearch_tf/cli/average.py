"""Average the weights of a training's last evaluations into a new RUN folder.

Training keeps the weights of the last evaluations in RUN/evaluated
(training.keep_evaluated). Use the new folder like any other RUN with --model. `evaluate`
tells whether the average is better than the best single weights.
"""

import os
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run


def arguments(parser: ArgumentParser) -> None:
    flags.add_whole_number(
        parser, "--last", "average the last N evaluations (default: all kept ones)", minimum=2
    )
    parser.add_argument("--output", metavar="DIR", help="folder to write (default: RUN/averaged)")
    parser.add_argument("run", metavar="RUN", help="folder that `rnnsearch train` wrote")


def run(arguments: Namespace) -> None:
    Run.open(arguments.run)
    import_tensorflow()
    from rnnsearch_tf.training.averaging import average_run

    folder = arguments.output or os.path.join(arguments.run, "averaged")
    paths = average_run(arguments.run, folder, arguments.last)
    print(f"{folder}: the mean of {', '.join(path.name for path in paths)}")
    print(
        "Next, to see whether it is better than the best single weights: rnnsearch evaluate --model"
        f" {shlex.quote(str(folder))} --source F --reference F",
        file=sys.stderr,
    )
