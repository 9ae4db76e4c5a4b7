"""A lexicon or shortlist that changed under its name is read again."""

import os

import pytest
from tiny_run import write_run

from rnnsearch_tf.translation import Translator

WORDS = "She goes to the hotel .".split()


def write(path, target, seconds, probability=""):
    path.write_text("".join(f"{word} {target}{probability}\n" for word in WORDS))
    os.utime(path, (seconds, seconds))


def test_an_edited_lexicon_counts(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run", unknown_words=9.0))
    path = tmp_path / "lexicon"
    found = []
    for seconds, target in enumerate(("first", "other", "other")):
        write(path, target, seconds)
        [translation] = translator.translate(
            [" ".join(WORDS)], replace_unknown=True, lexicon=str(path)
        )
        found.append(translation.text)
    assert "first" in found[0] and found[1] == found[0].replace("first", "other") == found[2]
    assert len([key for key in translator._cache if str(path) in map(str, key)]) == 1


@pytest.mark.parametrize("change", [None, "content"])
def test_an_unchanged_shortlist_is_read_once(tmp_path, change):
    translator = Translator.load(write_run(tmp_path / "run"))
    path = tmp_path / "lexicon"
    write(path, "chat", 0, " 1.0")
    config = translator.search_config(shortlist=str(path))
    first = translator.shortlist(config)
    if change:
        write(path, "chien", 1, " 1.0")
    assert (translator.shortlist(config) is first) == (change is None)
