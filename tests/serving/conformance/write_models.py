"""Writes what the conformance suite asks a server for.

    PYTHONPATH=tests python -m serving.conformance.write_models FOLDER

FOLDER gets toy/1 and toy/2, of which a server answers with the newest.
"""

import argparse
import pathlib

from serving.toy_model import write_toy


def write_models(folder):
    """Fill the folder and return the base path of the model `toy`."""
    base = pathlib.Path(folder) / "toy"
    for version in (1, 2):
        write_toy(base, version)
    return base


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path)
    write_models(parser.parse_args().folder)
