"""Answer with an ONNX file in a new process.

    python -m rnnsearch_tf.extras.onnx.answers FILE REQUESTS ANSWERS

REQUESTS and ANSWERS: see :func:`~rnnsearch_tf.export.graph_check.answer_requests`.
"""

import sys

from rnnsearch_tf.export.graph_check import answer_requests


def main(file: str, requests: str, answers: str) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    (source,) = session.get_inputs()
    names = [output.name for output in session.get_outputs()]
    answer_requests(
        lambda batch: dict(zip(names, session.run(names, {source.name: batch}))), requests, answers
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
