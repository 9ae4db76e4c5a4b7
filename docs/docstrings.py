"""How docstrings become Markdown: an extension of Griffe, which reads them for the site."""

import ast
import re
import textwrap

import griffe

SECTION = r"^{}:\n((?:[ ]{{4}}.*\n?|\n)+)"
EXAMPLE = re.compile(SECTION.format("Example"), re.MULTILINE)
CALL_ARGUMENTS = re.compile(SECTION.format("Call arguments"), re.MULTILINE)
ROLE = re.compile(r":(?:class|func|meth|mod|attr|data):`~?")
TWO_SHAPES = re.compile(r"\](?= ?\[)")


class Docstrings(griffe.Extension):
    """Examples become code, the arguments of a call a list, and two shapes in a row no link."""

    def on_object(self, *, obj, **_):
        """Rewrite the docstring of one class, function or module."""
        if obj.is_alias or obj.docstring is None:
            return
        text = obj.docstring.value
        # as it stands: Griffe has taken away the indentation of one that ends with an equation
        if obj.is_module:
            text = ast.get_docstring(
                ast.parse(obj.filepath.read_text(encoding="utf-8")), clean=False
            ).strip()
        text = EXAMPLE.sub(_example, text + "\n")
        text = CALL_ARGUMENTS.sub(_call_arguments, text)
        lines = (
            line if line.startswith(">>>") else TWO_SHAPES.sub("&#93;", ROLE.sub("`", line))
            for line in text.split("\n")
        )
        obj.docstring.value = "\n".join(lines)


def _example(match):
    return f"**Example**\n\n```python\n{textwrap.dedent(match[1]).strip()}\n```\n\n"


def _call_arguments(match):
    items = re.sub(
        r"^(\w[\w, ]*):", r"- `\1`:", textwrap.dedent(match[1]).strip(), flags=re.MULTILINE
    )
    return f"**Arguments of a call**\n\n{items}\n\n"
