"""What translations of a corpus depend on, and which lines its engine takes; with a RUN."""

import os
import shutil

import pytest
from tiny_run import write_run

from rnnsearch_tf.extras.bulk import corpus
from rnnsearch_tf.extras.bulk.engine import identity_of, load_engine, settings_of
from rnnsearch_tf.extras.bulk.folder import CorpusFolder
from rnnsearch_tf.extras.bulk.shard import translate_shard
from rnnsearch_tf.errors import UsageError, UserError


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("model") / "run")


@pytest.mark.parametrize("option", ["lexicon", "shortlist"])
def test_a_word_list_that_has_changed_under_its_name_is_another(run, tmp_path, option):
    """Half of the corpus by the old one and half by the new one would be no translation by
    anything.
    """
    (tmp_path / "words").write_text("a b 0.5\n")
    settings = settings_of([run], search={option: str(tmp_path / "words"), "replace_unknown": True})
    (tmp_path / "in").write_text("line\n")
    inputs = [str(tmp_path / "in")]
    with CorpusFolder(tmp_path / "out", inputs, identity_of(settings)) as folder:
        translate_shard(lambda texts: texts, **folder.remaining()[0])
    with CorpusFolder(tmp_path / "out", inputs, identity_of(settings)):
        pass
    (tmp_path / "words").write_text("a c 0.5\n")
    with pytest.raises(
        UserError, match="expected the model and the options that its files were made with"
    ):
        CorpusFolder(tmp_path / "out", inputs, identity_of(settings)).__enter__()


def test_a_word_list_that_the_run_names_counts_too(tmp_path):
    (tmp_path / "words").write_text("a b 0.5\n")
    run = write_run(
        tmp_path / "run", ["search.replace_unknown=true", f"search.lexicon={tmp_path / 'words'}"]
    )
    before = identity_of(settings_of([run]))
    assert identity_of(settings_of([run])) == before
    (tmp_path / "words").write_text("a c 0.5\n")
    assert identity_of(settings_of([run])) != before


@pytest.mark.parametrize("option", ["lexicon", "shortlist"])
def test_a_word_list_of_the_run_can_be_left_out(tmp_path, option):
    (tmp_path / "words").write_text("a b 0.5\n")
    options = ["search.replace_unknown=true", f"search.{option}={tmp_path / 'words'}"]
    run = write_run(tmp_path / "run", options)
    settings = settings_of([run], search={option: None})
    assert identity_of(settings) != identity_of(settings_of([run]))
    (tmp_path / "words").unlink()
    assert load_engine(settings)(["a"])


@pytest.mark.parametrize("option", ["lexicon", "shortlist"])
def test_a_word_list_from_a_pipe_is_refused(run, option):
    """Its digest would read it to the end, and the engine would find an empty list."""
    reading, writing = os.pipe()
    with open(reading), open(writing, "w") as pipe:
        pipe.write("a b 0.5\n")
        pipe.close()
        settings = settings_of([run], search={option: f"/dev/fd/{reading}"})
        with pytest.raises(UserError, match="expected a file, which is read several times, got a"):
            identity_of(settings)


def test_one_model_is_not_combined(run):
    with pytest.raises(UsageError, match="combine: expected several models for log_probabilities"):
        settings_of([run], combine="log_probabilities")


def test_an_engine_is_of_the_files_that_are_there(tmp_path):
    """Also in a process that had another model at this path."""
    settings = settings_of([write_run(tmp_path / "run", seed=5)], search={"beam_size": 2})
    texts = ["She goes to the hotel.", "The cat is white."]
    before = load_engine(settings)(texts)
    shutil.rmtree(tmp_path / "run")
    write_run(tmp_path / "run", seed=6)
    assert load_engine(settings)(texts) != before


@pytest.mark.parametrize("changed", ["weights", "words"])
def test_a_model_that_changes_before_it_is_loaded_translates_nothing(
    tmp_path, monkeypatch, changed
):
    """Files by new weights would be recorded as those of the old ones."""
    run = write_run(tmp_path / "run", seed=5)
    (tmp_path / "words").write_text("a b\n")
    (tmp_path / "in").write_text("She goes to the hotel.\n")
    loaded = corpus.load_engine

    def load(settings):
        if changed == "words":
            (tmp_path / "words").write_text("a c\n")
        else:
            shutil.rmtree(tmp_path / "run")
            write_run(tmp_path / "run", seed=6)
        return loaded(settings)

    search = {"replace_unknown": True, "lexicon": str(tmp_path / "words")}
    words = [run], [str(tmp_path / "in")], tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(corpus, "load_engine", load)
        with pytest.raises(UserError, match="run: expected the model .* wait until its training"):
            corpus.translate_corpus(*words, workers=1, search=search)
    assert not (tmp_path / "out" / "in").exists()
    assert corpus.translate_corpus(*words, workers=1, search=search)["translated"] == 1


def test_how_many_go_together_changes_nothing(run):
    assert identity_of(settings_of([run], search={"batch_size": 2})) == identity_of(
        settings_of([run], search={"batch_size": 9})
    )
    assert identity_of(settings_of([run], search={"beam_size": 2})) != identity_of(
        settings_of([run], search={"beam_size": 3})
    )


def test_a_line_of_exactly_the_longest_length_is_translated(run):
    """Ten times data.maximum_source_length, which is 5 there."""
    translate = load_engine(settings_of([run], search={"beam_size": 2}))
    found = translate(["a " * 49, "a " * 50, "a " * 51, ""])
    assert [text is None for text in found] == [False, False, True, False]


def test_bad_lines_are_counted_by_line(run, tmp_path):
    for name, text in (("a", b"\xff\nfine\n\xfe\n"), ("b", b"\x01\n"), ("c", b"fine\n")):
        (tmp_path / name).write_bytes(text)
    with CorpusFolder(tmp_path / "out", [str(tmp_path / name) for name in "abc"], {}) as folder:
        for shard in folder.remaining():
            translate_shard(lambda texts: texts, **shard)
        assert folder.bad_lines() == 3
