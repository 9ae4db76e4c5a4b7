"""The files of the top-level serving/: each parsed, and checked for what would hurt."""

import pathlib
import re

import tensorflow as tf
import yaml
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

FOLDER = pathlib.Path(__file__).parents[2] / "serving"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["serving"]
DEPLOYMENT, SCALER, SERVICE, POLICY = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
POD = DEPLOYMENT["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def flags(words):
    return dict(word.removeprefix("--").split("=", 1) for word in words)


def test_the_model_of_the_configuration_is_the_one_that_is_probed():
    text = (FOLDER / "models.config").read_text()
    (model,) = text_format.Parse(text, ModelServerConfig()).model_config_list.config
    assert model.base_path == f"/models/{model.name}"
    assert f"GET /v1/models/{model.name} " in COMPOSE["healthcheck"]["test"][-1]


def test_image_is_pinned_to_our_tensorflow():
    assert COMPOSE["image"] == CONTAINER["image"]
    version = re.fullmatch(r"tensorflow/serving:(\d+\.\d+)\.\d+", COMPOSE["image"]).group(1)
    assert version == ".".join(tf.__version__.split(".")[:2])


def test_both_start_the_server_alike():
    pods = flags(CONTAINER["args"])
    assert pods.pop("grpc_channel_arguments") == "grpc.max_connection_age_ms=60000"
    assert flags(COMPOSE["command"]) == pods
