"""The lines of docs/guides/serving.md that ask a server, as they stand there, but for ports."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from rnnsearch_tf.extras.server.server import Server

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "serving.md"


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(exported):
    text = GUIDE.read_text(encoding="utf-8")
    block = re.compile(r"^    (curl (?:[^\n]|\n(?:        |    \S.*\\\n))*)", re.MULTILINE)
    commands = [shlex.split(each.replace("\\\n", " ")) for each in block.findall(text)]
    assert len(commands) > 1
    with Server("mine", exported.parent, port=0, rest_api_port=0) as server:
        for words in commands:
            words = [word.replace(":8501", f":{server.rest_api_port}") for word in words]
            answer = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
            assert answer.keys() & {"predictions", "model_version_status"}, answer
