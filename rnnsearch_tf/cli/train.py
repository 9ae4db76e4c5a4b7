"""Train a model: builds the vocabularies if RUN has none, trains with model.fit,
keeps the best checkpoint on the development set in RUN/best.

Ctrl-C saves and says how to go on; --resume goes on. So does SIGTERM, with exit code 75: a
scheduler may start the same command with --resume. The last two checkpoints are kept in
RUN/checkpoints; if the last is damaged, the one before it is taken.

A batch whose gradient is NaN or infinite stops the training before it is learned from, and its
files and lines are named; --resume --skip-batch goes on without it.

--from RUN begins with a trained model, for text of another domain, or more text:

  rnnsearch train --from runs/general --output runs/mine --set data.train_source=F --set
  data.train_target=F

The weights are RUN's best; vocabularies, SentencePiece models and settings are RUN's too, and
--config and --set change the settings. The optimizer, the counters, the schedule and the best score
start anew. Where no development text is named, one is held out of the new text.

--distribute mirrored trains on all GPUs of this machine. --distribute multi-worker makes this
process one of those that TF_CONFIG names; rnnsearch launch starts them. data.batch_size is that of
all together.
"""

import contextlib
import json
import pathlib
import shlex
import sys

from rnnsearch_tf.cli.shared import above_zero, number, sigterm_raises, whole_number
from rnnsearch_tf.distributed.addresses import DISTRIBUTIONS, this_worker
from rnnsearch_tf.config import as_dictionary, load_config, saved_config
from rnnsearch_tf.data.continuing import continued_config
from rnnsearch_tf.data.corpus import check_files
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.files.untrusted import check_inside


def arguments(parser):
    parser.add_argument(
        "--config",
        metavar="F.yaml",
        help="settings that differ from the defaults (with --resume, --from: from RUN's)",
    )
    parser.add_argument("--output", required=True, metavar="RUN", help="folder to write")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting; may be repeated",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with the training that RUN holds"
    )
    parser.add_argument(
        "--skip-batch",
        action="store_true",
        help="with --resume: leave out the batch whose gradient was not finite",
    )
    parser.add_argument(
        "--from", dest="start_from", metavar="RUN", help="begin with the model of another RUN"
    )
    parser.add_argument(
        "--mix",
        type=number("a number above 0, such as 0.5", above_zero),
        metavar="W",
        help=(
            "with --from: train on that RUN's own text too, W of its pairs for one of the new text;"
            " 1: as many"
        ),
    )
    parser.add_argument(
        "--new-words",
        type=whole_number(),
        metavar="N",
        help=(
            "with --from: add the N most frequent new words of the new text to each vocabulary, or"
            " new pieces to a SentencePiece model"
        ),
    )
    parser.add_argument(
        "--distribute",
        choices=DISTRIBUTIONS,
        help="share every batch between the GPUs of this machine, or between processes",
    )


def run(arguments):
    index, addresses = this_worker() if arguments.distribute == "multi-worker" else (0, [None])
    config = _configuration(arguments, len(addresses))
    output_folder = pathlib.Path(arguments.output)
    if output_folder.exists() and not output_folder.is_dir():
        raise UserError(f"--output {output_folder}: expected a folder, got a file")
    if arguments.skip_batch and not arguments.resume:
        raise UsageError(
            "--skip-batch: expected --resume beside it, got none; it leaves out the batch at which"
            " a training stopped"
        )
    if not arguments.resume and index == 0:
        Run(output_folder).refuse_training()
    check_files(config)  # both before TensorFlow takes its seconds
    # Keras writes its progress bar to standard output
    with (
        sigterm_raises(),
        contextlib.redirect_stdout(sys.stderr),
    ):
        import_tensorflow()
        from rnnsearch_tf.runtime.cores import use_one_thread_per_op
        from rnnsearch_tf.training.fit import train

        use_one_thread_per_op([config.model], config.data.batch_size // len(addresses))
        summary = train(
            config,
            output_folder,
            arguments.resume,
            arguments.start_from,
            arguments.new_words or 0,
            arguments.skip_batch,
            arguments.distribute,
        )
    if index:  # the chief speaks for all
        return
    print(f"done. Next: {_next_command(config, shlex.quote(str(output_folder)))}", file=sys.stderr)
    print(json.dumps(summary or {}, ensure_ascii=False, default=float))


def _next_command(config, run):
    if config.model.system == "cslm":
        return f"rnnsearch rescore --model {run} --source F NBEST"
    return (
        f"rnnsearch translate --model {run} < TEXT; how good it is: rnnsearch evaluate --model"
        f" {run} --source F --reference F"
    )


def _configuration(arguments, workers):
    if arguments.start_from is None:
        for flag, value in (("--mix", arguments.mix), ("--new-words", arguments.new_words)):
            if value is not None:
                raise UsageError(
                    f"{flag}: expected --from RUN beside it, got none; it is for a training that"
                    " begins with a trained model"
                )
        return _own_or_given(arguments)
    if arguments.resume:
        raise UsageError(
            "expected --resume or --from, got both; --resume resumes the training in --output,"
            " which knows what it began from: leave --from out"
        )
    return continued_config(
        arguments.start_from, arguments.config, arguments.set, arguments.mix, workers
    )


def _own_or_given(arguments):
    """The configuration of a new training, or of RUN's with what --config and --set change."""
    if not arguments.resume:
        if not arguments.config:
            raise UsageError(
                "expected --config F.yaml, got none (only --resume and --from can do without); see"
                " rnnsearch train --help"
            )
        return load_config(arguments.config, overrides=arguments.set)
    own = Run(arguments.output).config
    if not own.exists():
        raise UserError(
            f"--resume: expected a training to go on with, found no {own}; give --config, without"
            " --resume"
        )
    check_inside(own, arguments.output)
    return load_config(
        arguments.config, overrides=arguments.set, below=as_dictionary(saved_config(own))
    )
