"""The folder of the experiments: texts, models and measurements are each made once and kept.

::

    DIR/texts/, DIR/ids/             the texts of the scale, see corpora.py and wmt14.py
    DIR/phrase-based…/               the phrase-based systems and their files, see phrase_based.py
    DIR/models/NAME-SEED/            a RUN for each model and seed
    DIR/outputs/….json.xz            outputs of the models: translations, links
    DIR/measured/….json              measurements
    DIR/measured/made-ITEM-SEED.json     {name: record of its training} of the models for which an
                                         item has all its measurements
    DIR/settings.json                settings that differ from the recipes
    DIR/corpora.json                 SHA-256 of each file of the corpora
    DIR/ITEM.md, ITEM.json, ITEM-….png    the pages

Pages are made from measurements and outputs only. If these exist, no model is trained and no text
is read: pages can be rewritten elsewhere from ``measured/``, ``outputs/``, ``settings.json`` and
``corpora.json``, and more seeds can be added there.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import json
import logging
import lzma
import pathlib
import sys
from collections.abc import Callable

from rnnsearch_tf.config import load_config, shipped_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.optional import THOT, has
from rnnsearch_tf.files.atomic import make_folder, write_file
from rnnsearch_tf.runtime.progress import duration
from papers import bahdanau2015
from papers import phrase_based
from papers import provenance
from papers.resampling import counts_of
from papers.scales import SCALES, Scale
from papers.steps import check_space
from rnnsearch_tf.runs.folder import Run, digest_of

log = logging.getLogger("rnnsearch_tf")

_COUNTS = "batches", "epoch", "batches_of_epoch", "seconds"
"""Fields of a training's state that are kept."""


class Workspace:
    """An experiment: its results so far, and how to make the rest.

    Args:
        folder: DIR, created if missing.
        data: folder of the corpora.
        seeds: list[int], one for each model of a kind.
        overrides: list of ``section.key=value`` for every training, for experiments; the pages list
            them.
        scale: Scale.
        measured: {model: seeds} that are measured, if nothing else is to be used or made.
    """

    def __init__(
        self,
        folder,
        data,
        seeds=(1234,),
        overrides=(),
        scale: Scale = SCALES["small"],
        measured: dict | None = None,
    ):
        self.folder = pathlib.Path(folder)
        self._seeds_measured = measured
        self.data = data
        self.scale = scale
        self.texts = scale.texts(folder, data)
        self.seeds, self.overrides = list(seeds), list(overrides)
        self._loaded = None, None

    def begin(self) -> None:
        """Save the settings that differ from the recipes, and the corpora's checksums.

        Raises:
            UsageError: as :meth:`check`.
        """
        self.check()
        provenance.commit()  # of the code that is loaded now, whatever is checked out later
        make_folder(self.folder)
        settings = self.folder / "settings.json"
        if not settings.exists():
            write_file(settings, json.dumps(self._settings()) + "\n")
        corpora = self._saved_corpora()
        if corpora | self._corpora != corpora:
            text = json.dumps(corpora | self._corpora, indent=1) + "\n"
            write_file(self.folder / "corpora.json", text)

    def check(self) -> None:
        """Compare the existing results with the settings, corpora and recipes; write nothing.

        Raises:
            UsageError: they were made with others.
        """
        path = self.folder / "settings.json"
        settings = self._settings()
        if path.exists() and (before := _read(path)) != settings:
            raise UsageError(
                f"{self.folder}: expected{self._flags(before)}, with which it was started,"
                f" got{self._flags(settings)}; give the same again, or choose another --output"
            )
        before = self._saved_corpora()
        if changed := [
            name for name, digest in self._corpora.items() if before.get(name, digest) != digest
        ]:
            raise UsageError(
                f"{self.folder}: expected the corpora with which it was started, got another"
                f" {', another '.join(changed)} under {self.data}; choose another --output"
            )
        self._check_recipes()

    def _settings(self):
        return [*self.scale.settings, *self.overrides]

    def _saved_corpora(self):
        """{name: SHA-256} of the corpora with which the results were started."""
        path = self.folder / "corpora.json"
        return _read(path) if path.exists() else {}

    @functools.cached_property
    def _corpora(self):
        """{name: SHA-256}. Missing files are ignored: results made from them are kept."""
        return {
            name: digest_of(file) for name, file in self.texts.corpora().items() if file.exists()
        }

    def _check_recipes(self):
        """Refuse measurements of models that were trained by another recipe."""
        for path in sorted((self.folder / "measured").glob("trained-*.json")):
            name = path.stem.removeprefix("trained-").rpartition("-")[0]
            if name in self.scale.recipes and _read(path).get("recipe") != self._recipe(name):
                raise UsageError(
                    f"{path}: expected a model trained by the current recipe of {name}, got one"
                    " trained by another; choose another --output"
                )

    def _recipe(self, name):
        recipe = self.scale.recipes[name]
        return [recipe.configuration, *recipe.changes]

    @staticmethod
    def _flags(settings):
        """Settings as command-line arguments."""
        scale = "" if any(each.startswith("--scale") for each in settings) else " --scale small"
        return scale + "".join(
            f" {each}" if each.startswith("--") else f" --set {each}" for each in settings
        )

    def config(self, name: str, seed: int, prepared: bool = True, guided: bool = True):
        """The configuration of a model.

        Args:
            name, seed: name and seed of the model.
            prepared: False: name the text, not the prepared ids that were made from it.
            guided: False: leave out guided alignment, so that no links are made.
        """
        recipe = self.scale.recipes[name]
        files = self.texts.settings(recipe, prepared)
        changes = [
            *recipe.changes,
            *files,
            f"training.seed={seed}",
            *self.overrides,
        ]
        if recipe.guided and guided:
            changes += self.texts.guided_settings(recipe)
        return load_config(shipped_config(recipe.configuration), overrides=changes)

    def steps(self, models) -> list:
        """The remaining steps before these models, (name, seed), can be trained and measured.

        Raises:
            UserError: a file that was placed by hand is wrong, or a disk has too little space.
        """
        if not models:
            return []
        steps = self.texts.steps_left(
            {
                self.scale.recipes[name].longest: self.config(name, seed, prepared=False)
                for name, seed in models
            }
        )
        check_space(
            [
                *((step.outputs[0], step.gigabytes) for step in steps),
                (
                    self.folder,
                    self.gigabytes(each for each in models if not self.is_trained(*each)),
                ),
            ]
        )
        return steps

    def phrase_based(self, every: int = 1) -> pathlib.Path:
        """The folder of a phrase-based system's files, made if missing; see phrase_based.made_in.

        Raises:
            UsageError: existing measurements are of another system; another machine may make a
                different one.
        """
        folder = self._phrase_based(every)
        whole = None if every == 1 else self.phrase_based()
        phrase_based.made_in(folder, self.data, every, whole)
        digests = phrase_based.digests(folder)
        if self.measured(folder.name, lambda: digests) != digests:
            raise UsageError(
                f"{folder}: expected the phrase-based system of the measurements here, whose files"
                f" have the SHA-256 of {self._measured(folder.name)}, got another, as another"
                " machine may make it; copy that folder from the machine that made it, or choose"
                " another --output"
            )
        return folder

    def _phrase_based(self, every):
        return self.folder / ("phrase-based" if every == 1 else f"phrase-based-every-{every}")

    def can_have_phrase_based(self) -> bool:
        """Whether the scale has a phrase-based system, and its files or the packages to make them
        are available.
        """
        return (
            self.scale.phrase_based
            and self._seeds_measured is None
            and (not phrase_based.missing(self._phrase_based(1)) or has(*THOT))
        )

    def phrase_based_minutes(self, items: dict) -> int:
        """Minutes of one core that the missing phrase-based systems of some Items, {name: Item},
        take.
        """
        missing = (
            phrase_based.missing(self._phrase_based(every)) for every in self._systems(items)
        )
        return phrase_based.MINUTES * sum(map(bool, missing))

    def check_phrase_based(self, items: dict) -> None:
        """Raise UserError early if a phrase-based system lacks a package or a corpus."""
        for every in self._systems(items):
            phrase_based.check(self._phrase_based(every), self.data)

    def _systems(self, items):
        """Which systems the incomplete ones of some Items need; see Item.phrase_based."""
        found = set()
        for name, item in items.items():
            if self.needed({name: item}):
                found.update(item.phrase_based)
            if (
                item.beside_phrase_based
                and self.can_have_phrase_based()
                and not self.is_measured(bahdanau2015.PHRASE_BASED)
            ):
                found.add(1)
        return found

    def run(self, name: str, seed: int) -> Run:
        return Run(self.folder / "models" / f"{name}-{seed}")

    def is_trained(self, name: str, seed: int) -> bool:
        return self.run(name, seed).model_card.exists()  # written at the end of a training

    def needed(self, items: dict) -> list:
        """(name, seed) of the models, each once, that are still to be measured for some Items,
        {name: Item}.
        """
        return list(
            dict.fromkeys(
                (model, seed)
                for name, item in items.items()
                for seed, models in self._models(item).items()
                for model in models
                if model not in self._made(name, seed)
            )
        )

    def untrained(self, items: dict) -> list:
        """The :meth:`needed` models whose training is not complete."""
        return [model for model in self.needed(items) if not self.is_trained(*model)]

    def note_made(self, name: str, item) -> None:
        """Save the models for which an Item is measured, with the records of their trainings."""
        for seed, models in self._models(item).items():
            records = {model: self.trained(model, seed) for model in models}
            _write(self._measured(f"made-{name}-{seed}"), records | self._made(name, seed))

    def with_measured_seeds(self, name: str, item) -> Workspace | None:
        """This workspace with the seeds for which an Item is measured, of each model those that
        all parts of the Item have, and nothing else to make; None if a model has none. Parts that
        show one seed count for the models that no other part has.
        """
        found = {}
        parts = item.made_of or (name,)
        for part in sorted(parts, key=lambda part: self.scale.items[part].one_seed):
            for model, seeds in self._made_with(part).items():
                if model not in found or not self.scale.items[part].one_seed:
                    found[model] = found.get(model, seeds) & seeds
        if not all(found.get(model) for model in item.models):
            return None
        return Workspace(
            self.folder,
            self.data,
            sorted(set().union(*found.values())),
            self.overrides,
            self.scale,
            {model: sorted(seeds) for model, seeds in found.items()},
        )

    def _made_with(self, part):
        """{model: seeds} with which an item is measured."""
        found = {}
        for path in (self.folder / "measured").glob(f"made-{part}-*.json"):
            item, _, seed = path.stem.rpartition("-")
            if item == f"made-{part}":
                for model in _read(path):
                    found.setdefault(model, set()).add(int(seed))
        return found

    def _models(self, item):
        """{seed: names of the models that an Item measures itself with that seed}."""
        return (
            {}
            if item.made_of
            else {
                seed: [name for name in item.models if seed in self.seeds_of(name)]
                for seed in self.for_item(item).seeds
            }
        )

    def _made(self, name, seed):
        path = self._measured(f"made-{name}-{seed}")
        return _read(path) if path.exists() else {}

    def for_item(self, item) -> Workspace:
        """This workspace with the seeds that an Item shows."""
        return (
            Workspace(
                self.folder,
                self.data,
                self.seeds[:1],
                self.overrides,
                self.scale,
                self._seeds_measured,
            )
            if item.one_seed
            else self
        )

    def seeds_of(self, name: str) -> list:
        """The seeds of a model."""
        if self.scale.recipes[name].first_seed:
            return self.seeds[:1]
        if self._seeds_measured is None:
            return self.seeds
        return [seed for seed in self._seeds_measured[name] if seed in self.seeds]

    def minutes(self, models) -> int:
        """Training time of these models, (name, seed), in minutes of the scale's cores."""
        return sum(self.scale.recipes[name].minutes for name, _ in models)

    def gigabytes(self, models) -> float:
        """Size of the RUNs of these models, (name, seed)."""
        return sum(self.scale.recipes[name].gigabytes for name, _ in models)

    def cost(self, models, more: float = 0) -> str:
        """Training time of models, plus `more` minutes, as text."""
        return f"about {duration(60 * (self.minutes(models) + more))} of {self.scale.cores}"

    def train(self, name: str, item) -> None:
        """Train the untrained models of an Item."""
        for model in self.untrained({name: item}):
            self.trained_run(*model)

    def trained_run(self, name: str, seed: int) -> Run:
        """The RUN of a model; trains it if needed, and resumes a stopped training."""
        from rnnsearch_tf.training.fit import train

        run = self.run(name, seed)
        self._check_may_make(f"the model {name} of seed {seed}")
        if not self.is_trained(name, seed):
            if self.scale.recipes[name].corpus == "phrases":
                phrase_based.write_phrases(self.phrase_based(), self.texts.phrases)
            log.warning("%s, seed %d: %s", name, seed, self.cost([(name, seed)]))
            with contextlib.redirect_stdout(sys.stderr):  # Keras prints there
                train(self.config(name, seed), run, resume=run.state.exists())
            self.trained(name, seed, provenance.here())  # saves its recipe for later measurements
        return run

    def _check_may_make(self, what):
        """Raise UserError if nothing but what is measured may be used."""
        if self._seeds_measured is not None:
            raise UserError(
                f"{self.folder}: expected all measurements of a measured item, got none of {what};"
                " make it again without --from-measurements"
            )

    def translator(self, name: str, *seeds: int):
        """The Translator of a model, or of an ensemble of several seeds; caches the last one."""
        from rnnsearch_tf.translation import Translator

        if self._loaded[0] != (name, seeds):
            self._loaded = (
                (name, seeds),
                Translator.load([self.trained_run(name, seed) for seed in seeds]),
            )
        return self._loaded[1]

    def measured(self, key: str, measure: Callable[[], object]):
        """The measurement with this key; measured now if it is missing."""
        if not self.is_measured(key):
            self._check_may_make(key)
        return _kept(self._measured(key), measure)

    def is_measured(self, key: str) -> bool:
        return self._measured(key).exists()

    def output(self, key: str, make: Callable[[], object]):
        """Output of models, like :meth:`measured`, in a compressed file."""
        if not self._output(key).exists():
            self._check_may_make(key)
        return _kept(self._output(key), make)

    def translated(self, key: str, name: str, seed: int, read: Callable[[], tuple]) -> dict:
        """The (sources, references) that `read` returns, translated by a model with its own search.

        Returns:
            {"texts", "counts": see resampling.counts_of, as 13a tokenizes; case as of the model}
        """

        def make():
            sources, references = read()
            translator = self.translator(name, seed)
            texts = [each.text for each in translator.translate(sources)]
            lowercase = translator.config.target.lowercase
            return {"texts": texts, "counts": counts_of(texts, references, lowercase, "13a")}

        return self.output(f"{key}-{name}-{seed}", make)

    def development_records(self, name: str, seed: int) -> list:
        """[{"batches", "loss", "bleu" and others}] of the evaluations of a training."""
        lines = self.run(name, seed).metrics.read_text(encoding="utf-8").splitlines()
        records = [json.loads(line) for line in lines]
        return [each for each in records if each["kind"] == "development"]

    def kept_output(self, key: str):
        """The output with this key; None if there is none."""
        path = self._output(key)
        return _read(path) if path.exists() else None

    def _output(self, key):
        return self.folder / "outputs" / f"{key}.json.xz"

    def _measured(self, key):
        return self.folder / "measured" / f"{key}.json"

    def trained(self, name: str, seed: int, where: dict | None = None) -> dict:
        """The record of a training; all None if its checkpoints were deleted before it was saved.

        Args:
            name, seed: name and seed of the model.
            where: provenance.here() of the process that has just trained it.

        Returns:
            {"batches", "epoch", "batches_of_epoch", "seconds", "recipe"}, and if it is known where
            the training ended, {"commit", "machine", "load", "day"}.
        """
        state = self.run(name, seed).state
        key = f"trained-{name}-{seed}"
        if not state.exists() and not self.is_measured(key):
            return dict.fromkeys(_COUNTS)
        return self.measured(
            key,
            lambda: (
                {each: _read(state)[each] for each in _COUNTS}
                | {"recipe": self._recipe(name)}
                | (where or {})
            ),
        )

    def made(self, name: str, item) -> dict:
        """How an Item was made, for its page."""
        settings = self._flags([*self.scale.settings, *self.overrides])
        shown = self.for_item(item)
        records = {model: shown._records(name, item, model) for model in item.models}
        versions = ", ".join(
            f"{package} {importlib.metadata.version(package)}"
            for package in ("tensorflow", "keras", "sacrebleu")
        )
        commands = [
            f"`python -m papers {name} --data DATA --seed {first} --seeds {count}{settings}`"
            for first, count in _consecutive(shown.seeds)
        ]
        made = {
            "command": "; ".join(commands),
            "models": "; ".join(
                f"{model} {provenance.trained(each)}" for model, each in records.items()
            ),
        }
        if departures := self._departures(item):
            made[f"the recipe differs from {provenance.PAPER}, ours (theirs)"] = departures
        return made | {"page written with": versions}

    def _records(self, name, item, model):
        """The records of a model's trainings: those with which the item was measured."""
        found = []
        for seed in self.seeds_of(model):
            parts = [self._made(part, seed) for part in item.made_of or (name,)]
            found.append(
                next((part[model] for part in parts if model in part), None)
                or self.trained(model, seed)
            )
        return found

    def _departures(self, item):
        """The settings of an Item's models that differ from the paper's, as text."""
        models = {}
        for name in item.models:
            recipe = self.scale.recipes[name]
            config = load_config(
                shipped_config(recipe.configuration), overrides=[*recipe.changes, *self.overrides]
            )
            if found := provenance.departures(config):
                models.setdefault(found, []).append(name)
        return "; ".join(f"{', '.join(names)}: {found}" for found, names in models.items())

    def of_each_seed(self, key: str, name: str, measure: Callable) -> list:
        """[result of ``measure(work, name, seed)``] for every seed of a model."""
        return [
            self.measured(f"{key}-{name}-{seed}", functools.partial(measure, self, name, seed))
            for seed in self.seeds_of(name)
        ]


def _consecutive(seeds) -> list:
    """[(first, number)] of the runs of consecutive seeds.

    Example:
        >>> _consecutive([1234, 1235, 1240])
        [(1234, 2), (1240, 1)]
    """
    runs = []
    for seed in sorted(seeds):
        if runs and seed == sum(runs[-1]):
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((seed, 1))
    return runs


def _kept(path, make):
    """The content of a file; made now if it is missing."""
    if not path.exists():
        _write(path, make())
    return _read(path)


def _write(path, found):
    """Write a JSON file, compressed if its name ends in .xz."""
    make_folder(path.parent)
    text = json.dumps(found, ensure_ascii=False) + "\n"
    write_file(path, lzma.compress(text.encode("utf-8")) if path.suffix == ".xz" else text)


def _read(path):
    """The content of a JSON file, compressed if its name ends in .xz."""
    try:
        content = path.read_bytes()
        return json.loads(lzma.decompress(content) if path.suffix == ".xz" else content)
    except (ValueError, lzma.LZMAError) as error:
        raise UserError(
            f"{path}: expected valid JSON, got: {error}; delete it, and the made-….json of its"
            " item, to make it again"
        ) from None
