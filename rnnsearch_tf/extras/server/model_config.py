"""What a ModelServerConfig asks for: which models, and which of the versions on disk."""

from __future__ import annotations

import os
import pathlib

import grpc

from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument

PLATFORM = "tensorflow"


def check(config, roots=()):
    """Refuse a configuration that cannot be served.

    Args:
        config: ModelServerConfig.
        roots: absolute paths, under one of which base paths must be, links followed; none: they may
            be anywhere.

    Raises:
        ServingError: INVALID_ARGUMENT: not a list, a name twice, a relative path, another platform;
            PERMISSION_DENIED: a path elsewhere.
    """
    if config.WhichOneof("config") != "model_config_list":
        raise invalid_argument(
            "ServerModelConfig type not supported by HandleReloadConfigRequest. Only"
            " ModelConfigList is currently supported"
        )
    names = set()
    for model in config.model_config_list.config:
        if not model.name:
            raise invalid_argument(
                "Expected every model in config list to have a name, got one without"
            )
        if model.name in names:
            raise invalid_argument(
                f"Illegal to list model {model.name} multiple times in config list"
            )
        names.add(model.name)
        if not os.path.isabs(model.base_path) or "\0" in model.base_path:
            raise invalid_argument(
                f"Expected model {model.name} to have an absolute path or URI; got"
                f" base_path()={model.base_path}"
            )
        if model.model_platform not in ("", PLATFORM) or (
            not model.model_platform and not model.model_type
        ):
            raise invalid_argument(
                f'Expected model {model.name} to have model_platform: "{PLATFORM}", got'
                f' "{model.model_platform}"'
            )

    for model in config.model_config_list.config:
        if roots and not any(_is_under(root, model.base_path) for root in roots):
            raise ServingError(
                grpc.StatusCode.PERMISSION_DENIED,
                f"Expected model {model.name} to have a base path under one of"
                f" --allowed_model_roots; got base_path()={model.base_path}",
            )


def _is_under(root, path) -> bool:
    root = os.path.realpath(root)
    path = os.path.realpath(path)
    return os.path.commonpath([root, path]) == root


def versions_on_disk(base_path) -> dict | None:
    """{version: path} of the numbered folders, or None if the base path cannot be read."""
    try:
        entries = list(os.scandir(base_path))
        numbered = [
            entry
            for entry in entries
            if entry.name.isascii() and entry.name.isdecimal() and entry.is_dir()
        ]
    except (OSError, ValueError):  # ValueError: a path that no file system can have
        return None
    paths = {
        int(entry.name): pathlib.Path(entry.path)
        for entry in sorted(numbered, key=lambda entry: entry.name)
    }
    return {number: path for number, path in paths.items() if number < 2**63}


def wanted_versions(model, on_disk) -> list:
    """Versions that should answer, the newest first.

    Args:
        model: ModelConfig.
        on_disk: dict by version.
    """
    newest_first = sorted(on_disk, reverse=True)
    policy = model.model_version_policy.WhichOneof("policy_choice")
    if policy == "all":
        return newest_first
    if policy == "specific":
        return [
            version
            for version in newest_first
            if version in model.model_version_policy.specific.versions
        ]
    count = model.model_version_policy.latest.num_versions or 1
    return newest_first[:count]


def labels(models, current, available, allow_new=False, allow_any=False) -> dict:
    """{model name: {label: version}} of a configuration.

    Args:
        models: list of ModelConfig.
        current: the labels so far, in the same form.
        available: function of (model name, version): whether it answers.
        allow_new: a label that is new, or stays, need not be available.
        allow_any: no label need be.

    Raises:
        ServingError: FAILED_PRECONDITION, a label of a version that does not answer.
    """
    result: dict[str, dict[str, int]] = {}
    for model in models:
        for label, version in model.version_labels.items():
            moved = current.get(model.name, {}).get(label, version) != version
            if not (allow_any or (allow_new and not moved) or available(model.name, version)):
                raise ServingError(
                    grpc.StatusCode.FAILED_PRECONDITION,
                    f"Request to assign label to version {version} of model {model.name}, "
                    "which is not currently available for inference",
                )
            result.setdefault(model.name, {})[label] = version
    return result
