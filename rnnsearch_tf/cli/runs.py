"""List trainings: system, updates, minutes, best development BLEU, and the loss as a text curve.

DIR is a RUN or has RUNs below it, at most four levels deep; the default is the current folder.
Hidden folders are skipped. The curve shows the logarithm of the loss from the first record to the
last. BLEU is from training's own evaluations; `rnnsearch evaluate` measures how good a model is.
"""

import contextlib
import json
import logging
import math
import os
import pathlib
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from rnnsearch_tf.config import saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import Run

log = logging.getLogger("rnnsearch_tf")

LEVELS = 4
"""Maximum depth of RUNs below a folder."""

MOST_FOLDERS = 10_000
"""Maximum number of folders to search."""

CURVE_WIDTH = 24
BARS = "▁▂▃▄▅▆▇█"
TITLES = ("RUN", "system", "updates", "minutes", "BLEU", "loss", "")


def arguments(parser: ArgumentParser) -> None:
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
    rows = [TITLES, *map(_row, runs)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(TITLES))]
    for row in rows:
        words = [
            word.ljust(width) if column < 2 else word.rjust(width)
            for column, (word, width) in enumerate(zip(row, widths))
        ]
        print("  ".join(words).rstrip())


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
            if Run(path).config.exists() and _has_started(Run(path)):
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


def _has_started(run):
    return any(path.exists() for path in (run.state, run.metrics, run.best_weights))


def _row(folder):
    records = _records(Run(folder).metrics)
    losses = [
        record["loss"]
        for record in records
        if record["kind"] == "batches" and (record.get("loss") or 0) > 0
    ]
    bleu = [record["best_bleu"] for record in records if record.get("best_bleu") is not None]
    last = records[-1] if records else _saved_progress(Run(folder).state)
    system, accumulate = _settings(Run(folder).config)
    return (
        str(folder),
        system,
        f"{last['batches'] // accumulate:,}",
        f"{last['minutes']:.1f}",
        f"{bleu[-1]:.2f}" if bleu else "–",
        f"{losses[-1]:.3f}" if losses else "–",
        curve(losses),
    )


def _settings(path):
    """(system, batches for each update), or ("(refused)", 1) for a configuration that this version
    refuses.
    """
    try:
        config = saved_config(path)
        return config.model.system, config.training.accumulate
    except UsageError:
        return "(refused)", 1


def _saved_progress(state):
    """{"batches": number, "minutes": number} of a saved state, for a RUN without records; zeros if
    the state is missing or damaged.
    """
    try:
        saved = json.loads(state.read_text(encoding="utf-8"))
        return {"batches": saved["batches"], "minutes": saved["seconds"] / 60}
    except (OSError, ValueError, KeyError, TypeError):
        return {"batches": 0, "minutes": 0.0}


def _records(path):
    """The objects of a metrics.jsonl, without an incomplete last line from a killed training."""
    records = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
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
