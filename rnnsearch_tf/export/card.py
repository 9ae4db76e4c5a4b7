"""The page that goes with an exported model: ``N/model_card.md``."""

import pathlib

import tensorflow as tf

from rnnsearch_tf import __version__


def write_card(folder, runs, profile, size, compared, cost, left_out) -> None:
    """Write how the model was trained (the runs' own cards) and how it was exported.

    Args:
        folder: path of the SavedModel.
        runs: list of Run, several for an ensemble.
        profile: Profile.
        size: bytes of the stored weights.
        compared: answers that were compared with the Python model's.
        cost: sentence on what the export's shortcuts cost, or None.
        left_out: sentence on a signature that is not there, or None.
    """
    cards = [run.model_card for run in runs]
    trained = "\n\n".join(card.read_text(encoding="utf-8").rstrip() for card in cards if card.exists())
    rows = [
        f"signatures: {', '.join(profile.signatures)}; inputs and outputs are those of the project's export/contract.json",
        f"weights: {size:,} bytes, {profile.weights}; computed in {profile.precision}",
        *([left_out] if left_out else []),
        *([f"what it costs: {cost}"] if cost else []),
        "options: all of them in profile.yaml beside this page",
        f"checked before it was published: {compared} answers of a fresh session equal to the Python model's",
        f"made with rnnsearch_tf {__version__}, tensorflow {tf.__version__}; needs a server with tensorflow_text's operations "
        "if the text is normalized or cut into subwords (the stock server has them)",
    ]
    lines = [trained or "# Model card", "", "## Export", "", *(f"- {row}" for row in rows), ""]
    (pathlib.Path(folder) / "model_card.md").write_text("\n".join(lines), encoding="utf-8")
