"""Writes what the conformance suite asks a server for: models and the configuration that serves
them.

    PYTHONPATH=tests python -m serving.conformance.write_models FOLDER [--seen-as /models]

FOLDER gets toy/1, toy/2, other/7, corrupt/1 and models.config; `--seen-as` is the path under which
the server finds FOLDER.
"""

import argparse
import pathlib

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from serving.toy_model import write_corrupt, write_toy


def model_list(folder, *more):
    """ModelServerConfig: `toy`, both versions and the label stable for version 1, and the models
    named in `more`.

    Args:
        folder: where the server finds the models; a string, since it need not be a path of this
            machine.
        more: names of further models, each served from the folder of its name.
    """
    config = model_server_config_pb2.ModelServerConfig()
    toy = config.model_config_list.config.add(
        name="toy", base_path=f"{folder}/toy", model_platform="tensorflow"
    )
    toy.model_version_policy.all.SetInParent()
    toy.version_labels["stable"] = 1
    for name in more:
        config.model_config_list.config.add(
            name=name, base_path=f"{folder}/{name}", model_platform="tensorflow"
        )
    return config


def write_models(folder, seen_as=None):
    """Fill the folder and return the path of its models.config."""
    folder = pathlib.Path(folder)
    write_toy(folder / "toy", 1)
    write_toy(folder / "toy", 2)
    write_toy(folder / "other", 7)
    write_corrupt(folder / "corrupt", 1)
    path = folder / "models.config"
    path.write_text(text_format.MessageToString(model_list(seen_as or folder.resolve())))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seen-as")
    arguments = parser.parse_args()
    print(write_models(arguments.folder, arguments.seen_as))
