"""Corpora larger than memory: pairs a second and peak memory of preparing, of reading text, and of
reading a prepared corpus.

    python benchmarks/data_pipeline.py --folder DIR [--sizes 0.1 1 5 20] [--data ../shared/data]

A corpus of each size, in million pairs, is grown from small ones: they are repeated, and in
repetition r one word of every line has r behind it, so that the number of different words grows
too. It is written to DIR in plain files of 500,000 pairs, and stays there for the next time; 20
million pairs take about 2 GB as text, 1.5 GB prepared and as much again while they are prepared.

Memory is anonymous memory, which the system cannot take back, beyond that of TensorFlow itself; the
mapped files of a prepared corpus are not in it. Beside each rate on the clock stands that by CPU
second, which a busy machine changes less. Every figure is of a process of its own. The first update
is that of `rnnsearch train`, from the start of the program.
"""

import contextlib
import gzip
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import threading
import time

import measuring

CORPORA = (("tatoeba", "en", "fr"), ("multi30k", "en", "fr"), ("python-docs", "en", "fr"))
SHARD = 500_000
SECONDS = 20
"""How long a pipeline is watched, from its first batch on."""

BUFFER = 20_000
"""Pairs that text is shuffled among: little beside every size."""

CONFIG = {
    "source": {"language": "en"},
    "target": {"language": "fr"},
    "data": {"batching": "bucketed", "batch_size": 80, "on_bad_line": "skip"},
    "model": dict(
        embedding_size=64, hidden_size=64, alignment_size=64, maxout_size=64, output_rank=None
    ),
    "training": dict(maximum_updates=1),
}


def grow(folder, pairs, data):
    """Write the corpus, unless it is there."""
    if (folder / "grown").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lines = itertools.islice(varied(data), pairs)
    for number in range(-(-pairs // SHARD)):
        measuring.say(f"growing {folder}: part {number}")
        with contextlib.ExitStack() as stack:
            files = [
                stack.enter_context(
                    open(folder / f"part.{number:04}.{side}", "w", encoding="utf-8")
                )
                for side in ("en", "fr")
            ]
            for pair in itertools.islice(lines, SHARD):
                for file, line in zip(files, pair):
                    file.write(line)
    (folder / "grown").write_text("")


def varied(data):
    """Pairs of lines without end."""
    small = [
        pair
        for name, *sides in CORPORA
        for pair in zip(*(read(data / name / f"train.{side}.gz") for side in sides))
    ]
    for repetition in itertools.count():
        for pair in small:
            yield [vary(words, repetition) for words in pair]


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [line.split() for line in file]


def vary(words, repetition):
    if repetition and words:
        place = repetition % len(words)
        words = [*words[:place], f"{words[place]}{repetition}", *words[place + 1 :]]
    return " ".join(words) + "\n"


class Memory(threading.Thread):
    """The most anonymous memory seen, in GB, of this process and those it has started together."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.begin = 0.0, anonymous(os.getpid())
        self.start()

    def run(self):
        while True:
            self.peak = max(self.peak, sum(map(anonymous, family(os.getpid()))))
            time.sleep(0.1)


def anonymous(process):
    with contextlib.suppress(OSError):
        found = re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{process}/status").read_text())
        return int(found[1]) / 2**20 if found else 0.0
    return 0.0


def family(process):
    yield process
    with contextlib.suppress(OSError):
        for task in pathlib.Path(f"/proc/{process}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from family(int(child))


# ---- one figure, in a process of its own ----


def prepared(folder):
    """Prepare the text: pairs a second, on the clock and by CPU time, peak memory beyond what there
    was before.
    """
    from rnnsearch_tf.data.prepared.writing import prepare

    shutil.rmtree(folder / "prepared", ignore_errors=True)
    memory = Memory()
    start = time.perf_counter()
    pairs = prepare(configuration(folder), folder / "prepared")
    seconds = time.perf_counter() - start
    cpu = sum(
        sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return {
        "rate": pairs.report.kept / seconds,
        "by_cpu": pairs.report.kept / cpu,
        "memory": memory.peak - memory.begin,
        "bytes": sum(path.stat().st_size for path in (folder / "prepared").iterdir()),
    }


def read_text(folder):
    """Batches from text, of a corpus that was checked before."""
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.data.prepared.store import PreparedPairs

    config = configuration(folder, shuffle_buffer=BUFFER)
    prepared = PreparedPairs(folder / "prepared")
    pairs = open_corpus(config)
    pairs.set_report(prepared.report)
    return watched(config, prepared.texts(config), pairs)


def read_ids(folder):
    """Batches from a prepared corpus."""
    from rnnsearch_tf.data.prepared.store import PreparedPairs

    config = configuration(folder)
    prepared = PreparedPairs(folder / "prepared")
    return watched(config, prepared.texts(config), prepared)


def watched(config, texts, pairs):
    """Seconds to the first batch, pairs a second after it, peak memory beyond what there was
    before.
    """
    from rnnsearch_tf.data.dataset import training_dataset

    memory = Memory()
    start = time.perf_counter()
    dataset = training_dataset(*texts, pairs, config.data, seed=1)
    batches = itertools.chain.from_iterable(itertools.repeat(dataset))
    count = 0
    next(batches)
    begin = time.perf_counter()
    worked = time.process_time()
    while time.perf_counter() - begin < SECONDS:
        count += len(next(batches)["source_ids"])
    return {
        "first": begin - start,
        "rate": count / (time.perf_counter() - begin),
        "memory": memory.peak - memory.begin,
        "by_cpu": count / (time.process_time() - worked),
    }


def first_update(folder):
    """Seconds from the start of the program to the end of a training of one update."""
    path = folder / "config.json"  # JSON is YAML
    path.write_text(
        json.dumps(CONFIG | {"data": CONFIG["data"] | {"prepared": str(folder / "prepared")}})
    )
    shutil.rmtree(folder / "run", ignore_errors=True)
    words = [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "train",
        "--config",
        str(path),
        "--output",
        str(folder / "run"),
    ]
    start = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime}


def configuration(folder, **options):
    from rnnsearch_tf.config import load_config

    text = {"train_source": f"{folder}/part.*.en", "train_target": f"{folder}/part.*.fr"}
    return load_config(values=CONFIG | {"data": CONFIG["data"] | text | options})


FIGURES = {
    "prepared": prepared,
    "read_text": read_text,
    "read_ids": read_ids,
    "first_update": first_update,
}


def figure(name, folder):
    """What a process of its own finds."""
    measuring.say(f"{name} {folder}")
    with measuring.Worker([sys.executable, __file__, "--figure", name]) as worker:
        return worker("measure", folder=str(folder))


def main():
    if sys.argv[1:2] == ["--figure"]:
        measure = FIGURES[sys.argv[2]]
        return measuring.answer_requests({"measure": lambda folder: measure(pathlib.Path(folder))})
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument(
        "--folder", type=pathlib.Path, required=True, help="where the corpora are written and kept"
    )
    parser.add_argument(
        "--sizes",
        type=float,
        nargs="+",
        default=[0.1, 1, 5, 20],
        help="million pairs (%(default)s)",
    )
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        default=measuring.HERE.parent.parent / "shared" / "data",
        help="the small corpora (%(default)s)",
    )
    arguments = measuring.parse(parser)
    sizes = [0.002] if arguments.quick else arguments.sizes
    rates = [
        head
        for what in ("preparing", "text", "prepared")
        for head in (f"{what}: pairs/s", "by CPU second", "GB")
    ]
    heads = [
        "million pairs",
        *rates,
        "first batch, s",
        "first update, s",
        "its CPU, s",
        "GB on disk",
    ]
    with measuring.printed(heads) as rows:
        for millions in sizes:
            folder = arguments.folder.resolve() / f"{millions:g}"
            grow(folder, round(1e6 * millions), arguments.data)
            found = {name: figure(name, folder) for name in FIGURES}
            three = [found[name] for name in ("prepared", "read_text", "read_ids")]
            rows.append(
                [
                    f"{millions:g}",
                    *(one[key] for one in three for key in ("rate", "by_cpu", "memory")),
                    three[2]["first"],
                    found["first_update"]["seconds"],
                    found["first_update"]["cpu"],
                    three[0]["bytes"] / 2**30,
                ]
            )


if __name__ == "__main__":
    main()
