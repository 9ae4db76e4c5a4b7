"""Faults in the export as a web page, and in what it has in place of a server."""

from mutants import Mutant

TOKENS = ("export/test_web_page.py::test_tokens_ids_and_texts",)
FILES = ("export/test_web_export.py::test_the_files_of_a_page",)
OTHERS = ("export/test_web_export.py::test_other_libraries_are_refused",)

WEB = [
    Mutant(
        "extras/web/page/text.js",
        "sums are compared after they are rounded",
        "offer(end, best[start].score + scores[id], true)",
        "offer(end, Math.fround(best[start].score + scores[id]), true)",
        TOKENS,
    ),
    Mutant(
        "extras/web/page/text.js",
        "each unknown character is a piece",
        "found.at(-1)?.known === false",
        "false",
        TOKENS,
    ),
    Mutant(
        "extras/web/page/text.js",
        "JavaScript's white space in place of Python's",
        "clean = cleaned(",
        'clean = ((text) => text.replace(/\\s+/g, " ").replace(CONTROL, "").trim())(',
        TOKENS,
    ),
    Mutant(
        "extras/web/page/text.js",
        "special tokens can be written",
        ".slice(UNKNOWN + 1))",
        ")",
        TOKENS,
    ),
    Mutant(
        "extras/web/writer.py",
        "the page may ask other hosts",
        "connect-src 'self'",
        "connect-src *",
        ("export/test_web_export.py::test_the_page_may_talk_to_its_own_folder_only",),
    ),
    Mutant(
        "extras/web/writer.py",
        "the script that asks a server",
        "(own if name in OWN_FILES else server)",
        "(own if name in OWN_FILES[1:] else server)",
        FILES,
    ),
    Mutant(
        "extras/web/writer.py",
        "the size lacks the library",
        "exported.bytes + sum(map(len, files.values()))",
        "exported.bytes",
        FILES,
    ),
    Mutant(
        "extras/web/writer.py",
        "Moses text goes unrefused",
        'if side["tokenization"] != "sentencepiece":',
        'if side["tokenization"] == "other":',
        ("export/test_web_export.py::test_moses_text_is_refused_before_the_conversion",),
    ),
    Mutant(
        "extras/web/library.py",
        "any package is taken",
        'name != "onnxruntime-web" or ',
        "",
        OTHERS,
    ),
    Mutant(
        "extras/web/library.py",
        "an older version is taken",
        " or int(minor) < FIRST",
        "",
        OTHERS,
    ),
    Mutant(
        "extras/web/library.py",
        "the checksum is not read",
        "while unzipped.read(1 << 20):",
        "while False:",
        ("export/test_web_export.py::test_damaged_and_missing_libraries_are_refused",),
    ),
]
