"""Planted faults of the attention page and of an export's confidences; see mutants.py."""

from mutants import Mutant

PAGE = "export/test_attention_page.py"
PAGE_AND_SERVERS = "export/test_page_and_servers.py"
FILES = "serving/test_page_files.py"
CONFIDENCE = "export/test_served_confidence.py"

CONFIDENCES = [
    Mutant(
        "export/confidence.py",
        "a word's mean is another sentence's",
        "tf.gather(means, words.value_rowids())",
        "tf.gather(means, tf.zeros_like(words.value_rowids()))",
        (f"{CONFIDENCE}::test_it_is_that_of_the_run",),
    ),
    Mutant(
        "export/confidence.py",
        "the end symbol is not counted",
        "tf.cast(tokens.row_lengths() + 1, tf.float64)",
        "tf.cast(tf.maximum(tokens.row_lengths(), 1), tf.float64)",
        (f"{CONFIDENCE}::test_it_is_that_of_the_run",),
    ),
    Mutant(
        "export/confidence.py",
        "four decimals",
        "DIGITS = 7",
        "DIGITS = 4",
        (f"{CONFIDENCE}::test_it_is_that_of_the_run",),
    ),
    Mutant(
        "export/confidence.py",
        "a token belongs to the word of its first character",
        "counts = tf.clip_by_value(left, 1, tf.maximum(sizes.values, 1))",
        "counts = tf.ones_like(left)",
        (f"{CONFIDENCE}::test_log_probabilities_of_words_are_those_of_the_python_way",),
    ),
    Mutant(
        "export/translator.py",
        "an export's words have no confidences",
        "json.loads(numbers)))\n                    )",
        "[])))",
        (f"{CONFIDENCE}::test_the_command_says_the_same_of_the_export",),
    ),
    Mutant(
        "export/writer.py",
        "a calibration that is not there is not told",
        'f"without the signature confidence: {reason}",\n',
        '"",\n',
        (f"{CONFIDENCE}::test_a_run_without_a_calibration_is_exported_without_it_and_says_so",),
    ),
]

WORDS = [
    Mutant(
        "extras/server/page/words.js",
        "pieces are shown as words",
        "const pieces = tokens.length > 0 && tokens[0].startsWith(SPACE);",
        "const pieces = false;",
        (f"{PAGE}::test_two_models_side_by_side",),
    ),
    Mutant(
        "extras/server/page/words.js",
        "a word's column is that of its first piece",
        "mean((row) => sum(row, other))",
        "mean((row) => row[other.places[0]])",
        (f"{PAGE}::test_two_models_side_by_side",),
    ),
    Mutant(
        "extras/server/page/words.js",
        "Japanese pieces run together",
        " || UNSPACED.test(text) || (last && UNSPACED.test(last.text))",
        "",
        (f"{PAGE}::test_pieces_of_scripts_without_spaces_stay_apart",),
    ),
    Mutant(
        "extras/server/page/words.js",
        "every word has the first one's confidence",
        "const owner = owners[Math.min(at, owners.length - 1)];",
        "const owner = owners[0];",
        (f"{PAGE}::test_a_sentence_is_translated_while_it_is_typed",),
    ),
]

PANEL = [
    Mutant(
        "extras/server/page/panel.js",
        "the attention is transposed",
        "make(i, j, this.matrix[i][j])",
        "make(i, j, this.matrix[j][i])",
        (f"{PAGE}::test_a_sentence_is_translated_while_it_is_typed",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "threads end at the wrong words",
        '[middle("source", j), middle("target", i)]',
        '[middle("source", i), middle("target", j)]',
        (f"{PAGE}::test_a_sentence_is_translated_while_it_is_typed",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "focus follows nothing",
        '["mouseover", "focusin"]',
        '["mouseover"]',
        (f"{PAGE}::test_tab_follows_the_words_one_by_one",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "the pointer follows nothing",
        '["mouseover", "focusin"]',
        '["focusin"]',
        (f"{PAGE}::test_the_pointer_follows_a_word",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "a word stays followed",
        '["mouseleave", "focusout"]',
        '["focusout"]',
        (f"{PAGE}::test_the_pointer_follows_a_word",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "words cannot be reached by the keyboard",
        "    word.tabIndex = 0;\n",
        "",
        (f"{PAGE}::test_tab_follows_the_words_one_by_one",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "text is taken for HTML",
        "  made.textContent = text;",
        "  made.innerHTML = text;",
        (
            f"{PAGE_AND_SERVERS}::test_text_is_never_taken_for_html",
            f"{FILES}::test_nothing_in_them_comes_from_elsewhere",
        ),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "a cut sentence looks whole",
        "note.hidden = !best.source_truncated?.[0];",
        "note.hidden = true;",
        (f"{PAGE}::test_a_text_that_is_too_long_is_said",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "attention that is not there is shown",
        "this.aligned = this.matrix.some((row) => row.some((weight) => weight > 0));",
        "this.aligned = true;",
        (f"{PAGE}::test_what_a_model_lacks_is_said",),
    ),
    Mutant(
        "extras/server/page/panel.js",
        "places without a translation are listed",
        "if (!list.length[0][n]) return [];",
        "",
        (f"{PAGE}::test_a_sentence_is_translated_while_it_is_typed",),
    ),
    Mutant(
        "extras/server/page/page.html",
        "a translation from right to left stands left",
        'class="translation" dir="auto"',
        'class="translation"',
        (f"{PAGE}::test_any_script",),
    ),
    Mutant(
        "extras/server/page/page.html",
        "a field without a name",
        '<label class="quiet" for="sentence">Sentence</label>',
        "",
        (f"{PAGE}::test_accessibility",),
    ),
    Mutant(
        "extras/server/page/page.css",
        "faint letters in the light",
        "--faded: #666058;",
        "--faded: #a9a298;",
        (f"{PAGE}::test_accessibility",),
    ),
    Mutant(
        "extras/server/page/page.css",
        "faint letters in the dark",
        "--faded: #a8a69f;",
        "--faded: #55534f;",
        (f"{PAGE}::test_accessibility",),
    ),
    Mutant(
        "extras/server/page/page.css",
        "a table wider than a phone",
        ".scrolling { max-width: 100%; overflow-x: auto; }",
        "",
        (f"{PAGE}::test_a_phone",),
    ),
]

ASKING = [
    Mutant(
        "extras/server/page/page.js",
        "typing alone does nothing",
        "    timer = setTimeout(translate, PAUSE);\n",
        "",
        (f"{PAGE}::test_a_sentence_is_translated_while_it_is_typed",),
    ),
    Mutant(
        "extras/server/page/page.js",
        "Enter waits",
        "    event.preventDefault();\n    translate();\n",
        "    event.preventDefault();\n",
        (f"{PAGE}::test_enter_translates_at_once_and_the_address_keeps_it",),
    ),
    Mutant(
        "extras/server/page/page.js",
        "the address forgets",
        "  history.replaceState(",
        "  void (",
        (f"{PAGE}::test_enter_translates_at_once_and_the_address_keeps_it",),
    ),
    Mutant(
        "extras/server/page/page.js",
        "a late answer is shown",
        "  each.asked?.abort();\n",
        "",
        (f"{PAGE}::test_an_answer_that_comes_too_late_is_dropped",),
    ),
    Mutant(
        "extras/server/page/page.js",
        "any length goes to the server",
        "const LONGEST = 2000;",
        "const LONGEST = 200000;",
        (f"{PAGE}::test_a_text_that_is_too_long_is_said",),
    ),
    Mutant(
        "extras/server/page/server.js",
        "an unknown model is a refused text",
        "if (status === 404)",
        "if (status === 4040)",
        (f"{PAGE}::test_a_wrong_model_is_said",),
    ),
    Mutant(
        "extras/server/page/server.js",
        "a busy server is a refused text",
        "status === 429 || status === 503",
        "status === 429",
        (f"{PAGE_AND_SERVERS}::test_a_refusal_is_said_in_words",),
    ),
    Mutant(
        "extras/server/page/server.js",
        "a server that is gone is not understood",
        "throw new Problem(this.#gone());",
        "throw error;",
        (
            f"{PAGE_AND_SERVERS}::test_a_server_that_is_gone_is_said_and_tried_again",
            f"{PAGE_AND_SERVERS}::test_another_server_that_does_not_allow_it_is_said",
        ),
    ),
    Mutant(
        "extras/server/page/server.js",
        "a request that needs permission beforehand",
        '{ method: "POST", body, signal }',
        '{ method: "POST", body, signal, headers: { "Content-Type": "application/json" } }',
        (f"{PAGE_AND_SERVERS}::test_another_server_is_asked_where_it_allows_that",),
    ),
]

SERVED = [
    Mutant(
        "extras/server/attention_page.py",
        "no other server",
        "connect-src 'self'{other};",
        "connect-src 'self';",
        (
            f"{PAGE_AND_SERVERS}::test_another_server_is_asked_where_it_allows_that",
            f"{FILES}::test_the_policy_opens_for_the_named_server_alone",
        ),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "every other server",
        "connect-src 'self'{other};",
        "connect-src *;",
        (f"{PAGE_AND_SERVERS}::test_the_policy_holds",),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "planted scripts run",
        "script-src 'self';",
        "script-src 'self' 'unsafe-inline';",
        (
            f"{PAGE_AND_SERVERS}::test_the_policy_holds",
            f"{FILES}::test_its_files_and_their_headers",
        ),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "anything is a server",
        "if ORIGIN.fullmatch(server) else",
        "if server else",
        (f"{FILES}::test_the_policy_opens_for_the_named_server_alone",),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "any method does",
        'if method not in ("GET", "HEAD"):',
        "if False:",
        (f"{FILES}::test_other_methods_are_refused",),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "types are guessed",
        '    "X-Content-Type-Options": "nosniff",\n',
        "",
        (f"{FILES}::test_its_files_and_their_headers", f"{FILES}::test_the_models_are_listed"),
    ),
    Mutant(
        "extras/server/server.py",
        "the page is always there",
        "None if flags.no_page else AttentionPage",
        "AttentionPage",
        (f"{FILES}::test_no_page",),
    ),
    Mutant(
        "extras/server/attention_page.py",
        "about.json of any size",
        "file.read(LONGEST_ABOUT)",
        "file.read()",
        (f"{FILES}::test_what_an_export_says_of_its_model",),
    ),
]
