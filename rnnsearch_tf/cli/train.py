"""Train a model: builds the vocabularies if RUN has none, trains with model.fit,
keeps the best checkpoint on the development set in RUN/best.

Ctrl-C saves and says how to go on; --resume goes on.
"""

import contextlib
import json
import pathlib
import sys

from rnnsearch_tf.cli.quiet import import_tensorflow
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.io.writing import Output
from rnnsearch_tf.run import Run


def arguments(parser):
    parser.add_argument("--config", metavar="F.yaml", help="settings that differ from the defaults (with --resume: RUN's own)")
    parser.add_argument("--output", required=True, metavar="RUN", help="folder to write")
    parser.add_argument(
        "--set", action="append", default=[], metavar="section.key=value", help="change one setting; may be repeated"
    )
    parser.add_argument("--resume", action="store_true", help="go on with the training that RUN holds")


def run(arguments):
    config = load_config(_config_file(arguments), overrides=arguments.set)
    output_folder = pathlib.Path(arguments.output)
    if output_folder.exists() and not output_folder.is_dir():
        raise UserError(f"--output {output_folder}: expected a folder, got a file")
    import_tensorflow()
    from rnnsearch_tf.parallel import use_one_thread_per_op
    from rnnsearch_tf.training.run import train

    use_one_thread_per_op([config.model], config.data.batch_size)

    with contextlib.redirect_stdout(sys.stderr):  # Keras writes its progress bar to standard output
        summary = train(config, output_folder, arguments.resume)
    with Output() as output:
        output.write([json.dumps(summary or {}, ensure_ascii=False, default=float)])


def _config_file(arguments):
    own = Run(arguments.output).config
    if arguments.config:
        return arguments.config
    if not arguments.resume:
        raise UsageError("expected --config F.yaml, got none (only --resume can do without); see rnnsearch train --help")
    if not own.exists():
        raise UserError(f"--resume: expected a training to go on with, found no {own}; give --config, without --resume")
    return own
