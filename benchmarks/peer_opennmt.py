"""OpenNMT-tf as a worker (measuring.Worker), in an environment of its own: the requests of ours.py.

What is timed is its own: Model.train and Model.infer, traced once each. It gets our batches; its
special ids are 0 (blank), 1 (start) and 2 (end), so that a word w keeps its number. It has no
bfloat16.
"""

import itertools
import pathlib
import tempfile
import time

import numpy as np

import measuring

END = 2


class OpenNMT:
    """GRU encoder and decoder with Bahdanau attention, of the sizes of a sizes.Size (as a
    dictionary), random weights.
    """

    def __init__(self, size, precision, batches):
        import opennmt
        import tensorflow as tf
        import tensorflow_addons as tfa

        self.size, self.folder = size, tempfile.TemporaryDirectory()
        units = size["hidden_size"]
        cell = tf.keras.layers.GRUCell

        def embedder():
            return opennmt.inputters.WordEmbedder(embedding_size=size["embedding_size"])

        self.model = opennmt.models.SequenceToSequence(
            embedder(),
            embedder(),
            opennmt.encoders.RNNEncoder(1, units, bidirectional=True, dropout=0.0, cell_class=cell),
            opennmt.decoders.AttentionalRNNDecoder(
                1,
                units,
                bridge_class=opennmt.layers.DenseBridge,
                attention_mechanism_class=tfa.seq2seq.BahdanauAttention,
                cell_class=cell,
                dropout=0.0,
            ),
        )
        vocabulary = pathlib.Path(self.folder.name) / "vocabulary.txt"
        # and one for all others
        words = [f"w{number}" for number in range(size["vocabulary_size"] - 4)]
        vocabulary.write_text("\n".join(["<blank>", "<s>", "</s>", *words]) + "\n")
        adam = size["optimizer"] == "adam"
        self.model.initialize(
            dict(source_vocabulary=str(vocabulary), target_vocabulary=str(vocabulary)),
            params=dict(
                optimizer="Adam" if adam else "Adadelta",
                learning_rate=1e-3 if adam else 1.0,
                beam_width=1,
                num_hypotheses=1,
                minimum_decoding_length=size["length"] - 1,
                maximum_decoding_length=size["length"],
            ),
        )
        self.optimizer = self.model.get_optimizer()
        self.model.create_variables(optimizer=self.optimizer)
        ids = tf.TensorSpec([None, None], tf.int32)
        self.train = tf.function(self._train, input_signature=[ids, ids])
        self.batches = [
            tuple(translated(ids) for ids in pair) for pair in measuring.read_batches(batches)
        ]
        self.next_batch = itertools.cycle(self.batches).__next__
        self._searches = {}

    def updates(self, updates, warm_up=2):
        """As ours.Ours.updates."""
        rows = []
        for source, target in (self.next_batch() for _ in range(warm_up + updates)):
            start = time.perf_counter()
            self.train(source, target).numpy()
            rows.append(dict(seconds=time.perf_counter() - start, tokens=int((target != 0).sum())))
        return rows[warm_up:]

    def search(self, beam_size, batch_size, repeats, warm_up=1):
        """As ours.Ours.search."""
        import tensorflow as tf

        shape = batch_size, self.size["length"]
        source = np.random.default_rng(1).integers(
            3, self.size["vocabulary_size"], shape, dtype=np.int32
        )
        source[:, -1] = END
        if beam_size not in self._searches:
            self.model.params["beam_width"] = beam_size  # read when the graph is traced
            self._searches[beam_size] = tf.function(
                self._infer, input_signature=[tf.TensorSpec([None, None], tf.int32)]
            )
            self._searches[beam_size].get_concrete_function()
        return measuring.in_turns(
            {"search": lambda: self._searches[beam_size](source)["length"].numpy()},
            repeats,
            warm_up,
        )["search"]

    def _train(self, source, target):
        import tensorflow as tf

        inputs = tf.pad(target[:, :-1], [[0, 0], [1, 0]], constant_values=1)
        inputs = tf.where(inputs == END, 0, inputs)
        labels = dict(
            ids=tf.cast(inputs, tf.int64), ids_out=tf.cast(target, tf.int64), length=lengths(target)
        )
        return self.model.train(features(source), labels, self.optimizer)

    def _infer(self, source):
        return self.model.infer(features(source))


def features(source):
    import tensorflow as tf

    return dict(ids=tf.cast(source, tf.int64), length=lengths(source))


def lengths(ids):
    import tensorflow as tf

    return tf.math.count_nonzero(ids, axis=1, dtype=tf.int32)


def translated(ids):
    """Our ids as OpenNMT-tf's: the end symbol is 2, unknown words are its last."""
    return np.where(ids == 1, END, np.where(ids == END, 3, ids)).astype(np.int32)


if __name__ == "__main__":
    measuring.answer_requests(OpenNMT, __doc__)
