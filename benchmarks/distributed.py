"""Two workers of one training against two trainings that know nothing of each other, on a core
each, in the same run.

    python benchmarks/distributed.py [--size SMALL] [--workers 2] [--gradients bfloat16]

All processes train by ``model.fit`` on random batches without padding, each on a core of its own,
as many updates a turn; a batch of the workers is as large as those of the independent processes
together. The two kinds take turns. Communication is timed apart: the sums of an update alone, with
nothing to wait for, in the same worker processes. Processor times are of one process and one
update; they hardly depend on what else the machine does, waiting is not in them.
"""

import concurrent.futures
import json
import os
import sys
import time

import measuring
from measuring import median

UPDATES = 4
"""Updates of a turn."""


def answer(size, core, variable, gradients):
    """The work of a process: updates, or the sums of updates, on request."""
    os.sched_setaffinity(0, [core])
    if variable:
        os.environ["TF_CONFIG"] = variable
    import tensorflow as tf

    from ours import Ours, dataset_of
    from rnnsearch_tf.distributed.workers import SingleWorker, join

    workers = join() if variable else SingleWorker()
    workers.exchange_dtype = tf.bfloat16 if gradients == "bfloat16" else None
    ours = Ours(size, seed=1)
    ours.model.workers = workers
    ours.model.shards = 1
    # an embedding's gradient has the rows of these
    words = tf.range(ours.next_batch()["source_ids"].size)
    gradients = [
        (
            tf.IndexedSlices(
                tf.zeros((len(words), weight.shape[1])), words, tf.constant(weight.shape)
            )
            if weight.path.endswith("embedding/E")
            else tf.zeros_like(weight)
        )
        for weight in ours.model.trainable_variables
    ]
    sums = tf.function(
        lambda: [workers.counts(tf.constant(1), tf.constant(2)), workers.sums(gradients)],
        autograph=False,
    )

    def train(updates):
        batches = [ours.next_batch() for _ in range(updates)]
        start = time.process_time()
        ours.model.fit(dataset_of(batches), verbose=0, shuffle=False)
        return dict(
            processor=time.process_time() - start,
            words=sum(int((batch["target_ids"] != 0).sum()) for batch in batches),
        )

    def communicate(updates):
        start = time.process_time()
        for _ in range(updates):
            sums()
        return dict(processor=time.process_time() - start, words=0)

    measuring.answer_requests({"train": train, "communicate": communicate})


def together(processes, what):
    """Ask all at once: (seconds until all were done, words, processor seconds of an update)."""
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(len(processes)) as threads:
        answers = list(threads.map(lambda process: process(what, updates=UPDATES), processes))
    seconds = time.perf_counter() - start
    return (
        seconds,
        sum(answer["words"] for answer in answers),
        median(answer["processor"] for answer in answers) / UPDATES,
    )


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--size", default="SMALL", help="(%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="(%(default)s)")
    parser.add_argument(
        "--gradients",
        default="exact",
        choices=["exact", "bfloat16"],
        help="training.worker_gradients (%(default)s)",
    )
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.size = "TINY"
    measuring.set_threads(1)
    from rnnsearch_tf.distributed.addresses import free_addresses, worker_variable

    cores = sorted(os.sched_getaffinity(0))
    addresses = free_addresses(arguments.workers)

    def start(number, variable):
        return measuring.Worker(
            [
                sys.executable,
                __file__,
                json.dumps(
                    [arguments.size, cores[number % len(cores)], variable, arguments.gradients]
                ),
            ]
        )

    workers = [
        start(number, worker_variable(number, addresses)) for number in range(arguments.workers)
    ]
    independent = [start(number, None) for number in range(arguments.workers)]
    turns = {
        "workers": lambda: together(workers, "train"),
        "independent": lambda: together(independent, "train"),
        "communication": lambda: together(workers, "communicate"),
    }
    found = {name: [] for name in turns}
    for turn in range(1 + arguments.repeats):
        measuring.say(f"turn {turn}")
        for name, work in turns.items():
            result = work()
            if turn:
                found[name].append(result)
    for process in [*workers, *independent]:
        process.__exit__()
    rate = {
        name: median(words / seconds for seconds, words, _ in found[name])
        for name in ("workers", "independent")
    }
    processor = {
        name: 1000 * median(result[2] for result in results) for name, results in found.items()
    }
    ratio = median(
        (one[1] / one[0]) / (other[1] / other[0])
        for one, other in zip(found["workers"], found["independent"])
    )
    update, sums = (
        median(result[0] / UPDATES for result in found[name])
        for name in ("workers", "communication")
    )
    heads = [
        "size",
        "processes",
        "independent, target tokens/s",
        "workers, target tokens/s",
        "ratio",
        "update, ms",
        "communication, ms",
        "share",
        "processor, ms: independent",
        "workers",
        "communication",
    ]
    with measuring.printed(heads) as rows:
        rows.append(
            [
                arguments.size,
                str(arguments.workers),
                rate["independent"],
                rate["workers"],
                float(ratio),
                1000 * update,
                1000 * sums,
                f"{100 * sums / update:.0f} %",
                *(processor[name] for name in ("independent", "workers", "communication")),
            ]
        )


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("["):
        answer(*json.loads(sys.argv[1]))
    else:
        main()
