"""The output folder of a translated corpus: which files are to be translated, and which are done.

::

    DIR/NAME                     the translation of the input file of that name, there when it is
                                 whole
    DIR/bad-lines/NAME.jsonl     its lines that could not be translated, if there are any
    DIR/translate-corpus.json    what it is made with: the model and its options; the files and
                                 their SHA-256
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import pathlib

from rnnsearch_tf import __version__
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import locked, write_file
from rnnsearch_tf.runs.folder import digest_of
from rnnsearch_tf.files.untrusted import check_links

MANIFEST = "translate-corpus.json"
BAD_LINES = "bad-lines"


class CorpusFolder:
    """An output folder that this process alone works on; used in a ``with`` block.

    Args:
        path: of the folder, which need not be there.
        inputs: list of paths; no two files of one name.
        identity: what translations depend on, a dictionary that JSON can hold.

    Raises:
        UsageError: two inputs have one name, the folder is that of an input, or holds something
            else.
        UserError: its files were made with another model or options, of another input, or another
            process is at work on it.
    """

    def __init__(self, path, inputs, identity):
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

    def left(self) -> list[dict]:
        """The files that are not done, the largest first: arguments of
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
        """How many lines of the files could not be translated."""
        return sum(
            path.read_bytes().count(b"\n") for path in map(self._bad, self.inputs) if path.exists()
        )

    def _output(self, name):
        return self.path.absolute() / name

    def _bad(self, name):
        return self.path.absolute() / BAD_LINES / f"{name}.jsonl"

    def _begin(self):
        """Compare the folder with what is to be made, and write down what that is."""
        check_links(self.path)
        manifest = self.path / MANIFEST
        known = _read(manifest)
        digests = {name: digest_of(path) for name, path in self.inputs.items()}
        done = [name for name in known.get("files", ()) if self._output(name).exists()]
        foreign = sorted(
            path.name
            for path in self.path.iterdir()
            if path.name not in (MANIFEST, BAD_LINES, *done) and not path.name.startswith(".")
        )
        if foreign:
            raise UsageError(
                f"{self.path}: expected an empty folder, or one that rnnsearch translate-corpus has"
                f" begun, got one with {foreign[0]}; choose another --output"
            )
        if done:
            self._require_same(known)
        for name in done:
            if digests.get(name, known["files"][name]) != known["files"][name]:
                raise UserError(
                    f"{self._output(name)}: expected the translation of {self.inputs[name]}, which"
                    " has changed since, got that of what it was; delete it to translate the"
                    " new one"
                )
        for name in self.inputs.keys() - set(done):  # what a killed process left behind
            self._bad(name).unlink(missing_ok=True)
            for path in (self._output(name), self._bad(name)):
                for partial in glob.glob(
                    f"{glob.escape(str(path.parent))}/.{glob.escape(path.name)}.*"
                ):
                    os.unlink(partial)
        (self.path / BAD_LINES).mkdir(exist_ok=True)
        files = {name: known["files"][name] for name in done} | digests
        write_file(
            manifest,
            json.dumps(self.identity | {"files": files}, indent=1, ensure_ascii=False) + "\n",
        )

    def _require_same(self, known):
        different = [name for name, value in self.identity.items() if known.get(name) != value]
        if different:
            name = different[0]
            raise UserError(
                f"{self.path}: expected the model and the options that its files were made with"
                f" ({name} {_shown(known.get(name))}), got others ({name}"
                f" {_shown(self.identity[name])}); choose another --output, or delete that folder"
                " to begin anew"
            )


def _check_names(path, inputs):
    names = {}
    for name in inputs:
        base = os.path.basename(name)
        if base in (MANIFEST, BAD_LINES):
            raise UsageError(
                f"--input: {name}: expected another name, since {base} is that of a file in"
                " --output; rename it"
            )
        if base in names:
            raise UsageError(
                f"--input: expected files of different names, got {names[base]} and {name}; their"
                " translations would have one name"
            )
        names[base] = name
        if os.path.realpath(os.path.dirname(name) or ".") == os.path.realpath(path):
            raise UsageError(
                f"--output: expected a folder without the input, got that of {name}; choose another"
            )


def _read(manifest):
    """What was written down; nothing where there is none."""
    try:
        known = json.loads(manifest.read_text(encoding="utf-8"))
        return known if isinstance(known.get("files"), dict) else {}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError):
        raise UserError(
            f"{manifest}: expected what rnnsearch translate-corpus wrote, got a damaged file;"
            " choose another --output"
        ) from None


def _shown(value):
    return (
        value[:12]
        if isinstance(value, str) and len(value) == 64
        else json.dumps(value, ensure_ascii=False)
    )
