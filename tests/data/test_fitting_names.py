"""The language that a file's name tells."""

import pytest

from rnnsearch_tf.data.inspection.fitting import language_of


@pytest.mark.parametrize(
    "name, language",
    [
        ("train.en", "en"),
        ("a/train.fr.gz", "fr"),
        ("train.en.xz", "en"),
        ("train.pt-BR.bz2", "pt-BR"),
        ("fr.txt", "fr"),
        ("train.txt.xz", "und"),
    ],
)
def test_the_language_of_a_name(name, language):
    assert language_of(name) == language
