"""Plant each fault of mutants.py in a copy of the package and see the named tests turn red.

    python tests/mutants/run.py                 every fault
    python tests/mutants/run.py encoder 7       those whose file or description has the word, or by number
    python tests/mutants/run.py --list

Exit code 0: every fault was caught. A fault whose text is no longer in its file is an
error too: the list has to follow the code.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from mutants import MUTANTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "rnnsearch_tf"


def plant(mutant, folder):
    """Copy package and tests to `folder` and put the fault in."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in (PACKAGE, "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / PACKAGE / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file}: expected {mutant.old!r} once, found it {text.count(mutant.old)} times; "
                         "write the fault anew in tests/mutants/mutants.py")
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


def caught(mutant):
    """(whether every named test has a failing case, why, or the end of pytest's output)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plant(mutant, folder)
        environment = os.environ | {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "pytest", "-q", "-rf", "--tb=line", "-p", "no:cacheprovider"]
        command += [f"tests/{test}" for test in mutant.tests]
        result = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    failed = [line for line in result.stdout.splitlines() if line.startswith("FAILED ")]
    green = [test for test in mutant.tests if not any(line.startswith(f"FAILED tests/{test}") for line in failed)]
    if result.returncode == 1 and not green:
        return True, failed[0]
    return False, f"still green: {', '.join(green)}\n{result.stdout[-1500:]}{result.stderr[-500:]}"


def chosen(words):
    for number, mutant in enumerate(MUTANTS, start=1):
        if not words or any(word == str(number) or word in mutant.file or word in mutant.fault for word in words):
            yield number, mutant


def main(arguments):
    survivors = 0
    for number, mutant in chosen([word for word in arguments if word != "--list"]):
        title = f"{number:3} {mutant.file}: {mutant.fault}"
        if "--list" in arguments:
            print(title)
            continue
        started = time.monotonic()
        red, reason = caught(mutant)
        print(f"{'caught  ' if red else 'SURVIVED'} {title} ({time.monotonic() - started:.0f} s)\n      {reason}", flush=True)
        survivors += not red
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
