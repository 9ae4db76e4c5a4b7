"""Sutskever, Vinyals, Le 2014: the deep LSTM with the source as it is and reversed, beams of 1, 2 and 12, an ensemble."""

from __future__ import annotations

from rnnsearch_tf.reproduce.page import Page, over_seeds

BEAMS = 1, 2, 12


def table_1(work, models) -> Page:
    """BLEU by size of the beam; the first model reads the source as it is, the others, an ensemble, reversed."""
    rows = [
        {"LSTM": system} | {f"beam {beam}": over_seeds([each[str(beam)] for each in found]) for beam in BEAMS}
        for system, found in measured_systems(work, models).items()
    ]
    paper = [
        {"LSTM": "forward, beam 12", "BLEU": 26.17},
        {"LSTM": "reversed, beam 12", "BLEU": 30.59},
        {"LSTM": "ensemble of 5, reversed, beam 1", "BLEU": 33.00},
        {"LSTM": "ensemble of 2, reversed, beam 12", "BLEU": 33.27},
        {"LSTM": "ensemble of 5, reversed, beam 2", "BLEU": 34.50},
        {"LSTM": "ensemble of 5, reversed, beam 12", "BLEU": 34.81},
    ]
    return Page("Sutskever et al. 2014, Table 1: reversed source, beams, ensembles", rows, paper, ["BLEU in 13a on test_2016_flickr."])


def measured_systems(work, models) -> dict:
    """{system: [{beam as str: BLEU} of each seed]} of the forward and the reversed LSTM; of the ensemble for the first seed."""
    forward, *ensemble = models
    measure = lambda names, seed: work.measured(f"beams-{len(names)}-{names[0]}-{seed}", lambda: _by_beam(work, names, seed))  # noqa: E731
    systems = {"forward": [forward], "reversed": ensemble[:1]}
    found = {system: [measure(names, seed) for seed in work.seeds] for system, names in systems.items()}
    return found | {f"ensemble of {len(ensemble)}, reversed": [measure(ensemble, work.seeds[0])]}


def _by_beam(work, names, seed):
    from rnnsearch_tf.evaluation.bleu import bleu
    from rnnsearch_tf.reproduce.corpora import read_multi30k

    _, references = zip(*read_multi30k(work.data, "test"))
    return {beam: bleu(texts, references).score for beam, texts in translations(work, names, seed).items()}


def translations(work, names, seed) -> dict:
    """{beam as str: list[str]}: the test captions translated by a model, or by an ensemble of several."""
    from rnnsearch_tf.reproduce.corpora import read_multi30k
    from rnnsearch_tf.translation import Translator

    def translate():
        translator = Translator.load([work.run(name, seed) for name in names])
        sources = [source for source, _ in read_multi30k(work.data, "test")]
        return {str(beam): [each.text for each in translator.translate(sources, beam_size=beam)] for beam in BEAMS}

    return work.measured(f"captions-{len(names)}-{names[0]}-{seed}", translate)
