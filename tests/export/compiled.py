"""Programs of export/, compiled once for all processes of the suite, and what stops it."""

import fcntl
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parents[2] / "export"
TEXT_HEADERS = [
    pathlib.Path("/usr/include/sentencepiece_processor.h"),
    pathlib.Path("/usr/include/nlohmann/json.hpp"),
]


def missing(*headers):
    """Names of the programs and headers that are not here, of those that each runner needs too."""
    programs = [program for program in ("g++", "make") if not shutil.which(program)]
    return programs + [header.name for header in [*headers, *TEXT_HEADERS] if not header.exists()]


def compiled(name):
    """Path of the program; one process compiles it, the others wait."""
    (FOLDER / "build").mkdir(exist_ok=True)
    with open(FOLDER / "build" / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-C", str(FOLDER), name, f"PYTHON={sys.executable}"]
        subprocess.run(command, check=True, capture_output=True)
    return FOLDER / "build" / name


def run(program, *words, text="", encoding="utf-8"):
    return subprocess.run(
        [program, *map(str, words)], input=text, capture_output=True, encoding=encoding, timeout=120
    )
