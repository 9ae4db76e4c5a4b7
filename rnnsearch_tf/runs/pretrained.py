"""Trained models that come with the package; each is a RUN folder with weights in eight bits.

``benchmarks/pack_model.py`` makes such a folder from a RUN.
"""

from __future__ import annotations

import pathlib


def pretrained_models() -> dict[str, pathlib.Path]:
    """{name: pathlib.Path of its RUN folder}, by name."""
    folders = pathlib.Path(__file__).parent.glob("shipped/*/config.yaml")
    return {path.parent.name: path.parent for path in sorted(folders)}
