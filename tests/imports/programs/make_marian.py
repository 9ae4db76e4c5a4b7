"""Train tiny models with Marian and record what it computes with them; or let it read Nematus's.

The program: Marian 1.12.42 from the PyPI package pymarian (Python 3.11), on the CPU:

    python3.11 -m venv ENV
    ENV/bin/pip install --no-deps pymarian==1.12.42
    ENV/bin/pip install numpy pyyaml
    python3 make_text.py --multi30k MULTI30K --output TEXT
    ENV/bin/python make_marian.py s2s --text TEXT --output fixtures/marian-s2s
    ENV/bin/python make_marian.py --nematus fixtures/nematus-plain

The models (the first argument): see MODELS; what is not named there is the program's default.
Training, scoring and translating are the program's own commands (pymarian train, score, decode).

What OUTPUT receives: model.npz (the options are inside, as special:model.yml), model.npz.yml,
model.npz.decoder.yml and the vocabularies as the program wrote them; source.txt and target.txt;
and

outputs.npz, for sentence number i:
    source_i, target_i    ids, the end symbol (0) included
    logprob_i             log-probability of each target word (score --word-scores; five decimals)
    attention_i           target words x source words, the end symbols included (score
                          --alignment soft; six digits)
    cost                  of all sentences, the sum of -log-probability (score)
    beam_i_0 to beam_i_4  ids of the translations, best first, the end symbol included
    beam_attention_i      attention of the best
    beam_cost_i           their sums of -log-probability

beam5.txt: the same translations as words: sentence ||| words ||| cost. They come from decode with
beam-size 5, normalize 0 (no division by length), max-length-factor 10 and allow-unk.

With --nematus, a folder that make_nematus.py wrote gets marian.npz and marian-beam5.txt: the same
from Marian's reading of Nematus's model (type nematus). Marian cannot read zipped_params, the
pickle that Nematus adds when it ends: it gets a copy of the file without it.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import yaml

DEEP = (
    "--enc-depth 3 --dec-depth 2 --enc-type bi-unidirectional --enc-cell-depth 2 "
    "--dec-cell-base-depth 4 --dec-cell-high-depth 2 --skip --layer-normalization "
    "--tied-embeddings-all"
)
MODELS = {
    "amun": "--type amun",
    "nematus": "--type nematus --enc-cell gru-nematus --dec-cell gru-nematus --enc-cell-depth 2 "
    "--dec-cell-base-depth 3 --layer-normalization --tied-embeddings",
    "s2s": "--type s2s --layer-normalization --skip --enc-cell-depth 2",
    "s2s-plain": "--type s2s --dec-cell-base-depth 4 --tied-embeddings-all",
    "s2s-lstm": "--type s2s --enc-cell lstm --dec-cell lstm --enc-type alternating --enc-depth 2 "
    "--dropout-rnn 0.1 --dropout-src 0.1 --dropout-trg 0.1",
    "s2s-deep": "--type s2s " + DEEP,
}
QUIET = ["--cpu-threads", "1", "--quiet", "--workspace", "256"]


def marian(*command):
    command = [sys.executable, "-m", "pymarian", *map(str, command)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def train(name, large):
    shared = "--tied-embeddings-all" in MODELS[name]
    vocabularies = ["vocab.yml"] * 2 if shared else ["vocab.en.yml", "vocab.fr.yml"]
    sizes = "--dim-emb 64 --dim-rnn 64" if large else "--dim-emb 8 --dim-rnn 10"
    if large:
        sizes += f" --dim-vocabs {'3000 3000' if shared else '2000 2200'}"
    training = f"--mini-batch {40 if large else 20} --after-batches {500 if large else 250}"
    training += f" -l {0.002 if large else 0.01} --seed 20 --clip-norm 1 --max-length 80"
    training += " --valid-freq 100000 --save-freq 100000"
    command = f"train {MODELS[name]} {sizes} {training} -t train.en train.fr -m model.npz".split()
    marian(*command, "-v", *vocabularies, *QUIET)
    return vocabularies


def numbers(text):
    return np.array([[float(x) for x in row.split(",")] for row in text.split()], np.float32)


def words_of(file):
    words = yaml.load(pathlib.Path(file).read_text(), yaml.BaseLoader)  # "on" is no Boolean here
    return {word: int(number) for word, number in words.items()}


def ids_of(words, vocabulary, size):
    known = [vocabulary.get(word, 1) for word in words]
    return np.array([word if word < size else 1 for word in known] + [0])


def record(model, files, vocabularies, sizes, options=()):
    shared = ["-m", model, "-v", *files, *QUIET, *options]
    scored = marian(
        "score", *shared, "-t", "source.txt", "target.txt", "--word-scores", "--alignment", "soft"
    )
    found = marian(
        *["decode", *shared, "-i", "source.txt", "-b", 5, "--n-best", "-n", 0, "--allow-unk"],
        *["--max-length-factor", 10, "--word-scores", "--alignment", "soft"],
    )
    record, beam, costs = {}, [], []
    lines = [pathlib.Path(name).read_text().splitlines() for name in ("source.txt", "target.txt")]
    for i, (source, target, line) in enumerate(zip(*lines, scored.splitlines(), strict=True)):
        total, attention, words = line.split(" ||| ")
        costs.append(-float(total))
        record[f"source_{i}"] = ids_of(source.split(), vocabularies[0], sizes[0])
        record[f"target_{i}"] = ids_of(target.split(), vocabularies[1], sizes[1])
        record[f"logprob_{i}"] = np.array(words.split()[1:], np.float32)
        record[f"attention_{i}"] = numbers(attention)
        shape = len(record[f"target_{i}"]), len(record[f"source_{i}"])
        assert record[f"attention_{i}"].shape == shape, (record[f"attention_{i}"].shape, shape)
        assert record[f"logprob_{i}"].shape == shape[:1]
        assert abs(record[f"logprob_{i}"].sum() + costs[i]) < 1e-3
    record["cost"] = np.array(costs, np.float32)
    places = [0] * len(costs)
    for line in found.splitlines():
        number, words, attention, _, _, total = line.split(" ||| ")
        i = int(number)
        place, places[i] = places[i], places[i] + 1
        record[f"beam_{i}_{place}"] = ids_of(words.split(), vocabularies[1], sizes[1])
        if place == 0:
            record[f"beam_attention_{i}"] = numbers(attention)
        record.setdefault(f"beam_cost_{i}", []).append(-float(total))
        beam.append(f"{i} ||| {words} ||| {-float(total):.6f}\n")
    count = sum(len(record[f"target_{i}"]) for i in range(len(costs)))
    print("mean log-probability", -sum(costs) / count)
    return record, "".join(beam)


def read_nematus(folder):
    os.chdir(folder)
    options = json.loads(pathlib.Path("model.npz.json").read_text())
    saved = np.load("model.npz")
    kept = {name: saved[name] for name in saved.files if name != "zipped_params"}
    np.savez("for_marian.npz", **kept)
    sizes = options["n_words_src"], options["n_words"]
    arguments = f"--type nematus --dim-vocabs {sizes[0]} {sizes[1]} --dim-emb {options['dim_word']}"
    arguments += f" --dim-rnn {options['dim']} --enc-cell gru-nematus --dec-cell gru-nematus"
    arguments += f" --enc-cell-depth {options.get('enc_recurrence_transition_depth', 1)}"
    arguments += f" --dec-cell-base-depth {options.get('dec_base_recurrence_transition_depth', 2)}"
    for name, ours in (
        ("layer_normalisation", " --layer-normalization"),
        ("tie_decoder_embeddings", " --tied-embeddings"),
    ):
        arguments += ours if options.get(name) else ""
    files = options["dictionaries"]
    vocabularies = [json.loads(pathlib.Path(file).read_text()) for file in files]
    try:
        found, beam = record("for_marian.npz", files, vocabularies, sizes, arguments.split())
    finally:
        pathlib.Path("for_marian.npz").unlink()
    np.savez_compressed("marian.npz", **found)
    pathlib.Path("marian-beam5.txt").write_text(beam)
    theirs = np.load("outputs.npz")
    worst = [
        max(
            abs(theirs[f"{what}_{i}"] - found[f"{what}_{i}"]).max()
            for i in range(len(found["cost"]))
        )
        for what in ("logprob", "attention")
    ]
    print("largest difference to Nematus: log-probability %g, attention %g" % tuple(worst))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(MODELS), nargs="?")
    parser.add_argument("--nematus", type=pathlib.Path)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    if arguments.nematus:
        return read_nematus(arguments.nematus)
    output, text = arguments.output.resolve(), arguments.text.resolve()
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    for path in text.iterdir():
        shutil.copy(path, path.name)
    files = train(arguments.model, arguments.large)
    sizes = yaml.safe_load(pathlib.Path("model.npz.yml").read_text())["dim-vocabs"]
    vocabularies = [words_of(file) for file in files]
    found, beam = record("model.npz", files, vocabularies, sizes)
    np.savez_compressed("outputs.npz", **found)
    pathlib.Path("beam5.txt").write_text(beam)
    output.mkdir(parents=True, exist_ok=True)
    written = ["model.npz", "model.npz.yml", "model.npz.decoder.yml", *dict.fromkeys(files)]
    for name in [*written, "source.txt", "target.txt", "outputs.npz", "beam5.txt"]:
        shutil.copy(name, output)


if __name__ == "__main__":
    main()
