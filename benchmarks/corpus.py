"""Sentences a second of `rnnsearch translate-corpus` beside `rnnsearch translate` in one process on
one core.

    python benchmarks/corpus.py --text FILE [--sentences 100000] [--workers N] [--model
    tatoeba-en-fr]

FILE's sentences are repeated until there are enough, in a mixed order, and written to files of
1,000. The model is exported, and both commands translate with the export. `translate` has one core
and as many sentences as make it run for about as long as a worker; translate-corpus has a process
for each core. Rates are of the whole command, starting included, and without the start, which a run
over one sentence gives. Prints a Markdown table and the share: what a worker of translate-corpus
makes of what `translate` makes in the same run; at least 0.9 is asked for.

100,000 sentences take about 15 minutes on two quiet cores.
"""

import argparse
import itertools
import os
import pathlib
import random
import resource
import subprocess
import sys
import tempfile
import time

import measuring

SENTENCES_OF_A_FILE = 1000
RNNSEARCH = [sys.executable, "-m", "rnnsearch_tf"]


def write_files(folder, lines):
    """Files of SENTENCES_OF_A_FILE lines, or of fewer where that makes less than four for each
    core.
    """
    size = min(SENTENCES_OF_A_FILE, max(1, len(lines) // (4 * os.cpu_count())))
    folder.mkdir()
    for number, start in enumerate(range(0, len(lines), size)):
        (folder / f"part-{number:05}.txt").write_text(
            "".join(f"{line}\n" for line in lines[start : start + size]), encoding="utf-8"
        )


def timed(command, core=None, **options):
    """(seconds on the clock, CPU seconds) of a command, on one core if that is said."""
    before = _cpu()
    began = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        preexec_fn=None if core is None else lambda: os.sched_setaffinity(0, {core}),
        **options,
    )
    return time.perf_counter() - began, _cpu() - before


def _cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def translate(model, lines, folder, core):
    """Seconds of `translate` for some lines."""
    source = folder / "one.txt"
    source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    command = [
        *RNNSEARCH,
        "translate",
        "--model",
        model,
        "--output",
        str(folder / "one.out"),
        "--quiet",
        str(source),
    ]
    return timed(command, core)


def translate_corpus(model, folder, output, workers):
    command = [
        *RNNSEARCH,
        "translate-corpus",
        "--model",
        model,
        "--input",
        f"{folder}/part-*",
        "--output",
        str(output),
        "--workers",
        str(workers),
        "--quiet",
    ]
    return timed(command, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = sorted(os.sched_getaffinity(0))
    parser.add_argument(
        "--text", required=True, help="sentences of the source language, one a line, plain or .gz"
    )
    parser.add_argument("--sentences", type=int, default=100_000, help="default: %(default)s")
    parser.add_argument(
        "--workers", type=int, default=len(cores), help="default: %(default)s, one for each core"
    )
    parser.add_argument(
        "--model",
        default="tatoeba-en-fr",
        help="a RUN folder, an export, or a name of `rnnsearch models` (default: %(default)s)",
    )
    arguments = parser.parse_args()
    from rnnsearch_tf.export.publishing import exported_version
    from rnnsearch_tf.files.reading import read_lines

    measuring.set_threads(1)
    print(f"## {pathlib.Path(sys.argv[0]).name}\n\n{measuring.machine(1)}\n", flush=True)
    known = [
        line
        for line in itertools.islice(read_lines(arguments.text), arguments.sentences)
        if line.strip()
    ]
    lines = list(itertools.islice(itertools.cycle(known), arguments.sentences))
    random.Random(1).shuffle(lines)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = arguments.model
        if not exported_version(model):
            measuring.say("exporting")
            model = str(folder / "model")
            subprocess.run(
                [*RNNSEARCH, "export", "--model", arguments.model, "--output", model, "--quiet"],
                check=True,
                stdout=sys.stderr,
            )
        write_files(folder / "in", lines)
        write_files(folder / "start", lines[: arguments.workers])
        measuring.say("starting")
        starts = (
            translate(model, lines[:1], folder, cores[0]),
            translate_corpus(model, folder / "start", folder / "started", arguments.workers),
        )
        measuring.say("translate")
        share = lines[: len(lines) // arguments.workers]
        one = translate(model, share, folder, cores[0])
        measuring.say("translate-corpus")
        all_of_them = translate_corpus(model, folder / "in", folder / "out", arguments.workers)
    rows = []
    rates = []
    for what, count, taken, start in (
        ("translate, one core", len(share), one, starts[0]),
        (f"translate-corpus, {arguments.workers} workers", len(lines), all_of_them, starts[1]),
    ):
        clock, cpu = (count / (used - begun) for used, begun in zip(taken, start))
        rows.append([what, count, taken[0], count / taken[0], clock, cpu])
        rates.append((clock, cpu))
    print(
        measuring.table(
            [
                "",
                "sentences",
                "seconds",
                "a second",
                "a second after the start",
                "by CPU second after the start",
            ],
            rows,
        )
    )
    (one_clock, one_cpu), (all_clock, all_cpu) = rates
    print(
        f"A worker makes {all_clock / arguments.workers / one_clock:.2f} of what `translate` makes"
        f" on one core by the clock, {all_cpu / one_cpu:.2f} by CPU time, which a busy machine"
        " changes less."
    )


if __name__ == "__main__":
    main()
