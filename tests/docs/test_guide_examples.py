"""Examples in the guides that need the model of the package say what it answers."""

import pytest
import io
import re
import shlex

from documents import read

from rnnsearch_tf.cli.main import run


@pytest.mark.slow
def test_the_marked_term_is_translated_as_the_guide_says(monkeypatch, capsys):
    text = read("docs/guides/decoding.md")
    found = re.search(
        r"    echo '(.*)' \|\n\s+rnnsearch (.*)\n\n"
        r"This prints `(.*?)`; without the mark it is `(.*?)`",
        text,
    )
    source, words, expected, unmarked = found.groups()
    unmarked_source = re.sub(r"<.*?>", "", source)
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(f"{source}\n{unmarked_source}\n".encode()))
    )
    assert run(shlex.split(words)) == 0
    assert capsys.readouterr().out.splitlines() == [expected, unmarked]
