"""Pages of the documents' site that are no files of docs/: a MkDocs hook.

Some are documents that stand elsewhere (TAKEN_IN), and the notebooks with their outputs. The others
are made from the program: the public names, the options, the commands with their flags, the
configurations. No copy of them is kept.
"""

import ast
import base64
import html
import json
import os
import pathlib
import posixpath
import re
import subprocess
import sys

import rnnsearch_tf
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "rnnsearch_tf"

TAKEN_IN = {
    "README.md": "index.md",
    "serving/README.md": "guides/production.md",
    "benchmarks/RESULTS.md": "results.md",
    "benchmarks/TOKENIZER.md": "tokenizer.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
"""{document of the repository: its page}"""

NOTEBOOKS = {
    path: f"notebooks/{path.stem}.md" for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
}
"""{notebook: its page}"""

ROOMS = {
    "config": "Configuration",
    "data": "Data",
    "text": "Text",
    "models": "Models",
    "training": "Training",
    "translation": "Translation",
    "export": "Export",
}
"""Rooms of the package that public names stand in, in the order of the page: {room: heading}."""

BASES = {"TranslationModel": "models.translation_model"}
"""Classes that the docstrings of public ones refer to: {name: module}."""

LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)]*)?\))")
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.DOTALL)
NAMED = re.compile(r"(?<!\[)`([\w/.-]+\.(?:md|ipynb))`")


def on_config(config):
    """Put the notebooks into the navigation, behind the first hour."""
    place = 1 + next(
        number for number, entry in enumerate(config.nav) if "first-hour.md" in entry.values()
    )
    config.nav.insert(place, {"Notebooks": list(NOTEBOOKS.values())})
    return config


def on_files(files, config):
    """Add the generated pages."""
    pages = {
        page: (ROOT / document).read_text(encoding="utf-8") for document, page in TAKEN_IN.items()
    }
    pages |= {
        "reference/python.md": python_page(),
        "reference/layers.md": (
            f"# Layers\n\n{documented([*exported('layers'), 'layers.attention.Attention'])}"
        ),
        "reference/search.md": f"# Search\n\n{modules('search')}",
        "reference/evaluation.md": f"# Evaluation\n\n{modules('evaluation')}",
        "reference/keras-nlp.md": f"# keras-nlp\n\n{documented(exported('extras/hub'))}",
        "reference/command-line.md": command_line_page(),
        "reference/options.md": options_page(),
        "reference/configurations.md": configurations_page(),
    }
    for notebook, page in NOTEBOOKS.items():
        pages |= notebook_page(notebook, page)
    for page, content in pages.items():
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown, page, **_):
    """A link to a document, or its name in a document taken in, becomes a link to its page."""
    own = page.file.src_uri
    elsewhere = TAKEN_IN | {
        path.relative_to(ROOT).as_posix(): page for path, page in NOTEBOOKS.items()
    }
    document = {page: document for document, page in elsewhere.items()}.get(own, f"docs/{own}")

    def page_of(path):
        # docs/results is papers/results
        within = path.removeprefix("docs/").removeprefix("papers/")
        found = elsewhere.get(path, within)
        return posixpath.relpath(found, posixpath.dirname(own) or ".") if found != path else None

    def linked(match):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(document), match[2]))
        return f"{match[1]}{page_of(path) or match[2]}{match[3]}"

    def named(match):
        return (
            f"[{match[0]}]({page_of(match[1])})"
            if page_of(match[1]) and (ROOT / match[1]).exists()
            else match[0]
        )

    markdown = LINK.sub(linked, markdown)
    return NAMED.sub(named, markdown) if document in elsewhere else markdown


def documented(names):
    """Markdown that mkdocstrings fills with docstrings: of the modules of these names, which have
    the equations, and of the names.
    """
    members = {}
    for name in names:
        module, _, member = name.rpartition(".")
        members.setdefault(module, []).append(member)
    return "\n\n".join(
        f"::: rnnsearch_tf.{module}\n    options: {{members: [{', '.join(chosen)}]}}"
        for module, chosen in members.items()
    )


def notebook_page(notebook, page):
    """{page: a notebook as Markdown, with the outputs that it was committed with; picture: its
    bytes}.
    """
    parts = []
    pictures = {}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(
            FORMULA.sub(mathml, source)
            if cell["cell_type"] == "markdown"
            else f"```python\n{source}\n```"
        )
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{notebook.stem}-{len(pictures) + 1}.png"
                pictures[f"notebooks/{name}"] = base64.b64decode("".join(data["image/png"]))
                parts.append(f"![the picture that this cell draws]({name})")
            elif text := "".join(data.get("text/plain") or output.get("text", "")):
                parts.append(f"```text\n{text.rstrip()}\n```")
    return {page: "\n\n".join(parts), **pictures}


def mathml(match):
    """A formula as MathML, which browsers draw without a program; $$…$$ on a line of its own."""
    from latex2mathml.converter import convert

    displayed, inline = match.groups()
    return (
        f"\n\n<div>{convert(displayed, display='block')}</div>\n\n"
        if displayed
        else f"<span>{convert(inline)}</span>"
    )


def python_page():
    """What ``import rnnsearch_tf`` offers, by room."""
    names = {heading: [] for heading in ROOMS.values()}
    for name, module in (rnnsearch_tf._MODULE_OF | BASES).items():
        names[ROOMS[module.split(".")[0]]].append(f"{module}.{name}")
    parts = [f"## {heading}\n\n{documented(names[heading])}" for heading in names]
    return "\n\n".join(
        [
            "# Python",
            (
                "After `import rnnsearch_tf as rt` these are `rt.Translator` and so on, whatever"
                " module they stand in."
            ),
            *parts,
        ]
    )


def exported(room):
    """module.name of everything that the room's __init__.py exports."""
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return [
        f"{node.module.removeprefix('rnnsearch_tf.')}.{alias.name}"
        for node in imports
        for alias in node.names
    ]


def modules(room):
    """Markdown that mkdocstrings fills with the docstrings of all modules of a room."""
    paths = sorted(path for path in (PACKAGE / room).glob("*.py") if path.stem != "__init__")
    return "\n\n".join(f"::: rnnsearch_tf.{room}.{path.stem}" for path in paths)


def printed(*words):
    """What the program prints."""
    program = [sys.executable, "-m", "rnnsearch_tf", *words]
    return subprocess.run(
        program,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "100"},
    ).stdout


def command_line_page():
    """Every command with its flags, as ``rnnsearch help`` prints them."""
    from rnnsearch_tf.cli.main import COMMANDS

    parts = [f"## {command}\n\n```text\n{printed('help', command)}```" for command in COMMANDS]
    return "\n\n".join(["# Command line", f"```text\n{printed('help')}```", *parts])


def options_page():
    """Every option, as ``rnnsearch options`` prints it: a line with name, default and limits, then
    the indented meaning.
    """
    parts = [
        "# Options",
        "What a configuration may say: `section.name`, the default, and what is allowed.",
    ]
    section = None
    sections = ("source.", "target.", "data.", "model.", "training.", "search.")
    listed = "".join(printed("options", each) for each in sections)
    for name, rest, meaning in re.findall(r"^(\S+): (.*)\n((?: .*\n)+)", listed, re.MULTILINE):
        default, _, limits = html.escape(rest).partition("  ")
        if "." in name and name.split(".")[0] != section:
            section = name.split(".")[0]
            parts.append(f"## {section}")
        parts.append(
            f'<p id="{name}"><code>{name}: {default}</code>'
            f" {limits}<br>{html.escape(' '.join(meaning.split()))}</p>"
        )
    return "\n\n".join(parts)


def configurations_page():
    """Every configuration that comes with the program, and every profile of an export."""
    parts = [
        "# Configurations",
        "`--config` takes them by name. What they leave out has its default.",
    ]
    parts += [
        f"## {path.stem}\n\n{block(path)}" for path in sorted((ROOT / "configs").glob("*.yaml"))
    ]
    parts += ["## Profiles of an export", "`rnnsearch export --profile` takes the path of one."]
    parts += [
        f"### export/{path.name}\n\n{block(path)}"
        for path in sorted((ROOT / "export").glob("*.yaml"))
    ]
    return "\n\n".join(parts)


def block(path):
    """A YAML file as it stands."""
    return f"```yaml\n{path.read_text(encoding='utf-8')}```"
