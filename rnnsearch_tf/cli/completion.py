"""Tab completion of verbs, options, file names and shipped configurations, for bash, zsh and fish.

eval "$(rnnsearch completion bash)"                   in ~/.bashrc
autoload -U compinit; compinit; eval "$(rnnsearch completion zsh)"        in ~/.zshrc
rnnsearch completion fish > ~/.config/fish/completions/rnnsearch.fish
"""


def arguments(parser):
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments):
    import argcomplete

    print(argcomplete.shellcode(["rnnsearch"], shell=arguments.shell))


def complete(parser_of, verbs):
    """Answer the shell, which asks by environment variables, and exit.

    Args:
        parser_of: function of a verb's name, to the parser of its arguments.
        verbs: dictionary of the verbs and what they do.
    """
    import argparse
    import os

    import argcomplete
    from argcomplete.completers import ChoicesCompleter, FilesCompleter

    from rnnsearch_tf.config import option_fields, shipped_configs

    first = (os.environ.get("COMP_LINE", "").split() + ["", ""])[1]
    whole = argparse.ArgumentParser(prog="rnnsearch")
    words = whole.add_subparsers()
    for (
        verb,
        meaning,
    ) in verbs.items():  # only the parser of the verb that is being typed is needed whole
        parents = [parser_of(verb)] if verb == first else []
        parser = words.add_parser(verb, help=meaning, parents=parents, add_help=False)
        for action in parser._actions:
            if "--config" in action.option_strings:
                files = FilesCompleter(("yaml",))
                action.completer = lambda files=files, **context: [
                    *files(**context),
                    *shipped_configs(),
                ]
            if "--set" in action.option_strings:
                action.completer = ChoicesCompleter([f"{name}=" for name, _ in option_fields()])
    argcomplete.autocomplete(whole, always_complete_options="long")
