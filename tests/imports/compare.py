"""Compare an imported model with what the program that trained it computed, and print how near they
are.

    python tests/imports/compare.py joeynmt FOLDER

FOLDER is one that a script of programs/ wrote, with --large for a model of 64 units and 100
sentences. The translations are those of a beam of 5, ranked by the sum of log-probabilities.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import numpy as np
import tensorflow as tf
from imported_models import Imported, beam_options, best_translations, files_in
from tiny_rnnsearch import padded


def log_probability(imported, source, row):
    """Of the other program's best translation of a sentence, with the imported model."""
    theirs = {int(word): here for here, word in enumerate(imported.foreign.target.theirs)}
    target = [theirs[int(word)] for word in imported.outputs[f"beam_{row}_0"]]
    logits = imported.translator.model(
        {"source_ids": padded([source]), "target_ids": padded([target])}
    )
    scores = tf.nn.log_softmax(logits)[0].numpy()
    return scores[range(len(target)), target].sum()


def main(program, folder):
    folder = pathlib.Path(folder)
    imported = Imported(program, folder, files_in(program, folder))
    model = imported.translator.model
    score_difference, attention_difference, equal, others = 0.0, 0.0, 0, 0
    best = best_translations(folder)
    sources = (folder / "source.txt").read_text(encoding="utf-8").splitlines()
    for row, (source, target) in enumerate(imported.pairs):
        ids = {"source_ids": padded([source]), "target_ids": padded([target])}
        scores = tf.nn.log_softmax(model(ids))[0].numpy()[range(len(target)), target]
        difference = np.abs(scores - imported.outputs[f"logprob_{row}"]).max()
        score_difference = max(score_difference, difference)
        if model.has_attention:
            expected = imported.outputs[f"attention_{row}"]
            found = model.attended_pre_logits(*ids.values())[1][0].numpy()
            difference = np.abs(found[:, : expected.shape[1]] - expected).max()
            attention_difference = max(attention_difference, difference)
        options = beam_options(program, len(source))
        translation = imported.translator.translate([sources[row]], **options)[0]
        equal += translation.text == best[row][0]
        others += abs(log_probability(imported, source, row) + best[row][1]) > 1e-3
    print(
        f"{folder.name}: {len(imported.pairs)} sentences; largest difference of a word's"
        f" log-probability {score_difference:.1e}, of an attention weight"
        f" {attention_difference:.1e}; {equal} translations equal; {others} translations there are"
        " words of another log-probability than the search has found"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
