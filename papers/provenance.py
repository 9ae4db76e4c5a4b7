"""Where a model was trained, and how its recipe differs from the one at the paper's sizes."""

from __future__ import annotations

import datetime
import functools
import os
import pathlib
import platform
import statistics
import subprocess

from rnnsearch_tf.config import Config, as_dictionary, load_config, shipped_config
from rnnsearch_tf.config.effects import names_without_effect, sections_of

PAPERS = {
    "rnnsearch": ("rnnsearch-50", "preset=paper"),
    "rnnencdec": ("rnnencdec-50", "preset=paper"),
    "encoder_decoder": ("encoder-decoder",),
    "deep_lstm": ("deep-lstm",),
    "cslm": ("cslm",),
}
"""{system: (the shipped configuration of its paper's sizes, what makes it the paper as printed)}.
Where a paper does not name a setting, it has that of the authors' program, or our choice. Luong et
al. 2015 is not among the sources.
"""

NOT_COMPARED = "not compared; its paper is not among the sources of this project"

PAPER = "the paper's, or where it is silent from our configuration of its sizes"

COMPARED = {
    "source": ("tokenization", "lowercase", "vocabulary_size"),
    "target": ("tokenization", "lowercase", "vocabulary_size"),
    "data": ("batching", "batch_size"),
    "model": None,
    "search": ("shrinking_beam", "length_penalty", "minimum_length_ratio"),
    "training": (
        "optimizer",
        "learning_rate",
        "loss_reduction",
        "label_smoothing",
        "global_clipnorm",
        "schedule",
        "precision",
        "average",
    ),
}
"""{section: options whose differences are named; None: all}."""


def here() -> dict:
    """{"commit", "machine", "load", "day"} of this process; None for what is not known."""
    return {
        "commit": commit(),
        "machine": f"{os.cpu_count()} cores, {_processor()}",
        "load": round(os.getloadavg()[1], 1),
        "day": datetime.date.today().isoformat(),
    }


def shown(records: list) -> str:
    """Where trainings ended, as text: all commits, days, machines and loads; "" if their records do
    not say.
    """
    known = [record for record in records if record.get("machine")]
    if not known:
        return ""
    commits, days, machines, loads = (
        sorted({record[key] for record in known if record[key] is not None})
        for key in ("commit", "day", "machine", "load")
    )
    unknown = len(records) - len(known)
    return ", ".join(
        [
            *([f"not known of {unknown} of them"] if unknown else []),
            f"commit {' and '.join(commits) or 'not known'}",
            " and ".join(days),
            " and ".join(machines),
            f"load {' to '.join(f'{load:g}' for load in sorted({loads[0], loads[-1]}))}",
        ]
    )


def trained(records: list) -> str:
    """The updates and minutes of a model's trainings, and where they ended, as text."""
    if not records or any(record["batches"] is None for record in records):
        return "updates and minutes not known"
    minutes = statistics.mean(record["seconds"] / 60 for record in records)
    mean = f", mean of {len(records)}" if len(records) > 1 else ""
    where = shown(records)
    updates = sorted({record["batches"] for record in records})
    number = " to ".join(f"{each:,}" for each in dict.fromkeys((updates[0], updates[-1])))
    return f"{number} updates, {minutes:.1f} minutes{mean}{where and f' ({where})'}"


def departures(config: Config) -> str:
    """The settings that differ from those of PAPERS, as text; "" if there are none, NOT_COMPARED if
    the system is not among them.

    Example: ``model.embedding_size 256 (620), training.optimizer adam (adadelta)``.
    """
    if config.model.system not in PAPERS:
        return NOT_COMPARED
    name, *printed = PAPERS[config.model.system]
    paper = load_config(shipped_config(name), overrides=printed)
    sides = [as_dictionary(each) for each in (config, paper)]
    idle = names_without_effect(sections_of(config))
    found = []
    for section, options in COMPARED.items():
        for option in options or sides[0][section]:
            ours, theirs = (side[section][option] for side in sides)
            if ours != theirs and f"{section}.{option}" not in idle:
                found.append(f"{section}.{option} {_words(ours)} ({_words(theirs)})")
    return ", ".join(found)


def _words(value):
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


@functools.cache
def commit() -> str | None:
    """The commit of this checkout when first asked, with + if its files differ; None if it is no
    checkout.
    """
    folder = pathlib.Path(__file__).parent
    try:
        found = subprocess.run(
            ["git", "-C", folder, "describe", "--always", "--dirty=+", "--exclude=*"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def _processor():
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())
