"""Lower case is the same in every locale, and that of Python."""

import doctest
import json
import os
import subprocess
import sys
import unicodedata

import pytest

from rnnsearch_tf.text import casing

# Python's tables have letters that TensorFlow's lack, and the other way round
OLD = unicodedata.ucd_3_2_0
LINES = [chr(code) for code in range(0x20000) if OLD.category(chr(code))[0] == "L"]
LINES += ["I IN TITLE", "ΟΔΟΣ", "I\u0307", "I\u0301 J\u0303 Į\u0300 i\u0307\u0301"]

PROGRAM = """
import json, sys
import tensorflow as tf
from rnnsearch_tf.text.casing import lower

lines = lower(tf.constant(json.load(sys.stdin))).numpy()
print(json.dumps([line.decode("utf-8") for line in lines]))
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
    assert json.loads(result.stdout) == [line.lower() for line in LINES]


def test_examples_in_docstrings():
    result = doctest.testmod(casing)
    assert result.failed == 0 and result.attempted > 0
