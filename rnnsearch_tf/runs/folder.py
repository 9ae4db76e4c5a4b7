"""The RUN folder, which training writes and everything else reads.

::

    RUN/config.yaml              the effective configuration
    RUN/vocabulary.source.txt    one token a line, line number = id
    RUN/vocabulary.target.txt
    RUN/source.spm.model         the SentencePiece model of a side with subwords
    RUN/source.truecase.model    the truecasing model of a side with the option truecase
    RUN/source.bpe.codes         the byte-pair codes of a side with the option bpe_codes
    RUN/best/                    the weights with the best score on the development set; of a model
                                 that comes with the package, in eight bits
    RUN/evaluated/               the weights of the last evaluations, for averaging
    RUN/checkpoints/             for --resume: the last two, each a model and the training state
    RUN/metrics.jsonl            one object every 100 batches, epoch or evaluation
    RUN/tensorboard/             the same, and images of alignments, with training.tensorboard
    RUN/refused_batch.txt        the pairs of the batch whose gradient was not finite, if
                                 training stopped at one
    RUN/model_card.md            description and scores of the model
    RUN/SHA256SUMS               checksums of the files that a model needs, in the format of
                                 sha256sum

A ``.keras`` file beside a configuration and vocabularies takes the place of best/: it is opened
like a RUN.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import logging
import os
import pathlib
import re
import shlex
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.errors import UsageError, UserError, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import make_folder, replacing, write_file
from rnnsearch_tf.files.untrusted import UNREADABLE, check_inside, check_model_archive
from rnnsearch_tf.runs.pretrained import pretrained_models

if TYPE_CHECKING:
    import keras

log = logging.getLogger("rnnsearch_tf")

_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
CHECKSUMS = "SHA256SUMS"
"""Name of a list of checksums in the format of sha256sum."""

ONNX_FILE = "model.onnx"
"""Name of an export to ONNX."""


Checksums = dict[str, set[str]]
"""{name of a file: the digests that are valid for it}."""

_warned: set[pathlib.Path] = set()  # RUNs already warned about


class Run:
    """A RUN folder: the paths of its files, their checksums, reading and writing of weights.

    Args:
        path: the folder, which need not exist yet; or a Run.

    Attributes:
        path: pathlib.Path of the folder.
        config, best_weights, eight_bit_weights, evaluated, checkpoints, state, previous_state,
        metrics, tensorboard, refused_batch, model_card, examples, checksums: pathlib.Path of each file or folder in it, which may not exist. `examples` is written
            by people: sentences to try, one a line, which an export shows on the server's page.
        model_file: pathlib.Path of the ``.keras`` file that this was opened by, which then is
            `best_weights` too; or None.

    Example:
        >>> Run("runs/demo").vocabulary("source").as_posix()
        'runs/demo/vocabulary.source.txt'
    """

    def __init__(self, path: AnyPath) -> None:
        self.path: pathlib.Path = path.path if isinstance(path, Run) else pathlib.Path(path)
        self.model_file: pathlib.Path | None = None
        self.config = self.path / "config.yaml"
        self.best_weights = self.path / "best" / "model.weights.h5"
        self.eight_bit_weights = self.path / "best" / "model.weights.int8.npz"
        self.evaluated = self.path / "evaluated"
        self.checkpoints = self.path / "checkpoints"
        self.state = self.checkpoints / "state.json"
        self.previous_state = self.checkpoints / "state.previous.json"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.refused_batch = self.path / "refused_batch.txt"
        self.model_card = self.path / "model_card.md"
        self.examples = self.path / "examples.txt"
        self.checksums = self.path / CHECKSUMS

    @classmethod
    def open(cls, path: AnyPath) -> Run:
        """Open a complete RUN, a model that comes with the package, or a ``.keras`` file beside a
        configuration and vocabularies.

        Args:
            path: the folder, the name of such a model, or the file; or a Run.

        Raises:
            UserError: the folder or a part that the model needs is missing; the message names it.
        """
        run = cls(os.fspath(path))  # of a Run too: its model_file, if it has one
        if run.path.suffix == ".keras" and run.path.is_file():
            return cls._of_model_file(run.path)
        if not run.config.exists() and (file := run._graph_file()):
            raise UserError(
                f"{run}: expected a RUN folder, got an export; translate with it by:"
                f" rnnsearch-translate --model {file}"
            )
        if not run.path.is_dir():
            if str(path) in (models := pretrained_models()):
                return cls(models[str(path)])
            found = "a file" if run.path.exists() else "nothing there"
            close = difflib.get_close_matches(str(path), models, n=1)
            hint = (
                "check the path; rnnsearch runs lists your own, rnnsearch models those that come"
                " with the program"
            )
            if close:
                hint += f"; did you mean {close[0]}?"
            raise UserError(
                f"{run}: expected a RUN folder that `rnnsearch train` wrote, got {found}; {hint}"
            )
        exports = [run.path / "saved_model.pb"]
        if not run.config.exists():
            exports += run.path.glob("*/saved_model.pb")
        if any(path.exists() for path in exports):
            raise UserError(
                f"{run}: expected a RUN folder, got an exported SavedModel, which only translate"
                " and translate-corpus take, one at a time; name the RUN that it was exported from"
            )
        needed = [
            run.config,
            run.vocabulary("source"),
            run.vocabulary("target"),
            run.best_weights.parent,
        ]
        missing = [path.name for path in needed if not path.exists()]
        if missing:
            reason = (
                "training has not evaluated the model yet"
                if missing == ["best"]
                else "check the path"
            )
            trained = next((path.parent for path in sorted(run.path.glob("*/best"))), None)
            if trained:
                reason = f"did you mean {trained}?"
            if run.state.exists():
                reason += f"; resume with: {run.resume_command}"
            raise UserError(
                f"{run}: expected a RUN folder that `rnnsearch train` wrote, got one without"
                f" {', '.join(missing)}; {reason}"
            )
        for path in run._needed_files():
            check_inside(path, run.path)
        return run

    def _graph_file(self) -> pathlib.Path | None:
        """The ONNX file that the path names or holds, itself or in a version; None without one."""
        files = [self.path] if self.path.suffix == ".onnx" else []
        files += [self.path / ONNX_FILE, *self.path.glob(f"*/{ONNX_FILE}")]
        return next((file for file in files if file.is_file()), None)

    @classmethod
    def _of_model_file(cls, path: pathlib.Path) -> Run:
        """A ``.keras`` file as the weights of the RUN that its folder is."""
        run = cls(path.parent)
        needed = [run.config, run.vocabulary("source"), run.vocabulary("target")]
        if missing := [needed_path.name for needed_path in needed if not needed_path.exists()]:
            raise UserError(
                f"{path}: expected {', '.join(missing)} beside it, found none; a .keras file has no"
                " vocabularies. In Python, rnnsearch_tf.Translator(rnnsearch_tf.load_model"
                f'("{path.name}"), source, target, config).save("RUN") writes all that a model'
                " needs, from the texts and the configuration with which it was trained"
            )
        run.model_file = path
        run.best_weights = path
        for needed_path in (path, *run._needed_files()):
            check_inside(needed_path, run.path)
        check_model_archive(path)
        return run

    def refuse_training(self) -> None:
        """Raise UsageError if a new training would overwrite a model, a training that has learned
        from at least one batch, or files in a folder without checksums, which no training wrote.
        """
        states = [path for path in (self.state, self.previous_state) if path.exists()]
        if any(saved_numbers(path).get("batches") != 0 for path in states):
            raise UsageError(
                f"{self}: expected a folder without a training, found one; add --resume, or choose"
                " another --output"
            )
        if found := [path for path in (self.best_weights, self.eight_bit_weights) if path.exists()]:
            resume = "add --resume, or " if self.state.exists() else ""
            raise UsageError(
                f"{self}: expected a folder without a model, found {found[0]}; {resume}choose"
                " another --output"
            )
        others = [self.config, self.checkpoints, self.model_card, *self.text_files()]
        if not self._is_of_training() and (found := [path for path in others if path.exists()]):
            hint = ""
            if found[0] in map(self.vocabulary, ("source", "target")):
                hint = "; source.vocabulary and target.vocabulary name vocabularies to train with"
            raise UsageError(
                f"{self}: expected a new folder, or that of a training, found {found[0]} without"
                f" {CHECKSUMS} of a training; choose another --output{hint}"
            )

    def _is_of_training(self) -> bool:
        """Whether the list of checksums is one that a training wrote: still empty, or with its
        configuration.
        """
        if not self.checksums.exists():
            return False
        known = self._read_checksums()
        return not known or self._name(self.config) in known

    def refuse_resuming(self) -> None:
        """Raise UserError if there is no checkpoint from which to resume."""
        if self.state.exists() or self.previous_state.exists():
            return
        if self.best_weights.exists() or self.eight_bit_weights.exists():
            raise UserError(
                f"{self.state}: expected a saved training to resume, found none: {self} has the"
                " trained weights only, without the state of the optimizer; start another training"
                f" from them: rnnsearch train --from {shlex.quote(str(self))} --output OTHER"
            )
        raise UserError(
            f"{self.state}: expected a saved training to resume, found none; start it without"
            " --resume"
        )

    def clear(self) -> None:
        """Remove the files of a training that has not completed a batch: its vocabularies may come
        from other settings or another text. The empty list of checksums marks the folder of a
        training.
        """
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for path in self.text_files():
            path.unlink()
        self._write_checksums({})

    def __fspath__(self) -> str:
        return str(self.model_file or self.path)

    def __str__(self) -> str:
        return str(self.model_file or self.path)

    @property
    def resume_command(self) -> str:
        """The command that resumes its training."""
        return f"rnnsearch train --output {shlex.quote(str(self))} --resume"

    def given_text(self, part: str, side: str) -> pathlib.Path:
        """The file of pairs that were given in Python; part "train" or "development"."""
        return self.path / "text" / f"{part}.{side}.txt"

    def vocabulary(self, side: str) -> pathlib.Path:
        """The vocabulary file of a side, "source" or "target"."""
        return self.path / f"vocabulary.{side}.txt"

    def subword_model(self, side: str) -> pathlib.Path:
        """The SentencePiece model of a side with subwords."""
        return self.path / f"{side}.spm.model"

    def truecase_model(self, side: str) -> pathlib.Path:
        """The Moses truecasing model of a side."""
        return self.path / f"{side}.truecase.model"

    def bpe_codes(self, side: str) -> pathlib.Path:
        """The byte-pair codes of a side, a file of subword-nmt."""
        return self.path / f"{side}.bpe.codes"

    def text_files(self) -> list[pathlib.Path]:
        """Paths of the existing vocabularies, SentencePiece models, truecasing models and codes."""
        paths = [
            path(side)
            for side in ("source", "target")
            for path in (self.vocabulary, self.subword_model, self.truecase_model, self.bpe_codes)
        ]
        return [path for path in paths if path.exists()]

    def evaluated_weights(self) -> list[pathlib.Path]:
        """Paths of the weights of the last evaluations, oldest first."""
        return sorted(self.evaluated.glob("batch-*.weights.h5"))

    def weights_after(self, batches: int) -> pathlib.Path:
        """The file for the weights of the evaluation after this number of batches."""
        return self.evaluated / f"batch-{batches:08}.weights.h5"

    # ---- weights ----

    def read_weights(self, model: keras.Model, path: pathlib.Path | None = None) -> None:
        """Load the best weights into a model, or those of another file of the RUN.

        Raises:
            UserError: the file is missing, damaged, or belongs to another architecture.
        """
        packed = path is None and not self.best_weights.exists() and self.eight_bit_weights.exists()
        path = self.eight_bit_weights if packed else path or self.best_weights
        if not path.exists():
            raise UserError(
                f"{path}: expected the weights of a training run, found none; train first, or check"
                " --model"
            )
        try:
            if packed:
                from rnnsearch_tf.runs.eight_bit import load_weights  # imports NumPy, which is slow

                load_weights(path, model.trainable_variables)
            else:
                if path == self.model_file:
                    _check_same_model(path, model)
                with _without_optimizer(model):
                    model.load_weights(path)
        except (
            ValueError,
            KeyError,
            TypeError,
            *UNREADABLE,  # RuntimeError: also h5py's
        ) as error:
            reason = one_line(error)
            raise UserError(
                f"{path}: expected the weights of the model that the RUN's config.yaml describes,"
                f" got others or a damaged file ({reason})"
            ) from None

    def write_weights(self, model: keras.Model, path: pathlib.Path | None = None) -> None:
        """Write a model's weights atomically, as the best or to another file of the RUN, and their
        checksum.

        Old and new checksum are both valid during the swap, so a crash leaves a loadable RUN.
        """
        path = path or self.best_weights

        make_folder(path.parent)
        with replacing(path, self.replace) as partial, _without_optimizer(model):
            model.save_weights(partial)

    # ---- checksums ----

    def verify(self, paths: Sequence[pathlib.Path] | None = None) -> None:
        """Compare files with their checksums; half a gigabyte takes about a second.

        A RUN without checksums is accepted with one notice; a changed config.yaml, which users may
        edit, with a warning.

        Args:
            paths: files of the RUN; None: those that the model needs.

        Raises:
            UserError: a file has changed, or the list of checksums is malformed.
        """
        known = self._read_checksums()
        paths = self._needed_files() if paths is None else paths
        unknown = [self._name(path) for path in paths if self._name(path) not in known]
        if unknown and self.path.resolve() not in _warned:
            _warned.add(self.path.resolve())
            log.warning(
                "notice: %s: no checksum of %s: damage to it cannot be seen; `cd %s && sha256sum %s"
                " > %s` writes checksums of the files as they are",
                self,
                ", ".join(unknown),
                shlex.quote(str(self.path)),
                " ".join(shlex.quote(self._name(path)) for path in paths),
                self.checksums.name,
            )
        for path in paths:
            digests = known.get(self._name(path))
            if digests is None or not path.exists() or (found := digest_of(path)) in digests:
                continue
            if path == self.config:
                log.warning("warning: %s: changed since training wrote it", path)
                continue
            if found in self._read_checksums().get(self._name(path), ()):
                continue  # a training has replaced the file meanwhile
            raise UserError(
                f"{path}: expected the file that training wrote, with the SHA-256 of"
                f" {self.checksums} ({', '.join(digest[:12] for digest in sorted(digests))}…), got"
                f" {found[:12]}…: it was damaged or changed; copy the RUN again"
            )

    def record(self, paths: Iterable[pathlib.Path] | None = None) -> None:
        """Write the current checksums of files; paths as in :meth:`verify`."""
        paths = self._needed_files() if paths is None else paths
        self._write_checksums(
            self._read_checksums() | {self._name(path): {digest_of(path)} for path in paths}
        )

    def recorded(self, paths: Iterable[pathlib.Path]) -> list[pathlib.Path]:
        """The files that have a checksum."""
        known = self._read_checksums()
        return [path for path in paths if self._name(path) in known]

    def replace(self, partial: pathlib.Path, path: pathlib.Path) -> None:
        """Replace a file by a complete one on the same file system, and record its checksum."""
        name = self._name(path)
        new = digest_of(partial)
        known = self._read_checksums()
        self._write_checksums(known | {name: known.get(name, set()) | {new}})
        os.replace(partial, path)
        self._write_checksums(known | {name: {new}})

    def remove(self, path: pathlib.Path) -> None:
        """Delete a file and its checksum."""
        known = self._read_checksums()
        known.pop(self._name(path), None)
        self._write_checksums(known)
        path.unlink()

    def _needed_files(self) -> list[pathlib.Path]:
        needed = [self.config, *self.text_files()]
        if self.model_file is None:  # such a file has checksums inside
            needed += [self.best_weights, self.eight_bit_weights]
        return [path for path in needed if path.exists()]

    def _name(self, path: pathlib.Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _read_checksums(self) -> Checksums:
        return read_checksums(self.checksums)

    def _write_checksums(self, known: Checksums) -> None:
        write_checksums(self.checksums, known)


def read_checksums(path: pathlib.Path) -> Checksums:
    """Read a file of checksums, {name: set of valid digests}; empty if there is no file.

    Raises:
        UserError: a line does not have the format of sha256sum.
    """
    known: Checksums = {}
    if not path.exists():
        return known
    for number, line in enumerate(
        path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1
    ):
        match = _CHECKSUM_LINE.fullmatch(line)
        if not match:
            raise UserError(
                f"{path}:{number}: expected a line `digest  file` as sha256sum writes it, got"
                f" {line[:60]!r}; delete the file to do without"
            )
        known.setdefault(match[2], set()).add(match[1])
    return known


def write_checksums(path: AnyPath, known: Mapping[str, set[str]]) -> None:
    """Write {name: set of digests} atomically in the format of sha256sum."""
    lines = [
        f"{digest}  {name}\n"
        for name, digests in sorted(known.items())
        for digest in sorted(digests)
    ]
    write_file(path, "".join(lines))


def _check_same_model(path: pathlib.Path, model: keras.Model) -> None:
    """Raise ValueError unless a ``.keras`` file has the system and the options of a model: weights
    of the same shapes may be of another.
    """
    with zipfile.ZipFile(path) as archive:
        saved = json.loads(archive.read("config.json"))
    if saved["class_name"] != type(model).__name__:
        raise ValueError(f"expected the system {type(model).__name__}, got {saved['class_name']}")
    expected = json.loads(json.dumps(model.get_config()))
    differences = [
        f"model.{name}={value}"
        for name, value in saved["config"]["config"].items()
        if value != expected["config"].get(name)
    ]
    if differences:
        raise ValueError(f"it has {', '.join(differences)}")


@contextlib.contextmanager
def _without_optimizer(model: keras.Model) -> Iterator[None]:
    """Hide the optimizer inside the block, so that Keras does not save or load its state."""
    optimizer = getattr(model, "optimizer", None)
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer


def digest_of(path: AnyPath, opened: Callable[..., Any] = open) -> str:
    """The SHA-256 of a file, in hexadecimal; with ``opened=gzip.open`` that of its content."""
    digest = hashlib.sha256()
    with opened(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def saved_numbers(state: pathlib.Path) -> dict[str, Any]:
    """The values of a checkpoint's state.json; empty if there is none, or a damaged one."""
    try:
        saved = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return saved if isinstance(saved, dict) else {}
