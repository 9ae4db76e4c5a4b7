"""Plant each fault of the *mutants.py files in a copy of the package and see the named tests turn
red.

    python tests/mutants/run.py                 every fault
    python tests/mutants/run.py encoder 7 20-30 those whose file or description has the word, or by
        number
    python tests/mutants/run.py --list

Exit code 0: every fault was caught. A fault whose text is no longer in its file counts
as not caught: the list has to follow the code.
"""

import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.dont_write_bytecode = True

import keras  # noqa: F401, E402  imported once, here; each fault runs in a fork of this process
import pytest  # noqa: E402
import tensorflow_text  # noqa: F401, E402
from mutants import Mutant  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "rnnsearch_tf"
OUTPUT = "output.txt"


def all_mutants():
    """Every Mutant of a module-level list of the `*mutants.py` files here, once, in order."""
    found = {}
    for path in sorted(pathlib.Path(__file__).parent.glob("*mutants.py")):
        for value in vars(importlib.import_module(path.stem)).values():
            if isinstance(value, list):
                found |= {mutant: None for mutant in value if isinstance(mutant, Mutant)}
    return list(found)


def plant(mutant, folder):
    """Copy package and tests, and what the tests read beside them, to `folder` and put the fault
    in.
    """
    ignore = shutil.ignore_patterns("__pycache__", "build")
    for name in (PACKAGE, "papers", "tests", "export", "serving"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = (
        folder / mutant.file
        if mutant.file.startswith("papers/")
        else folder / PACKAGE / mutant.file
    )
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(
            f"expected {mutant.old!r} once in {mutant.file}, found it {text.count(mutant.old)}"
            " times; write the fault anew"
        )
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def caught(mutant):
    """(whether every named test has a failing case, why, or the end of pytest's output)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            plant(mutant, folder)
        except ValueError as error:
            return False, str(error)
        code = in_a_child(run_tests, mutant.tests, folder)
        output = (folder / OUTPUT).read_text(encoding="utf-8")
    # A fixture that fails is red too: an export that refuses itself, for example.
    failed = [line for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    green = [
        test
        for test in mutant.tests
        if not any(line.split(maxsplit=1)[1].startswith(f"tests/{test}") for line in failed)
    ]
    if code == 1 and not green:
        return True, failed[0]
    return False, f"exit code {code}; still green: {', '.join(green)}\n{output[-1500:]}"


def in_a_child(function, *arguments):
    """Exit code of the function in a forked process, which has TensorFlow imported already."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(function(*arguments)))
        finally:
            os._exit(70)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_tests(tests, folder):
    """pytest on the tests of the copy; what it prints goes to a file there."""
    descriptor = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    os.environ["PYTHONPATH"] = str(folder)  # for tests that start processes
    os.environ.setdefault("RNNSEARCH_SHARED", str(ROOT.parent / "shared"))
    options = ["-q", "-rfE", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *(f"tests/{test}" for test in tests)])
    sys.stdout.flush()
    return code


def chosen(words):
    """(number, mutant) of those asked for: a number, a range `20-30`, a word of the file name or of
    the fault.
    """
    for number, mutant in enumerate(all_mutants(), start=1):
        if not words or any(matches(word, number, mutant) for word in words):
            yield number, mutant


def matches(word, number, mutant):
    first, dash, last = word.partition("-")
    if first.isdigit():
        return int(first) <= number <= int(last if dash else first)
    return word in mutant.file or word in mutant.fault


def main(arguments):
    survivors = 0
    for number, mutant in chosen([word for word in arguments if word != "--list"]):
        title = f"{number:3} {mutant.file}: {mutant.fault}"
        if "--list" in arguments:
            print(title)
            continue
        started = time.monotonic()
        red, reason = caught(mutant)
        print(
            f"{'caught  ' if red else 'SURVIVED'} {title} ({time.monotonic() - started:.0f} s)\n   "
            f"   {reason}",
            flush=True,
        )
        survivors += not red
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
