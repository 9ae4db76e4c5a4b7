"""Keras finds this package's classes by name once they are registered; that happens here, as soon as Keras is imported.

``keras.models.load_model`` needs the classes, and ``import rnnsearch_tf`` is to stay quick for programs that
never use Keras. So they are imported with Keras: at once where it is there already, else right after it.
"""

import importlib
import importlib.abc
import importlib.util
import sys


REGISTERING = ("rnnsearch_tf.models", "rnnsearch_tf.training.optimizers")
"""Modules with all that a ``.keras`` file may name; importing them registers it."""


def register_with_keras():
    """Register models, layers, loss and optimizers now, or when Keras is imported."""
    if "keras" in sys.modules:
        _register()
    else:
        sys.meta_path.insert(0, _KerasFinder())


class _KerasFinder(importlib.abc.MetaPathFinder):
    """Finds Keras as Python would, once, with a loader that registers the classes after it."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != "keras":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("keras")
        if spec is not None:
            spec.loader.exec_module = _then_register(spec.loader.exec_module)
        return spec


def _then_register(load):
    def exec_module(module):
        load(module)
        if "rnnsearch_tf.backend" not in sys.modules:  # else a module of this package asked for Keras, and imports what it needs
            _register()

    return exec_module


def _register():
    for name in REGISTERING:
        importlib.import_module(name)
