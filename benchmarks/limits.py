"""Memory and time of the heaviest requests that an exported model accepts, run to their end.

    python benchmarks/limits.py [--export DIR] [--signatures translate_aligned translate_nbest]

Exports `tatoeba-en-fr` (or takes the folder of its versions, --export). A process of its own for
each signature answers one request of as many rows as the signature takes, each longer than the 200
tokens that are read, and with a translation that does not end. It is neither a server nor has it a
deadline: what is measured is the graph.
"""

import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import measuring

ROWS = {"translate_aligned": 64, "translate_nbest": 512, "translate": 512}
LONG = "book " * 250


def answer(folder, signature):
    """{seconds, bytes of the answer, MiB of memory before and at the peak} of a request."""
    from rnnsearch_tf.export.session import SessionModel

    model = SessionModel(folder)
    model(signature, text=["a"])
    before = peak()
    start = time.perf_counter()
    outputs = model(signature, text=[LONG] * ROWS[signature])
    seconds = time.perf_counter() - start
    size = sum(
        sum(map(len, array.ravel())) if array.dtype == object else array.nbytes
        for array in outputs.values()
    )
    return dict(seconds=seconds, size=int(size), before=before, peak=peak())


def peak():
    """Most resident memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    if sys.argv[1:2] == ["--answer"]:
        print(json.dumps(answer(*sys.argv[2:])))
        return
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument("--export", type=pathlib.Path, help="folder of the versions of a model")
    parser.add_argument("--signatures", nargs="+", choices=ROWS, default=list(ROWS)[:2])
    arguments = measuring.parse(parser)
    heads = ["signature", "rows", "seconds", "answer, bytes", "memory before, MiB", "peak, MiB"]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        export = arguments.export or pathlib.Path(place)
        if not arguments.export:
            measuring.say("exporting")
            command = [sys.executable, "-m", "rnnsearch_tf", "export", "--model", "tatoeba-en-fr"]
            subprocess.run([*command, "--output", str(export)], check=True, stdout=sys.stderr)
        versions = (path for path in export.iterdir() if path.name.isdecimal())
        newest = max(versions, key=lambda path: int(path.name))
        for signature in arguments.signatures:
            measuring.say(signature)
            command = [sys.executable, __file__, "--answer", str(newest), signature]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found = json.loads(done.stdout)
            rows.append([signature, ROWS[signature], *found.values()])


if __name__ == "__main__":
    main()
