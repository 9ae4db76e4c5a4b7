"""Planted faults of text files, RUN folders, cores and progress; see mutants.py."""

from mutants import Mutant

LINES = "cli/test_reading_and_writing.py"

FILES = [
    Mutant(
        "files/writing.py",
        "a gzip carries the time",
        "fileobj=raw, mtime=0)",
        "fileobj=raw)",
        (f"{LINES}::test_the_same_results_are_the_same_bytes_at_any_time",),
    ),
    Mutant(
        "files/writing.py",
        "results in the encoding of the locale",
        '(\n                    name, "wt", encoding="utf-8", newline="\\n"\n                )',
        '(name, "wt", newline="\\n")',
        (f"{LINES}::test_results_are_utf8_in_any_locale",),
    ),
]
