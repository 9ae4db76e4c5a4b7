"""Trained models that come with the package, found by their name; each is a RUN folder with weights
in eight bits.

``benchmarks/pack_model.py`` makes one of a RUN.
"""

import pathlib


def pretrained_models() -> dict:
    """{name: pathlib.Path of its RUN folder}, by name."""
    folders = pathlib.Path(__file__).parent.glob("shipped/*/config.yaml")
    return {path.parent.name: path.parent for path in sorted(folders)}
