"""ModelService and health: status of versions, readiness."""

import pytest
from google.protobuf import empty_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serving.conformance.conftest import refused, spec
from tensorflow_serving.apis import get_model_status_pb2

AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


def status(management, **choice):
    request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec(**choice))
    return management.GetModelStatus(request, timeout=10).model_version_status


@pytest.mark.parametrize("choice", [{}, {"version": 2}], ids=["all", "version"])
def test_status(management, choice):
    (row,) = status(management, **choice)
    assert (row.version, row.state, row.status.error_code) == (2, AVAILABLE, 0)


@pytest.mark.parametrize(
    "choice, code",
    [
        ({"name": "none"}, "NOT_FOUND"),
        ({"version": 9}, "NOT_FOUND"),
        ({"label": "beta"}, "INVALID_ARGUMENT"),
    ],
    ids=["model", "version", "label"],
)
def test_status_refused(management, choice, code):
    with refused(code):
        status(management, **choice)


def test_health(channel):
    check = health_pb2_grpc.HealthStub(channel).Check
    answer = check(health_pb2.HealthCheckRequest(), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
    with refused("NOT_FOUND"):
        check(health_pb2.HealthCheckRequest(service="none"), timeout=10)


def test_an_unknown_method(channel):
    method = channel.unary_unary(
        "/tensorflow.serving.PredictionService/Nothing",
        request_serializer=empty_pb2.Empty.SerializeToString,
        response_deserializer=bytes,
    )
    with refused("UNIMPLEMENTED"):
        method(empty_pb2.Empty(), timeout=10)
