"""Joey NMT as a worker (measuring.Worker), in an environment of its own: the requests of ours.py.

What is timed is its own: TrainManager's step with the lines around it that make one update, and
joeynmt.search.search. It gets our batches; its ids of the four special symbols come first, so that
a word w is w + 1.
"""

import itertools
import os
import pathlib
import tempfile
import time
from types import SimpleNamespace

import numpy as np

import measuring

SPECIALS = SimpleNamespace(
    unk_id=0,
    unk_token="<unk>",
    pad_id=1,
    pad_token="<pad>",
    bos_id=2,
    bos_token="<s>",
    eos_id=3,
    eos_token="</s>",
    sep_id=None,
    sep_token=None,
    lang_tags=[],
)
OURS = {0: SPECIALS.pad_id, 1: SPECIALS.eos_id, 2: SPECIALS.unk_id}


class JoeyNMT:
    """GRU encoder and decoder with additive attention, of the sizes of a sizes.Size (as a
    dictionary), random weights.
    """

    def __init__(self, size, precision, batches):
        import torch
        from joeynmt.config import parse_train_args
        from joeynmt.model import build_model
        from joeynmt.training import TrainManager
        from joeynmt.vocabulary import Vocabulary

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        self.size, self.folder = size, tempfile.TemporaryDirectory()
        # it has one special symbol more than we
        words = [f"w{number}" for number in range(size["vocabulary_size"] - 3)]
        vocabulary = Vocabulary(words, SPECIALS)
        self.autocast = dict(
            device_type="cpu", enabled=precision == "mixed_bfloat16", dtype=torch.bfloat16
        )
        self.model = build_model(architecture(size), vocabulary, vocabulary)
        adam = size["optimizer"] == "adam"
        training = dict(
            optimizer=size["optimizer"],
            learning_rate=1e-3 if adam else 1.0,
            clip_grad_norm=1.0,
            normalization="batch",
            batch_size=size["batch_size"],
            scheduling="exponential",  # one must be named; this one would wait for an epoch's end
        )
        self.model.loss_function = ("crossentropy", 0.0)
        self.trainer = TrainManager(
            rank=0,
            model=self.model,
            model_dir=pathlib.Path(self.folder.name),
            device=torch.device("cpu"),
            autocast=self.autocast,
            train_args=parse_train_args(training),
        )
        self.batches = [
            tuple(translated(ids) for ids in pair) for pair in measuring.read_batches(batches)
        ]
        self.next_batch = itertools.cycle(self.batches).__next__

    def updates(self, updates, warm_up=2):
        """As ours.Ours.updates."""
        rows = [self._update(self._batch(*self.next_batch())) for _ in range(warm_up + updates)]
        return rows[warm_up:]

    def _update(self, batch):
        trainer = self.trainer
        start = time.perf_counter()
        trainer._train_step(batch)
        trainer.clip_grad_fun(parameters=self.model.parameters())
        trainer.optimizer.step()
        self.model.zero_grad()
        return dict(seconds=time.perf_counter() - start, tokens=batch.ntokens)

    def search(self, beam_size, batch_size, repeats, warm_up=1):
        """As ours.Ours.search."""
        from joeynmt.search import search

        length = self.size["length"]
        shape = batch_size, length
        source = np.random.default_rng(1).integers(4, self.size["vocabulary_size"], shape)
        source[:, -1] = SPECIALS.eos_id
        batch = self._batch(source)
        self.model.eval()

        def task():
            return search(
                self.model,
                batch,
                max_output_length=length,
                beam_size=beam_size,
                beam_alpha=1.0,
                n_best=1,
                min_output_length=length,
                autocast=self.autocast,
            )

        return measuring.in_turns({"search": task}, repeats, warm_up)["search"]

    def _batch(self, source, target=None):
        import torch
        from joeynmt.batch import Batch

        if target is not None:
            target = torch.from_numpy(
                np.pad(target, [(0, 0), (1, 0)], constant_values=SPECIALS.bos_id)
            ).long()
        source = torch.from_numpy(source).long()
        return Batch(
            src=source,
            src_length=(source != SPECIALS.pad_id).sum(1),
            src_prompt_mask=None,
            trg=target,
            trg_prompt_mask=None,
            indices=torch.arange(len(source)),
            device=torch.device("cpu"),
            pad_index=SPECIALS.pad_id,
            eos_index=SPECIALS.eos_id,
            is_train=target is not None,
        )


def architecture(size):
    """Its configuration of a model of these sizes, no dropout."""
    recurrent = dict(
        type="recurrent",
        rnn_type="gru",
        hidden_size=size["hidden_size"],
        num_layers=1,
        dropout=0.0,
        embeddings=dict(embedding_dim=size["embedding_size"], dropout=0.0),
    )
    decoder = dict(
        recurrent,
        attention="bahdanau",
        init_hidden="bridge",
        input_feeding=True,
        hidden_dropout=0.0,
    )
    return dict(encoder=dict(recurrent, bidirectional=True), decoder=decoder)


def translated(ids):
    """Our ids as Joey NMT's."""
    result = ids + 1
    for ours, theirs in OURS.items():
        result[ids == ours] = theirs
    return result.astype(np.int64)


if __name__ == "__main__":
    measuring.answer_requests(JoeyNMT, __doc__)
