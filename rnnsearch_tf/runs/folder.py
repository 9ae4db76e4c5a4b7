"""The folder that training writes and everything else reads.

::

    RUN/config.yaml              the effective configuration
    RUN/vocabulary.source.txt    one token a line, line number = id
    RUN/vocabulary.target.txt
    RUN/source.spm.model         the SentencePiece model of a side cut into subwords
    RUN/best/                    the weights that did best on the development set; of a model that
                                 comes with the package, in eight bits
    RUN/evaluated/               the weights of the last evaluations, for averaging
    RUN/checkpoints/             for --resume: the last two, each a model and where the training
                                 stood
    RUN/confidence.json          how sure its probabilities make it, after `evaluate --calibrate`
    RUN/metrics.jsonl            one object every 100 batches, epoch or evaluation
    RUN/tensorboard/             the same and pictures of alignments, under training.tensorboard
    RUN/refused_batch.txt        the pairs of the batch whose gradient was not finite, if
                                 training stopped at one
    RUN/model_card.md            what it is, and how well it did
    RUN/SHA256SUMS               checksums of the files that a model needs, as sha256sum writes
                                 and checks them
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

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import make_folder, replacing, write_file
from rnnsearch_tf.runs.pretrained import pretrained_models
from rnnsearch_tf.files.untrusted import check_inside

log = logging.getLogger("rnnsearch_tf")

_CHECKSUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
CHECKSUMS = "SHA256SUMS"
"""Name of a list of checksums, as sha256sum writes it."""

_noticed = set()  # RUNs whose missing checksums were spoken of


class Run:
    """A RUN folder: the paths of its files, their checksums, reading and writing of weights.

    Args:
        path: of the folder, which need not exist yet; or a Run.

    Attributes:
        path: pathlib.Path of the folder.
        config, best_weights, eight_bit_weights, confidence, evaluated, checkpoints, state,
        previous_state, metrics, tensorboard, refused_batch, model_card, checksums:
            pathlib.Path of each file or folder in it, there or not.

    Example:
        >>> Run("runs/demo").vocabulary("source").as_posix()
        'runs/demo/vocabulary.source.txt'
    """

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.config = self.path / "config.yaml"
        self.best_weights = self.path / "best" / "model.weights.h5"
        self.eight_bit_weights = self.path / "best" / "model.weights.int8.npz"
        self.evaluated = self.path / "evaluated"
        self.checkpoints = self.path / "checkpoints"
        self.state = self.checkpoints / "state.json"
        self.previous_state = self.checkpoints / "state.previous.json"
        self.confidence = self.path / "confidence.json"
        self.metrics = self.path / "metrics.jsonl"
        self.tensorboard = self.path / "tensorboard"
        self.refused_batch = self.path / "refused_batch.txt"
        self.model_card = self.path / "model_card.md"
        self.checksums = self.path / CHECKSUMS

    @classmethod
    def open(cls, path) -> Run:
        """The Run of a folder, or of a model that comes with the package, that holds everything
        that using its model needs.

        Args:
            path: of the folder, or the name of such a model; or a Run.

        Raises:
            UserError: the folder or a part of it is missing; the message names what.
        """
        run = cls(path)
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
        if (run.path / "saved_model.pb").exists():
            raise UserError(
                f"{run}: expected a RUN folder, got an exported SavedModel; of the verbs only"
                " translate and translate-corpus take one"
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
                reason += f"; go on with: {run.resume_command}"
            raise UserError(
                f"{run}: expected a RUN folder that `rnnsearch train` wrote, got one without"
                f" {', '.join(missing)}; {reason}"
            )
        for path in run._needed_files():
            check_inside(path, run.path)
        return run

    def refuse_training(self) -> None:
        """Raise UsageError where there is a training that has learned something, or a model, which
        a new one would overwrite.
        """
        if any(path.exists() and _batches(path) != 0 for path in (self.state, self.previous_state)):
            raise UsageError(
                f"{self}: expected a folder without a training, found one; add --resume, or choose"
                " another --output"
            )
        if found := [path for path in (self.best_weights, self.eight_bit_weights) if path.exists()]:
            raise UsageError(
                f"{self}: expected a folder without a model, found {found[0]}; choose another"
                " --output"
            )

    def clear(self) -> None:
        """Remove what a training that has learned nothing has left: its vocabularies may be of
        other settings or another text.
        """
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for path in self.text_files():
            path.unlink()

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return str(self.path)

    @property
    def resume_command(self) -> str:
        """The command that resumes its training."""
        return f"rnnsearch train --output {shlex.quote(str(self))} --resume"

    def vocabulary(self, side) -> pathlib.Path:
        """The vocabulary file of a side, "source" or "target"."""
        return self.path / f"vocabulary.{side}.txt"

    def subword_model(self, side) -> pathlib.Path:
        """The SentencePiece model of a side that is cut into subwords."""
        return self.path / f"{side}.spm.model"

    def text_files(self) -> list:
        """Paths of the files that say how text becomes ids, those that are there."""
        paths = [
            path(side)
            for side in ("source", "target")
            for path in (self.vocabulary, self.subword_model)
        ]
        return [path for path in paths if path.exists()]

    def evaluated_weights(self) -> list:
        """Paths of the weights of the last evaluations, oldest first."""
        return sorted(self.evaluated.glob("batch-*.weights.h5"))

    def weights_after(self, batches) -> pathlib.Path:
        """Where the weights of the evaluation after so many batches are kept."""
        return self.evaluated / f"batch-{batches:08}.weights.h5"

    # ---- weights ----

    def read_weights(self, model, path=None) -> None:
        """Give a model the best weights, or those of another file of the RUN.

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
                from rnnsearch_tf.runs.eight_bit import load_weights  # NumPy takes its time

                load_weights(path, model.trainable_variables)
            else:
                with _without_optimizer(model):
                    model.load_weights(path)
        except (ValueError, OSError, KeyError, RuntimeError) as error:  # RuntimeError is h5py's
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"{path}: expected the weights of the model that the RUN's config.yaml describes,"
                f" got others or a damaged file ({reason})"
            ) from None

    def write_weights(self, model, path=None) -> None:
        """Write a model's weights as the best, or to another file of the RUN, in one move, and
        their checksum.

        Both checksums count in between: a kill at any moment leaves a RUN that loads.
        """
        path = path or self.best_weights
        if path == self.best_weights:
            self.confidence.unlink(missing_ok=True)  # it was of other weights
        make_folder(path.parent)
        with replacing(path, self.replace) as partial, _without_optimizer(model):
            model.save_weights(partial)

    # ---- checksums ----

    def verify(self, paths=None) -> None:
        """Compare files with their checksums; half a gigabyte takes about a second.

        A RUN without checksums is good with one notice, a changed config.yaml, which people do
        edit, with a warning.

        Args:
            paths: of files in the RUN; None: those that using the model needs.

        Raises:
            UserError: a file is not what was written, or the list of checksums is none.
        """
        known = self._read_checksums()
        paths = self._needed_files() if paths is None else paths
        unknown = [self._name(path) for path in paths if self._name(path) not in known]
        if unknown and self.path.resolve() not in _noticed:
            _noticed.add(self.path.resolve())
            log.warning(
                "notice: %s: no checksum of %s: damage to it cannot be seen; `cd %s && sha256sum %s"
                " > %s` writes checksums of the files as they are",
                self,
                ", ".join(unknown),
                shlex.quote(str(self)),
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
            raise UserError(
                f"{path}: expected the file that training wrote, with the SHA-256 of"
                f" {self.checksums} ({', '.join(digest[:12] for digest in sorted(digests))}…), got"
                f" {found[:12]}…: it was damaged or changed; copy the RUN again"
            )

    def record(self, paths=None) -> None:
        """Write the checksums of files as they are; paths as for :meth:`verify`."""
        paths = self._needed_files() if paths is None else paths
        self._write_checksums(
            self._read_checksums() | {self._name(path): {digest_of(path)} for path in paths}
        )

    def recorded(self, paths) -> list:
        """Those of the files that have a checksum."""
        known = self._read_checksums()
        return [path for path in paths if self._name(path) in known]

    def replace(self, partial, path) -> None:
        """Put a file that is written whole in the place of another, and record it; both are on the
        same file system.
        """
        name = self._name(path)
        new = digest_of(partial)
        known = self._read_checksums()
        self._write_checksums(known | {name: known.get(name, set()) | {new}})
        os.replace(partial, path)
        self._write_checksums(known | {name: {new}})

    def remove(self, path) -> None:
        """Delete a file, and its checksum."""
        known = self._read_checksums()
        known.pop(self._name(path), None)
        self._write_checksums(known)
        path.unlink()

    def _needed_files(self):
        return [
            path
            for path in (self.config, *self.text_files(), self.best_weights, self.eight_bit_weights)
            if path.exists()
        ]

    def _name(self, path):
        return path.relative_to(self.path).as_posix()

    def _read_checksums(self) -> dict:
        return read_checksums(self.checksums)

    def _write_checksums(self, known):
        write_checksums(self.checksums, known)


def read_checksums(path) -> dict:
    """{name: set of the digests that count} of a file of checksums; empty where there is no file.

    Raises:
        UserError: a line is none of sha256sum's.
    """
    known = {}
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


def write_checksums(path, known) -> None:
    """Write {name: set of digests} as sha256sum does, in one move."""
    lines = [
        f"{digest}  {name}\n"
        for name, digests in sorted(known.items())
        for digest in sorted(digests)
    ]
    write_file(path, "".join(lines))


@contextlib.contextmanager
def _without_optimizer(model):
    """Inside, Keras neither writes the optimizer's moments with the weights nor looks for them."""
    optimizer = getattr(model, "optimizer", None)
    model.optimizer = None
    try:
        yield
    finally:
        model.optimizer = optimizer


def digest_of(path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _batches(state):
    """Batches that a training has learned from, by its state.json; None of one that is damaged."""
    try:
        return json.loads(state.read_text(encoding="utf-8")).get("batches")
    except (OSError, ValueError, AttributeError):
        return None
