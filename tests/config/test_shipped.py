"""The configurations that come with the package."""

import dataclasses
import re

import yaml

from rnnsearch_tf.config import load_config, shipped_configs

SHIPPED = shipped_configs()


def test_a_shipped_configuration_says_what_it_is_and_holds_only_what_differs_from_its_base():
    for name, path in SHIPPED.items():
        text = path.read_text(encoding="utf-8")
        assert re.match(r"# [^\n]+[.:`]", text), (
            f"{name}: expected a first line that says what it is"
        )
        tree = yaml.safe_load(text)
        if "base" not in tree:
            continue
        config = dataclasses.asdict(load_config(path))
        base = dataclasses.asdict(load_config(tree.pop("base")))
        for section, values in tree.items():
            for key in values:
                assert config[section][key] != base[section][key], (
                    f"{name}: {section}.{key} is as its base has it"
                )


def test_one_that_trains_has_a_development_text():
    """By its scores the best weights are chosen; a phrase table has none."""
    settings = {"groundhog", "paper"}  # bases, without text
    without = {
        name
        for name in SHIPPED.keys() - settings
        if not (data := load_config(name).data).held_out
        and not data.development_source
        and data.corpus == "files"
    }
    assert without == {"encoder-decoder", "encoder-decoder-groundhog"}
