"""Lower case and capitals are the same in every locale, and those of Python."""

import doctest
import json
import os
import subprocess
import sys
import unicodedata

import pytest

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.text import casing

# Python's tables have letters that TensorFlow's lack, and the other way round
OLD = unicodedata.ucd_3_2_0
LINES = [chr(code) for code in range(0x20000) if OLD.category(chr(code))[0] == "L"]
LINES += ["I IN TITLE", "ΟΔΟΣ", "I\u0307", "I\u0301 J\u0303 Į\u0300 i\u0307\u0301"]

PROGRAM = f"""
import json, sys
import tensorflow as tf
from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.text.pipeline import Text, strings
from rnnsearch_tf.text.truecase import Truecaser, detruecase
from rnnsearch_tf.text.vocabulary import Vocabulary

config = TextConfig(language="tr", tokenization="space", unicode_form="none", lowercase=True)
text = Text(config, Vocabulary([*{SPECIAL_TOKENS}, "a"]))
lines = json.load(sys.stdin)
rows = tf.ragged.constant([[line] for line in lines], tf.string)
inn = Truecaser(b"inn (1/1)\\n").truecase(tf.ragged.constant([["INN"]]))
print(json.dumps([strings(text.tokenize(lines)), strings(detruecase(rows)), strings(inn)]))
"""


@pytest.mark.parametrize(
    "language",
    ["tr_TR", *(pytest.param(name, marks=pytest.mark.slow) for name in ("lt_LT", "el_GR"))],
)
def test_case_does_not_depend_on_the_locale(language):
    environment = os.environ | {"LC_ALL": f"{language}.UTF-8", "LANG": f"{language}.UTF-8"}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(LINES),
        capture_output=True,
        text=True,
        env=environment,
        check=True,
    )
    lower, capitals, inn = json.loads(result.stdout)
    assert {line: " ".join(row) for line, row in zip(LINES, lower)} == {
        line: line.lower() for line in LINES
    }
    assert {line: row[0] for line, row in zip(LINES, capitals)} == {
        line: line[0].upper() + line[1:] for line in LINES
    }
    assert inn == [["inn"]]


def test_examples_in_docstrings():
    result = doctest.testmod(casing)
    assert result.failed == 0 and result.attempted > 0
