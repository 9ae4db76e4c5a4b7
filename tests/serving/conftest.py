"""What the servers' tests share: base paths of tiny SavedModels, servers of them, certificates."""

import contextlib
import subprocess
import types

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_launcher():
    """All servers in this process have their models' processes forked by one launcher, started when
    the first of them needs it: importing TensorFlow takes longer than most of these tests.
    """
    import rnnsearch_tf.extras.server.models
    from shared_launcher import SharedLauncher

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rnnsearch_tf.extras.server.models, "Launcher", SharedLauncher)
        yield
    SharedLauncher.end()


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
    test. It looks for new versions all the time.
    """
    from toy_calls import toy_server

    with contextlib.ExitStack() as stack:

        def start(base, **flags):
            quickly = {"file_system_poll_wait_seconds": 0.02}
            return stack.enter_context(toy_server(base, **quickly | flags))

        yield start


@pytest.fixture(scope="session")
def shared_server(toy_base):
    """One running Server of `toy_base` with the default flags, for tests that leave it as it is."""
    from toy_calls import toy_server

    with toy_server(toy_base) as server:
        yield server


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """A throw-away authority, a server certificate for localhost and a client certificate.

    Attributes:
        authority, server, server_key, client, client_key: PEM bytes.
        paths: the same names, the files' paths as str.
        flags: a Server's, with certificates of clients required.
    """
    folder = tmp_path_factory.mktemp("tls")

    def openssl(words):
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)

    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc"
    openssl(f"req -x509 {key} -keyout ca.key -out ca.crt -subj /CN=authority -days 1")
    for name in ("server", "client"):
        names = "-addext subjectAltName=DNS:localhost,IP:127.0.0.1"
        openssl(f"req {key} -keyout {name}.key -out {name}.csr -subj /CN={name} {names}")
        signed = f"-in {name}.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out {name}.crt"
        openssl(f"x509 -req {signed} -days 1 -copy_extensions copy")
    files = {
        "authority": folder / "ca.crt",
        "server": folder / "server.crt",
        "server_key": folder / "server.key",
        "client": folder / "client.crt",
        "client_key": folder / "client.key",
    }
    paths = types.SimpleNamespace(**{name: str(file) for name, file in files.items()})
    return types.SimpleNamespace(
        **{name: file.read_bytes() for name, file in files.items()},
        paths=paths,
        flags={
            "tls_certificate": paths.server,
            "tls_key": paths.server_key,
            "tls_client_ca": paths.authority,
        },
    )
