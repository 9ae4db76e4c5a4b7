"""Several --model are the ensemble of Translator.load."""

import pytest
from rnnsearch_tf.translation import Translator
from tiny_run import write_run

SOURCE = ["The door is white.", "Where is the white cat?"]
TARGET = ["La porte est blanche.", "Où sont les zèbres ?"]


def test_commands_take_ensembles(rnnsearch, run_folder, tmp_path, files):
    settings = ["model.hidden_size=6", "model.decoder_order=paper"]
    runs = [run_folder, write_run(tmp_path / "run", settings, seed=6)]
    out, _ = rnnsearch("score", "--model", runs[0], "--model", runs[1], *files)
    scores = [float(line) for line in out]
    assert scores == pytest.approx(Translator.load(runs).score(SOURCE, TARGET), abs=1e-5)
    assert scores != [float(line) for line in rnnsearch("score", "--model", runs[0], *files)[0]]


def test_options_of_attention_need_not_be_those_of_the_first_member(run_folder, tmp_path):
    other = write_run(
        tmp_path / "other", ["model.system=rnnencdec", "model.alignment_size=1000"]
    )  # none
    for runs in ([run_folder, other], [other, run_folder]):
        assert Translator.load(runs).search_config(replace_unknown=True).replace_unknown
        changes = ["search.replace_unknown=true", "search.beam_size=3"]
        search = Translator.load(runs, changes).config.search
        assert search.replace_unknown and search.beam_size == 3


@pytest.mark.parametrize("side", ["source", "target"])
def test_different_texts_are_refused(rnnsearch, run_folder, tmp_path, side):
    other = write_run(tmp_path / "other", [f"{side}.lowercase=true"])
    (tmp_path / "text").write_text("She goes.\n")
    words = ["score", "--model", run_folder, "--model", other]
    out, err = rnnsearch(*words, tmp_path / "text", tmp_path / "text", code=1)
    assert out == [] and f"{other}: expected the {side} vocabulary" in err and run_folder in err
