"""Two kinds of gRPC request that no handler sees: damaged ones, and those for methods that are not
served.

gRPC answers them by itself, but writes a traceback to the log for each, and
keeps the state of every damaged call in memory for ever (grpcio 1.85).
"""

from __future__ import annotations

import grpc
from google.protobuf.message import DecodeError

DAMAGED = object()


class Refusals(grpc.ServerInterceptor):
    """Give INTERNAL to bytes that are no message of the method and UNIMPLEMENTED to what is not
    served, and nothing more.
    """

    def intercept_service(self, continuation, handler_call_details):
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        return grpc.unary_unary_rpc_method_handler(
            _refusing(handler.unary_unary),
            _tolerant(handler.request_deserializer),
            handler.response_serializer,
        )


def _tolerant(deserialize):
    def request_or_damaged(data):
        try:
            return deserialize(data)
        except DecodeError:
            return DAMAGED

    return request_or_damaged


def _refusing(answer):
    def answer_or_refuse(request, context):
        if request is DAMAGED:
            context.abort(grpc.StatusCode.INTERNAL, "Exception deserializing request!")
        try:
            return answer(request, context)
        except NotImplementedError:  # of the generated stubs
            context.abort(grpc.StatusCode.UNIMPLEMENTED, "Method not implemented!")

    return answer_or_refuse
