"""py.typed promises types: public functions have them; ``make lint`` checks that they are true."""

import ast

from test_documents import ROOT

PACKAGE = ROOT / "rnnsearch_tf"


def public_functions(body, place):
    """(function, where it stands) of a module or class and of its public classes, constructors
    included.
    """
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{place} {node.name}")
        if isinstance(node, ast.FunctionDef):
            if not node.name.startswith("_") or node.name == "__init__":
                yield node, place


def unannotated(function):
    """Names of its parameters without a type, and ``return`` where its result has none."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [each for each in (arguments.vararg, arguments.kwarg) if each]
    names = [each.arg for each in parameters if not each.annotation]
    names += [] if function.returns or function.name == "__init__" else ["return"]
    return [name for name in names if name not in ("self", "cls")]


def test_public_functions_are_annotated():
    found = {
        f"{place}.{function.name}": unannotated(function)
        for path in PACKAGE.rglob("*.py")
        for function, place in public_functions(
            ast.parse(path.read_text(encoding="utf-8")).body, path.relative_to(PACKAGE)
        )
    }
    assert "search/beam.py.beam_search" in found
    assert not {place: names for place, names in found.items() if names}
