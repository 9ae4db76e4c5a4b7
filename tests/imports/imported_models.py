"""Models of other programs in fixtures/, and what these programs computed with them.

``programs/make_*.py`` made the fixtures and say what is in ``outputs.npz``.
"""

import json
import pathlib

import numpy as np
from rnnsearch_tf.config import END_ID
from rnnsearch_tf.extras.importing.foreign import built
from rnnsearch_tf.extras.importing.importer import describe
from rnnsearch_tf.translation import Translator

FIXTURES = pathlib.Path(__file__).parent / "fixtures"
FILES = {
    "groundhog": ["*_model.npz", "*_state.pkl", "vocab.en.pkl", "vocab.fr.pkl"],
    "nematus": ["model*[zx]", "model*.json", "vocab.en.json", "vocab.fr.json"],  # .npz or .index
    "marian": ["model.npz", "vocab*.yml"],
    "joeynmt": ["best.ckpt", "config.yaml", "src_vocab.txt", "trg_vocab.txt"],
    "opennmt-tf": ["ckpt-*.index", "model.py", "src.vocab", "tgt.vocab"],
    "tensorflow-nmt": ["translate.ckpt-*.index", "hparams", "vocab.en", "vocab.fr"],
}
MODELS = {  # those that can be imported: fixture and program
    "groundhog-search": "groundhog",
    "groundhog-encdec": "groundhog",
    "nematus-plain": "nematus",
    "nematus-dropout-2016": "nematus",
    "nematus-dropout-2018": "nematus",
    "nematus-wmt17": "nematus",
    "nematus-tf-converted": "nematus",
    "nematus-tf-deep-transition": "nematus",
    "nematus-tf-smoothed": "nematus",
    "marian-amun": "marian",
    "marian-nematus": "marian",
    "marian-s2s": "marian",
    "marian-s2s-plain": "marian",
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
    "tensorflow-nmt-luong-gru": "tensorflow-nmt",
    "tensorflow-nmt-gnmt": "tensorflow-nmt",
    "tensorflow-nmt-gnmt-v2": "tensorflow-nmt",
    "tensorflow-nmt-gnmt-as-standard": "tensorflow-nmt",
}


def files_of(name):
    """The files of a fixture."""
    return files_in(MODELS[name], FIXTURES / name)


def files_in(program, folder):
    """The files of a model in a folder, in the order of FILES."""
    return [str(path) for pattern in FILES[program] for path in sorted(folder.glob(pattern))]


def of_fixture(name):
    return Imported(MODELS[name], FIXTURES / name, files_of(name))


def beam_options(program, source_length):
    """Options of a search that does what the program's did, with beam 5 and ranked by the sum of
    log-probabilities.
    """
    if program == "groundhog":
        return dict(beam_size=5)  # the preset has the rest
    search = dict(beam_size=5, length_penalty=0.0, normalize_after=False, maximum_length_ratio=10.0)
    if program in ("nematus", "marian"):  # a finished hypothesis takes a place of the beam away
        search |= dict(shrinking_beam=True, search_again=False)
    if program == "marian":
        search["allow_unknown"] = True
    if program == "joeynmt":  # forbids an end symbol in place of the first word
        search["minimum_length_ratio"] = 1.01 / source_length
    return search


def best_translations(folder):
    """{number of the sentence: (best translation, its negative log-probability)} of beam5.txt."""
    best = {}
    for line in (folder / "beam5.txt").read_text(encoding="utf-8").splitlines():
        number, words, score = (part.strip() for part in line.split("|||"))
        words = words.removesuffix("</s>").strip().replace("UNK", "<unk>")
        best.setdefault(int(number), (words, abs(float(score))))
    return best


class Imported:
    """A model, imported, with what the other program computed.

    Attributes:
        program, folder: as given.
        foreign: its ForeignModel.
        translator: the Translator.
        outputs: the arrays of outputs.npz.
        pairs: source and target ids here, of every sentence.
    """

    def __init__(self, program, folder, files):
        self.program = program
        self.folder = folder
        self.foreign = describe(program, files)
        self.translator = Translator(*built(self.foreign))
        self.outputs = np.load(folder / "outputs.npz")
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


def options_changed(tmp_path, fixture="nematus-wmt17", renamed=(), **changes):
    """Files of a model of Nematus with other options, or other names of them."""
    files = files_of(fixture)
    with open(files[1], encoding="utf-8") as file:
        options = json.load(file) | changes
    for name, other in renamed:
        options[other] = options.pop(name)
    path = tmp_path / "model.npz.json"
    path.write_text(json.dumps(options), encoding="utf-8")
    return [files[0], str(path), *files[2:]]
