"""What the servers' tests share: base paths of tiny SavedModels, written once."""

import contextlib
import subprocess
import types

import pytest


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """A base path with versions 1 and 2 of the toy model; not to be written to."""
    from toy_model import write_toy

    base = tmp_path_factory.mktemp("toy")
    for version in (1, 2):
        write_toy(base, version)
    return base


@pytest.fixture
def served():
    """served(base, **flags) → a running Server of the model `toy` on free ports; stopped after the
    test.
    """
    from rnnsearch_tf.extras.server.flags import FREE, Flags
    from rnnsearch_tf.extras.server.server import Server

    with contextlib.ExitStack() as stack:

        def start(base, **flags):
            flags = {
                "port": FREE,
                "rest_api_port": 0,
                "file_system_poll_wait_seconds": 0.02,
            } | flags
            return stack.enter_context(
                Server(Flags(model_name="toy", model_base_path=str(base), **flags))
            )

        yield start


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A throw-away authority, a server certificate for localhost and a client certificate: PEM
    bytes and an SSLConfig.
    """
    from rnnsearch_tf.extras.server.config_protos import SSLConfig

    folder = tmp_path_factory.mktemp("tls")

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc")
    openssl(
        "req",
        "-x509",
        *key,
        "-keyout",
        "ca.key",
        "-out",
        "ca.crt",
        "-subj",
        "/CN=authority",
        "-days",
        "1",
    )
    for name in ("server", "client"):
        openssl(
            "req",
            *key,
            "-keyout",
            f"{name}.key",
            "-out",
            f"{name}.csr",
            "-subj",
            f"/CN={name}",
            "-addext",
            "subjectAltName=DNS:localhost",
        )
        openssl(
            "x509",
            "-req",
            "-in",
            f"{name}.csr",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-out",
            f"{name}.crt",
            "-days",
            "1",
            "-copy_extensions",
            "copy",
        )
    pem = {
        file: (folder / file).read_bytes()
        for file in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key")
    }
    config = SSLConfig(
        server_key=pem["server.key"].decode(),
        server_cert=pem["server.crt"].decode(),
        custom_ca=pem["ca.crt"].decode(),
        client_verify=True,
    )
    return types.SimpleNamespace(
        authority=pem["ca.crt"],
        client=pem["client.crt"],
        client_key=pem["client.key"],
        config=config,
    )
