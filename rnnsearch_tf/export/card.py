"""The page that goes with an exported model: ``N/model_card.md``."""

import dataclasses
import pathlib

import tensorflow as tf
import yaml

from rnnsearch_tf import __version__


def write_card(folder, run, profile, size, compared, cost) -> None:
    """Write how the model was trained (the run's own card) and how it was exported.

    Args:
        folder: path of the SavedModel.
        run: path of the RUN folder.
        profile: Profile.
        size: bytes of the stored weights.
        compared: answers that were compared with the Python model's.
        cost: sentence on reduced storage, or None.
    """
    trained = pathlib.Path(run) / "model_card.md"
    rows = [
        f"signatures: {', '.join(profile.signatures)}; inputs and outputs are those of the project's export/contract.json",
        f"weights: {size:,} bytes, {profile.weights}; computed in {profile.precision}",
        *([f"cost of storage: {cost}"] if cost else []),
        f"checked before it was published: {compared} answers of a fresh session equal to the Python model's",
        f"made with rnnsearch_tf {__version__}, tensorflow {tf.__version__}; needs a server with tensorflow_text's operations "
        "if the text is normalized or cut into subwords (the stock server has them)",
    ]
    options = yaml.safe_dump(_plain(dataclasses.asdict(profile)), sort_keys=False, allow_unicode=True)
    text = trained.read_text(encoding="utf-8").rstrip() if trained.exists() else "# Model card"
    lines = [text, "", "## Export", "", *(f"- {row}" for row in rows), "", "```yaml", options.rstrip(), "```", ""]
    (pathlib.Path(folder) / "model_card.md").write_text("\n".join(lines), encoding="utf-8")


def _plain(options):
    """Tuples as lists, for YAML."""
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
