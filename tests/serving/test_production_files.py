"""The files of the top-level serving/: each parsed, and checked for what would hurt."""

import importlib
import json
import pathlib
import re
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer

import grpc
import pytest
import tensorflow as tf
import yaml
from serving.stock_config import BatchingParameters, MonitoringConfig, SSLConfig, read
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from rnnsearch_tf.cli.main import Parser
from rnnsearch_tf.extras.server.client import Client, tls_credentials
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

FOLDER = pathlib.Path(__file__).parents[2] / "serving"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["serving"]
DEPLOYMENT, SCALER, SERVICE, POLICY = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text())
POD = DEPLOYMENT["spec"]["template"]["spec"]
(CONTAINER,) = POD["containers"]


def flags(words):
    """{name: value} of `--name=value` words."""
    return dict(re.fullmatch(r"--(\w+)=(.*)", word).groups() for word in words)


def test_every_file_here_is_known_to_this_test():
    names = {path.name for path in FOLDER.iterdir() if path.is_file()}
    assert names == {
        "README.md",
        "compose.yaml",
        "kubernetes.yaml",
        "kustomization.yaml",
        "models.config",
        "batching.config",
        "monitoring.config",
        "make_certificates.sh",
    }


def test_models_config():
    config = read(FOLDER / "models.config", ModelServerConfig)
    (model,) = config.model_config_list.config
    assert (model.name, model.base_path, model.model_platform) == (
        "rnnsearch",
        "/models/rnnsearch",
        "tensorflow",
    )
    versions = list(model.model_version_policy.specific.versions)
    assert versions and set(model.version_labels.values()) <= set(versions)


def test_batching_config():
    batching = read(FOLDER / "batching.config", BatchingParameters)
    assert batching.max_batch_size.value == 64 and batching.batch_timeout_micros.value == 5000
    assert batching.max_enqueued_batches.value == 16
    assert str(batching.num_batch_threads.value) == CONTAINER["resources"]["limits"]["cpu"]
    assert not batching.allowed_batch_sizes and not batching.pad_variable_length_inputs


def test_monitoring_config():
    prometheus = read(FOLDER / "monitoring.config", MonitoringConfig).prometheus_config
    assert prometheus.enable
    scraped = DEPLOYMENT["spec"]["template"]["metadata"]["annotations"]
    assert prometheus.path == scraped["prometheus.io/path"]
    assert scraped["prometheus.io/port"] == flags(CONTAINER["args"])["rest_api_port"]


@pytest.mark.parametrize("verb", ["client", "export", "serve"])
def test_commands_of_the_readme(verb):
    parser = Parser()
    importlib.import_module(f"rnnsearch_tf.cli.{verb}").arguments(parser)
    commands = re.findall(
        rf"rnnsearch {verb}((?:[^`\n]|\\\n)*)", (FOLDER / "README.md").read_text()
    )
    named = {name for command in commands for name in re.findall(r"--[a-z_-]+", command)}
    assert named and named <= parser.option_names


def test_image_is_pinned_to_our_tensorflow():
    assert COMPOSE["image"] == CONTAINER["image"]
    version = re.fullmatch(r"tensorflow/serving:(\d+\.\d+)\.\d+", COMPOSE["image"]).group(1)
    assert version == ".".join(tf.__version__.split(".")[:2])


def test_ports_are_published_on_loopback_only():
    assert COMPOSE["ports"] == ["127.0.0.1:8500:8500", "127.0.0.1:8501:8501"]


def test_both_start_the_server_alike():
    """Compose may have TLS besides; a flag's variable is the only one, and empty means off. Pods
    send clients to look for new pods.
    """
    ours = flags(COMPOSE["command"])
    pods = flags(CONTAINER["args"])
    assert ours.pop("ssl_config_file") == "${SSL_CONFIG:-}"
    assert pods.pop("grpc_channel_arguments") == "grpc.max_connection_age_ms=60000"
    assert ours == pods
    assert (COMPOSE["entrypoint"], CONTAINER["command"]) == (["tensorflow_model_server"],) * 2


def test_flags_name_files_that_are_there():
    mounted = [value for value in flags(CONTAINER["args"]).values() if value.startswith("/config/")]
    assert len(mounted) == 3
    generated = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())["configMapGenerator"][0]
    assert sorted(generated["files"]) == sorted(pathlib.Path(value).name for value in mounted)
    assert {generated["name"]} == {
        volume["configMap"]["name"] for volume in POD["volumes"] if "configMap" in volume
    }
    for name in generated["files"]:
        assert (FOLDER / name).is_file()
    assert ".:/config:ro" in COMPOSE["volumes"]


def test_probes_ask_grpc_health():
    assert flags(CONTAINER["args"])["enable_grpc_healthcheck_service"] == "true"
    port = {port["name"]: port["containerPort"] for port in CONTAINER["ports"]}
    assert port == {
        "grpc": int(flags(CONTAINER["args"])["port"]),
        "rest": int(flags(CONTAINER["args"])["rest_api_port"]),
    }
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert CONTAINER[probe]["grpc"] == {"port": port["grpc"]}


def test_limits_and_rights():
    threads = {
        value for name, value in flags(CONTAINER["args"]).items() if name.endswith("parallelism")
    }
    assert (
        threads
        == {COMPOSE["deploy"]["resources"]["limits"]["cpus"]}
        == {CONTAINER["resources"]["limits"]["cpu"]}
        == {"2"}
    )
    assert (
        COMPOSE["deploy"]["resources"]["limits"]["memory"],
        CONTAINER["resources"]["limits"]["memory"],
    ) == ("4g", "4Gi")
    assert COMPOSE["read_only"] and COMPOSE["cap_drop"] == ["ALL"]
    assert (
        POD["securityContext"]["runAsNonRoot"]
        and CONTAINER["securityContext"]["readOnlyRootFilesystem"]
    )
    assert all(mount["readOnly"] for mount in CONTAINER["volumeMounts"])


def test_a_rollout_keeps_answering():
    assert DEPLOYMENT["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    wait = int(CONTAINER["lifecycle"]["preStop"]["exec"]["command"][1])
    assert 0 < wait < POD["terminationGracePeriodSeconds"]


def test_replicas_follow_the_processor_time_that_they_ask_for():
    spec = SCALER["spec"]
    assert (SCALER["apiVersion"], SCALER["kind"]) == ("autoscaling/v2", "HorizontalPodAutoscaler")
    assert spec["scaleTargetRef"] == {
        "apiVersion": DEPLOYMENT["apiVersion"],
        "kind": "Deployment",
        "name": DEPLOYMENT["metadata"]["name"],
    }
    assert "replicas" not in DEPLOYMENT["spec"], "applied again it would undo the scaling"
    assert 2 <= spec["minReplicas"] < spec["maxReplicas"]
    (metric,) = spec["metrics"]
    assert metric == {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}},
    }
    assert CONTAINER["resources"]["requests"]["cpu"] == CONTAINER["resources"]["limits"]["cpu"], (
        "60 % of what it can have"
    )
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] >= 300


def test_service_and_policy_select_the_pods():
    labels = DEPLOYMENT["spec"]["template"]["metadata"]["labels"]
    assert (
        DEPLOYMENT["spec"]["selector"]["matchLabels"]
        == SERVICE["spec"]["selector"]
        == POLICY["spec"]["podSelector"]["matchLabels"]
        == labels
    )
    assert SERVICE["spec"]["clusterIP"] == "None"  # headless
    assert [port["targetPort"] for port in SERVICE["spec"]["ports"]] == ["grpc", "rest"]
    clients, metrics = POLICY["spec"]["ingress"]
    assert clients["from"] == [{"podSelector": {"matchLabels": {"rnnsearch-client": "true"}}}]
    namespace = {"kubernetes.io/metadata.name": "monitoring"}
    assert metrics["from"] == [{"namespaceSelector": {"matchLabels": namespace}}]
    assert [port["port"] for port in metrics["ports"]] == ["rest"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kustomize_builds_all_of_it():
    result = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    documents = {document["kind"]: document for document in yaml.safe_load_all(result.stdout)}
    assert set(documents) == {
        "ConfigMap",
        "Deployment",
        "HorizontalPodAutoscaler",
        "Service",
        "NetworkPolicy",
    }
    assert documents["ConfigMap"]["data"]["models.config"] == (FOLDER / "models.config").read_text()


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize("state, healthy", [("AVAILABLE", True), ("LOADING", False)])
def test_health_check_of_the_container(state, healthy):
    """The command itself, on a port of ours, against an answer as the server gives it."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            assert self.path == "/v1/models/rnnsearch"
            self.wfile.write(
                json.dumps(
                    {"model_version_status": [{"version": "1", "state": state}]}, indent=1
                ).encode()
            )

        def log_message(self, *words):
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        kind, *command = COMPOSE["healthcheck"]["test"]
        assert kind == "CMD"
        result = subprocess.run(
            [word.replace("/8501", f"/{server.server_port}") for word in command],
            capture_output=True,
            timeout=20,
        )
    assert (result.returncode == 0) == healthy, result.stderr


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
class TestCertificates:
    """make_certificates.sh, tried on a server of grpc's own and on the embedded one."""

    @pytest.mark.parametrize("mutual", [False, True], ids=["server", "mutual"])
    def test_a_client_connects_by_every_name_given(self, tmp_path, mutual):
        assert self.make(tmp_path, *["--mutual"] * mutual, "localhost", "127.0.0.1").returncode == 0
        config = read(tmp_path / "ssl.config", SSLConfig)
        assert config.client_verify == mutual == bool(config.custom_ca)
        pairs = [(config.server_key.encode(), config.server_cert.encode())]
        server = grpc.server(ThreadPoolExecutor(1))
        port = server.add_secure_port(
            "127.0.0.1:0",
            grpc.ssl_server_credentials(pairs, config.custom_ca.encode() or None, mutual),
        )
        server.start()
        authority, key, certificate = (
            (tmp_path / name).read_bytes() for name in ("ca.crt", "client.key", "client.crt")
        )
        for host in ("localhost", "127.0.0.1"):
            assert self.connects(
                f"{host}:{port}", grpc.ssl_channel_credentials(authority, key, certificate)
            )
        assert self.connects(f"localhost:{port}", grpc.ssl_channel_credentials(authority)) == (
            not mutual
        )
        server.stop(0)

    def test_the_embedded_server_takes_them(self, tmp_path, toy_base):
        assert self.make(tmp_path, "--mutual", "localhost").returncode == 0
        flags = Flags(
            {"default": str(toy_base)},
            port=FREE,
            rest_api_port=0,
            tls_certificate=str(tmp_path / "server.crt"),
            tls_key=str(tmp_path / "server.key"),
            tls_client_ca=str(tmp_path / "ca.crt"),
        )
        credentials = tls_credentials(
            tmp_path / "ca.crt", tmp_path / "client.crt", tmp_path / "client.key"
        )
        with (
            Server(flags) as server,
            Client(f"localhost:{server.grpc_port}", "default", credentials=credentials) as client,
        ):
            assert [each.text for each in client.translate(["a"])] == ["v2:a"]

    def test_an_address_is_one_in_the_certificate(self, tmp_path):
        assert self.make(tmp_path, "::1", "10.0.0.5", "a.example").returncode == 0
        words = ["openssl", "x509", "-in", "server.crt", "-noout", "-ext", "subjectAltName"]
        shown = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True).stdout
        addresses = "IP Address:0:0:0:0:0:0:0:1, IP Address:10.0.0.5, DNS:a.example"
        assert shown.splitlines()[1].strip() == addresses

    def connects(self, address, credentials):
        """Whether a call gets as far as the server, which has no methods."""
        with (
            grpc.secure_channel(address, credentials) as channel,
            pytest.raises(grpc.RpcError) as error,
        ):
            channel.unary_unary("/nothing")(b"", timeout=10)
        assert error.value.code() in (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.UNAVAILABLE)
        return error.value.code() is grpc.StatusCode.UNIMPLEMENTED

    def make(self, folder, *words):
        environment = {"PATH": "/usr/bin:/bin:/usr/local/bin", "TLS_FOLDER": str(folder)}
        return subprocess.run(
            [str(FOLDER / "make_certificates.sh"), *words],
            capture_output=True,
            text=True,
            env=environment,
        )

    def test_no_host_is_wrong_usage(self, tmp_path):
        result = self.make(tmp_path / "tls", "--mutual")
        assert result.returncode == 2 and "expected the host names" in result.stderr

    def test_nothing_is_overwritten(self, tmp_path):
        assert self.make(tmp_path, "localhost").returncode == 0
        before = (tmp_path / "ssl.config").read_text()
        again = self.make(tmp_path, "localhost")
        assert again.returncode == 1 and "exists" in again.stderr
        assert (tmp_path / "ssl.config").read_text() == before

    def test_keys_are_their_owners_only(self, tmp_path):
        assert self.make(tmp_path, "localhost").returncode == 0
        for name in ("server.key", "ca.key", "client.key", "ssl.config"):
            assert (tmp_path / name).stat().st_mode & 0o077 == 0
