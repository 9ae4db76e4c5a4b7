"""Train tiny models with GroundHog and record what it computes with them.

The program: github.com/lisa-groundhog/GroundHog, commit 4d2433b (14 September 2015, the last one):
the one of the paper. Python 2.7.18 with numpy 1.11.3, scipy 0.19.1 and Theano 0.8.2, on the CPU:

    virtualenv -p python2.7 ENV
    ENV/bin/pip install numpy==1.11.3 scipy==0.19.1 Theano==0.8.2 six
    git clone https://github.com/lisa-groundhog/GroundHog CHECKOUT
    python3 make_text.py --multi30k MULTI30K --output TEXT
    export THEANO_FLAGS=device=cpu,floatX=float32,optimizer=fast_compile,on_unused_input=ignore
    ENV/bin/python make_groundhog.py \\
        search --program CHECKOUT --text TEXT --output groundhog-search

The models (the first argument): search (prototype_search_state, RNNsearch) and encdec
(prototype_encdec_state, RNNencdec), with smaller sizes. The model is made by RNNEncoderDecoder with
its own initialization and trained by its own SGD_adadelta; its main loop is not used, because the
text is read from files of words instead of PyTables (a module this script replaces by an empty
one). Vocabularies are made by its preprocess.py and invert-dict.py.

What OUTPUT receives: search_model.npz or encdec_model.npz (saved by the model's own save),
search_state.pkl or encdec_state.pkl (the dictionary of options, pickled as the program does),
vocab.en.pkl, vocab.fr.pkl (word to id) and ivocab.en.pkl, ivocab.fr.pkl (id to word) as the
program wrote them; source.txt and target.txt; and

outputs.npz, for sentence number i:
    source_i, target_i    ids, the end symbol included
    logprob_i             log-probability of each target word, from create_next_probs_computer, step
                          by step; their sum agrees with create_scorer's. (The probabilities of
                          create_probs_computer are p + 1 - 1, in float32: small ones are lost.)
    attention_i           target words x source words, end symbols included (search only)
    log_softmax_i         the whole distribution at each position, from create_next_probs_computer,
                          for the first three sentences
    encoder_i, initial_i  representation and first decoder state, for the first three sentences
    beam_i_0 to beam_i_4  ids of the translations, best first, the end symbol included
    beam_cost_i           their sums of -log-probability

beam5.txt: the same translations as words: sentence ||| words ||| cost. They come from
sample.BeamSearch with 5 samples as sample.py calls it: minlen is half the length of the source
(its end symbol counted, rounded down): no end symbol before that many words; at most three times
as many words as the source has; no normalisation; if nothing ends, again with twice the beam.

Run by Python 2.
"""

from __future__ import print_function

import argparse
import cPickle
import logging
import os
import runpy
import shutil
import sys
import types

import numpy

SIZES = dict(dim=10, rank_n_approx=6, bs=20)
LARGE = dict(dim=64, rank_n_approx=64, bs=40)
WORDS = 84  # in each vocabulary, with the two special words


def run_script(path, *arguments):
    before, sys.argv = sys.argv, [path] + list(arguments)
    try:
        runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = before


def make_vocabularies(program, size):
    folder = os.path.join(program, "experiments", "nmt", "preprocess")
    for language in ("en", "fr"):
        vocabulary = "vocab.%s.pkl" % language
        counted = ["-d", vocabulary, "-v", str(size), "-b", "binarized.%s.pkl" % language, "-p"]
        run_script(os.path.join(folder, "preprocess.py"), *(counted + ["train." + language]))
        run_script(os.path.join(folder, "invert-dict.py"), vocabulary, "i" + vocabulary)


class Batches(object):
    """The training text, over and over, as the program's iterator gives it."""

    def __init__(self, pairs, size):
        self.pairs, self.size, self.place = pairs, size, 0

    def pack(self, lines):
        length = max(map(len, lines))
        ids = numpy.zeros((length, len(lines)), "int64")
        mask = numpy.zeros((length, len(lines)), "float32")
        for column, line in enumerate(lines):
            ids[: len(line), column] = line
            mask[: len(line), column] = 1
        return ids, mask

    def next(self):
        if self.place + self.size > len(self.pairs):
            self.place = 0
        pairs = self.pairs[self.place : self.place + self.size]
        self.place += self.size
        x, x_mask = self.pack([source for source, _ in pairs])
        y, y_mask = self.pack([target for _, target in pairs])
        return dict(x=x, x_mask=x_mask, y=y, y_mask=y_mask)


def read(nmt, state, name, side):
    with open(state["word_indx" if side == "source" else "word_indx_trgt"], "rb") as file:
        words = cPickle.load(file)
    unknown, end = state["unk_sym_" + side], state["null_sym_" + side]
    with open(name) as file:
        return [
            nmt.parse_input(state, words, line.strip(), unk_sym=unknown, null_sym=end)[0]
            for line in file
        ]


def train(nmt, state, updates):
    from groundhog.trainer.SGD_adadelta import SGD

    model = nmt.RNNEncoderDecoder(state, numpy.random.RandomState(state["seed"]))
    model.build()
    whole = model.create_lm_model()
    pairs = zip(read(nmt, state, "train.en", "source"), read(nmt, state, "train.fr", "target"))
    trainer = SGD(whole, state, Batches(pairs, state["bs"]))
    for _ in range(updates):
        trainer()
    whole.save(state["prefix"] + "model.npz")
    with open(state["prefix"] + "state.pkl", "w") as file:
        cPickle.dump(state, file)


def record(nmt, state, sources, targets, names):
    import sample

    model = nmt.RNNEncoderDecoder(
        state, numpy.random.RandomState(1), skip_init=True, compute_alignment=True
    )
    model.build()
    whole = model.create_lm_model()
    whole.load(state["prefix"] + "model.npz")
    for parameter in sorted(whole.params, key=lambda parameter: parameter.name):
        print(parameter.name, parameter.get_value().shape)
    probabilities = model.create_probs_computer(return_alignment=True)
    scorer = model.create_scorer()
    search = sample.BeamSearch(model)
    search.compile()
    record, beam, total = {}, [], 0.0
    for i, (source, target) in enumerate(zip(sources, targets)):
        _, alignment = probabilities(source, target)
        record["source_%d" % i], record["target_%d" % i] = source, target
        if state["search"]:
            record["attention_%d" % i] = alignment[:, :, 0]
        context = search.comp_repr(source)[0]
        states = [value[None, :] for value in search.comp_init_states(context)]
        if i < 3:
            record["encoder_%d" % i], record["initial_%d" % i] = context, states[0][0]
        previous, logs = numpy.zeros(1, "int64"), []
        for place, word in enumerate(target):
            logs.append(numpy.log(search.comp_next_probs(context, place, previous, *states)[0][0]))
            previous = numpy.array([word])
            states = search.comp_next_states(context, place, previous, *states)
        record["logprob_%d" % i] = numpy.array([log[word] for log, word in zip(logs, target)])
        total += record["logprob_%d" % i].sum()
        difference = abs(record["logprob_%d" % i].sum() - scorer(source, target)[0][0])
        assert difference < 1e-3, (i, difference)
        if i < 3:
            record["log_softmax_%d" % i] = numpy.array(logs)
        found, costs = search.search(source, 5, ignore_unk=False, minlen=len(source) // 2)
        record["beam_cost_%d" % i] = costs
        for place, words in enumerate(found):
            record["beam_%d_%d" % (i, place)] = numpy.array(words)
            words = sample.indices_to_words(names, words)
            beam.append("%d ||| %s ||| %.6f\n" % (i, " ".join(words), costs[place]))
    for name, value in record.items():
        if value.dtype == numpy.int64:
            record[name] = value.astype(numpy.int32)
    numpy.savez_compressed("outputs.npz", **record)
    with open("beam5.txt", "wb") as file:
        file.writelines(beam)
    print("mean log-probability", total / sum(map(len, targets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=("encdec", "search"))
    parser.add_argument("--program", required=True, type=os.path.abspath)
    parser.add_argument("--text", required=True, type=os.path.abspath)
    parser.add_argument("--output", required=True, type=os.path.abspath)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    logging.basicConfig(level="WARNING")
    sys.modules["tables"] = types.ModuleType("tables")
    sys.path[:0] = [arguments.program, os.path.join(arguments.program, "experiments", "nmt")]
    from experiments import nmt

    work = arguments.output + ".work"
    if not os.path.isdir(work):
        os.makedirs(work)
    os.chdir(work)
    for name in os.listdir(arguments.text):
        shutil.copy(os.path.join(arguments.text, name), name)
    state = nmt.prototype_search_state() if arguments.model == "search" else None
    state = state or nmt.prototype_encdec_state()
    size = 2000 if arguments.large else WORDS
    state.update(LARGE if arguments.large else SIZES)
    state.update(
        source=["train.en"],
        target=["train.fr"],
        indx_word="ivocab.en.pkl",
        indx_word_target="ivocab.fr.pkl",
        word_indx="vocab.en.pkl",
        word_indx_trgt="vocab.fr.pkl",
        null_sym_source=size,
        null_sym_target=size,
        n_sym_source=size + 1,
        n_sym_target=size + 1,
        trainFreq=100,
        seqlen=50,
    )
    prefix = state["prefix"]
    if not os.path.exists(prefix + "state.pkl"):
        make_vocabularies(arguments.program, size)
        train(nmt, state, 600)
    with open(prefix + "state.pkl") as file:
        state = cPickle.load(file)
    with open("ivocab.fr.pkl", "rb") as file:
        names = cPickle.load(file)
    names[state["null_sym_target"]] = "<eol>"
    sources, targets = (
        read(nmt, state, "source.txt", "source"),
        read(nmt, state, "target.txt", "target"),
    )
    record(nmt, state, sources, targets, names)

    if not os.path.isdir(arguments.output):
        os.makedirs(arguments.output)
    for name in [prefix + "model.npz", prefix + "state.pkl", "outputs.npz", "beam5.txt"]:
        shutil.copy(name, arguments.output)
    for (
        name
    ) in "vocab.en.pkl vocab.fr.pkl ivocab.en.pkl ivocab.fr.pkl source.txt target.txt".split():
        shutil.copy(name, arguments.output)


if __name__ == "__main__":
    main()
