"""This package as a worker (measuring.Worker): trains and searches on request, and says how long it
took.

Started by training.py, input.py and peers.py, one process a model, so that peak memory is that
model's own.
"""

import itertools
import time

import keras
import tensorflow as tf

import measuring
import sizes
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.loss import batch_counts
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.training.optimizers import compile_model

CEILING_SIZE = 2048
"""Rows and columns of the matrices whose product is the ceiling."""


class Ours:
    """A model with random weights, and batches for it.

    Args:
        size: a name in sizes.SIZES.
        system: a row of sizes.SYSTEMS.
        precision: as training.precision.
        batches: path of batches that peers.py wrote; None: synthetic ones.
    """

    def __init__(self, size, system="rnnsearch", precision="float32", batches=None):
        self.size = sizes.SIZES[size]
        config = sizes.configuration(self.size, system, precision)
        self.model = build_model(config, self.size.vocabulary_size, self.size.vocabulary_size)
        compile_model(self.model, config)
        self.precision = precision
        if batches is None:
            self.batches = sizes.random_batches(self.size, 4)
        else:
            self.batches = [
                dict(zip(("source_ids", "target_ids"), pair))
                for pair in measuring.read_batches(batches)
            ]
        self.next_batch = itertools.cycle(self.batches).__next__
        self._graphs = {}

    def updates(self, updates, warm_up=2, between=lambda: None):
        """Updates by ``model.fit``, and what the user waits for each: input and Keras included.

        Args:
            updates: number of them that count.
            warm_up: updates before them, for tracing and caches.
            between: function called before each, outside the clock.

        Returns:
            list of {"seconds", "tokens": target words, end symbols counted and padding not}.
        """
        batches = [self.next_batch() for _ in range(warm_up + updates)]
        starts, ends = [], []

        def start(batch, logs):
            between()
            starts.append(time.perf_counter())

        clock = keras.callbacks.LambdaCallback(
            on_train_batch_begin=start,
            on_train_batch_end=lambda batch, logs: ends.append(time.perf_counter()),
        )
        signature = {name: tf.TensorSpec([None, None], tf.int32) for name in batches[0]}
        dataset = tf.data.Dataset.from_generator(
            lambda: iter(batches), output_signature=signature
        ).prefetch(2)
        self.model.fit(dataset, verbose=0, shuffle=False, callbacks=[clock])
        rows = [
            dict(seconds=end - begin, tokens=int((batch["target_ids"] != 0).sum()))
            for batch, begin, end in zip(batches, starts, ends)
        ]
        return rows[warm_up:]

    def train(self, repeats):
        """Everything a row of training.py needs: updates, the ceiling beside them, peak memory,
        seconds of ever more of an update.
        """
        dtype = tf.bfloat16 if self.precision == "mixed_bfloat16" else tf.float32
        shape = [CEILING_SIZE, CEILING_SIZE]
        left, right = (tf.cast(tf.random.normal(shape), dtype) for _ in range(2))
        product = tf.function(tf.matmul)
        ceilings = []

        def ceiling():
            start = time.perf_counter()
            product(left, right)
            tf.test.experimental.sync_devices()
            ceilings.append(2 * CEILING_SIZE**3 / (time.perf_counter() - start))

        rows = self.updates(repeats, between=ceiling)
        memory = measuring.peak_memory()
        parts = measuring.in_turns(self._parts(), repeats)
        # the first two were before the warm-ups
        return dict(updates=rows, ceilings=ceilings[2:], memory=memory, parts=parts)

    def search(self, beam_size, batch_size, repeats, warm_up=1):
        """Seconds of searches of so many random sentences, every output of the size's length."""
        options = sizes.fixed_length(self.size)
        if beam_size not in self._graphs:
            config = sizes.configuration(self.size, beam_size=beam_size, **options).search
            self._graphs[beam_size] = search_graph(self.model, config, constant=True)
        graph = self._graphs[beam_size]
        (batch,) = sizes.random_batches(self.size._replace(batch_size=batch_size), 1)

        def search():
            return [values.numpy() for values in tf.nest.flatten(graph(batch["source_ids"]))]

        return measuring.in_turns({"search": search}, repeats, warm_up)["search"]

    def _parts(self):
        """{name: function} of ever more of an update, each with what the one before it does."""
        model, loss = self.model, self.model.loss
        batch = {name: tf.constant(ids) for name, ids in self.batches[0].items()}
        ids = {name: tf.TensorSpec([None, None], tf.int32) for name in batch}

        def forward(batch):
            return model.token_losses(batch, loss.label_smoothing, training=True)

        def backward(batch):
            with tf.GradientTape() as tape:
                losses, _ = forward(batch)
                objective = loss.reduce(losses, *batch_counts(batch["target_ids"]))
            return [
                tf.convert_to_tensor(value)
                for value in tape.gradient(objective, model.trainable_variables)
            ]

        stages = {"forward": forward, "backward": backward, "optimizer": model.train_step}
        graphs = {name: tf.function(stage, input_signature=[ids]) for name, stage in stages.items()}
        return {
            name: lambda graph=graph: (graph(batch), tf.test.experimental.sync_devices())
            for name, graph in graphs.items()
        }


if __name__ == "__main__":
    measuring.answer_requests(Ours, __doc__)
