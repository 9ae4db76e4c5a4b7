"""An imported model of the size of the systems of WMT 2016: sentences a second with and without a
shortlist, memory, and the size of its exports.

    python benchmarks/imported.py [--beams 5 12] [--batches 1 64]

A model.npz of Nematus with random weights (embeddings 500, hidden 1,024, 85,000 words) is written,
imported and exported. Every output has 25 words; words of sentence and shortlist are drawn as in
shortlist.py.
"""

import functools
import json
import pathlib
import tempfile

import measuring
from measuring import median

LENGTH = 25


def write_model(folder, embedding_size, hidden_size, words):
    """Files of a model of Nematus; returns their paths in the order of `rnnsearch import`."""
    import numpy as np

    m, n, h = embedding_size, hidden_size, 2 * hidden_size
    shapes = {"Wemb": (words, m), "Wemb_dec": (words, m)}
    for prefix in ("encoder_", "encoder_r_", "decoder_"):
        shapes |= {f"{prefix}W": (m, 2 * n), f"{prefix}Wx": (m, n), f"{prefix}b": (2 * n,)}
        shapes |= {f"{prefix}U": (n, 2 * n), f"{prefix}Ux": (n, n), f"{prefix}bx": (n,)}
    shapes |= {"decoder_U_nl": (n, 2 * n), "decoder_Ux_nl": (n, n), "decoder_b_nl": (2 * n,)}
    shapes |= {"decoder_bx_nl": (n,), "decoder_Wc": (h, 2 * n), "decoder_Wcx": (h, n)}
    shapes |= {"decoder_W_comb_att": (n, h), "decoder_Wc_att": (h, h), "decoder_b_att": (h,)}
    shapes |= {"decoder_U_att": (h, 1), "ff_state_W": (h, n), "ff_state_b": (n,)}
    for part, rows in (("lstm", n), ("prev", m), ("ctx", h)):
        shapes |= {f"ff_logit_{part}_W": (rows, m), f"ff_logit_{part}_b": (m,)}
    shapes |= {"ff_logit_W": (m, words), "ff_logit_b": (words,)}
    generator = np.random.default_rng(1)
    arrays = {
        name: generator.standard_normal(shape, dtype=np.float32) * np.float32(0.05)
        for name, shape in shapes.items()
    }
    files = [
        folder / name for name in ("model.npz", "model.npz.json", "source.json", "target.json")
    ]
    np.savez(files[0], **arrays)
    options = dict(dim_word=m, dim=n, n_words_src=words, n_words=words, encoder="gru")
    files[1].write_text(json.dumps(options | {"decoder": "gru_cond"}))
    vocabulary = {"eos": 0, "UNK": 1} | {f"word{number}": number for number in range(2, words)}
    for path in files[2:]:
        path.write_text(json.dumps(vocabulary))
    return files


def size_of(folder):
    """Megabytes of the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def speeds(model, beams, batches, repeats):
    """Rows: beam, sentences in a batch, sentences a second among all words and among likely ones,
    their ratio.
    """
    import numpy as np

    import sizes
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.search.graphs import search_graph
    from rnnsearch_tf.search.shortlist import Shortlist
    from shortlist import FREQUENT, TRANSLATIONS, zipf

    generator = np.random.default_rng(2)
    words = model.target_vocabulary_size
    likely = Shortlist(zipf(generator, words, [words, TRANSLATIONS]), FREQUENT, words)
    for beam in beams:
        values = {"beam_size": beam, **sizes.fixed_length(LENGTH, LENGTH)}
        config = load_config(values={"search": values}).search
        graphs = [search_graph(model, config), search_graph(model, config, 1, likely)]
        for batch_size in batches:
            ids = zipf(generator, words, [batch_size, LENGTH])
            ids[:, -1] = 1
            tasks = {
                number: lambda graph=graph: [value.numpy() for value in graph(ids)]
                for number, graph in enumerate(graphs)
            }
            times = measuring.in_turns(tasks, repeats)
            ratio = median(a / b for a, b in zip(*times.values()))
            rates = [batch_size / median(values) for values in times.values()]
            yield [beam, batch_size, *rates, ratio]


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--beams", type=int, nargs="+", default=[5, 12], help="(%(default)s)")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="(%(default)s)")
    arguments = measuring.parse(parser)
    shape = (6, 8, 2_000) if arguments.quick else (500, 1024, 85_000)
    if arguments.quick:
        arguments.beams, arguments.batches = [2], [3]
    import time

    from rnnsearch_tf.export.graph_export import export_graph
    from rnnsearch_tf.export.writer import export_model
    from rnnsearch_tf.extras.importing.importer import import_model
    from rnnsearch_tf.extras.onnx.writer import ONNX

    export_onnx = functools.partial(export_graph, ONNX)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = write_model(folder, *shape)
        start = time.perf_counter()
        translator, found = import_model("nematus", files, folder / "run")
        seconds = time.perf_counter() - start
        print("\n".join(found), flush=True)
        heads = ["beam", "batch", "sentences/s", "with a shortlist", "ratio"]
        with measuring.printed(heads) as rows:
            for row in speeds(
                translator.model, arguments.beams, arguments.batches, arguments.repeats
            ):
                rows.append(row)
        print(f"Importing took {seconds:.1f} s; peak memory {measuring.peak_memory():.2f} GB.\n")
        kinds = {
            "RUN": folder / "run",
            "SavedModel, float32": _written(export_model, folder, "float32", []),
            "SavedModel, int8": _written(export_model, folder, "int8", ["weights=int8"]),
            "ONNX, float32": _written(export_onnx, folder, "onnx", []),
            "ONNX, int8": _written(export_onnx, folder, "onnx-int8", ["weights=int8"]),
        }
        print(measuring.table(["", "MB"], [[kind, size_of(path)] for kind, path in kinds.items()]))


def _written(export, folder, name, settings):
    """The folder of an export of the RUN."""
    measuring.say(f"export: {name}")
    export([folder / "run"], folder / name, None, None, settings, "probabilities")
    return folder / name


if __name__ == "__main__":
    main()
