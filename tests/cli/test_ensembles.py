"""Several --model: the ensemble of Translator.load in the commands, against its members."""

import pytest
from rnnsearch_tf.translation import Translator
from tiny_run import write_run

SOURCE = ["The door is white.", "Where is the white cat?"]
TARGET = ["La porte est blanche.", "Où sont les zèbres ?"]


@pytest.fixture(scope="module")
def other_run(tmp_path_factory):
    """A RUN of another architecture and the same vocabularies."""
    settings = ["model.hidden_size=6", "model.decoder_order=paper"]
    return str(write_run(tmp_path_factory.mktemp("member") / "run", settings, seed=6))


def test_commands_take_ensembles(rnnsearch, run_folder, other_run, files):
    models = ["--model", run_folder, "--model", other_run]
    translations, _ = rnnsearch("translate", *models, "--n-best", 2, files[0])
    texts = [line.split(" ||| ")[1] for line in translations]
    assert len(texts) == 4 and all(texts)
    assert texts[::2] != rnnsearch("translate", "--model", run_folder, files[0])[0]
    assert len(rnnsearch("align", *models, *files)[0]) == 2
    samples, _ = rnnsearch("sample", *models, "-n", 5, files[0])
    assert sum(int(line.split("\t")[2]) for line in samples) == 10


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
