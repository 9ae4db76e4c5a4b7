"""Messages of tensorflow_model_server's configuration files that its Python package leaves out: the
tests read the files of the top-level serving/ by them.

ModelServerConfig is in the package (tensorflow_serving.config). These three are declared with the
field names and types of its .proto files, which is all that their text form needs.
"""

import pathlib

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
    wrappers_pb2,
)

PACKAGE = "rnnsearch.serving"
_Field = descriptor_pb2.FieldDescriptorProto
# wrappers: a value or nothing
_INT = "Int64Value"
_FLAG = "BoolValue"
_WORD = "StringValue"
_PLAIN = {"bool": _Field.TYPE_BOOL, "string": _Field.TYPE_STRING, "int64": _Field.TYPE_INT64}

_MESSAGES = {
    "BatchingParameters": {
        "max_batch_size": _INT,
        "batch_timeout_micros": _INT,
        "max_enqueued_batches": _INT,
        "num_batch_threads": _INT,
        "thread_pool_name": _WORD,
        "allowed_batch_sizes": "repeated int64",
        "pad_variable_length_inputs": "bool",
        "enable_large_batch_splitting": _FLAG,
        "max_execution_batch_size": _INT,
    },
    "SSLConfig": {
        "server_key": "string",
        "server_cert": "string",
        "custom_ca": "string",
        "client_verify": "bool",
    },
    "PrometheusConfig": {"enable": "bool", "path": "string"},
    "MonitoringConfig": {"prometheus_config": "PrometheusConfig"},
}


def _field(number, name, kind):
    field = _Field(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind.startswith("repeated "):
        field.label, kind = _Field.LABEL_REPEATED, kind.removeprefix("repeated ")
    if kind in _PLAIN:
        field.type = _PLAIN[kind]
    else:
        field.type = _Field.TYPE_MESSAGE
        field.type_name = f".{PACKAGE}.{kind}" if kind in _MESSAGES else f".google.protobuf.{kind}"
    return field


def _declare():
    file = descriptor_pb2.FileDescriptorProto(
        name="rnnsearch/serving_config.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    for message, fields in _MESSAGES.items():
        numbered = enumerate(fields.items(), start=1)
        file.message_type.add(
            name=message, field=[_field(number, name, kind) for number, (name, kind) in numbered]
        )
    pool = descriptor_pool.Default()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in _MESSAGES
    }


_CLASSES = _declare()
BatchingParameters = _CLASSES["BatchingParameters"]
SSLConfig = _CLASSES["SSLConfig"]
MonitoringConfig = _CLASSES["MonitoringConfig"]


def read(path, message):
    """The message in a file; ParseError if it has no such text."""
    return text_format.Parse(pathlib.Path(path).read_text(encoding="utf-8"), message())
