"""Download and check files: archives of a parallel corpus by mtdata, test sets by sacreBLEU.

A file is downloaded to a folder of its own and moved into place when it has passed its check. Files
may also be placed there by hand; all files are checked when they are read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import logging
import os
import pathlib
import shutil
import subprocess
import tarfile
import zlib

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import PARTIAL, make_folder, sync, write_file
from rnnsearch_tf.files.reading import is_utf8, read_all, read_bytes
from rnnsearch_tf.files.writing import whole_file, whole_files
from rnnsearch_tf.runtime.processes import module_command
from rnnsearch_tf.runtime.progress import progress
from papers.corpora import LANGUAGES
from rnnsearch_tf.runs.folder import digest_of

log = logging.getLogger("rnnsearch_tf")

TIMES = 2
"""Number of attempts to download a file that does not pass its check."""

MOST_UNREADABLE = 0.001
"""Maximum share of lines of a corpus that are not UTF-8."""


class NotDownloaded(UserError):
    """A file could not be downloaded."""


@dataclasses.dataclass(frozen=True)
class Archive:
    """A tar archive that holds a parallel corpus.

    Attributes:
        url: its address; the last part is its file name.
        size: bytes.
        sha256: of the archive, in hexadecimal.
        members: names of the English and the French text in the archive, plain or .gz.
        pairs: number of lines of each text.
    """

    url: str
    size: int
    sha256: str
    members: tuple
    pairs: int

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    def paths(self, folder) -> tuple:
        return (pathlib.Path(folder) / self.name,)

    def fetch(self, folder) -> None:
        """Download it into a folder by mtdata, and check it.

        Raises:
            NotDownloaded: mtdata is not installed, or it could not download it.
            UserError: the file failed its check after every download.
        """
        try:
            from mtdata.cache import Cache
        except ImportError:
            raise NotDownloaded(
                'mtdata is not installed: pip install "rnnsearch-tf[corpora]"'
            ) from None
        for attempt in range(1, TIMES + 1):
            with _partial_folder(folder, self.name) as partial:
                try:
                    Cache(partial).download(self.url, partial / self.name)
                except Exception as error:  # of mtdata, requests, or the disk
                    raise NotDownloaded(f"{type(error).__name__}: {_one_line(error)}") from None
                fault = self.fault(partial / self.name)
                if fault is None:
                    return _place(partial / self.name, folder)
                log.warning("warning: %s: %s (download %d of %d)", self.url, fault, attempt, TIMES)
        raise UserError(
            f"{self.url}: {fault}, each time of {TIMES}; try again later, or place another copy in"
            f" {folder} by hand"
        )

    def fault(self, path, sum_too: bool = True) -> str | None:
        """What is wrong with a file that should be the archive, or None. Checks its size, and with
        `sum_too` its SHA-256.
        """
        size = os.stat(path).st_size
        if size != self.size:
            return (
                f"expected {self.size:,} bytes, got {size:,}:"
                f" {'it is incomplete' if size < self.size else 'it is another file'}"
            )
        if sum_too:
            found = digest_of(path)
            if found != self.sha256:
                return f"expected the SHA-256 {self.sha256[:12]}…, got {found[:12]}…: it is damaged"
        return None

    def check(self, folder, sum_too: bool = True) -> None:
        """Raise UserError unless the file in the folder is the archive; see :meth:`fault`."""
        [path] = self.paths(folder)
        if fault := self.fault(path, sum_too):
            raise UserError(f"{path}: {fault}; {AGAIN}")

    def copy_text(self, path, streams) -> None:
        """Write the English and the French lines to two binary streams.

        Raises:
            UserError: the text is missing, has another number of lines, or is not UTF-8.
        """
        counts = [
            self._copy_side(path, member, stream) for member, stream in zip(self.members, streams)
        ]
        if counts != [self.pairs] * 2:
            found = " and ".join(
                f"{count:,} in {member}" for count, member in zip(counts, self.members)
            )
            raise UserError(
                f"{path}: expected {self.pairs:,} lines on both sides, got {found}; {AGAIN}"
            )

    def _copy_side(self, path, member, stream) -> int:
        """Copy one side; returns its number of lines."""
        lines = unreadable = 0
        try:
            with tarfile.open(path) as archive:
                file = archive.extractfile(member)
                file = gzip.open(file) if member.endswith(".gz") else file
                for line in progress(
                    file, doing=f"reading {member}", total=self.pairs, unit="lines"
                ):
                    stream.write(line if line.endswith(b"\n") else line + b"\n")
                    lines = lines + 1
                    unreadable = unreadable + (not is_utf8(line))
        except (tarfile.TarError, KeyError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise UserError(
                f"{path}: expected an archive with {member} in it, got: {_one_line(error)}; {AGAIN}"
            ) from None
        if unreadable > MOST_UNREADABLE * lines:
            raise UserError(
                f"{path}: expected text in UTF-8, got {unreadable:,} of {lines:,} lines of {member}"
                f" that are not; {AGAIN}"
            )
        return lines


@dataclasses.dataclass(frozen=True)
class TestSet:
    """A test set of sacreBLEU, as two plain text files NAME.en and NAME.fr.

    Attributes:
        name: name of the files.
        sacrebleu: its name in sacreBLEU.
        pairs: number of lines of each side.
    """

    __test__ = False  # not a test, for pytest

    name: str
    sacrebleu: str
    pairs: int

    def paths(self, folder) -> tuple:
        return tuple(pathlib.Path(folder) / f"{self.name}.{language}" for language in LANGUAGES)

    def command(self, side: str) -> list:
        """The sacreBLEU command for the ``src`` or the ``ref`` side."""
        return ["sacrebleu", "-t", self.sacrebleu, "-l", "-".join(LANGUAGES), "--echo", side]

    def fetch(self, folder) -> None:
        """Download the two files by sacreBLEU, which checks their MD5 sums.

        Raises:
            NotDownloaded: sacreBLEU failed.
            UserError: the files failed their check.
        """
        with _partial_folder(folder, self.name) as partial:
            for side, path in zip(("src", "ref"), self.paths(partial)):
                found = subprocess.run(module_command(*self.command(side)), capture_output=True)
                if found.returncode:
                    raise NotDownloaded(
                        f"{' '.join(self.command(side))}: {_last_line(found.stderr)}"
                    )
                write_file(path, found.stdout)
            self.check(partial)
            for path in self.paths(partial):
                _place(path, folder)

    def check(self, folder) -> None:
        """Raise UserError unless both files have the test set's lines, none empty, in UTF-8."""
        for path in self.paths(folder):
            lines = list(read_bytes(path))
            if len(lines) != self.pairs:
                raise UserError(
                    f"{path}: expected {self.pairs:,} lines, as {self.sacrebleu} of sacreBLEU has,"
                    f" got {len(lines):,}; {AGAIN}"
                )
            wrong = [
                number
                for number, line in enumerate(lines, start=1)
                if not line.strip() or not is_utf8(line)
            ]
            if wrong:
                raise UserError(
                    f"{path}:{wrong[0]}: expected a sentence in UTF-8, got"
                    f" {lines[wrong[0] - 1][:40]!r}; {AGAIN}"
                )


AGAIN = "delete it to download it again, or copy it again"


def join_archives(archives, folder, outputs) -> None:
    """Concatenate the texts of all archives; both files appear when everything is checked.

    Args:
        archives: list of Archive.
        folder: their folder.
        outputs: (English file, French file), .gz by name.

    Raises:
        UserError: an archive failed its check; the message names it.
    """
    for archive in archives:
        archive.check(folder)
    with whole_files(outputs) as streams:
        for archive in archives:
            archive.copy_text(*archive.paths(folder), streams)


def join_test_sets(test_sets, folder, outputs) -> None:
    """Concatenate several test sets; arguments and errors as of :func:`join_archives`."""
    for test_set in test_sets:
        test_set.check(folder)
    for paths, output in zip(zip(*(test_set.paths(folder) for test_set in test_sets)), outputs):
        with whole_file(output) as stream:
            stream.writelines(line.encode() + b"\n" for path in paths for line in read_all(path))


@contextlib.contextmanager
def _partial_folder(folder, name):
    """An empty folder for a download; removed afterwards, as is one left by a killed process."""
    path = make_folder(folder) / (PARTIAL + name)
    shutil.rmtree(path, ignore_errors=True)
    try:
        yield make_folder(path)
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _place(path, folder):
    sync(path)
    os.replace(path, pathlib.Path(folder) / path.name)


def _one_line(error) -> str:
    return " ".join(str(error).split())[:300]


def _last_line(text: bytes) -> str:
    return (text.decode("utf-8", "replace").strip().splitlines() or ["no error message"])[-1]
