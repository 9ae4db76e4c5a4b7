"""The output folder of a translated corpus, which records the finished files.

::

    DIR/NAME                     the translation of the input file NAME, once it is complete
    DIR/bad-lines/NAME.jsonl     the lines that could not be translated, if there are any
    DIR/translate-corpus.json    the model and its options; the input files and their SHA-256
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from rnnsearch_tf import __version__
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.bulk.shard import to_json
from rnnsearch_tf.files.atomic import LONGEST_NAME, PARTIAL, leftovers, locked, write_file
from rnnsearch_tf.runs.folder import digest_of
from rnnsearch_tf.files.untrusted import check_links
from rnnsearch_tf.files.writing import NOT_WRITTEN

MANIFEST = "translate-corpus.json"
BAD_LINES = "bad-lines"


class CorpusFolder:
    """An output folder, locked by this process; used in a ``with`` block.

    Args:
        path: path of the folder, created if missing.
        inputs: paths of the input files, with distinct names.
        identity: everything that translations depend on, as JSON values.

    Raises:
        UsageError: two inputs have the same name, or the folder contains an input or other files.
        UserError: its files were made with another model, other options or another input, or
            another process is writing there.
    """

    def __init__(
        self, path: str | os.PathLike[str], inputs: Sequence[str], identity: Mapping[str, Any]
    ) -> None:
        self.path = pathlib.Path(path)
        self.inputs = {os.path.basename(name): os.path.abspath(name) for name in inputs}
        self.identity = json.loads(
            json.dumps({"made_with": f"rnnsearch_tf {__version__}", **identity})
        )
        _check_names(self.path, inputs)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(locked(self.path))
            self._begin()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def remaining(self) -> list[dict[str, str]]:
        """The unfinished files, the largest first, as arguments of
        :func:`~rnnsearch_tf.extras.bulk.shard.translate_shard`.
        """
        names = sorted(
            (name for name in self.inputs if not self._output(name).exists()),
            key=lambda name: -os.path.getsize(self.inputs[name]),
        )
        return [
            {
                "source": self.inputs[name],
                "output": str(self._output(name)),
                "bad": str(self._bad(name)),
            }
            for name in names
        ]

    def bad_lines(self) -> int:
        """Number of lines that could not be translated."""
        return sum(
            path.read_bytes().count(b"\n") for path in map(self._bad, self.inputs) if path.exists()
        )

    def _output(self, name):
        return self.path.absolute() / name

    def _bad(self, name):
        return self.path.absolute() / BAD_LINES / f"{name}.jsonl"

    def _begin(self):
        """Check that the folder belongs to this task, and write its manifest."""
        check_links(self.path)
        manifest = self.path / MANIFEST
        known = _read(manifest)
        done = [name for name in known.get("files", ()) if self._output(name).exists()]
        own = {MANIFEST, PARTIAL + MANIFEST, BAD_LINES, *done}
        foreign = sorted(
            path.name
            for path in self.path.iterdir()
            if path.name not in own and not path.name.startswith(".")
        )
        if foreign:
            raise UsageError(
                f"{self.path}: expected an empty folder, or one that rnnsearch translate-corpus"
                f" started, got one with {foreign[0]}; choose another --output"
            )
        if done:
            self._require_same(known)
        digests = {name: digest_of(path) for name, path in self.inputs.items()}
        for name in done:
            if digests.get(name, known["files"][name]) != known["files"][name]:
                raise UserError(
                    f"{self._output(name)}: expected the translation of {self.inputs[name]}, got"
                    " that of an earlier version of this file; delete it to translate the file"
                    " again"
                )
        (self.path / BAD_LINES).mkdir(exist_ok=True)
        unfinished = self.inputs.keys() - set(done)
        for name in unfinished:  # left by a killed process
            self._bad(name).unlink(missing_ok=True)
        outputs = (path(name) for name in unfinished for path in (self._output, self._bad))
        for partial in leftovers(*outputs):
            partial.unlink()
        files = {name: known["files"][name] for name in done} | digests
        write_file(manifest, to_json(self.identity | {"files": files}, indent=1))

    def _require_same(self, known):
        different = [name for name, value in self.identity.items() if known.get(name) != value]
        if different:
            name = different[0]
            raise UserError(
                f"{self.path}: expected the model and the options that its files were made with"
                f" ({name} {_shown(known.get(name))}), got others ({name}"
                f" {_shown(self.identity[name])}); choose another --output, or delete that folder"
                " to start again"
            )


def _check_names(path, inputs):
    names = {}
    for name in inputs:
        base = os.path.basename(name)
        if base in (MANIFEST, BAD_LINES):
            raise UsageError(
                f"--input: {name}: expected another name, since --output has its own file {base};"
                " rename it"
            )
        if base.endswith(NOT_WRITTEN):
            raise UsageError(
                f"--input: {name}: expected text, plain or .gz, as the output has the same name;"
                " decompress it first"
            )
        longest = LONGEST_NAME - len(".jsonl")
        if len(os.fsencode(base)) > longest:
            raise UsageError(
                f"--input: {name}: expected a name of at most {longest} bytes, got"
                f" {len(os.fsencode(base))}, since its bad lines go to a file NAME.jsonl; rename it"
            )
        if base in names:
            raise UsageError(
                f"--input: expected files of different names, got {names[base]} and {name}; their"
                " translations would have the same name"
            )
        names[base] = name
        if os.path.realpath(os.path.dirname(name) or ".") == os.path.realpath(path):
            raise UsageError(
                f"--output: expected a folder without input files, got that of {name}; choose"
                " another"
            )


def _read(manifest):
    """The content of a manifest; empty if there is none."""
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
        return known if isinstance(known.get("files"), dict) else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise UserError(
            f"{manifest}: expected a file of rnnsearch translate-corpus, got a damaged one;"
            " choose another --output"
        ) from None


def _shown(value):
    return (
        value[:12]
        if isinstance(value, str) and len(value) == 64
        else json.dumps(value, ensure_ascii=False)
    )
