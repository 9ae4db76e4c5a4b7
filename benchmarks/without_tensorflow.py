"""Speed of beam search: TensorFlow in float32, ONNX Runtime in float32 and int8.

    python benchmarks/without_tensorflow.py [--sizes SMALL PAPER] [--beams 1 5 12] [--batches 1 64]
    python benchmarks/without_tensorflow.py --model RUN --text FILE

Ids go in, n-best lists come out; text handling is not measured. Sizes have random weights, random
sentences and outputs of one fixed length. --model searches the sentences of FILE. The ways take
turns, batch by batch, with --threads each. A ratio above 1 is faster than TensorFlow.
"""

import pathlib
import tempfile

import measuring
import numpy as np
from measuring import median

WAYS = "TensorFlow float32", "ONNX Runtime float32", "ONNX Runtime int8"


def sessions(model, config, threads):
    """{way: function of source ids} of the two ONNX files."""
    import onnxruntime

    from rnnsearch_tf.extras.onnx.graph import search_onnx
    from rnnsearch_tf.extras.onnx.weights import store_weights

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    found = {}
    proto = search_onnx(model, config)
    for way, storage in zip(WAYS[1:], ("float32", "int8")):
        store_weights(proto, storage)
        session = onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        found[way] = lambda ids, session=session: session.run(None, {"source_ids": ids})
    return found


def all_ways(model, config, threads):
    """{way: function of source ids} of all WAYS."""
    from rnnsearch_tf.search.graphs import search_graph

    graph = search_graph(model, config)
    return {WAYS[0]: lambda ids: graph(ids).ids.numpy(), **sessions(model, config, threads)}


def measure(model, config, batches, arguments):
    """Rows: batch size, then for each way the sentences a second and its ratio to the first."""
    ways = all_ways(model, config, arguments.threads)
    for ids in batches:
        seconds = measuring.in_turns(
            {way: (lambda call=call: call(ids)) for way, call in ways.items()}, arguments.repeats
        )
        speeds = [len(ids) / median(seconds[way]) for way in WAYS]
        yield [len(ids), *speeds, *(speed / speeds[0] for speed in speeds[1:])]


def spread(rows, size):
    """A batch of `size` of the sorted rows, of all lengths; the middle one for size 1."""
    size = min(size, len(rows))
    return [rows[(2 * k + 1) * len(rows) // (2 * size)] for k in range(size)]


def models(arguments, place):
    """(name, model, options of the search section, function of a batch size → source ids)."""
    import sizes

    from rnnsearch_tf.files.reading import read_lines
    from rnnsearch_tf.text.vocabulary import padded
    from rnnsearch_tf.translation import Translator

    if arguments.model:
        translator = Translator.load(arguments.model, ["training.precision=float32"])
        lines = [line for line in read_lines(arguments.text) if line.strip()]
        rows = translator.source_text.encode(lines[: max(arguments.batches)]).to_list()
        rows.sort(key=len)
        yield str(arguments.model), translator, {}, lambda size: padded(spread(rows, size))
        return
    for name in arguments.sizes:
        size = sizes.SIZES[name]
        run = sizes.write_run(pathlib.Path(place) / name, sizes.configuration(size))
        ids = sizes.synthetic_batch(size, np.random.default_rng(1))["source_ids"]
        search = sizes.fixed_length(size.source_length, size.target_length)
        yield name, Translator.load(run), search, lambda count, ids=ids: ids[:count]


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--model", help="a RUN, or the name of a shipped one, in place of sizes")
    parser.add_argument("--text", help="sentences of the RUN's source language; needs --model")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5, 12])
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    arguments = measuring.parse(parser)
    if bool(arguments.model) != bool(arguments.text):
        parser.error("--model and --text go together")
    if arguments.quick:
        arguments.sizes, arguments.beams, arguments.batches = ["TINY"], [2], [2]
    heads = ["model", "beam", "batch", *(f"{way}, sentences/s" for way in WAYS)]
    heads += [f"{way}, ratio" for way in WAYS[1:]]
    with tempfile.TemporaryDirectory() as place, measuring.printed(heads) as rows:
        for name, translator, search, batch in models(arguments, place):
            for beam in arguments.beams:
                measuring.say(f"{name} beam {beam}")
                config = translator.search_config(**search, beam_size=beam, nbest=1)
                batches = [batch(count) for count in arguments.batches]
                for row in measure(translator.model, config, batches, arguments):
                    rows.append([name, beam, *row])


if __name__ == "__main__":
    main()
