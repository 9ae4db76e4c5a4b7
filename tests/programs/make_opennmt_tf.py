"""Train tiny recurrent models with OpenNMT-tf and record what it computes with them.

The program: OpenNMT-tf 2.32.0 with TensorFlow 2.13.1, Python 3.10, on the CPU:

    python3.10 -m venv ENV
    ENV/bin/pip install "OpenNMT-tf[tensorflow]==2.32.0" tensorflow==2.13.1
    python3 make_text.py --multi30k MULTI30K --output TEXT
    ENV/bin/python make_opennmt_tf.py luong --text TEXT --output opennmt-tf-luong

The model (the first argument) has the shape of LuongAttention in the program's catalogue, in small
sizes; this script writes it as model.py for the program to read. Vocabularies are made by
onmt-build-vocab; training is the program's Runner.train.

What OUTPUT receives: model.py (later formatted as the project is) and config.yml, both given to
the program; ckpt-N.index,
ckpt-N.data-00000-of-00001, checkpoint, src.vocab and tgt.vocab as the program wrote them;
source.txt and target.txt; and

outputs.npz, for sentence number i (each in a batch of its own):
    source_i, target_i    ids; the target's with the end symbol (2), the source as it is read
    logprob_i             log-probability of each target word, from the model's logits
    attention_i           target words x source words
    log_softmax_i         the whole distribution at each position, for the first three sentences
    encoder_i             encoder outputs, for the first three sentences
    beam_i_0 to beam_i_4  ids of the five translations, best first, without the end symbol
    beam_attention_i      attention of the best
    beam_score_i          their log-probabilities

beam5.txt: the same translations as words: sentence ||| words ||| score. They come from the model's
infer with beam_width 5, num_hypotheses 5, length_penalty 0 (no normalisation), coverage_penalty 0,
maximum_decoding_length 50.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"

import numpy as np
import opennmt
import tensorflow as tf
import yaml

HEAD = """import opennmt as onmt
import tensorflow as tf
import tensorflow_addons as tfa


def model():
    return onmt.models.SequenceToSequence(
        source_inputter=onmt.inputters.WordEmbedder(embedding_size={source}),
        target_inputter=onmt.inputters.WordEmbedder(embedding_size={target}),
        encoder=onmt.encoders.{encoder},
        decoder=onmt.decoders.AttentionalRNNDecoder({decoder}),{more}
    )
"""
LSTM = "cell_class=tf.keras.layers.LSTMCell"
LUONG = "attention_mechanism_class=tfa.seq2seq.LuongAttention"
COPY = "bridge_class=onmt.layers.CopyBridge"


def models(size):
    def both(encoder, decoder, source=size - 2, target=size - 1, more=""):
        return HEAD.format(
            encoder=encoder, decoder=decoder, source=source, target=target, more=more
        )

    return {
        "luong": both(
            f"RNNEncoder(2, {size}, dropout=0.2, {LSTM})",
            f"2, {size}, {COPY}, {LUONG}, {LSTM}, dropout=0.2",
        ),
    }


def train(model, large):
    updates = 300 if large else 200
    size = 2000 if large else 1000
    for side, text in (("src", "train.en"), ("tgt", "train.fr")):
        script = pathlib.Path(sys.executable).with_name("onmt-build-vocab")
        words = ["--min_frequency", 3, "--size", size, "--save_vocab", f"{side}.vocab", text]
        subprocess.run([script, *map(str, words)], check=True)
    config = {
        "model_dir": "run",
        "data": {
            "train_features_file": "train.en",
            "train_labels_file": "train.fr",
            "source_vocabulary": "src.vocab",
            "target_vocabulary": "tgt.vocab",
        },
        "params": {"optimizer": "Adam", "learning_rate": 0.002 if large else 0.01},
        "train": {
            "batch_size": 32 if large else 20,
            "batch_type": "examples",
            "max_step": updates,
            "save_checkpoints_steps": updates,
            "save_summary_steps": 100,
            "keep_checkpoint_max": 1,
            "maximum_features_length": 50,
            "maximum_labels_length": 50,
        },
    }
    pathlib.Path("config.yml").write_text(yaml.safe_dump(config, sort_keys=False))
    tf.random.set_seed(20)
    opennmt.Runner(model, config, seed=20).train()


def record(model):
    record, beam, total, count = {}, [], 0.0, 0
    params = dict(beam_width=5, num_hypotheses=5, length_penalty=0, maximum_decoding_length=50)
    model.params.update(params)
    inputs = model.examples_inputter
    dataset = inputs.make_evaluation_dataset("source.txt", "target.txt", batch_size=1)
    for i, (source, target) in enumerate(dataset):
        outputs, _ = model(source, labels=target, training=False)
        record[f"source_{i}"] = source["ids"][0].numpy().astype(np.int32)
        ids = target["ids_out"][0].numpy()
        logs = tf.nn.log_softmax(outputs["logits"][0]).numpy()
        record[f"target_{i}"] = ids.astype(np.int32)
        record[f"logprob_{i}"] = logs[np.arange(len(ids)), ids]
        record[f"attention_{i}"] = outputs["attention"][0].numpy()
        if i < 3:
            record[f"log_softmax_{i}"] = logs
            embedded = model.features_inputter(source, training=False)
            encoded = model.encoder(embedded, sequence_length=source["length"], training=False)
            record[f"encoder_{i}"] = encoded[0][0].numpy()
        total, count = total + record[f"logprob_{i}"].sum(), count + len(ids)
        found = {name: value[0].numpy() for name, value in model.infer(source).items()}
        record[f"beam_score_{i}"] = found["log_probs"]
        record[f"beam_attention_{i}"] = found["alignment"][0][: found["length"][0]]
        for place, (words, length) in enumerate(zip(found["tokens"], found["length"])):
            words = words[:length]
            known = inputs.labels_inputter.tokens_to_ids.lookup(tf.constant(words))
            record[f"beam_{i}_{place}"] = known.numpy().astype(np.int32)
            words = " ".join(word.decode() for word in words)
            beam.append(f"{i} ||| {words} ||| {found['log_probs'][place]:.6f}\n")
    np.savez_compressed("outputs.npz", **record)
    pathlib.Path("beam5.txt").write_text("".join(beam))
    print("mean log-probability", total / count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(models(10)))
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    output, text = arguments.output.resolve(), arguments.text.resolve()
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    for path in text.iterdir():
        shutil.copy(path, path.name)
    definition = models(64 if arguments.large else 10)[arguments.model]
    pathlib.Path("model.py").write_text(definition)
    if not pathlib.Path("run/checkpoint").exists():
        train(opennmt.config.load_model_from_file("model.py"), arguments.large)

    model = opennmt.config.load_model_from_file("model.py")
    model.initialize({"source_vocabulary": "src.vocab", "target_vocabulary": "tgt.vocab"})
    model.create_variables()
    latest = tf.train.latest_checkpoint("run")
    tf.train.Checkpoint(model=model).restore(latest).assert_existing_objects_matched()
    for name, shape in tf.train.list_variables(latest):
        if name.startswith("model/") and "OPTIMIZER_SLOT" not in name:
            print(name.replace("/.ATTRIBUTES/VARIABLE_VALUE", ""), shape)
    record(model)

    output.mkdir(parents=True, exist_ok=True)
    written = list(pathlib.Path("run").glob("ckpt-*"))
    for path in [*written, pathlib.Path("run/checkpoint")]:
        shutil.copy(path, output)
    for name in ("model.py", "config.yml", "src.vocab", "tgt.vocab", "source.txt", "target.txt"):
        shutil.copy(name, output)
    for name in ("outputs.npz", "beam5.txt"):
        shutil.copy(name, output)


if __name__ == "__main__":
    main()
