"""Which versions answer as folders come and go. The models here are stand-ins: nothing is loaded
but a number.
"""

import os
import threading

import grpc
import pytest
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.manager import Manager
from rnnsearch_tf.extras.server.version import State

LONG = 20.0


class Loaded:
    def __init__(self, version):
        self.version = version
        self.closed = threading.Event()

    def close(self):
        self.closed.set()


class Models:
    """A base path, a Manager of it, and what was loaded in order; versions and paths in `corrupt`
    do not load.
    """

    def __init__(self, folder, **flags):
        self.folder, self.loaded, self.corrupt = folder, [], set()
        self.load_takes = 0  # seconds
        self.manager = Manager(self._load, Flags(model_base_path=str(folder), **flags))

    def _load(self, name, number, path):
        if number in self.corrupt or path in self.corrupt:
            raise invalid_argument(f"cannot parse {path.name}")
        threading.Event().wait(self.load_takes)
        self.answered_while_loading = self.manager.is_available(name)
        self.loaded.append(number)
        return Loaded(number)

    def publish(self, *numbers, path="m"):
        for number in numbers:
            (self.folder / path / str(number)).mkdir(parents=True)

    def withdraw(self, number):
        (self.folder / "m" / str(number)).rmdir()

    def configure(self, policy="", name="m", path="m"):
        model = (
            f'name: "{name}" base_path: "{self.folder / path}" model_platform: "tensorflow"'
            f" {policy}"
        )
        self.manager.configure(
            text_format.Parse(f"model_config_list {{ config {{ {model} }} }}", ModelServerConfig())
        )

    def answers(self, number=None, label=""):
        with self.manager.servable("m", number, label) as servable:
            return servable.version

    def states(self):
        """{number: state name}, once nothing is being unloaded."""
        for version in self.manager.versions("m"):
            while version.state == State.UNLOADING:
                threading.Event().wait(0.001)
        return {version.number: State.Name(version.state) for version in self.manager.versions("m")}


@pytest.fixture
def models(tmp_path):
    def make(**flags):
        return Models(tmp_path, **flags)

    return make


def refusal(function, *arguments, **options):
    with pytest.raises(ServingError) as caught:
        function(*arguments, **options)
    return caught.value.code.name, caught.value.message


def with_a_corrupt_second(models):
    """Version 1 answers, and 2 is there, which does not load."""
    models.publish(1)
    models.configure()
    models.corrupt.add(2)
    models.publish(2)
    return models


def settled(models):
    models.manager.update()
    return models.states()


def test_the_newest_version_answers_and_the_one_before_goes(models):
    models = models()
    models.publish(1, 2)
    models.configure()
    assert (models.answers(), models.loaded) == (2, [2])
    models.publish(10)
    assert settled(models) == {10: "AVAILABLE", 2: "END"}
    assert models.answers() == 10
    assert models.answered_while_loading, "the old version goes only after the new one has come"


def test_only_numbered_folders_are_versions(models):
    models = models()
    models.publish(1, ".tmp-2", "3.writing", "four", 99999999999999999999)
    (models.folder / "m" / "5").write_text("no folder")
    models.configure()
    assert settled(models) == {1: "AVAILABLE"}


@pytest.mark.parametrize(
    "policy, expected",
    [
        ("", [3]),
        ("latest { num_versions: 2 }", [3, 2]),
        ("all {}", [3, 2, 1]),
        ("specific { versions: 1 versions: 3 versions: 8 }", [3, 1]),
    ],
    ids=["default", "latest", "all", "specific"],
)
def test_policies(models, policy, expected):
    models = models()
    models.publish(1, 2, 3)
    models.configure(f"model_version_policy {{ {policy} }}" if policy else "")
    assert models.states() == dict.fromkeys(expected, "AVAILABLE")


def test_roll_back_and_forward(models):
    models = models()
    models.publish(1, 2)
    for version in (2, 1, 2):
        models.configure(f"model_version_policy {{ specific {{ versions: {version} }} }}")
        assert models.answers() == version
        assert models.states() == {version: "AVAILABLE"} | {
            other: "END" for other in models.states() if other != version
        }


def test_a_version_that_does_not_load_leaves_the_old_one_and_says_why(models):
    models = with_a_corrupt_second(models(max_num_load_retries=0))
    assert settled(models) == {2: "END", 1: "AVAILABLE"}
    assert models.answers() == 1
    assert models.manager.versions("m")[0].error.message == "cannot parse 2"
    models.publish(3)
    assert settled(models) == {3: "AVAILABLE", 2: "END", 1: "END"}


def test_a_failed_load_is_tried_again_so_often(models):
    models = with_a_corrupt_second(models(max_num_load_retries=2, load_retry_interval_micros=0))
    for _ in range(5):
        models.manager.update()
    assert models.manager.versions("m")[0].attempts == 3
    again = models.manager.versions("m")[0]
    again.attempts = 1
    models.corrupt.clear()
    assert settled(models) == {2: "AVAILABLE", 1: "END"}


def test_a_version_that_failed_and_was_published_anew_is_another(models):
    """Its folder was deleted, and the export takes the number that is free again."""
    models = with_a_corrupt_second(models(max_num_load_retries=0))
    assert settled(models) == {2: "END", 1: "AVAILABLE"}
    models.withdraw(2)
    assert settled(models) == {1: "AVAILABLE"}
    models.corrupt.clear()
    models.publish(2)
    assert settled(models) == {2: "AVAILABLE", 1: "END"}


def test_any_error_while_loading_is_one_to_try_again_after(models):
    """A disk that does not answer, say: the models after it come, and so does it in the end."""
    models = models(load_retry_interval_micros=0)
    models.publish(1)
    models.configure()
    models.publish(2)
    load = models.manager._load
    fails = [PermissionError(13, "no entry"), RuntimeError("odd")]
    models.manager._load = lambda *which: (
        (_ for _ in ()).throw(fails.pop()) if fails else load(*which)
    )
    for message in ("RuntimeError: odd", "PermissionError: [Errno 13] no entry"):
        assert settled(models) == {2: "END", 1: "AVAILABLE"}
        error = models.manager.versions("m")[0].error
        assert (error.code.name, error.message) == ("UNKNOWN", message)
    assert settled(models) == {2: "AVAILABLE", 1: "END"}


def test_not_before_the_interval(models):
    models = with_a_corrupt_second(models(load_retry_interval_micros=3_600_000_000))
    for _ in range(3):
        models.manager.update()
    assert models.manager.versions("m")[0].attempts == 1


def test_requests_on_their_way_finish_before_their_version_is_unloaded(models):
    models = models()
    models.publish(1)
    models.configure()
    with models.manager.servable("m") as old:
        models.publish(2)
        models.manager.update()
        states = {version.number: version.state for version in models.manager.versions("m")}
        assert states[2] == State.AVAILABLE and not old.closed.wait(0.05)
        assert models.answers() == 2, "new requests go to the new version"
        assert refusal(models.answers, 1)[0] == "NOT_FOUND"
    assert old.closed.wait(LONG)
    assert models.states() == {2: "AVAILABLE", 1: "END"}


def test_a_request_that_comes_between_two_versions_gets_the_new_one(models):
    models = models()
    models.publish(1)
    models.configure()
    old = models.manager.versions("m")[0]
    acquire = old.acquire

    def too_late():
        models.publish(2)
        models.manager.update()
        models.states()  # the old one is gone
        old.acquire = acquire
        return acquire()

    old.acquire = too_late
    assert models.answers() == 2


def test_a_label_moves_before_its_old_version_goes(models):
    models = models()
    models.publish(1, 2)
    policy = (
        'model_version_policy {{ specific {{ versions: {0} }} }} version_labels {{ key: "stable"'
        " value: {0} }}"
    )
    models.configure(policy.format(1))
    seen = []
    models.manager._unload = lambda versions: seen.append(
        (models.answers(label="stable"), [version.number for version in versions])
    )
    models.configure(policy.format(2))
    assert seen == [(2, [1])]


def test_a_base_path_that_is_away_unloads_nothing_an_empty_one_does(models):
    models = models()
    models.publish(1)
    models.configure()
    (models.folder / "m").rename(models.folder / "away")
    assert settled(models) == {1: "AVAILABLE"}
    (models.folder / "away").rename(models.folder / "m")
    models.withdraw(1)
    assert settled(models) == {1: "END"}
    models.publish(1)
    assert settled(models) == {1: "AVAILABLE"}


def paths(models):
    return {
        version.number: str(version.path.relative_to(models.folder))
        for version in models.manager.versions("m")
    }


def test_another_base_path_leaves_the_versions_that_are_loaded(models, caplog):
    """As the stock server does: a number stands for one thing as long as it answers."""
    models = models()
    models.publish(1, 2)
    models.publish(2, 3, path="elsewhere")
    models.withdraw(2)
    models.configure()
    models.withdraw(1)
    models.publish(1, path="other")
    models.configure(path="other")
    assert (models.answers(), models.loaded, paths(models)) == (1, [1], {1: "m/1"})
    assert f"model m version 1 is still the one of {models.folder}/m/1" in caplog.text
    caplog.clear()
    models.configure(path="elsewhere")
    assert models.answers() == 3 and models.answered_while_loading and not caplog.text
    assert models.states() == {3: "AVAILABLE", 1: "END"}
    models.configure("model_version_policy { specific { versions: 1 } }", path="other")
    assert (models.answers(), paths(models)[1]) == (1, "other/1"), (
        "it was unloaded meanwhile, and comes from where it stands now"
    )


def test_a_corrupt_version_under_another_base_path_takes_nothing_away(models):
    models = models()
    models.publish(1)
    models.configure()
    models.publish(1, 2, path="other")
    models.corrupt |= {models.folder / "other" / "1", models.folder / "other" / "2"}
    models.configure("model_version_policy { all {} }", path="other")
    assert (models.answers(), settled(models)) == (1, {2: "END", 1: "AVAILABLE"})


def test_a_version_that_failed_is_tried_where_it_stands_now(models):
    models = models(max_num_load_retries=0)
    models.publish(1)
    models.corrupt.add(models.folder / "m" / "1")
    assert refusal(models.configure)[0] == "UNKNOWN"
    models.publish(1, path="other")
    models.configure(path="other")
    assert (models.answers(), paths(models)) == (1, {1: "other/1"})


def test_no_request_fails_while_base_paths_change(models):
    models = models()
    places = ["m", "n"]
    models.load_takes = 0.02
    for place in places:
        models.publish(1, path=place)
    models.configure()
    stop = threading.Event()
    failed = []
    answered = []

    def ask():
        while not stop.is_set():
            try:
                answered.append(models.answers())
            except ServingError as error:
                failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for swap in range(1, 7):
            before = len(answered)
            models.configure(path=places[swap % 2])
            while len(answered) == before and not failed:
                threading.Event().wait(0.001)
    finally:
        stop.set()
        asking.join(LONG)
    assert not failed


def test_a_path_no_disk_can_have_is_refused_and_stops_nothing(models):
    models = models()
    models.publish(1)
    models.configure()
    text = (
        'model_config_list { config { name: "m" base_path: "/a\\000b" model_platform:'
        ' "tensorflow" } }'
    )
    code, message = refusal(models.manager.configure, text_format.Parse(text, ModelServerConfig()))
    assert (code, "absolute path" in message) == ("INVALID_ARGUMENT", True)
    models.publish(2)
    assert settled(models) == {2: "AVAILABLE", 1: "END"}


def test_a_model_whose_disk_fails_does_not_keep_others_from_their_new_versions(models, monkeypatch):
    models = models()
    models.publish(1)
    models.publish(1, path="bad")
    config = "".join(
        f'config {{ name: "{name}" base_path: "{models.folder / name}" model_platform:'
        ' "tensorflow" } '
        for name in ("bad", "m")
    )
    models.manager.configure(
        text_format.Parse(f"model_config_list {{ {config} }}", ModelServerConfig())
    )
    look = os.scandir

    def fails(path):
        if str(path).endswith("bad"):
            raise ValueError("embedded null byte")
        return look(path)

    monkeypatch.setattr(os, "scandir", fails)
    models.publish(2)
    assert settled(models) == {2: "AVAILABLE", 1: "END"}
    assert models.manager.is_available("bad", 1)


def test_base_paths_stay_under_the_roots_that_are_allowed(tmp_path):
    (tmp_path / "link").symlink_to("/")
    models = Models(tmp_path, allowed_model_roots=f"/nowhere,{tmp_path}/m")
    models.publish(1)
    models.publish(1, path="mm")
    for path in ("mm", "m/../mm", "link/etc", f"link{tmp_path}/mm", ".", "/etc"):
        code, message = refusal(models.configure, path=path)
        assert (code, "--allowed_model_roots" in message) == ("PERMISSION_DENIED", True), path
    for path in ("m", "m/", f"link{tmp_path}/m", "mm/../m"):
        models.configure(path=path)
        assert models.answers() == 1
    assert refusal(models.configure, path="mm")[0] == "PERMISSION_DENIED"
    assert models.answers() == 1, "what is refused changes nothing"


def test_reloads_may_be_forbidden_but_the_servers_own_configuration_is_not(models):
    models = models(allow_reload_requests=False)
    models.publish(1)
    models.configure()
    code, message = refusal(models.manager.reload, ModelServerConfig())
    assert (code, "--allow_reload_requests=false" in message) == ("PERMISSION_DENIED", True)
    assert models.answers() == 1


def test_a_model_that_is_no_longer_listed_goes(models):
    models = models()
    models.publish(1)
    models.configure()
    models.configure(name="n")
    assert models.states() == {1: "END"}
    assert refusal(models.answers) == ("NOT_FOUND", "Servable not found for request: Latest(m)")


def test_labels(models):
    models = models()
    models.publish(1, 2)
    everything = "model_version_policy { all {} } "
    models.configure(
        everything
        + 'version_labels { key: "stable" value: 1 } version_labels { key: "canary" value: 2 }'
    )
    assert (models.answers(label="stable"), models.answers(label="canary")) == (1, 2)
    models.configure(everything + 'version_labels { key: "stable" value: 2 }')
    assert models.answers(label="stable") == 2
    assert refusal(models.answers, label="canary") == (
        "INVALID_ARGUMENT",
        "Unrecognized servable version label: canary",
    )


@pytest.mark.parametrize(
    "flags, accepted",
    [
        ({}, []),
        ({"allow_version_labels_for_unavailable_models": True}, ["new"]),
        ({"force_allow_any_version_labels_for_unavailable_models": True}, ["new", "moved"]),
    ],
    ids=["neither", "new", "any"],
)
def test_labels_of_versions_that_do_not_answer(models, flags, accepted):
    models = models(**flags)
    models.publish(1)
    models.configure('version_labels { key: "old" value: 1 }')
    for name, label in (("new", "fresh"), ("moved", "old")):
        policy = f'version_labels {{ key: "{label}" value: 7 }}'
        if name in accepted:
            models.configure(policy)
            assert refusal(models.answers, label=label) == (
                "NOT_FOUND",
                "Servable not found for request: Specific(m, 7)",
            )
            models.configure('version_labels { key: "old" value: 1 }')
        else:
            code, message = refusal(models.configure, policy)
            assert (code, "version 7 of model m, which is not currently available" in message) == (
                "FAILED_PRECONDITION",
                True,
            )


def test_a_model_that_does_not_come_up(models):
    models = models()
    models.publish(1)
    models.corrupt.add(1)
    code, message = refusal(models.configure)
    assert code == "UNKNOWN"
    assert "1 model(s) did not become available" in message and "cannot parse 1" in message
    assert refusal(models.configure, name="n", path="nowhere")[0] == "UNKNOWN"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "Only ModelConfigList is currently supported"),
        (
            (
                'model_config_list { config { name: "m" base_path: "/a" model_platform:'
                ' "tensorflow" } config { name: "m" base_path: "/b" model_platform:'
                ' "tensorflow" } }'
            ),
            "Illegal to list model m multiple times",
        ),
        (
            (
                'model_config_list { config { name: "m" base_path: "a/b" model_platform:'
                ' "tensorflow" } }'
            ),
            "absolute path or URI; got base_path()=a/b",
        ),
        (
            'model_config_list { config { name: "m" base_path: "/a" model_platform: "caffe" } }',
            'model_platform: "tensorflow", got "caffe"',
        ),
        (
            'model_config_list { config { base_path: "/a" model_platform: "tensorflow" } }',
            "to have a name",
        ),
    ],
    ids=["no-list", "twice", "relative", "platform", "no-name"],
)
def test_configurations_that_are_refused_change_nothing(models, text, message):
    models = models()
    models.publish(1)
    models.configure()
    code, said = refusal(models.manager.configure, text_format.Parse(text, ModelServerConfig()))
    assert (code, message in said) == (grpc.StatusCode.INVALID_ARGUMENT.name, True)
    assert models.answers() == 1
