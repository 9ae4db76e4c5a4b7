"""Make tiny models of Nematus's TensorFlow versions and record what the program computes with them.

The program: github.com/EdinburghNLP/nematus, in two states of its history:
    v0.4: commit a956559 (17 December 2018);
    v0.5: commit 3b6d442 (19 April 2020).
Python 3.7 with TensorFlow 1.15.5, on the CPU:

    python3.7 -m venv ENV
    ENV/bin/pip install tensorflow==1.15.5 "protobuf<3.21"
    git clone https://github.com/EdinburghNLP/nematus CHECKOUT; git -C CHECKOUT checkout v0.4
    python3 make_text.py --multi30k MULTI30K --output TEXT --pieces
    ENV/bin/python make_nematus_tensorflow.py deep-transition \\
        --program CHECKOUT --text TEXT --output fixtures/nematus-tf-deep-transition
    ENV/bin/python make_nematus_tensorflow.py converted --theano fixtures/nematus-wmt17 \\
        --program CHECKOUT --text TEXT --output fixtures/nematus-tf-converted
    git -C CHECKOUT checkout v0.5
    ENV/bin/python make_nematus_tensorflow.py smoothed \\
        --program CHECKOUT --text TEXT --output fixtures/nematus-tf-smoothed

The models (the first argument): deep-transition (v0.4) and smoothed (v0.5) are trained by the
program's own train.py, on dictionaries made by its data/build_dictionary.py, which have more words
than the model has; converted (v0.4) is a model of the Theano form that make_nematus.py trained,
converted by the program's own theano_tf_convert.py, with the options of the Theano form beside it.
v0.4 cannot build a model with dropout in TensorFlow 1.15; v0.5 can. v0.5 exchanges weights and
their averages before it translates, which needs the variables of TensorFlow 2: with those of
TensorFlow 1 some, at random, stay as they are. They are switched on here.

What OUTPUT receives: model-N.index and model-N.data-00000-of-00001, model.json and the two
dictionaries, as the program wrote them; source.txt and target.txt; and

outputs.npz, for sentence number i (each in a batch of its own):
    source_i, target_i    ids, the end symbol (0) included; an unknown word is 2 if the dictionary
                          says so, else 1
    logprob_i             log-probability of each target word, from the training graph
    attention_i           target words x source words (the end symbols included), from the layers
                          of the model applied word by word
    log_softmax_i         the whole distribution at each position, for the first three sentences
    encoder_i, initial_i  annotations and first decoder state, for the first three sentences
    beam_i_0 to beam_i_4  ids of the five translations, best first, the end symbol included; v0.5
                          stops when no other can be better than those that are finished
    beam_cost_i           their sums of -log-probability

beam5.txt: the same translations as words: sentence ||| words ||| cost. They come from the program's
beam search with beam 5, no normalisation by length and at most 50 words.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import tensorflow as tf

TRAINING = (
    "--source_dataset train.en --target_dataset train.fr --dictionaries vocab.en.json "
    "vocab.fr.json --model model --batch_size 20 --maxlen 50 --no_shuffle --disp_freq 50 "
    "--valid_freq 100000 --sample_freq 100000 --beam_freq 100000 --save_freq 100000"
)
SIZES = (
    "--embedding_size 8 --state_size 10 --source_vocab_sizes 70 --target_vocab_size 72 "
    "--learning_rate 0.01 --finish_after 250"
)
LARGE = (
    "--embedding_size 64 --state_size 64 --source_vocab_sizes 2000 --target_vocab_size 2200 "
    "--learning_rate 0.003 --finish_after 300"
)
MODELS = {
    "deep-transition": "--rnn_layer_normalisation --tie_decoder_embeddings "
    "--rnn_enc_transition_depth 2 --rnn_dec_base_transition_depth 3",
    "smoothed": "--exponential_smoothing 0.01 --rnn_enc_transition_depth 2 --state_size 8 "
    "--rnn_dropout_embedding 0.02 --rnn_dropout_hidden 0.02 --rnn_dropout_source 0.02 "
    "--finish_after 800",
    "converted": None,
}


def train(program, options):
    for language in ("en", "fr"):
        script = program / "data" / "build_dictionary.py"
        subprocess.run([sys.executable, str(script), "train." + language], check=True)
        os.rename("train.%s.json" % language, "vocab.%s.json" % language)
    script = program / "nematus" / "train.py"
    subprocess.run([sys.executable, str(script)] + options.split(), check=True)


def convert(program, theano):
    for name in ("model.npz", "model.npz.json", "vocab.en.json", "vocab.fr.json"):
        shutil.copy(str(theano / name), name)
    script = program / "nematus" / "theano_tf_convert.py"
    command = [sys.executable, str(script), "--from_theano", "--in", "model.npz", "--out"]
    subprocess.run(command + ["model-0"], check=True)
    shutil.copy("model.npz.json", "model.json")


class Step:
    """One word of the decoder, made of the layers of the model."""

    def __init__(self, model):
        decoder = model.decoder
        self.first_state = decoder.init_state
        self.state = tf.compat.v1.placeholder(tf.float32, [1, decoder.state_size])
        self.word = tf.compat.v1.placeholder(tf.int32, [1])
        vector = decoder.y_emb_layer.forward(tf.maximum(self.word, 0), factor=0)
        vector *= tf.cast(self.word >= 0, tf.float32)
        middle = decoder.grustep1.forward(self.state, vector)
        context = decoder.attstep.forward(middle)
        if isinstance(context, tuple):
            context, weights = context
        else:  # the weights are a factor of the sum that v0.4 returns
            product = context.op.inputs[0].op
            weights = product.inputs[1].op.inputs[0]
        self.attention = weights[:, 0]
        self.next_state = decoder.grustep2.forward(middle, context)
        more = [None] if hasattr(decoder, "lexical_layer") else []
        logits = decoder.predictor.get_logits(
            vector, self.next_state, context, *more, multi_step=False
        )
        self.logs = tf.nn.log_softmax(logits[0])


def search_of(model, config, session):
    """A function from the fed source to five (ids, cost), best first."""
    try:
        from beam_search_sampler import BeamSearchSampler
    except ImportError:
        import rnn_inference

        graph = rnn_inference.BeamSearchGraph([model], 5, 0.0)
        return lambda x, mask: rnn_inference.beam_search(
            session, [model], x, mask, 5, normalization_alpha=0.0, graph=graph
        )[0]
    sampler = BeamSearchSampler([model], [config], 5)

    def search(x, mask):
        inputs = {
            model.inputs.x: np.repeat(x, 5, axis=-1),
            model.inputs.x_mask: np.repeat(mask, 5, axis=-1),
            sampler.inputs.batch_size_x: 1,
            sampler.inputs.max_translation_len: 50,
            sampler.inputs.normalization_alpha: 0.0,
        }
        sequences, scores = session.run(sampler.outputs, inputs)
        found = []
        for row, score in zip(sequences[0].tolist(), scores[0]):
            if score > -1e6:  # else no translation was finished for this place
                found.append((row[: row.index(0) + 1] if 0 in row else row, -score))
        return sorted(found, key=lambda pair: pair[1])

    return search


def ids_of(path, dictionary, size):
    words = json.loads(pathlib.Path(dictionary).read_text(encoding="utf-8"))
    lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
    unknown = 2 if words.get("<UNK>") == 2 else 1
    known = {word: number for word, number in words.items() if number < size}
    names = {number: word for word, number in words.items()}
    names[unknown] = "UNK"
    return [[known.get(word, unknown) for word in line.split()] + [0] for line in lines], names


def record(checkpoint):
    import model_loader
    import rnn_model
    from config import load_config_from_json_file

    config = load_config_from_json_file("model")
    config.reload, config.translation_maxlen = checkpoint, 50
    sources, _ = ids_of("source.txt", "vocab.en.json", config.source_vocab_sizes[0])
    targets, names = ids_of("target.txt", "vocab.fr.json", config.target_vocab_size)
    tf.compat.v1.enable_resource_variables()
    with tf.compat.v1.Session() as session:
        model = rnn_model.RNNModel(config)
        swap = []
        if getattr(config, "exponential_smoothing", 0.0) > 0.0:
            from exponential_smoothing import ExponentialSmoothing

            swap = ExponentialSmoothing(config.exponential_smoothing).swap_ops
        model_loader.init_or_restore_variables(config, session)
        session.run(swap)
        step, logs = Step(model), tf.nn.log_softmax(model.logits)[:, 0]
        search = search_of(model, config, session)
        result, beam, total = {}, [], 0.0
        for i, (source, target) in enumerate(zip(sources, targets)):
            x = np.array(source, np.int32).reshape(1, -1, 1)
            x_mask = np.ones((len(source), 1), np.float32)
            fed = {model.inputs.x: x, model.inputs.x_mask: x_mask}
            forced = {
                model.inputs.y: np.array(target, np.int32)[:, None],
                model.inputs.y_mask: np.ones((len(target), 1), np.float32),
            }
            full, loss, context, state = session.run(
                [logs, model.loss_per_sentence, model.decoder.attstep.context, step.first_state],
                {**fed, **forced},
            )
            result["source_%d" % i], result["target_%d" % i] = np.array(source), np.array(target)
            result["logprob_%d" % i] = full[np.arange(len(target)), target]
            assert abs(result["logprob_%d" % i].sum() + loss[0]) < 1e-3
            if i < 3:
                result["log_softmax_%d" % i] = full
                result["encoder_%d" % i], result["initial_%d" % i] = context[:, 0], state
            attention = []
            for previous, row in zip([-1] + target, full):
                single, weights, state = session.run(
                    [step.logs, step.attention, step.next_state],
                    {**fed, step.state: state, step.word: [previous]},
                )
                assert abs(single - row).max() < 1e-4
                attention.append(weights)
            result["attention_%d" % i] = np.array(attention)
            total += result["logprob_%d" % i].sum()

            found = search(x, x_mask)
            result["beam_cost_%d" % i] = np.array([cost for _, cost in found])
            for place, (ids, cost) in enumerate(found):
                result["beam_%d_%d" % (i, place)] = np.array(ids)
                words = " ".join(names[word] for word in ids if word)
                beam.append("%d ||| %s ||| %.6f\n" % (i, words, cost))
    np.savez_compressed("outputs.npz", **result)
    pathlib.Path("beam5.txt").write_text("".join(beam), encoding="utf-8")
    print("mean log-probability", total / sum(map(len, targets)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--theano", type=pathlib.Path, help="folder of the model to convert")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    program, output = arguments.program.resolve(), arguments.output.resolve()
    theano = arguments.theano and arguments.theano.resolve()
    text = arguments.text.resolve()
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(str(work))
    for path in text.iterdir():
        shutil.copy(str(path), path.name)
    if not list(pathlib.Path().glob("model-*.index")):
        if arguments.model == "converted":
            convert(program, theano)
        else:
            sizes = LARGE if arguments.large else SIZES
            train(program, " ".join([TRAINING, sizes, MODELS[arguments.model]]))
    sys.path.insert(0, str(program / "nematus"))
    index = next(pathlib.Path().glob("model-*.index"))
    for name, shape in tf.train.list_variables(str(index.with_suffix(""))):
        if "Adam" not in name:
            print(name, shape)
    record(str(index.with_suffix("")))

    output.mkdir(parents=True, exist_ok=True)
    for path in pathlib.Path().glob(index.stem + ".*"):
        if path.suffix == ".index" or ".data-" in path.name:
            shutil.copy(str(path), str(output))
    written = "model.json vocab.en.json vocab.fr.json source.txt target.txt outputs.npz beam5.txt"
    for name in written.split():
        shutil.copy(name, str(output))


if __name__ == "__main__":
    main()
