"""Models of other programs in fixtures/, and what these programs computed with them.

``programs/make_*.py`` made the fixtures and say what is in ``outputs.npz``.
"""

import pathlib

import numpy as np
from rnnsearch_tf.config import END_ID
from rnnsearch_tf.extras.importing.foreign import built
from rnnsearch_tf.extras.importing.importer import describe
from rnnsearch_tf.translation import Translator

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
FILES = {
    "groundhog": ["{}_model.npz", "{}_state.pkl", "vocab.en.pkl", "vocab.fr.pkl"],
    "nematus": ["model.npz", "model.npz.json", "vocab.en.json", "vocab.fr.json"],
    "joeynmt": ["best.ckpt", "config.yaml", "src_vocab.txt", "trg_vocab.txt"],
    "opennmt-tf": ["ckpt-200.index", "model.py", "src.vocab", "tgt.vocab"],
    "tensorflow-nmt": ["translate.ckpt-200.index", "hparams", "vocab.en", "vocab.fr"],
}
MODELS = {  # those that can be imported: fixture and program
    "groundhog-search": "groundhog",
    "groundhog-encdec": "groundhog",
    "nematus-plain": "nematus",
    "nematus-dropout-2016": "nematus",
    "nematus-dropout-2018": "nematus",
    "nematus-wmt17": "nematus",
    "joeynmt-gru-bridge": "joeynmt",
    "joeynmt-gru-tied": "joeynmt",
    "joeynmt-lstm-last": "joeynmt",
    "joeynmt-lstm-zero": "joeynmt",
    "opennmt-tf-luong": "opennmt-tf",
    "opennmt-tf-small-v1": "opennmt-tf",
    "opennmt-tf-medium-v1": "opennmt-tf",
    "opennmt-tf-bahdanau": "opennmt-tf",
    "tensorflow-nmt-scaled-luong": "tensorflow-nmt",
    "tensorflow-nmt-normed-bahdanau": "tensorflow-nmt",
    "tensorflow-nmt-bahdanau-enc4": "tensorflow-nmt",
}


def files_of(name):
    kind = name.rpartition("-")[2]
    return [str(FIXTURES / name / file.format(kind)) for file in FILES[MODELS[name]]]


class Imported:
    """A fixture, imported, with what the other program computed.

    Attributes:
        name: of the fixture.
        foreign: its ForeignModel.
        translator: the Translator.
        outputs: the arrays of outputs.npz.
        pairs: source and target ids here, of every sentence.
    """

    def __init__(self, name):
        self.name = name
        self.foreign = describe(MODELS[name], files_of(name))
        self.translator = Translator(*built(self.foreign))
        self.outputs = np.load(FIXTURES / name / "outputs.npz")
        count = sum(key.startswith("source_") for key in self.outputs)
        here = {
            side: {int(there): number for number, there in enumerate(rows.theirs)}
            for side, rows in (("source", self.foreign.source), ("target", self.foreign.target))
        }
        self.pairs = [
            tuple([here[side][int(word)] for word in self.outputs[f"{side}_{i}"]] for side in here)
            for i in range(count)
        ]
        if not self.translator.config.model.read_end_symbol:  # the other program has none there
            self.pairs = [([*source, END_ID], target) for source, target in self.pairs]

    def word_there(self, side, number):
        """The token here of an id of the other program."""
        rows = getattr(self.foreign, side)
        return rows.tokens[list(rows.theirs).index(number)]
