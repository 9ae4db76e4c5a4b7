"""TLS of both interfaces: who gets in, who does not, and what is said of files that are no good."""

import contextlib
import http.client
import json
import os
import pathlib
import ssl
import subprocess

import grpc
import pytest
from toy_calls import Toy, refusal, toy_server

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.client import Client, tls_credentials

LONG = 30
REFUSED = ssl.SSLError, ConnectionError
BODY = json.dumps({"signature_name": "half_plus", "instances": [2.0]})


@pytest.fixture(scope="module", params=[False, True], ids=["server", "both"])
def server(request, toy_base, certificates):
    """A server with TLS; `both`: clients must have a certificate, too."""
    flags = certificates.flags | ({} if request.param else {"tls_client_ca": ""})
    before = listening_ports()
    with toy_server(toy_base, **flags) as server:
        server.clients_are_checked = request.param
        server.listens_on = listening_ports() - before
        yield server


def listening_ports():
    """TCP ports that this process listens on, as the system has them."""
    own = set()
    for descriptor in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            own.add(os.readlink(f"/proc/self/fd/{descriptor}"))
    rows = [
        line.split()
        for file in ("tcp", "tcp6")
        for line in pathlib.Path("/proc/net", file).read_text().splitlines()[1:]
    ]
    return {
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in own
    }


def ask_rest(server, authority=None, pair=(), version=None):
    """The status of a prediction over HTTPS, with one version of TLS alone if it is given."""
    context = ssl.create_default_context(cafile=authority)
    if version:
        context.set_ciphers("DEFAULT@SECLEVEL=0")  # or this side would refuse the old ones
        context.minimum_version = context.maximum_version = version
    if pair:
        context.load_cert_chain(*pair)
    connection = http.client.HTTPSConnection(
        "localhost", server.rest_port, timeout=LONG, context=context
    )
    with contextlib.closing(connection):
        connection.request("POST", "/v1/models/toy:predict", BODY)
        answer = connection.getresponse()
        assert json.loads(answer.read()) == {"predictions": [4.0]}
        return answer.status


def test_who_has_the_certificates_is_answered(server, certificates):
    pem, paths = certificates, certificates.paths
    known = grpc.ssl_channel_credentials(pem.authority, pem.client_key, pem.client)
    with Toy(f"localhost:{server.grpc_port}", known) as toy:
        assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
        assert toy.health() == "SERVING"
    assert ask_rest(server, paths.authority, (paths.client, paths.client_key)) == 200
    credentials = tls_credentials(paths.authority, paths.client, paths.client_key)
    with Client(f"localhost:{server.grpc_port}", "toy", credentials=credentials) as client:
        assert [each.text for each in client.translate(["a"])] == ["v2:a"]


def test_a_client_without_a_certificate_is_refused_where_one_is_asked_for(server, certificates):
    trusted = grpc.ssl_channel_credentials(certificates.authority)
    with Toy(f"localhost:{server.grpc_port}", trusted) as toy:
        if server.clients_are_checked:
            refused_grpc(toy)
        else:
            assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
    if server.clients_are_checked:
        with pytest.raises(REFUSED):
            ask_rest(server, certificates.paths.authority)
    else:
        assert ask_rest(server, certificates.paths.authority) == 200


def refused_grpc(toy):
    code, _ = refusal(toy.predict, "half_plus", timeout=5, x=[2.0])
    assert code in ("UNAVAILABLE", "DEADLINE_EXCEEDED")


def test_a_certificate_of_another_authority_is_refused(server, certificates, tmp_path):
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 1"
    words += " -keyout key -out certificate -subj /CN=client"
    subprocess.run(["openssl", *words.split()], cwd=tmp_path, check=True, capture_output=True)
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    strange = grpc.ssl_channel_credentials(
        certificates.authority, key.read_bytes(), certificate.read_bytes()
    )
    if not server.clients_are_checked:  # nobody looks at it
        assert ask_rest(server, certificates.paths.authority, (certificate, key)) == 200
        return
    with Toy(f"localhost:{server.grpc_port}", strange) as toy:
        refused_grpc(toy)
    with pytest.raises(REFUSED):
        ask_rest(server, certificates.paths.authority, (certificate, key))


def test_there_is_no_plain_port_beside_it(server):
    assert server.listens_on == {server.grpc_port, server.rest_port}
    with Toy(f"localhost:{server.grpc_port}") as toy:
        refused_grpc(toy)
    connection = http.client.HTTPConnection("localhost", server.rest_port, timeout=LONG)
    with (
        contextlib.closing(connection),
        pytest.raises((ConnectionError, http.client.HTTPException)),
    ):
        connection.request("POST", "/v1/models/toy:predict", BODY)
        connection.getresponse()


def test_a_client_that_does_not_know_the_authority_refuses_the_server(server):
    with Toy(f"localhost:{server.grpc_port}", grpc.ssl_channel_credentials()) as toy:
        refused_grpc(toy)
    with pytest.raises(ssl.SSLCertVerificationError):
        ask_rest(server)


def test_old_versions_of_tls_are_not_spoken(server, certificates):
    paths = certificates.paths
    pair = (paths.client, paths.client_key)
    assert ask_rest(server, paths.authority, pair, ssl.TLSVersion.TLSv1_2) == 200
    with pytest.raises(ssl.SSLError), pytest.warns(DeprecationWarning):
        ask_rest(server, paths.authority, pair, ssl.TLSVersion.TLSv1_1)


@pytest.mark.parametrize(
    "flag, text, message",
    [
        ("tls_key", "no key", "expected a certificate and its private key without a password"),
        ("tls_certificate", "none", "expected a certificate and its private key"),
        ("tls_certificate", None, "No such file or directory"),
        ("tls_client_ca", "no certificate", "--tls_client_ca {}: expected certificates in PEM"),
        ("tls_client_ca", "é", "--tls_client_ca {}: expected certificates in PEM"),
        ("tls_client_ca", None, "--tls_client_ca {}: expected certificates in PEM"),
    ],
    ids=["key", "certificate", "no-file", "authority", "not-ascii", "no-authority"],
)
def test_files_that_no_handshake_could_use(tmp_path, certificates, flag, text, message):
    file = tmp_path / "file.pem"
    if text is not None:
        file.write_text(text)
    flags = certificates.flags | {flag: str(file)}
    with pytest.raises(UserError) as caught, toy_server(tmp_path / "no-model", **flags):
        pass
    said = str(caught.value)
    assert message.format(file).lower() in said.lower() and str(file) in said


def test_the_key_of_another_certificate(tmp_path, certificates):
    flags = certificates.flags | {"tls_key": certificates.paths.client_key}
    with (
        pytest.raises(UserError, match="key values mismatch"),
        toy_server(tmp_path / "no-model", **flags),
    ):
        pass


def test_a_key_with_a_password(tmp_path, certificates):
    encrypted = str(tmp_path / "encrypted.key")
    words = ["ec", "-in", certificates.paths.server_key, "-aes256", "-passout", "pass:secret"]
    subprocess.run(["openssl", *words, "-out", encrypted], check=True, capture_output=True)
    flags = certificates.flags | {"tls_key": encrypted}
    with (
        pytest.raises(UserError, match="private key without a password"),
        toy_server(tmp_path / "no-model", **flags),
    ):
        pass
