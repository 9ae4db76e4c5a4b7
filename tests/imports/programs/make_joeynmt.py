"""Train tiny recurrent models with Joey NMT and record what it computes with them.

The program: Joey NMT 2.3.0 (PyPI joeynmt), Python 3.11 with torch 2.13.0 on the CPU:

    python3.11 -m venv ENV
    ENV/bin/pip install torch==2.13.0
    ENV/bin/pip install --no-deps joeynmt==2.3.0
    ENV/bin/pip install numpy sacrebleu sacremoses sentencepiece subword-nmt matplotlib seaborn \\
        pyyaml packaging datasets pandas importlib_metadata tensorboard portalocker tqdm six
    python3 make_text.py --multi30k MULTI30K --output TEXT
    ENV/bin/python make_joeynmt.py gru-bridge --text TEXT --output fixtures/joeynmt-gru-bridge

The models (the first argument): see MODELS. Each is trained by the program's own training.train,
with a learning-rate scheduler that does not need the "verbose" option torch has dropped.

What OUTPUT receives: config.yaml (as given to the program), best.ckpt (the file that the
program's symbolic link best.ckpt points to), src_vocab.txt and trg_vocab.txt as the program wrote
them; source.txt and target.txt; and

outputs.npz, for sentence number i (each in a batch of its own):
    source_i, target_i    ids, the end symbol (3) included, the begin symbol left out
    logprob_i             log-probability of each target word, from the model's forward("loss")
    attention_i           target words x source words (the source's end symbol included)
    log_softmax_i         the whole distribution at each position, for the first three sentences
    encoder_i             encoder outputs, for the first three sentences
    initial_i             the state of the encoder that the decoder starts from, same sentences
    beam_i_0 to beam_i_4  ids of the five translations, best first, the end symbol included
    beam_score_i          their scores

beam5.txt: the same translations as words: sentence ||| words ||| score. They come from
search.search with beam_size=5, n_best=5, beam_alpha=-1 (no length penalty: the sum of the
log-probabilities), max_output_length=50, min_output_length=1 (the program's default: no end symbol
as the first word), generate_unk=True.
"""

import argparse
import os
import pathlib
import shutil

import numpy as np
import torch
import yaml
from joeynmt import search, training
from joeynmt.batch import Batch
from joeynmt.config import load_config, parse_global_args
from joeynmt.model import build_model
from joeynmt.vocabulary import build_vocab


def model_of(kind, size, layers, attention, bidirectional=True, decoder_size=None, **decoder):
    return {
        "initializer": "xavier_uniform",
        "bias_initializer": "uniform",
        "bias_init_weight": 0.1,
        "embed_initializer": "normal",
        "embed_init_weight": 0.1,
        "encoder": {
            "type": "recurrent",
            "rnn_type": kind,
            "embeddings": {"embedding_dim": size - 2},
            "hidden_size": size,
            "num_layers": layers,
            "bidirectional": bidirectional,
            "dropout": 0.1,
        },
        "decoder": {
            "type": "recurrent",
            "rnn_type": kind,
            "embeddings": {"embedding_dim": size - 1},
            "hidden_size": decoder_size or size + 1,
            "num_layers": layers,
            "attention": attention,
            "dropout": 0.1,
            "hidden_dropout": 0.1,
            **decoder,
        },
    }


def models(size):
    return {
        "gru-bridge": model_of(
            "gru", size, 1, "bahdanau", input_feeding=True, init_hidden="bridge"
        ),
        "lstm-last": model_of(
            "lstm", size, 2, "luong", decoder_size=size, input_feeding=True, init_hidden="last"
        ),
        "lstm-zero": model_of("lstm", size, 1, "bahdanau", input_feeding=False, init_hidden="zero"),
        "gru-tied": {
            **model_of(
                "gru",
                size,
                2,
                "luong",
                input_feeding=True,
                init_hidden="bridge",
                decoder_size=size - 1,
            ),
            "tied_softmax": True,
        },
    }


def train(name, large):
    size, limit, updates = (64, 2000, 400) if large else (10, 1000, 300)
    config = {
        "name": f"joeynmt-{name}",
        "model_dir": "model",
        "use_cuda": False,
        "random_seed": 20,
        "data": {
            "train": "train",
            "dev": "valid",
            "dataset_type": "plain",
            "src": {"lang": "en", "level": "word", "voc_limit": limit, "voc_min_freq": 3},
            "trg": {"lang": "fr", "level": "word", "voc_limit": limit, "voc_min_freq": 3},
        },
        "testing": {"beam_size": 5, "beam_alpha": -1, "batch_size": 20},
        "training": {
            "optimizer": "adam",
            "learning_rate": 0.003 if large else 0.01,
            "scheduling": "exponential",
            "decrease_factor": 0.98,
            "clip_grad_norm": 1.0,
            "batch_size": 40 if large else 20,
            "batch_type": "sentence",
            "epochs": 100,
            "updates": updates,
            "learning_rate_min": 0.0001,
            "logging_freq": 100,
            "validation_freq": updates,
            "keep_best_ckpts": 1,
            "shuffle": True,
            "print_valid_sents": [],
        },
        "model": models(size)[name],
    }
    pathlib.Path("config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    pathlib.Path("model").mkdir()
    training.train(rank=0, world_size=None, cfg=load_config("config.yaml"), skip_test=True)


def ids_of(path, vocabulary):
    lines = [line.split() for line in pathlib.Path(path).read_text().splitlines()]
    return [[vocabulary.lookup(word) for word in line] + [vocabulary.eos_index] for line in lines]


def batch_of(source, target, model):
    return Batch(
        src=torch.tensor([source]),
        src_length=torch.tensor([len(source)]),
        src_prompt_mask=None,
        trg=torch.tensor([[model.bos_index, *target]]),
        trg_prompt_mask=None,
        indices=torch.tensor([0]),
        device=torch.device("cpu"),
        pad_index=model.pad_index,
        eos_index=model.eos_index,
        is_train=False,
    )


def record(model, sources, targets):
    record, beam = {}, []
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        batch = batch_of(source, target, model)
        with torch.no_grad():
            _, logs, attention, _ = model(return_type="loss", **vars(batch))
            encoded, last, _, _ = model(return_type="encode", **vars(batch))
        logs = logs[0].numpy()
        record[f"source_{i}"], record[f"target_{i}"] = np.array(source), np.array(target)
        record[f"logprob_{i}"] = logs[np.arange(len(target)), target]
        record[f"attention_{i}"] = attention[0].numpy()
        if i < 3:
            record[f"log_softmax_{i}"] = logs
            record[f"encoder_{i}"] = encoded[0].numpy()
            record[f"initial_{i}"] = last[0].numpy()
        found, scores, _ = search.search(
            model=model,
            batch=batch,
            beam_size=5,
            beam_alpha=-1,
            max_output_length=50,
            n_best=5,
            return_prob="hyp",
            min_output_length=1,
            generate_unk=True,
        )
        record[f"beam_score_{i}"] = scores[:, 0]
        for place, (row, score) in enumerate(zip(found.astype(int).tolist(), scores[:, 0])):
            row = [word for word in row if word != model.pad_index]
            record[f"beam_{i}_{place}"] = np.array(row)
            words = model.trg_vocab.arrays_to_sentences([row])[0]
            words = " ".join(word for word in words if word != "</s>")
            beam.append(f"{i} ||| {words} ||| {score:.6f}\n")
    np.savez_compressed("outputs.npz", **record)
    pathlib.Path("beam5.txt").write_text("".join(beam))
    count = sum(map(len, targets))
    print("mean", sum(record[f"logprob_{i}"].sum() for i in range(len(targets))) / count)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", choices=sorted(models(10)))
    parser.add_argument("--text", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    output, text = arguments.output.resolve(), arguments.text.resolve()
    work = output.with_name(output.name + ".work")
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)
    for path in text.iterdir():
        shutil.copy(path, path.name)
    if not pathlib.Path("model/best.ckpt").exists():
        train(arguments.model, arguments.large)

    args = parse_global_args(load_config("config.yaml"), mode="train")
    args.data["src"]["voc_file"], args.data["trg"]["voc_file"] = (
        f"model/{side}_vocab.txt" for side in ("src", "trg")
    )
    source_words, target_words = build_vocab(args.data, dataset=None)
    model = build_model(args.model, src_vocab=source_words, trg_vocab=target_words)
    model.loss_function = ("crossentropy", 0.0)
    saved = torch.load("model/best.ckpt", map_location="cpu", weights_only=False)
    model.load_state_dict(saved["model_state"])
    model.eval()
    for name, tensor in saved["model_state"].items():
        print(name, tuple(tensor.shape))
    record(model, ids_of("source.txt", source_words), ids_of("target.txt", target_words))

    output.mkdir(parents=True, exist_ok=True)
    shutil.copy("model/best.ckpt", output / "best.ckpt")
    for name in ("model/src_vocab.txt", "model/trg_vocab.txt", "config.yaml"):
        shutil.copy(name, output)
    for name in ("source.txt", "target.txt", "outputs.npz", "beam5.txt"):
        shutil.copy(name, output)


if __name__ == "__main__":
    main()
