"""From a RUN to a published version: written beside, checked, and only then given its number."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import save_config, saved_config
from rnnsearch_tf.evaluation.confidence import Calibration
from rnnsearch_tf.export.check import check_export
from rnnsearch_tf.export.operations import check_operations
from rnnsearch_tf.export.profile import FILE as PROFILE, load_profile
from rnnsearch_tf.export.publishing import new_version, version_folder
from rnnsearch_tf.export.quality import cost_in_bleu
from rnnsearch_tf.export.signatures import INPUTS, Served
from rnnsearch_tf.export.warmup import sentences_of, write_warmup
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator


@dataclasses.dataclass(frozen=True)
class Exported:
    """What an export made.

    Attributes:
        folder: path of the version, ``OUTPUT/N``.
        bytes: of its stored weights.
        compared: answers that were compared with the Python model's.
        cost: sentence on what weights in fewer bits and a shortlist cost in BLEU; None where there
            is neither.
        left_out: sentence on a signature that the profile names and the model cannot have; None
            where it has them all.
    """

    folder: pathlib.Path
    bytes: int
    compared: int
    cost: str | None
    left_out: str | None


def export_model(
    runs,
    output: str | os.PathLike,
    version: int | None = None,
    profile: str | os.PathLike | None = None,
    overrides: Sequence[str] = (),
    combine: str = "probabilities",
) -> Exported:
    """Write a RUN, or an ensemble of several, as the next version of a served model.

    Args:
        runs: path of the RUN folder, or a list of them.
        output: path of the model's folder, in which versions are numbered folders.
        version: its number; None takes the one after the highest there.
        profile: path of a YAML profile; None takes the defaults.
        overrides: strings ``key=value`` that change the profile.
        combine: how an ensemble's members are combined, see
            :class:`~rnnsearch_tf.models.ensemble.Ensemble`.

    Raises:
        UserError: a run is incomplete, the version exists already, or the exported
            model does not answer as the Python model does; nothing is published then.
        UsageError: the profile has unknown or impossible options.
    """
    runs = [Run.open(run) for run in ([runs] if isinstance(runs, (str, os.PathLike)) else runs)]
    profile = load_profile(saved_config(runs[0].config).search, profile, overrides)
    calibration = (
        Calibration.load(runs[0]) if len(runs) == 1 and runs[0].confidence.exists() else None
    )
    profile, left_out = _possible(profile, calibration, runs)
    version_folder(output, version)  # an error of it takes no time
    translator = Translator.load(runs, precision=profile.precision, combine=combine)
    translator.maximum_lengths = {
        "source": profile.maximum_source_length,
        "target": profile.maximum_target_length,
    }
    translator.search_config(**profile.search_options)  # refuses what the model cannot do
    served = Served(translator, profile, calibration)
    cost = cost_in_bleu(translator, served.weights, profile)
    sentences = sentences_of(translator.source_text)
    with new_version(output, version) as (target, folder):
        with announced("building the graphs of the signatures"):
            # a server learns nothing
            options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
            tf.saved_model.save(
                served.module(),
                str(folder),
                signatures=served.signatures(profile.signatures),
                options=options,
            )
        finish_graph(folder)
        check_operations(folder)
        asked = {name: INPUTS[name] for name in profile.signatures} | {
            "serving_default": INPUTS["translate"]
        }
        write_warmup(folder, asked, sentences, profile.warmup_requests)
        with announced("comparing its answers in a fresh process"):
            compared = check_export(folder, translator, profile, sentences, calibration)
        save_config(profile, folder / PROFILE)
        exported = Exported(target, served.weights.size, compared, cost, left_out)
        (folder / "model_card.md").write_text(_card(runs, profile, exported), encoding="utf-8")
    return exported


def _possible(profile, calibration, runs):
    """(the profile without the signatures that the model cannot have, a sentence on what was left
    out or None).
    """
    if calibration is not None or "confidence" not in profile.signatures:
        return profile, None
    reason = (
        f"{runs[0]} is not calibrated; rnnsearch evaluate --model {runs[0]} --calibrate makes it"
        " so, on its development text"
        if len(runs) == 1
        else "an ensemble has no calibration"
    )
    signatures = tuple(name for name in profile.signatures if name != "confidence")
    return (
        dataclasses.replace(profile, signatures=signatures),
        f"without the signature confidence: {reason}",
    )


def _card(runs, profile, exported) -> str:
    """The page that goes with the model: how it was trained (the runs' own cards) and how it was
    exported.
    """
    trained = "\n\n".join(
        run.model_card.read_text(encoding="utf-8").rstrip()
        for run in runs
        if run.model_card.exists()
    )
    rows = [
        (
            f"signatures: {', '.join(profile.signatures)}; inputs and outputs are those of the"
            " project's export/contract.json"
        ),
        f"weights: {exported.bytes:,} bytes, {profile.weights}; computed in {profile.precision}",
        *([exported.left_out] if exported.left_out else []),
        *([f"what it costs: {exported.cost}"] if exported.cost else []),
        "options: all of them in profile.yaml beside this page",
        (
            f"checked before it was published: {exported.compared} answers of a fresh session equal"
            " to the Python model's"
        ),
        (
            f"made with rnnsearch_tf {__version__}, tensorflow {tf.__version__}; needs a server"
            " with tensorflow_text's operations if the text is normalized or cut into subwords"
            " (the stock server has them)"
        ),
    ]
    return "\n".join(
        [trained or "# Model card", "", "## Export", "", *(f"- {row}" for row in rows), ""]
    )


def finish_graph(folder) -> None:
    """Write into the signatures that every input is a vector, and leave out what names gradients
    that were not saved.

    The graph itself asserts the rank; there it is left open, or the assertion would be folded away.
    Where a name of a gradient is left, ``tf.saved_model.load`` warns.
    """
    from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

    path = pathlib.Path(folder) / "saved_model.pb"
    model = SavedModel.FromString(path.read_bytes())
    for graph in model.meta_graphs:
        for signature in graph.signature_def.values():
            for tensor in signature.inputs.values():
                tensor.tensor_shape.CopyFrom(tf.TensorShape([None]).as_proto())
        for function in graph.graph_def.library.function:
            for node in function.node_def:
                node.attr.pop("_gradient_op_type", None)
    path.write_bytes(model.SerializeToString(deterministic=True))
