"""What the programs of the papers share: texts, trained models, their outputs, pages of results.

    DIR/texts/        captions/, and up-to-30/, up-to-50/: captions joined to longer lines
    DIR/phrase-based/ a phrase-based system, see phrase_based.py
    DIR/models/       a run folder for each model and seed
    DIR/outputs/      translations (.txt, one a line, for sacreBLEU) and measurements (.json)
    DIR/ITEM.md, ITEM-….png, results.json

What exists is not made again: a stopped program resumes, and pages share models. Another --output
begins anew. A model NAME is trained by recipes/NAME.yaml.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import html
import itertools
import json
import pathlib
import random
import re
import statistics
import subprocess
from collections.abc import Callable, Iterator, Sequence

import rnnsearch_tf as rt
from rnnsearch_tf.alignment.figure import png
from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runs.folder import Run

RECIPES = pathlib.Path(__file__).parent / "recipes"

FIRST_SEED = 1234
LANGUAGES = "en", "fr"
CAPTIONS = {"train": "train", "development": "val", "test": "test_2016_flickr"}
MOST_JOINED = 5
SEED = 1

QUICK = (
    "source.vocabulary_size=250",
    "target.vocabulary_size=250",
    "data.batch_size=8",
    "training.maximum_updates=8",
    "training.evaluate_every=4",
    "training.evaluate_sentences=8",
)
"""Settings of --quick, which tries a program: its numbers mean nothing."""
QUICK_PAIRS = {"train": slice(600), "development": slice(600, 640), "test": slice(640, 700)}
"""Pairs of the built-in corpus that stand for the captions then."""


class Experiment:
    """The folder of an experiment, and how to make what is not there yet.

    Args:
        folder: DIR.
        data: folder with multi30k/ in it: train, val and test_2016_flickr, .en.gz and .fr.gz.
        seeds: one for each model of a kind.
        quick: try the program with the built-in corpus and a few updates.
        overrides: ``section.key=value`` for every training.
    """

    def __init__(self, folder, data="data", seeds=(FIRST_SEED,), quick=False, overrides=()):
        self.folder = pathlib.Path(folder)
        self.data = pathlib.Path(data)
        self.seeds = list(seeds)
        self.quick = quick
        self.overrides = [*(QUICK if quick else ()), *overrides]
        self._loaded = None, None

    def lines(self, text: str, part: str, language: str) -> list[str]:
        """Lines of ``captions``, ``up-to-30`` or ``up-to-50``: train, development or test; the text
        is written if it is missing.
        """
        folder = self.folder / "texts" / text
        if not folder.exists():
            with new_folder(folder) as partial:
                for each in CAPTIONS:
                    pairs = self._captions(each)
                    if text != "captions":
                        pairs = joined_text(pairs, each, longest=int(text.rpartition("-")[2]))
                    for name, lines in zip(LANGUAGES, zip(*pairs)):
                        write_lines(partial / f"{each}.{name}", lines)
        return list(read_lines(folder / f"{part}.{language}"))

    def pairs(self, text: str, part: str) -> tuple[list[str], list[str]]:
        """(sources, references) of :meth:`lines`."""
        sources, references = (self.lines(text, part, language) for language in LANGUAGES)
        return sources, references

    def _captions(self, part) -> list:
        if self.quick:
            return list(rt.open_corpus(rt.load_config("phrasebook")))[QUICK_PAIRS[part]]
        files = [
            self.data / "multi30k" / f"{CAPTIONS[part]}.{language}.gz" for language in LANGUAGES
        ]
        return list(zip(*map(read_lines, files), strict=True))

    def config(self, name: str, seed: int):
        """The configuration of a model."""
        texts = (self.folder / "texts").resolve()  # the built-in corpus is elsewhere
        overrides = [f"data.folder={texts}", f"training.seed={seed}", *self.overrides]
        return rt.load_config(RECIPES / f"{name}.yaml", overrides=overrides)

    def run(self, name: str, seed: int) -> Run:
        """The run folder of a model, trained if that is not complete."""
        run = Run(self.folder / "models" / f"{name}-{seed}")
        if not run.model_card.exists():  # written at the end of a training
            config = self.config(name, seed)
            for path in (config.data.train_source, config.data.development_source):
                text = pathlib.PurePath(path or "").parent.name
                if text.startswith(("captions", "up-to")):
                    self.lines(text, "train", "en")
            rt.train(config, run.path, resume=run.checkpoint.exists())
        return run

    def translator(self, name: str, *seeds: int) -> rt.Translator:
        """A model, or an ensemble of several seeds; the last one is kept in memory."""
        if self._loaded[0] != (name, seeds):
            runs = [self.run(name, seed) for seed in seeds]
            self._loaded = (name, seeds), rt.Translator.load([run.path for run in runs])
        return self._loaded[1]

    def development(self, name: str, seed: int) -> list[dict]:
        """{"batches", "minutes", "bleu", "loss"} of every evaluation of a training."""
        records = map(json.loads, read_lines(self.run(name, seed).metrics))
        return [record for record in records if record["kind"] == "development"]

    def output(self, key: str, make: Callable[[], Sequence[str]]) -> list[str]:
        """Lines of text, made once and kept as DIR/outputs/KEY.txt."""
        path = self.folder / "outputs" / f"{key}.txt"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_lines(path, make())
        return list(read_lines(path))

    def measured(self, key: str, make: Callable[[], object]):
        """Numbers, made once and kept as DIR/outputs/KEY.json."""
        path = self.folder / "outputs" / f"{key}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, json.dumps(make(), ensure_ascii=False) + "\n")
        return json.loads(path.read_text(encoding="utf-8"))

    def of_each_seed(self, key: str, name: str, measure: Callable, seeds=None) -> list:
        """[``measure(experiment, name, seed)``] for every seed of a model."""
        return [
            self.measured(f"{key}-{name}-{seed}", functools.partial(measure, self, name, seed))
            for seed in seeds or self.seeds
        ]


def joined_text(pairs: list, part: str, longest: int) -> list:
    """Captions joined to longer lines: train (twice, in groups of one to four of random size, up to
    `longest` words a side), development (once so), test (in ones, twos, …, fives, so that it has
    all lengths).
    """

    def random_sizes(seed):
        generator = random.Random(seed)
        return iter(lambda: generator.randint(1, MOST_JOINED - 1), None)

    readings = {
        "train": [random_sizes(SEED), random_sizes(SEED + 1)],
        "development": [random_sizes(SEED)],
        "test": map(itertools.repeat, range(1, MOST_JOINED + 1)),
    }
    made = [pair for sizes in readings[part] for pair in joined(pairs, sizes)]
    if part == "train":
        made = [pair for pair in made if max(len(side.split()) for side in pair) <= longest]
    return made


def joined(pairs: list, sizes: Iterator[int]) -> Iterator[tuple[str, ...]]:
    """Join neighbouring pairs; an incomplete group at the end is left out.

    Example:
        >>> list(joined([("a", "x"), ("b", "y"), ("c", "z")], iter([2, 1, 1])))
        [('a b', 'x y'), ('c', 'z')]
    """
    start = 0
    for size in sizes:
        group = pairs[start : start + size]
        if len(group) < size:
            return
        yield tuple(" ".join(side) for side in zip(*group))
        start += size


def write_lines(path, lines) -> None:
    write_file(path, "".join(f"{line}\n" for line in lines))


def tokens(lines: Sequence[str], language: str) -> list[str]:
    """Lower-cased Moses tokens of each line, joined by spaces."""
    # the tokens do not depend on the vocabulary
    text = rt.build_text(TextConfig(language=language, lowercase=True), ["any"])
    return [b" ".join(row).decode("utf-8") for row in text.tokenize(list(lines)).to_list()]


def bleu(texts: Sequence[str], references: Sequence[str], tokenize: str = "none") -> float | None:
    """sacreBLEU's, in percent; None without a sentence."""
    from rnnsearch_tf.evaluation.bleu import bleu as corpus_bleu

    return corpus_bleu(list(texts), list(references), tokenize).score if texts else None


@dataclasses.dataclass
class Page:
    """The results of an item: tables as lists of rows
    {column: value, or list of one value for each seed}, paragraphs below them, pictures
    {name: matplotlib Figure}.
    """

    title: str
    ours: list
    paper: list = dataclasses.field(default_factory=list)
    text: list = dataclasses.field(default_factory=list)
    pictures: dict = dataclasses.field(default_factory=dict)

    def write(self, folder, item: str, command: str) -> pathlib.Path:
        """Write DIR/ITEM.md and its pictures, add its numbers to DIR/results.json."""
        folder = pathlib.Path(folder)
        for name, figure in self.pictures.items():
            write_file(folder / f"{item}-{name}.png", png(figure))
        results = folder / "results.json"
        known = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
        known[item] = {"title": self.title, "ours": self.ours, "paper": self.paper}
        write_file(results, json.dumps(known, ensure_ascii=False, indent=1) + "\n")
        parts = [f"# {self.title}", *(["## Ours"] if self.paper else []), *table(self.ours)]
        if any(isinstance(value, list) for row in self.ours for value in row.values()):
            parts.append("±: the standard deviation over the seeds, if there are several.")
        parts += [f"![{name}]({item}-{name}.png)" for name in self.pictures]
        parts += ["## The paper's", *table(self.paper)] if self.paper else []
        parts += [*self.text, f"Made by `{command}` of commit {_commit()}."]
        write_file(folder / f"{item}.md", "\n\n".join(parts) + "\n")
        return folder / f"{item}.md"


def _commit():
    git = ["git", "-C", str(RECIPES), "describe", "--always", "--dirty"]
    return subprocess.run(git, capture_output=True, text=True).stdout.strip() or "unknown"


def table(rows: list[dict]) -> list[str]:
    """A Markdown table of rows with the same columns, as one paragraph; none without rows."""
    if not rows:
        return []
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(map(_cell, row.values()) for row in rows)]
    return ["\n".join(f"| {' | '.join(line)} |" for line in lines)]


def cells_over_seeds(found: list[dict]) -> dict:
    """The cells of a row, from one dictionary for each seed."""
    return {name: over_seeds([each[name] for each in found]) for name in found[0]}


def over_seeds(values: list):
    """A cell from one value for each seed: a single value, a list, or None if one is None."""
    return None if None in values else values[0] if len(values) == 1 else list(values)


def shown(value) -> str:
    """A value as text: a list as ``mean ± standard deviation``; two digits, from −1 to 1 three.

    Example:
        >>> shown([10.0, 11.0, 13.5]), shown([1500, 1500]), shown([1500, 1700]), shown(0.0625)
        ('11.50 ± 1.80', '1500', '1600 ± 141', '0.062')
    """
    if value is None:
        return "–"
    if isinstance(value, list):
        whole = all(isinstance(each, int) for each in value)
        if whole and len(set(value)) == 1:
            return str(value[0])
        digits = 0 if whole else 3 if max(map(abs, value)) <= 1 else 2
        return f"{statistics.mean(value):.{digits}f} ± {statistics.stdev(value):.{digits}f}"
    return f"{value:.{3 if abs(value) <= 1 else 2}f}" if isinstance(value, float) else str(value)


def _cell(value):
    """A value as text, escaped for Markdown: words may be ``<unk>`` and ``|``."""
    text = html.escape(shown(value), quote=False)
    return re.sub(r"([\[\]|*_`\\])", r"\\\1", text).replace("\n", " ")


def curves_figure(panels: dict):
    """Plot BLEU of {label of the x axis: {system: (x values, values)}}. A value that is a list, one
    for each seed, is drawn as its mean with its standard deviation.
    """
    import numpy as np
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6 * len(panels), 4), layout="constrained")
    frames = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, (below, curves) in zip(frames, panels.items()):
        axes.set(xlabel=below, ylabel="BLEU")
        for name, (places, values) in curves.items():
            of_seeds = [np.atleast_1d(value) for value in values]
            spread = [np.std(each, ddof=1) if len(each) > 1 else 0 for each in of_seeds]
            axes.errorbar(
                places,
                [float(np.mean(each)) for each in of_seeds],
                spread if any(spread) else None,
                linestyle="-" if name.startswith("rnnsearch") else "--",
                marker="o",
                markersize=3,
                capsize=2,
                label=name,
            )
        axes.set_ylim(bottom=0)
        axes.legend()
    return figure


def main(paper: str, items: dict[str, Callable[[Experiment], Page]], about: str) -> None:
    """The command line of a paper's program: ``python -m papers.PAPER ITEM …``."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="+", metavar="ITEM", help=f"all, or of {', '.join(items)}")
    parser.add_argument(
        "--output", metavar="DIR", help="(runs/papers; with --quick, runs/papers-quick)"
    )
    parser.add_argument("--data", default="data", help="folder with multi30k/ in it (%(default)s)")
    parser.add_argument("--seeds", type=int, default=1, help="models of each kind (%(default)s)")
    parser.add_argument(
        "--quick", action="store_true", help="try the program on the built-in corpus"
    )
    arguments = parser.parse_args()
    chosen = items if "all" in arguments.items else arguments.items
    if unknown := [item for item in chosen if item not in items]:
        parser.error(f"expected items of {', '.join(items)}, got {', '.join(unknown)}")
    seeds = range(FIRST_SEED, FIRST_SEED + arguments.seeds)
    folder = arguments.output or "runs/papers" + "-quick" * arguments.quick
    experiment = Experiment(folder, arguments.data, seeds, arguments.quick)
    settings = f"--seeds {arguments.seeds}" + " --quick" * arguments.quick
    try:
        for item in chosen:
            page = items[item](experiment)
            command = f"python -m papers.{paper} {item} {settings}"
            print(page.write(experiment.folder, f"{paper}-{item}", command), flush=True)
    except UserError as error:
        parser.exit(error.exit_code, f"{error}\n")
