"""Train a model: builds the vocabularies, trains with model.fit, and keeps the best checkpoint on
the development set in RUN/best. Vocabularies of your own are named by source.vocabulary and
target.vocabulary; --resume and --from keep the RUN's.

Ctrl-C and SIGTERM save the training, print the command to resume it, and exit with 130; --resume
resumes it. Before the first update, while vocabularies are built, nothing is saved: start again
without --resume. RUN/checkpoints has the last two checkpoints; if the last one is damaged, the
previous one is used.

If the gradient of a batch is NaN or infinite, training stops before the update.

--from RUN starts from the best weights and the vocabularies of a trained model, for more text or
text of another domain:

  rnnsearch train --from runs/general --config mine.yaml --output runs/mine

The configuration has RUN's model and text settings: begin it with `base: runs/general/config.yaml`.
The optimizer, the counters, the schedule and the best score start anew.

--distribute mirrored trains on all GPUs of this machine; data.batch_size is the total over all.
"""

import contextlib
import json
import pathlib
import shlex
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import sigterm_raises
from rnnsearch_tf.config import as_dictionary, load_config, saved_config
from rnnsearch_tf.data.continuing import check_continues
from rnnsearch_tf.data.corpus import check_files
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--config",
        metavar="F.yaml",
        help="settings that differ from the defaults (with --resume: from RUN's)",
    )
    flags.add_folder(parser, "folder to write", metavar="RUN")
    flags.add_settings(parser, "change one setting; may be repeated")
    flags.add_switch(parser, "--resume", "resume the training in RUN")
    parser.add_argument(
        "--from", dest="start_from", metavar="RUN", help="start from the model of another RUN"
    )
    flags.add_whole_number(
        parser,
        "--new-words",
        "with --from: add the N most frequent unknown words of the new text to each"
        " vocabulary, or as many pieces to a SentencePiece model",
        minimum=0,
    )
    parser.add_argument(
        "--distribute",
        choices=("mirrored",),
        help="split every batch over the GPUs of this machine",
    )


def run(arguments: Namespace) -> None:
    config = _configuration(arguments)
    output_folder = pathlib.Path(arguments.output)
    if output_folder.exists() and not output_folder.is_dir():
        raise UserError(f"--output {output_folder}: expected a folder, got a file")
    if not arguments.resume:  # which needs no training text
        Run(output_folder).refuse_training()
        check_files(config)  # fail before the slow import of TensorFlow
    # Keras writes its progress bar to standard output
    with sigterm_raises(), contextlib.redirect_stdout(sys.stderr):
        import_tensorflow()
        from rnnsearch_tf.training.fit import train

        summary = train(
            config,
            output_folder,
            arguments.resume,
            arguments.start_from,
            arguments.new_words or 0,
            arguments.distribute,
        )
    next_command = _next_command(config.model.system, shlex.quote(str(output_folder)))
    print(f"done. Next: {next_command}", file=sys.stderr)
    print(json.dumps(summary, ensure_ascii=False, default=float))


def _next_command(system, run):
    if system == "cslm":
        return f"rnnsearch rescore --model {run} --source F NBEST"
    return (
        f"rnnsearch translate --model {run} < TEXT; to measure it: rnnsearch evaluate --model"
        f" {run} --source F --reference F"
    )


def _configuration(arguments):
    """The configuration of a new training, or RUN's saved one, changed by --config and --set."""
    if arguments.start_from is None and arguments.new_words is not None:
        raise UsageError(
            "--new-words: expected --from RUN with it, got none; it is for a training that starts"
            " from a trained model"
        )
    if arguments.start_from is not None and arguments.resume:
        raise UsageError(
            "expected --resume or --from, got both; --resume resumes the training in --output,"
            " which has saved what it started from: leave --from out"
        )
    if not arguments.resume:
        if not arguments.config:
            raise UsageError(
                "expected --config F.yaml, got none (only --resume can do without); see rnnsearch"
                " train --help"
            )
        config = load_config(arguments.config, overrides=arguments.set)
        if arguments.start_from is not None:
            start = Run.open(arguments.start_from)
            check_continues(config, saved_config(start.config), start)
        return config
    saved = Run(arguments.output).config
    if not saved.exists():
        raise UserError(
            f"--resume: expected a training to resume, found no {saved}; give --config, without"
            " --resume"
        )
    below = as_dictionary(saved_config(saved))
    return load_config(arguments.config, overrides=arguments.set, below=below)
