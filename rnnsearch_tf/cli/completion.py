"""Tab completion of verbs, options, file names and shipped configurations, for bash, zsh and fish.

eval "$(rnnsearch completion bash)"                   in ~/.bashrc
autoload -U compinit; compinit; eval "$(rnnsearch completion zsh)"        in ~/.zshrc
rnnsearch completion fish > ~/.config/fish/completions/rnnsearch.fish
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rnnsearch_tf.cli.main import Parser


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: Namespace) -> None:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["rnnsearch"], shell=arguments.shell))


def complete(parser_of: Callable[[str], Parser], verbs: Mapping[str, str]) -> None:
    """Answer the shell, which asks through environment variables, and exit.

    Args:
        parser_of: function that returns a verb's argument parser.
        verbs: one-line description of each verb.
    """
    import os

    import argcomplete
    from argcomplete.completers import FilesCompleter

    from rnnsearch_tf.config import option_fields, shipped_configs

    files = FilesCompleter(("yaml",))

    def configs(**context):
        return [*files(**context), *shipped_configs()]

    def settings(**context):
        return [f"{name}=" for name, _ in option_fields()]

    typed_verb = (os.environ.get("COMP_LINE", "").split() + ["", ""])[1]
    program = ArgumentParser(prog="rnnsearch")
    subparsers = program.add_subparsers()
    for verb, meaning in verbs.items():
        # only the verb that is being typed needs its options
        parents = [parser_of(verb)] if verb == typed_verb else []
        subparsers.add_parser(verb, help=meaning, parents=parents, add_help=False)
        for action in [action for parent in parents for action in parent.actions]:
            if "--config" in action.option_strings:
                action.completer = configs  # type: ignore[attr-defined]  # read by argcomplete
            if "--set" in action.option_strings:
                action.completer = settings  # type: ignore[attr-defined]  # read by argcomplete
    argcomplete.autocomplete(program, always_complete_options="long")
