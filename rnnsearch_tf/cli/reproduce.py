"""Make a table or figure of the papers again: train its models, measure them, write DIR/ITEM.md with ours beside the paper's.

Without ITEM: what there is, and how long each takes on one core. `all` makes everything. Models are shared by the items
that need them, and all that is made is kept: started again after a stop, the program goes on where it was.

--scale small is for two CPU cores and the corpora at hand: --data names a folder with multi30k/ in it (train, val and
test_2016_flickr, .en.gz and .fr.gz); items on the built-in corpus need none. --scale paper is not there yet.
"""

import sys

from rnnsearch_tf.cli.quiet import import_tensorflow
from rnnsearch_tf.cli.shared import whole_number
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.io.writing import Output
from rnnsearch_tf.reproduce.items import ITEMS


def arguments(parser):
    parser.add_argument("item", nargs="?", metavar="ITEM", help="a table or figure, or all; none: the list of them")
    parser.add_argument("--scale", default="small", choices=("small", "paper"), help="default: %(default)s")
    parser.add_argument("--output", metavar="DIR", default="runs/reproduce", help="folder of models, measurements and pages (default: %(default)s)")
    parser.add_argument("--data", metavar="DIR", default="data", help="folder of the corpora (default: %(default)s)")
    parser.add_argument("--seed", default="1234", metavar="N", help="of the first model of each kind (default: %(default)s)")
    parser.add_argument("--seeds", default="1", metavar="N", help="models of each kind; tables then give mean and spread (default: %(default)s)")
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value", help="change one setting of every training")


def run(arguments):
    if arguments.scale == "paper":
        raise UsageError("--scale: expected small, got paper; the papers' own scale is not there yet")
    from rnnsearch_tf.reproduce.workspace import Workspace

    seed, count = whole_number(arguments.seed, "--seed"), whole_number(arguments.seeds, "--seeds", minimum=1)
    work = Workspace(arguments.output, arguments.data, range(seed, seed + count), arguments.set)
    if arguments.item is None:
        return _list(work)
    chosen = _chosen(arguments.item)
    _check(work, chosen)
    import_tensorflow()
    for name in chosen:
        _say(f"{name}: {ITEMS[name].shows}")
        work.train(ITEMS[name].models)
        page = ITEMS[name].page(work).write(work.folder, name, work.made(arguments.item))
        with Output() as output:
            output.write([str(page)])


def _chosen(item) -> list:
    if item == "all":
        return list(ITEMS)
    if item not in ITEMS:
        raise UsageError(f"expected one of {', '.join(ITEMS)} or all, got {item}")
    return [item]


def _check(work, chosen):
    """What would fail late fails now: a missing extra, a missing corpus, a wrong setting. Then how long all of it takes."""
    from rnnsearch_tf.evaluation.plots import require_plots

    require_plots()
    untrained = work.untrained([name for item in chosen for name in ITEMS[item].models])
    for name, seed in untrained:
        work.config(name, seed)
    _say(f"{len(untrained)} models to train, about {work.minutes(untrained)} minutes of one core in all; then some minutes to measure each")


def _list(work):
    with Output() as output:
        for name, item in ITEMS.items():
            minutes = work.minutes(work.untrained(item.models))
            output.write([f"{name:<24}{f'{minutes} min' if minutes else 'trained':>9}  {item.shows}"])


def _say(text):
    print(text, file=sys.stderr, flush=True)
