"""This package as a worker (measuring.Worker): trains and searches on request, and says how long it
took.

Started by training.py, input.py and peers.py, one process a model, so that peak memory is that
model's own.
"""

import argparse
import itertools
import json
import time

import measuring

CEILING_SIZE = {"TINY": 64}
"""Rows and columns of the matrices whose product is the ceiling, where not 2048."""


class Ours:
    """A model with random weights, or that of a RUN, and batches for it.

    Args:
        size: a name in sizes.SIZES.
        system: a row of sizes.SYSTEMS.
        precision: as training.precision.
        lengths: {"source_length", "target_length", "batch_size"} that differ from the size's.
        run: path of a RUN folder, or None.
        batches: path of batches that peers.py wrote; None: synthetic ones.
    """

    def __init__(
        self,
        size,
        system="rnnsearch",
        precision="float32",
        lengths=None,
        run=None,
        batches=None,
    ):
        import numpy as np

        import sizes
        from rnnsearch_tf.models import build_model
        from rnnsearch_tf.training.optimizers import compile_model

        self.name, self.size = size, sizes.with_lengths(sizes.SIZES[size], **(lengths or {}))
        self.config = sizes.configuration(self.size, system, precision)
        if run is None:
            self.model = build_model(
                self.config, self.size.vocabulary_size, self.size.vocabulary_size
            )
        else:
            self._load(run, precision)
        compile_model(self.model, self.config)
        words = self.model.source_vocabulary_size, self.model.target_vocabulary_size
        generator = np.random.default_rng(1)
        self.batches = [sizes.synthetic_batch(self.size, generator, *words) for _ in range(4)]
        if batches is not None:
            self.batches = [
                dict(zip(("source_ids", "target_ids"), pair))
                for pair in measuring.read_batches(batches)
            ]
        self.next_batch = itertools.cycle(self.batches).__next__
        self._graphs = {}

    def _load(self, run, precision):
        from rnnsearch_tf.translation import Translator

        translator = Translator.load(run, [f"training.precision={precision}"])
        self.model = translator.model
        self.config = translator.config

    def updates(self, updates, warm_up=2, between=None):
        """Updates by ``model.fit``, and what the user waits for each: input and Keras included.

        Args:
            updates: number of them that count.
            warm_up: updates before them, for tracing and caches.
            between: function called before each, outside the clock.

        Returns:
            list of {"seconds", "tokens": target words, end symbols counted and padding not}.
        """
        batches = [self.next_batch() for _ in range(warm_up + updates)]
        clock = _clock(between)
        self.model.fit(dataset_of(batches), verbose=0, shuffle=False, callbacks=[clock])
        tokens = [int((batch["target_ids"] != 0).sum()) for batch in batches]
        rows = [
            dict(seconds=seconds, tokens=number) for seconds, number in zip(clock.times, tokens)
        ]
        return rows[warm_up:]

    def train(self, repeats):
        """Everything a row of training.py needs: updates, the ceiling beside them, peak memory,
        parts.
        """
        ceiling = self._ceiling()
        rows = self.updates(repeats, between=ceiling)
        # as warm-ups, two are left out
        answer = dict(updates=rows, ceilings=ceiling.rates[2:], memory=measuring.peak_memory())
        seconds = measuring.in_turns(self._tasks(), repeats)
        return answer | dict(
            parts={name: measuring.median(values) for name, values in seconds.items()}
        )

    def search(self, beam_size, batch_size, repeats, warm_up=1):
        """Seconds of searches of so many random sentences, every output of the size's target
        length.
        """
        import numpy as np
        import tensorflow as tf

        import sizes
        from rnnsearch_tf.search import beam
        from rnnsearch_tf.search.graphs import search_graph

        beam.ROOM = -self.size.source_length  # the length ratios alone decide
        size = self.size._replace(batch_size=batch_size)
        options = sizes.fixed_length(size.source_length, size.target_length)
        if beam_size not in self._graphs:
            config = sizes.configuration(size, beam_size=beam_size, **options).search
            self._graphs[beam_size] = search_graph(self.model, config)
        graph = self._graphs[beam_size]
        ids = sizes.synthetic_batch(
            size, np.random.default_rng(1), self.model.source_vocabulary_size
        )["source_ids"]

        def search():
            return [values.numpy() for values in tf.nest.flatten(graph(ids))]

        return measuring.in_turns({"search": search}, repeats, warm_up)["search"]

    def _tasks(self):
        """{name: function} of ever more of an update, each with what the one before it does."""
        import tensorflow as tf

        from rnnsearch_tf.models.loss import batch_counts

        model = self.model
        loss = self.model.loss
        batch = {name: tf.constant(ids) for name, ids in self.batches[0].items()}
        ids = {name: tf.TensorSpec([None, None], tf.int32) for name in batch}

        def output(batch):
            return model.token_losses(batch, loss.label_smoothing, training=True)

        def gradient(batch):
            with tf.GradientTape() as tape:
                losses, _ = output(batch)
                objective = loss.reduce(losses, *batch_counts(batch["target_ids"]))
            return [
                tf.convert_to_tensor(value)
                for value in tape.gradient(objective, model.trainable_variables)
            ]

        stages = {
            "encoder": lambda batch: tf.nest.flatten(model.start(batch["source_ids"])),
            "decoder": lambda batch: model.features(*batch.values(), training=True),
            "output": output,
            "backward": gradient,
            "optimizer": model.train_step,
        }
        graphs = {name: tf.function(stage, input_signature=[ids]) for name, stage in stages.items()}
        return {
            name: lambda graph=graph: (graph(batch), tf.test.experimental.sync_devices())
            for name, graph in graphs.items()
        }

    def _ceiling(self):
        """A function that multiplies two large matrices and notes the operations a second."""
        import tensorflow as tf

        width = CEILING_SIZE.get(self.name, 2048)
        precision = self.config.training.precision
        dtype = tf.bfloat16 if precision == "mixed_bfloat16" else tf.as_dtype(precision)
        left, right = (tf.cast(tf.random.normal([width, width]), dtype) for _ in range(2))
        graph = tf.function(tf.matmul)
        graph(left, right)

        def measure():
            start = time.perf_counter()
            graph(left, right)
            tf.test.experimental.sync_devices()
            measure.rates.append(2 * width**3 / (time.perf_counter() - start))

        measure.rates = []
        return measure


def dataset_of(batches):
    """The batches as training reads them: one thread that runs ahead."""
    import tensorflow as tf

    signature = {name: tf.TensorSpec([None, None], tf.int32) for name in batches[0]}
    return tf.data.Dataset.from_generator(
        lambda: iter(batches), output_signature=signature
    ).prefetch(2)


def _clock(between):
    """A Keras callback that notes the seconds of every batch, input included."""
    import keras

    class Clock(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if between is not None:
                between()
            self.start = time.perf_counter()

        def on_train_batch_end(self, batch, logs=None):
            self.times.append(time.perf_counter() - self.start)

    clock = Clock()
    clock.times = []
    return clock


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("options", help="arguments of Ours, as a JSON object")
    ours = Ours(**json.loads(parser.parse_args().options))
    handlers = {name: getattr(ours, name) for name in ("updates", "train", "search")}
    measuring.answer_requests(handlers | {"memory": measuring.peak_memory})


if __name__ == "__main__":
    main()
