"""ModelService and health: status, reloading of the configuration, readiness."""

import grpc
import pytest
from google.protobuf import empty_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from serving.conformance.conftest import spec
from serving.conformance.write_models import model_list
from tensorflow_serving.apis import get_model_status_pb2, model_management_pb2

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
    [({}, [1, 2]), ({"version": 2}, [2]), ({"label": "stable"}, [1])],
    ids=["all", "version", "label"],
)
def test_status(management, choice, versions):
    rows = status(management, **choice)
    assert sorted(rows) == versions
    for row in rows.values():
        assert (row.state, row.status.error_code, row.status.error_message) == (AVAILABLE, 0, "")


@pytest.mark.parametrize(
    "choice, code, message",
    [
        ({"name": None}, "NOT_FOUND", "Could not find any versions of model "),
        ({"name": "none"}, "NOT_FOUND", "Could not find any versions of model none"),
        ({"version": 9}, "NOT_FOUND", "Could not find version 9 of model toy"),
        ({"label": "beta"}, "INVALID_ARGUMENT", "Unrecognized servable version label: beta"),
    ],
    ids=["no-name", "model", "version", "label"],
)
def test_status_refused(management, refused, choice, code, message):
    with refused(code, message):
        status(management, **choice)


def test_status_without_model_spec(management, refused):
    with refused("INVALID_ARGUMENT", "Missing ModelSpec"):
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


@pytest.fixture
def reload(management, address):
    """reload(ModelServerConfig); whatever a test did, the server has its first configuration again
    afterwards.
    """
    if address.models is None:
        pytest.skip("RNNSEARCH_MODELS is not given")

    def send(config):
        return management.HandleReloadConfigRequest(
            model_management_pb2.ReloadConfigRequest(config=config), timeout=60
        )

    yield send
    answer = send(model_list(address.models))
    assert answer.status.error_code == 0, answer.status.error_message
    assert sorted(status(management)) == [1, 2]


def said(reload, config):
    """(name of the gRPC code, message) of a reload, which may come in the answer or as the call's
    own status.
    """
    try:
        answer = reload(config).status
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return [code.name for code in grpc.StatusCode if code.value[0] == answer.error_code][
        0
    ], answer.error_message


def test_reload_adds_a_model_and_takes_it_away(reload, predict, refused, address):
    assert said(reload, model_list(address.models, "other")) == ("OK", "")
    answer = predict({"text": ["a"]}, name="other")
    assert list(answer.outputs["translation"].string_val) == [b"v7:a"]
    assert said(reload, model_list(address.models)) == ("OK", "")
    with refused("NOT_FOUND", "Servable not found for request: Latest(other)"):
        predict({"text": ["a"]}, name="other")


def test_reload_moves_a_label(reload, predict, address):
    config = model_list(address.models)
    config.model_config_list.config[0].version_labels["stable"] = 2
    assert said(reload, config) == ("OK", "")
    assert predict({"text": ["a"]}, label="stable").model_spec.version.value == 2


def test_reload_of_something_that_is_no_list(reload, address):
    config = model_list(address.models)
    config.ClearField("model_config_list")
    config.custom_model_config.SetInParent()
    assert said(reload, config)[0] == "INVALID_ARGUMENT"


def test_reload_with_a_name_twice(reload, address):
    assert said(reload, model_list(address.models, "other", "other"))[0] == "INVALID_ARGUMENT"


def test_reload_with_a_relative_path(reload, address):
    config = model_list(address.models, "other")
    config.model_config_list.config[1].base_path = "other"
    assert said(reload, config)[0] == "INVALID_ARGUMENT"


def test_reload_with_a_model_that_does_not_come_up(reload, predict, management, address):
    assert said(reload, model_list(address.models, "corrupt"))[0] == "UNKNOWN"
    row = status(management, name="corrupt")[1]
    assert row.state == get_model_status_pb2.ModelVersionStatus.END
    assert row.status.error_code != 0 and row.status.error_message
    assert predict({"text": ["a"]}).model_spec.version.value == 2
