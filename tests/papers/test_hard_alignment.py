"""Hard alignment in the search: one annotation has all the weight; the model is left as it was."""

import types

import numpy as np
import pytest
from tiny_run import write_run

from papers import bahdanau2015
from papers import hard_alignment
from papers.workspace import Workspace
from rnnsearch_tf.translation import Translator

SOURCES = ["My sister sells an old book.", "The cat is white.", "She goes to the hotel."]


def test_one_annotation_has_all_the_weight(tmp_path, monkeypatch):
    """The alignments of the search are where those of the soft search's model have their highest
    weight, given the same words: checked for the first word, whose state both have in common.
    """
    write_run(tmp_path / "run")
    translator = Translator.load(tmp_path / "run")
    energies = translator.model.decoder.alignment_model.v_a.numpy()
    soft = translator.translate(SOURCES, beam_size=bahdanau2015.BEAM)
    seen = []

    def translate(*args, **options):
        found = translator.translate(*args, **options)
        seen.extend(found)
        return found

    watched = types.SimpleNamespace(
        translate=translate, model=translator.model, target_text=translator.target_text
    )
    work = Workspace(tmp_path, None, seeds=[1])
    monkeypatch.setattr(Workspace, "translator", lambda work, name, seed: watched)
    monkeypatch.setattr(bahdanau2015, "test_text", lambda work: (SOURCES, SOURCES))
    [counts] = hard_alignment.measured_hard(work, "rnnsearch-50")
    for hard, before in zip(seen, soft, strict=True):
        rows = hard.alignment[: len(hard.tokens)]  # an unfinished one has none for the end symbol
        assert rows.max(axis=1) == pytest.approx(1, abs=1e-3)
        assert rows.sum(axis=1) == pytest.approx(1, abs=1e-5)
        assert hard.alignment[0].argmax() == before.alignment[0].argmax()
        assert before.alignment[: len(before.tokens)].max(axis=1).min() < 0.99
    assert any(hard.tokens != before.tokens for hard, before in zip(seen, soft))
    assert np.array_equal(translator.model.decoder.alignment_model.v_a.numpy(), energies)
    again = translator.translate(SOURCES, beam_size=bahdanau2015.BEAM)
    assert [each.tokens for each in again] == [each.tokens for each in soft]
    kept = work.kept_output("hard-alignment-rnnsearch-50-1")
    assert kept["tokens"] == [" ".join(each.tokens) for each in seen]
    assert len(kept["counts"]) == len(SOURCES) and counts.bleu().shape == (1,)
