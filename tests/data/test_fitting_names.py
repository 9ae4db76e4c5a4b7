"""The language that a file's name tells."""

import pytest

from rnnsearch_tf.data.inspection.fitting import language_of


@pytest.mark.parametrize(
    "name, language",
    [
        ("train.en", "en"),
        ("a/train.fr.gz", "fr"),
        ("train.pt-BR", "pt-BR"),
        ("fr.txt", "fr"),
        ("train.txt.gz", "und"),
    ],
)
def test_the_language_of_a_name(name, language):
    assert language_of(name) == language
