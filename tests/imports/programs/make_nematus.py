"""Train tiny models with Nematus in its Theano form and record what it computes with them.

The program: github.com/EdinburghNLP/nematus, in two states of its history:
    2016: commit ca7b764 (1 November 2016), the last one in which dropout scales the network at
          test time; its options have no model_version;
    2018: commit 5727727 (tag v0.2.1, branch theano), the last one with Theano.
Python 2.7.18 with numpy 1.16.6, scipy 1.2.3 and Theano 1.0.5, on the CPU:

    virtualenv -p python2.7 ENV
    ENV/bin/pip install numpy==1.16.6 scipy==1.2.3 Theano==1.0.5
    git clone https://github.com/EdinburghNLP/nematus CHECKOUT; git -C CHECKOUT checkout ca7b764
    python3 make_text.py --multi30k MULTI30K --output TEXT --pieces
    export THEANO_FLAGS=device=cpu,floatX=float32,optimizer=fast_compile
    ENV/bin/python make_nematus.py plain \\
        --program CHECKOUT --text TEXT --output fixtures/nematus-plain

The models (the first argument): see MODELS. Each is trained by the program's own nmt.train, on
dictionaries made by its data/build_dictionary.py. The dictionaries have more words than n_words
allows, so that some words of them are unknown words to the model.

What OUTPUT receives: model.npz and model.npz.json (weights and options) and the two dictionaries,
as the program wrote them (with --large, too); source.txt and target.txt; and

outputs.npz, for sentence number i:
    source_i, target_i    ids, the end symbol (0) included
    logprob_i             log-probability of each target word, from build_sampler's f_next
    attention_i           target words x source words (the end symbols included)
    log_softmax_i         the whole distribution at each position, for the first three sentences
    encoder_i, initial_i  annotations and first decoder state, for the first three sentences
    cost                  of all sentences, from build_model's graph (what score.py prints): the
                          sum of -log-probability, no normalisation
    beam_i_0 to beam_i_4   ids of the five translations, best first, the end symbol included
    beam_attention_i      the attention of the best
    beam_cost_i           their sums of -log-probability

beam5.txt: the same translations as words: sentence ||| words ||| cost. They come from gen_sample
with k=5, maxlen=50, no normalisation by length: a finished hypothesis takes one place of the beam
away, and nothing is ever dropped for being worse than a finished one.

Run by Python 2.
"""

from __future__ import print_function

import argparse
import inspect
import io
import json
import os
import shutil
import subprocess
import sys
import types

import numpy

SIZES = dict(dim_word=8, dim=10, batch_size=20, finish_after=250, lrate=0.01)
LARGE = dict(dim_word=64, dim=64, batch_size=40, finish_after=200, lrate=0.003)
DROPOUT = dict(use_dropout=True, dropout_embedding=0.1, dropout_hidden=0.3)
WMT17 = dict(
    layer_normalisation=True,
    tie_decoder_embeddings=True,
    enc_recurrence_transition_depth=2,
    dec_base_recurrence_transition_depth=3,
)
MODELS = {
    # 2016 state of the program
    "plain": dict(finish_after=600, lrate=0.005),
    "dropout-2016": dict(DROPOUT, dropout_source=0.1, dropout_target=0.2),
    # 2018 state
    "wmt17": WMT17,
    "dropout-2018": dict(DROPOUT),
    "deep": dict(
        enc_depth=3,
        enc_depth_bidirectional=2,
        dec_depth=2,
        dec_deep_context=True,
        dec_high_recurrence_transition_depth=2,
        tie_decoder_embeddings=True,
    ),
}


def train(nmt, program, text, options):
    for name in ("train.en", "train.fr", "valid.en", "valid.fr"):
        shutil.copy(os.path.join(text, name), name)
    for language in ("en", "fr"):
        script = os.path.join(program, "data", "build_dictionary.py")
        subprocess.check_call([sys.executable, script, "train." + language])
        os.rename("train.%s.json" % language, "vocab.%s.json" % language)
    numpy.random.seed(20)
    accepted = inspect.getargspec(nmt.train).args
    settings = dict(
        saveto="model.npz",
        datasets=["train.en", "train.fr"],
        valid_datasets=["valid.en", "valid.fr"],
        dictionaries=["vocab.en.json", "vocab.fr.json"],
        maxlen=50,
        optimizer="adam",
        clip_c=1.0,
        dispFreq=100,
        validFreq=10000,
        sampleFreq=10000,
        saveFreq=options["finish_after"],
        shuffle_each_epoch=False,
        reload_=False,
    )
    settings.update(options)
    unknown = set(settings) - set(accepted)
    if unknown:
        raise SystemExit("this state of the program has no option %s" % sorted(unknown))
    nmt.train(**settings)


def ids_of(path, dictionary, size):
    with io.open(dictionary, encoding="utf-8") as file:
        words = json.load(file)
    with io.open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    known = {word: number for word, number in words.items() if number < size}
    names = {number: word for word, number in words.items()}
    return [[known.get(word, 1) for word in line] + [0] for line in lines], names


def load(theano_util, nmt, options):
    if "model_version" in options:
        saved = numpy.load("model.npz").files
        start = dict.fromkeys([name for name in saved if not name.startswith("adam_")], 0)
    else:
        start = nmt.init_params(options)
    return theano_util.init_theano_params(theano_util.load_params("model.npz", start))


def record(nmt, theano_util, options, sources, targets, names):
    import theano
    from theano.sandbox.rng_mrg import MRG_RandomStreams

    params = load(theano_util, nmt, options)
    trng = MRG_RandomStreams(1234)
    noise = theano.shared(numpy.float32(0.0))
    f_init, f_next = nmt.build_sampler(params, options, noise, trng, return_alignment=True)
    _, noise, x, x_mask, y, y_mask, _, cost = nmt.build_model(params, options)
    noise.set_value(0.0)
    f_cost = theano.function([x, x_mask, y, y_mask], cost)

    record, beam = {}, []
    inner = [
        ([[word] for word in source[:-1]], target[:-1]) for source, target in zip(sources, targets)
    ]
    batch = nmt.prepare_data(
        [source for source, _ in inner],
        [target for _, target in inner],
        n_words_src=options["n_words_src"],
        n_words=options["n_words"],
    )
    record["cost"] = f_cost(*batch)
    for i, (source, target) in enumerate(zip(sources, targets)):
        x = numpy.array(source).reshape([1, len(source), 1])
        state, context = f_init(x)
        record["source_%d" % i] = numpy.array(source)
        record["target_%d" % i] = numpy.array(target)
        if i < 3:
            record["encoder_%d" % i] = context[:, 0]
            record["initial_%d" % i] = state
        previous, logs, attention = numpy.array([-1]), [], []
        for word in target:
            probabilities, _, state, weights = f_next(previous, context, state)
            logs.append(numpy.log(probabilities[0]))
            attention.append(weights[0])
            previous = numpy.array([word])
        record["logprob_%d" % i] = numpy.array([log[word] for log, word in zip(logs, target)])
        record["attention_%d" % i] = numpy.array(attention)
        if i < 3:
            record["log_softmax_%d" % i] = numpy.array(logs)
        difference = abs(record["logprob_%d" % i].sum() + record["cost"][i])
        assert difference < 1e-3, ("f_next and build_model differ", i, difference)

        found = nmt.gen_sample(
            [f_init],
            [f_next],
            x,
            trng=trng,
            k=5,
            maxlen=50,
            stochastic=False,
            return_alignment=True,
        )
        samples, costs, alignments = found[0], numpy.array(found[1]), found[3]
        order = costs.argsort(kind="mergesort")
        record["beam_cost_%d" % i] = costs[order]
        record["beam_attention_%d" % i] = numpy.array(alignments[order[0]])
        for place, number in enumerate(order):
            record["beam_%d_%d" % (i, place)] = numpy.array(samples[number])
            words = " ".join(names[word] for word in samples[number] if word)
            beam.append("%d ||| %s ||| %.6f\n" % (i, words, costs[number]))
    numpy.savez_compressed("outputs.npz", **record)
    with open("beam5.txt", "wb") as file:
        file.writelines(line.encode("utf-8") for line in beam)
    print("mean log-probability", -record["cost"].sum() / sum(map(len, targets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--text", required=True, type=os.path.abspath)
    parser.add_argument("--output", required=True, type=os.path.abspath)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.join(arguments.program, "nematus"))
    sys.modules["ipdb"] = types.ModuleType("ipdb")  # the 2016 state imports this debugger
    import nmt
    import theano_util

    work = arguments.output + ".work"
    if not os.path.isdir(work):
        os.makedirs(work)
    os.chdir(work)
    options = dict(MODELS[arguments.model])
    options = dict(options, **LARGE) if arguments.large else dict(SIZES, **options)
    options.update(
        dict(n_words_src=2000, n_words=2200)
        if arguments.large
        else dict(n_words_src=70, n_words=72)
    )
    if not os.path.exists("model.npz.json") or not os.path.exists("model.npz"):
        train(nmt, arguments.program, arguments.text, options)
    for name in ("source.txt", "target.txt"):
        shutil.copy(os.path.join(arguments.text, name), name)
    with open("model.npz.json") as file:
        options = json.load(file)
    if "model_version" in options:
        from compat import fill_options

        fill_options(options)
    sources, _ = ids_of("source.txt", "vocab.en.json", options["n_words_src"])
    targets, names = ids_of("target.txt", "vocab.fr.json", options["n_words"])
    record(nmt, theano_util, options, sources, targets, names)
    if not os.path.isdir(arguments.output):
        os.makedirs(arguments.output)
    written = "model.npz model.npz.json vocab.en.json vocab.fr.json source.txt target.txt"
    for name in written.split() + ["outputs.npz", "beam5.txt"]:
        shutil.copy(name, os.path.join(arguments.output, name))


if __name__ == "__main__":
    main()
