"""List trainings: system, updates, minutes, best development BLEU, size, and the loss as a text
curve.

DIR is a RUN or has RUNs below it, at most four levels deep; the default is the current folder.
Hidden folders are skipped. The curve shows the logarithm of the loss from the first record to the
last. BLEU is from training's own evaluations; `rnnsearch evaluate` measures how good a model is.

MB is the size of the RUN; `cleanable` is the part that checkpoints and the weights of the last
evaluations take. `rnnsearch runs --clean` deletes these if the training is finished: the model is
used as before, but cannot be resumed or averaged any more.
"""

import contextlib
import json
import logging
import math
import os
import pathlib
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from rnnsearch_tf.cli import flags
from rnnsearch_tf.config import saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.cleaning import clean, cleanable, saved_progress, size_of
from rnnsearch_tf.runs.folder import Run

log = logging.getLogger("rnnsearch_tf")

LEVELS = 4
"""Maximum depth of RUNs below a folder."""

MOST_FOLDERS = 10_000
"""Maximum number of folders to search."""

CURVE_WIDTH = 24
BARS = "▁▂▃▄▅▆▇█"
TITLES = ("RUN", "system", "updates", "minutes", "BLEU", "MB", "cleanable", "loss", "")


def arguments(parser: ArgumentParser) -> None:
    flags.add_switch(
        parser,
        "--clean",
        "delete RUN/checkpoints and RUN/evaluated of finished trainings, which cannot be"
        " resumed or averaged then; nothing that translating, exporting or train --from needs",
    )
    parser.add_argument(
        "folders",
        nargs="*",
        default=["."],
        metavar="DIR",
        help="folder to search (default: the current folder)",
    )


def run(arguments: Namespace) -> None:
    runs = list(
        dict.fromkeys(run for folder in arguments.folders for run in _runs(pathlib.Path(folder)))
    )
    if not runs:
        raise UserError(
            f"{', '.join(arguments.folders)}: expected RUN folders that `rnnsearch train` wrote,"
            " found none; name their folder"
        )
    if arguments.clean:
        _clean(runs)
        return
    rows = [TITLES, *map(_row, runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TITLES))]
    for row in rows:
        words = [
            word.ljust(width) if column < 2 else word.rjust(width)
            for column, (word, width) in enumerate(zip(row, widths))
        ]
        print("  ".join(words).rstrip())


def _clean(folders):
    """Clean the RUNs one by one; those that are left as they are make one error at the end."""
    total = 0
    refused = []
    for folder in folders:
        run = Run(folder)
        settings = _config(run.config)
        try:
            freed = clean(run, settings and settings.training)
        except UserError as error:
            refused.append(str(error))
            continue
        total += freed
        print(f"{folder}: {_megabytes(freed)} MB freed, {_megabytes(size_of(run))} MB kept")
    if total:
        print(
            "Translate, export, serve and train --from as before; --resume and rnnsearch average"
            " are no longer possible."
        )
    if refused:
        raise UserError("; ".join(refused))


def _megabytes(size):
    return f"{size / 1e6:,.1f}"


def _runs(folder):
    """The RUNs among a folder and those below it, by name. A RUN has a configuration and some trace
    of a training.
    """
    found = []
    level = [folder]
    seen = set()
    for _ in range(LEVELS + 1):
        below = []
        for path in level:
            real_path = os.path.realpath(path)
            if real_path in seen or len(seen) >= MOST_FOLDERS:
                continue
            seen.add(real_path)
            run = Run(path)
            traces = run.state, run.metrics, run.best_weights
            if run.config.exists() and any(trace.exists() for trace in traces):
                found.append(path)
            with contextlib.suppress(OSError):  # an unreadable folder, or a file
                below += [
                    path / entry.name
                    for entry in os.scandir(path)
                    if entry.is_dir() and not entry.name.startswith(".")
                ]
        level = sorted(below)
    if len(seen) >= MOST_FOLDERS:
        log.warning(
            "warning: %s: has more than %d folders, not all were searched; name the folder of the"
            " RUNs",
            folder,
            MOST_FOLDERS,
        )
    return sorted(found)


def _row(folder):
    run = Run(folder)
    records = _records(run.metrics)
    losses = [
        record["loss"]
        for record in records
        if record["kind"] == "batches" and (record.get("loss") or 0) > 0
    ]
    bleu = [record["best_bleu"] for record in records if record.get("best_bleu") is not None]
    config = _config(run.config)
    system = config.model.system if config else "(refused)"
    progress = records[-1] if records else _progress(run)
    # a RUN without a training: of Translator.save, of rnnsearch average
    updates, minutes = "–", "–"
    if progress:
        accumulate = config.training.accumulate if config else 1
        updates = f"{progress['batches'] // accumulate:,}"
        minutes = f"{progress['minutes']:.1f}"
    return (
        str(folder),
        system,
        updates,
        minutes,
        f"{bleu[-1]:.2f}" if bleu else "–",
        _megabytes(size_of(run)),
        _megabytes(cleanable(run)),
        f"{losses[-1]:.3f}" if losses else "–",
        curve(losses),
    )


def _config(path):
    """The configuration of a RUN, or None if this version refuses it."""
    try:
        return saved_config(path)
    except UsageError:
        return None


def _progress(run):
    """{"batches": number, "minutes": number} of a RUN without records, by its saved state; zeros if
    that is damaged or training has just begun, None without a training.
    """
    if not run.state.exists() and not run.metrics.exists():
        return None
    saved = saved_progress(run)
    try:
        return {"batches": saved["batches"], "minutes": saved["seconds"] / 60}
    except (KeyError, TypeError):
        return {"batches": 0, "minutes": 0.0}


def _records(path):
    """The objects of a metrics.jsonl, without an incomplete last line from a killed training."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    return records


def curve(losses: Sequence[float]) -> str:
    """Draw positive numbers as bars; at most CURVE_WIDTH, each the mean of an interval.

    Example:
        >>> curve([8, 4, 2, 1])
        '█▆▃▁'
    """
    count = min(CURVE_WIDTH, len(losses))
    cuts = [round(number * len(losses) / count) for number in range(count + 1)] if count else []
    heights = [math.log(sum(losses[a:b]) / (b - a)) for a, b in zip(cuts, cuts[1:])]
    lowest = min(heights, default=0)
    spread = (max(heights) - min(heights) if heights else 0) or 1
    return "".join(BARS[round((height - lowest) / spread * (len(BARS) - 1))] for height in heights)
