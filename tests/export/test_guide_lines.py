"""The lines of docs/guides/serving.md that ask a server, as they stand there, but for ports."""

import base64
import json
import pathlib
import re
import shlex
import shutil
import subprocess

import grpc
import pytest
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "serving.md"


def lines(program):
    """The commands of a program in the guide, as lists of words."""
    text = GUIDE.read_text(encoding="utf-8")
    block = re.compile(rf"^    ({program} (?:[^\n]|\n(?:        |    \S.*\\\n))*)", re.MULTILINE)
    found = [shlex.split(each.replace("\\\n", " ")) for each in block.findall(text)]
    assert len(found) > 1
    return found


@pytest.fixture(scope="module")
def server(exported):
    flags = Flags({"mine": str(exported.parent)}, port=FREE, rest_api_port=FREE)
    with Server(flags) as server:
        yield server


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl(server):
    for words in lines("curl"):
        words = [word.replace(":8501", f":{server.rest_port}") for word in words]
        answer = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        assert "error" not in answer
        assert answer.keys() & {"predictions", "model_version_status"}


def test_grpcurl(server):
    """Calls as grpcurl makes them: it reads the messages by reflection, and data as their JSON."""
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        for words in lines("grpcurl"):
            *options, address, path = words[1:]
            assert (options[0], address) == ("-plaintext", "127.0.0.1:8500")
            service, method = path.rsplit("/", 1)
            found = pool.FindServiceByName(service).FindMethodByName(method)
            request, response = (
                message_factory.GetMessageClass(kind)
                for kind in (found.input_type, found.output_type)
            )
            data = options[options.index("-d") + 1] if "-d" in options else "{}"
            call = channel.unary_unary(
                f"/{path}", lambda message: message.SerializeToString(), response.FromString
            )
            answer = json_format.MessageToDict(call(json_format.Parse(data, request()), timeout=60))
            if method == "Predict":
                [translation] = answer["outputs"]["translation"]["stringVal"]
                assert base64.b64decode(translation)
            else:
                assert answer == {"status": "SERVING"}
