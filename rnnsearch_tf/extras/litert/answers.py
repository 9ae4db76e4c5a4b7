"""Answer with a LiteRT file in a new process.

    python -m rnnsearch_tf.extras.litert.answers FILE REQUESTS ANSWERS

REQUESTS and ANSWERS: see :func:`~rnnsearch_tf.export.graph_check.answer_requests`.
"""

import sys

from rnnsearch_tf.export.graph_check import answer_requests


def main(file: str, requests: str, answers: str) -> None:
    from ai_edge_litert.interpreter import Interpreter

    search = Interpreter(file).get_signature_runner()
    (source,) = search.get_input_details()
    answer_requests(lambda batch: search(**{source: batch}), requests, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
