"""ModelService and health: status of versions, readiness."""

import pytest
from google.protobuf import empty_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serving.conformance.conftest import spec
from tensorflow_serving.apis import get_model_status_pb2

AVAILABLE = get_model_status_pb2.ModelVersionStatus.AVAILABLE


def status(management, **choice):
    """{version: ModelVersionStatus} of a model."""
    request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec(**choice))
    return {
        row.version: row
        for row in management.GetModelStatus(request, timeout=10).model_version_status
    }


@pytest.mark.parametrize(
    "choice, versions",
    [({}, [2]), ({"version": 2}, [2])],
    ids=["all", "version"],
)
def test_status(management, choice, versions):
    rows = status(management, **choice)
    assert sorted(rows) == versions
    for row in rows.values():
        assert (row.state, row.status.error_code, row.status.error_message) == (AVAILABLE, 0, "")


@pytest.mark.parametrize(
    "choice, code",
    [
        ({"name": None}, "NOT_FOUND"),
        ({"name": "none"}, "NOT_FOUND"),
        ({"version": 9}, "NOT_FOUND"),
        ({"label": "beta"}, "INVALID_ARGUMENT"),
    ],
    ids=["no-name", "model", "version", "label"],
)
def test_status_refused(management, refused, choice, code):
    with refused(code):
        status(management, **choice)


def test_status_without_model_spec(management, refused):
    with refused("INVALID_ARGUMENT"):
        management.GetModelStatus(get_model_status_pb2.GetModelStatusRequest(), timeout=10)


def test_health(channel):
    answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING


def test_health_of_an_unknown_service(channel, refused):
    with refused("NOT_FOUND"):
        health_pb2_grpc.HealthStub(channel).Check(
            health_pb2.HealthCheckRequest(service="none"), timeout=10
        )


def test_an_unknown_method(channel, refused):
    with refused("UNIMPLEMENTED"):
        method = channel.unary_unary(
            "/tensorflow.serving.PredictionService/Nothing",
            request_serializer=empty_pb2.Empty.SerializeToString,
            response_deserializer=bytes,
        )
        method(empty_pb2.Empty(), timeout=10)
