"""Train tiny models with TensorFlow's nmt and record what it computes with them.

The program: github.com/tensorflow/nmt, commit 0be8642 (12 February 2019, the last one), with
TensorFlow 1.15.5, Python 3.7, on the CPU:

    python3.7 -m venv ENV
    ENV/bin/pip install tensorflow==1.15.5 "protobuf<3.21"
    git clone https://github.com/tensorflow/nmt CHECKOUT
    python3 make_text.py --multi30k MULTI30K --output TEXT
    ENV/bin/python make_tensorflow_nmt.py scaled-luong \\
        --program CHECKOUT --text TEXT --output fixtures/tensorflow-nmt-scaled-luong

The models (the first argument): see MODELS. Training is the program's own (python -m nmt.nmt).
Vocabularies are written here, as the program's documentation asks: <unk>, <s> and </s> first.

What OUTPUT receives: translate.ckpt-N.index and .data-00000-of-00001, checkpoint and hparams
as the program wrote them, vocab.en and vocab.fr; source.txt and target.txt; and

outputs.npz, for sentence number i (each in a batch of its own), from the program's graphs in the
mode EVAL, with the alignment history, which it keeps only for greedy translation, switched on:
    source_i, target_i    ids; the target's with the end symbol (2)
    logprob_i             log-probability of each target word
    attention_i           target words x source words
    log_softmax_i         the whole distribution at each position, for the first three sentences
    encoder_i             encoder outputs, for the first three sentences
    beam_i_0 to beam_i_4  ids of the five translations, best first, the end symbol included
    beam_score_i          their log-probabilities

beam5.txt: the same translations as words: sentence ||| words ||| score. They come from the graph
in the mode INFER with infer_mode=beam_search, beam_width=5, length_penalty_weight=0 (no
normalisation), coverage_penalty_weight=0 and tgt_max_len_infer=50. The score of each is checked
against the forced one.

The graphs run without constant folding. With it, TensorFlow 1.15 turns the beam search's division
of a place among beams and words by the number of words into a product with its reciprocal. With
1,949 words, place 1,949 (word 0 of beam 1) then belongs to beam 0, as 1949 * (1 / 1949) is less
than 1 in float64: the search continues a hypothesis with the words of another one.
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig

MODELS = {
    "scaled-luong": "--num_layers=2 --attention=scaled_luong",
    "normed-bahdanau": "--num_layers=4 --encoder_type=bi --attention=normed_bahdanau "
    "--residual=true",
    "luong-gru": "--num_layers=2 --encoder_type=bi --attention=luong --unit_type=gru "
    "--pass_hidden_state=0 --output_attention=0",
    "bahdanau-enc4": "--num_encoder_layers=4 --num_decoder_layers=1 --encoder_type=bi "
    "--attention=bahdanau --forget_bias=0.5",
    "gnmt-v2": "--num_layers=4 --encoder_type=gnmt --attention=normed_bahdanau --residual=true "
    "--attention_architecture=gnmt_v2",
    "gnmt": "--num_layers=3 --encoder_type=gnmt --attention=scaled_luong "
    "--attention_architecture=gnmt",
    "gnmt-as-standard": "--num_layers=3 --encoder_type=gnmt --attention=normed_bahdanau "
    "--attention_architecture=standard",
}
SPECIAL = ["<unk>", "<s>", "</s>"]


def train(program, name, large):
    for language in ("en", "fr"):
        words = pathlib.Path("train." + language).read_text(encoding="utf-8").split()
        counts = collections.Counter(words)
        kept = [word for word, count in counts.most_common(2000) if count >= 3]
        text = "".join(word + "\n" for word in SPECIAL + kept)
        pathlib.Path("vocab." + language).write_text(text, encoding="utf-8")
    updates = (2000 if "gnmt" in name else 300) if large else 200
    options = (
        "--src=en --tgt=fr --vocab_prefix=vocab --train_prefix=train --dev_prefix=valid "
        "--test_prefix=valid --out_dir=run --optimizer=adam --dropout=0.1 --metrics=bleu "
        "--num_train_steps={0} --steps_per_stats=50 --steps_per_external_eval={0} "
        "--num_units={1} --batch_size={2} --learning_rate={3} --random_seed=20 --num_gpus=0 "
        "--num_buckets=1 --num_intra_threads=1 --num_inter_threads=1"
    ).format(updates, *((64, 32, 0.002) if large else (10, 20, 0.01)))
    if "architecture" not in MODELS[name]:
        options += " --attention_architecture=standard"
    command = [sys.executable, "-m", "nmt.nmt"] + options.split() + MODELS[name].split()
    subprocess.run(command, check=True, env=dict(os.environ, PYTHONPATH=str(program)))


def recorded(kind):
    class Recorded(kind):
        """The program's model, remembering what its decoder returns."""

        def _build_decoder(self, *arguments):
            self.decoded = super()._build_decoder(*arguments)
            return self.decoded

    return Recorded


class Session:
    """One of the program's graphs with the trained weights, fed one sentence at a time."""

    def __init__(self, hparams, mode):
        from nmt.attention_model import AttentionModel
        from nmt.gnmt_model import GNMTModel
        from nmt.utils import iterator_utils, vocab_utils
        from tensorflow.python.ops import lookup_ops

        gnmt = hparams.encoder_type == "gnmt" or "gnmt" in hparams.attention_architecture
        with tf.Graph().as_default() as graph:
            tables = vocab_utils.create_vocab_tables(
                hparams.src_vocab_file, hparams.tgt_vocab_file, False
            )
            words = lookup_ops.index_to_string_table_from_file(hparams.tgt_vocab_file)
            ids = [tf.compat.v1.placeholder(tf.int32, [1, None]) for _ in range(3)]
            lengths = [tf.compat.v1.placeholder(tf.int32, [1]) for _ in range(2)]
            iterator = iterator_utils.BatchedInput(None, *ids, *lengths)
            self.inputs = ids + lengths
            self.model = recorded(GNMTModel if gnmt else AttentionModel)(
                hparams, mode, iterator, *tables, reverse_target_vocab_table=words
            )
            config = tf.compat.v1.ConfigProto(allow_soft_placement=True)
            config.graph_options.rewrite_options.constant_folding = RewriterConfig.OFF
            self.session = tf.compat.v1.Session(graph=graph, config=config)
            self.session.run(tf.compat.v1.tables_initializer())
            self.model.saver.restore(self.session, tf.train.latest_checkpoint("run"))

    def run(self, source, target, outputs):
        start, end = SPECIAL.index("<s>"), SPECIAL.index("</s>")
        values = [source], [[start] + target], [target + [end]], [len(source)], [len(target) + 1]
        return self.session.run(outputs, dict(zip(self.inputs, values)))


def ids_of(path, words):
    known = {word: number for number, word in enumerate(words)}
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    return [[known.get(word, 0) for word in line.split()] for line in lines]


def record(hparams, source_words, target_words):
    wrapper = tf.contrib.seq2seq.AttentionWrapper
    tf.contrib.seq2seq.AttentionWrapper = lambda *args, **options: wrapper(
        *args, **dict(options, alignment_history=True)
    )
    keys = tf.contrib.learn.ModeKeys
    forced = Session(hparams, keys.EVAL)
    tf.contrib.seq2seq.AttentionWrapper = wrapper
    for name, value in dict(
        infer_mode="beam_search",
        beam_width=5,
        length_penalty_weight=0.0,
        coverage_penalty_weight=0.0,
        tgt_max_len_infer=50,
    ).items():
        hparams.set_hparam(name, value)
    search = Session(hparams, keys.INFER)

    logits, _, _, state = forced.model.decoded
    with forced.session.graph.as_default():
        logs = tf.nn.log_softmax(logits)
        state = state if hasattr(state, "alignment_history") else state[0]
        attention = state.alignment_history.stack()
    encoded = forced.model.encoder_outputs
    _, _, found, final = search.model.decoded

    result, beam, total, count = {}, [], 0.0, 0
    sources, targets = ids_of("source.txt", source_words), ids_of("target.txt", target_words)
    for i, (source, target) in enumerate(zip(sources, targets)):
        values = forced.run(source, target, [logs, attention, encoded, forced.model.eval_loss])
        ids = np.array(target + [2], np.int32)
        full = values[0][:, 0] if hparams.time_major else values[0][0]
        result["source_%d" % i], result["target_%d" % i] = np.array(source, np.int32), ids
        result["logprob_%d" % i] = full[np.arange(len(ids)), ids]
        assert abs(result["logprob_%d" % i].sum() + values[3]) < 1e-3
        result["attention_%d" % i] = values[1][:, 0]
        if i < 3:
            result["log_softmax_%d" % i] = full
            result["encoder_%d" % i] = values[2][:, 0] if hparams.time_major else values[2][0]
        total, count = total + result["logprob_%d" % i].sum(), count + len(ids)

        words, scores = search.run(source, target, [found, final.log_probs])
        words = words[:, 0] if hparams.time_major else words[0]
        result["beam_score_%d" % i] = scores[0]
        for place in range(5):
            row = [word for word in words[:, place].tolist() if word >= 0]
            row = row[: row.index(2) + 1] if 2 in row else row
            result["beam_%d_%d" % (i, place)] = np.array(row, np.int32)
            if row[-1] == 2:
                again = forced.run(source, row[:-1], forced.model.eval_loss)
                assert abs(again + scores[0][place]) < 1e-3, (i, place, scores[0], again)
            text = " ".join(target_words[word] for word in row if word != 2)
            beam.append("%d ||| %s ||| %.6f\n" % (i, text, scores[0][place]))
    np.savez_compressed("outputs.npz", **result)
    pathlib.Path("beam5.txt").write_text("".join(beam), encoding="utf-8")
    print("mean log-probability", total / count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    program, output = arguments.program.resolve(), arguments.output.resolve()
    text = arguments.text.resolve()
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(str(work))
    for path in text.iterdir():
        shutil.copy(str(path), path.name)
    if not pathlib.Path("run/hparams").exists():
        train(program, arguments.model, arguments.large)
    sys.path.insert(0, str(program))
    from nmt.utils import misc_utils

    for name, shape in tf.train.list_variables(tf.train.latest_checkpoint("run")):
        if "Adam" not in name:
            print(name, shape)
    hparams = misc_utils.load_hparams("run")
    words = [
        pathlib.Path("vocab." + language).read_text(encoding="utf-8").split()
        for language in ("en", "fr")
    ]
    record(hparams, *words)

    output.mkdir(parents=True, exist_ok=True)
    latest = pathlib.Path(tf.train.latest_checkpoint("run"))
    for path in list(latest.parent.glob(latest.name + ".*")) + [latest.parent / "hparams"]:
        if path.suffix != ".meta":
            shutil.copy(str(path), str(output))
    for (
        name
    ) in "run/checkpoint vocab.en vocab.fr source.txt target.txt outputs.npz beam5.txt".split():
        shutil.copy(name, str(output))


if __name__ == "__main__":
    main()
