"""Reproduce a table or figure of the papers with python -m papers ITEM: train its models, measure
them, and write DIR/ITEM.md with our figures beside the paper's.

Without ITEM it lists the items and the time of each on one core. `all` makes everything. Items
share models, and all results are kept: after a stop, the same command resumes. `index`, the papers'
claims and a list of the pages, first makes the items that the claims are about.

--from-measurements writes the pages of all that is measured under --output, with all seeds there,
and trains nothing: papers/results has the measurements of the published pages.

--scale small is for two CPU cores and a small corpus: --data names a folder with multi30k/ in it
(train, val and test_2016_flickr, .en.gz and .fr.gz); items on the built-in corpus need none. The
phrase-based system and the word aligners need the extra smt. Without it, Table 1 of Bahdanau et al.
lacks a row, and other items that need it are refused at the start.

--scale paper is for days of a GPU: the items of Bahdanau et al. 2015 on WMT'14 English-French. It
downloads the corpora to --data (mtdata, sacreBLEU) or uses the files there, checks them, selects
text, writes ids, and trains with the updates of Table 2. It first prints the remaining steps with
disk space and time.

--scale europarl lies between: the same models on two of these corpora, Europarl and News
Commentary (2.2 million pairs, 0.7 GB), with a quarter of the updates: a week of two cores.
"""

import difflib
import sys
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli.main import run_module
from rnnsearch_tf.cli.flags import whole_number
from rnnsearch_tf.cli.shared import sigterm_raises
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import locked
from rnnsearch_tf.runtime.optional import THOT, require
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.runtime.progress import duration

FIRST_SEED = 1234


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "item", nargs="?", metavar="ITEM", help="a table or figure, or all; without it: list them"
    )
    parser.add_argument(
        "--scale",
        default="small",
        choices=("small", "europarl", "paper"),
        help="size of the experiments (default: %(default)s)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        default="runs/reproduce",
        help="folder of models, measurements and pages (default: %(default)s)",
    )
    parser.add_argument(
        "--data", metavar="DIR", default="data", help="folder of the corpora (default: %(default)s)"
    )
    parser.add_argument(
        "--seed",
        type=whole_number(0, 2**32 - 1),
        default=FIRST_SEED,
        metavar="N",
        help="seed of the first model of each kind (default: %(default)s)",
    )
    parser.add_argument(
        "--seeds",
        type=whole_number(1),
        default=1,
        metavar="N",
        help="models of each kind; tables give mean and deviation (default: %(default)s)",
    )
    parser.add_argument(
        "--from-measurements",
        action="store_true",
        help="write the pages of what is measured, with its seeds; train nothing",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="section.key=value",
        help="change one setting of every training",
    )


def run(arguments: Namespace) -> None:
    from papers.scales import SCALES
    from papers.workspace import Workspace

    seeds = range(arguments.seed, arguments.seed + arguments.seeds)
    work = Workspace(
        arguments.output, arguments.data, seeds, arguments.set, SCALES[arguments.scale]
    )
    if arguments.item is None:
        _list(work, arguments.scale)
        return
    chosen = _chosen(arguments.item, arguments.scale)
    if arguments.from_measurements:
        if (arguments.seed, arguments.seeds) != (FIRST_SEED, 1):
            raise UsageError(
                "expected --from-measurements without --seed and --seeds, as it takes all seeds"
                " that are measured; leave them out"
            )
        _write_measured(work, chosen, arguments.item)
        return
    configs, steps = _check(work, chosen)
    with sigterm_raises():
        import_tensorflow()
        if steps:
            with locked(work.data):
                for number, step in enumerate(steps, start=1):
                    _say(f"step {number} of {len(steps)}: {step}")
                    step.make()
        for name, item in chosen.items():
            _say(f"{name}: {item.shows}")
            work.train(name, item)
            _write_page(work, name, item)


def _write_page(work, name, item):
    page = item.make(work.for_item(item), item.models)
    page.text = [*page.text, *work.scale.notes]
    work.note_made(name, item)
    print(page.write(work.folder, name, work.made(name, item)), flush=True)


def _write_measured(work, chosen, wanted):
    """Write the pages of the measured items; the one that was asked for must be measured."""
    work.check()
    for name, item in chosen.items():
        measured = work.with_measured_seeds(name, item)
        if measured is not None:
            _write_page(measured, name, item)
        elif name == wanted:
            raise UsageError(
                f"{work.folder}: expected measurements of {name}, got none; make them without"
                " --from-measurements"
            )
        else:
            _say(f"{name}: not measured here")


def _chosen(name, scale) -> dict:
    from papers.scales import SCALES

    items = SCALES[scale].items
    if name == "all":
        return items
    if name not in items:
        if others := [f"--scale {other}" for other in SCALES if name in SCALES[other].items]:
            choice = ", ".join(items)
            raise UsageError(
                f"expected a table or figure of --scale {scale}, got {name}, which only {others[0]}"
                f" has; choose one of {choice}"
            )
        close = difflib.get_close_matches(name, items, n=1, cutoff=0.4)
        hint = f"did you mean {close[0]}?" if close else "python -m papers lists them"
        raise UsageError(f"expected a table or figure, or all, got {name}; {hint}")
    return {each: items[each] for each in (*items[name].made_of, name)}


def _check(work, items) -> tuple:
    """(configurations of the models that are still to be measured, steps before they are trained).

    Fails early for a missing extra or a wrong setting.
    """
    from rnnsearch_tf.data.corpus import check_files

    require("pictures", "matplotlib")
    require("plots of vectors", "sklearn")
    work.check()
    needed = work.needed(items)
    untrained = work.untrained(items)
    configs = [work.config(name, seed, guided=False) for name, seed in needed]
    steps = work.steps(needed)
    for name, seed in untrained:
        check_files(work.config(name, seed, guided=False))
    if any(item.aligners and work.needed({name: item}) for name, item in items.items()):
        require("word aligners", *THOT)
    work.check_phrase_based(items)
    more = work.phrase_based_minutes(items)
    for step in steps:
        _say(f"to do: {step}")
    if steps:
        size = sum(step.gigabytes for step in steps)
        time = duration(60 * sum(step.minutes for step in steps))
        _say(
            f"{len(steps)} steps before the trainings: about {size:.1f} GB, {time} (one core,"
            " downloads at 10 MB a second)"
        )
    cost = f"{work.cost(untrained, more)} in all, {work.gigabytes(untrained):.1f} GB"
    _say(
        f"{len(untrained)} models to train, {cost}; then some minutes to measure each"
        if needed
        else "everything is measured; rewriting the pages"
    )
    work.begin()
    return configs, steps


def _list(work, scale):
    for name, item in work.scale.items.items():
        items = _chosen(name, scale)
        minutes = work.minutes(work.untrained(items)) + work.phrase_based_minutes(items)
        left = duration(60 * minutes) if minutes else "trained" if work.needed(items) else "made"
        print(f"{name:<24}{left:>11}  {item.shows}")


def _say(text):
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    """Run ``python -m papers`` with these arguments, or those of the command line; returns the exit
    code.
    """
    return run_module(sys.modules[__name__], "python -m papers", argv)


if __name__ == "__main__":
    sys.exit(main())
