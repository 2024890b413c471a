"""Settings of a domain and of a project, edited with the released client and seen by tasks; checkpoints."""

import base64
import json
import pathlib
import ssl
import urllib.error
import urllib.request

import flyte
import flyte.remote as remote
import pytest
import yaml

from flows import configured
from server import Server

PROJECT, DOMAIN = "flytesnacks", "staging"  # other tests run in development


@pytest.fixture
def settings(sdk):
    """Changes the settings of the domain or, with project=True, of the project in it; it reverts them at the end."""

    def change(overrides: dict, project: bool = False):
        scope = remote.Settings.get_settings_for_edit(domain=DOMAIN, project=PROJECT if project else None)
        scope.update_settings(overrides)

    yield change
    for project in (False, True):
        change({}, project)


def run(task, **inputs):
    handle = flyte.with_runcontext(project=PROJECT, domain=DOMAIN).run(task, **inputs)
    handle.wait(quiet=True)
    return handle


def details(handle):
    return remote.RunDetails.get(handle.name).action_details


@pytest.fixture(autouse=True)
def here(sdk, server):
    """To read runs of the domain, the client must be configured for it."""
    flyte.init(endpoint=f"dns:///{server.endpoint}", insecure=True, project=PROJECT, domain=DOMAIN,
               image_builder="remote", root_dir=pathlib.Path(__file__).resolve().parent)
    yield
    flyte.init(endpoint=f"dns:///{server.endpoint}", insecure=True, project=PROJECT, domain="development",
               image_builder="remote", root_dir=pathlib.Path(__file__).resolve().parent)


def test_inheritance_and_versions(settings):
    settings({"labels": {"team": "all", "cost": "1"}, "task_resource.min.cpu": "100m", "security.service_account": "tasks"})
    settings({"labels": {"team": "ml"}, "security.service_account": remote._settings.UNSET}, project=True)
    scope = remote.Settings.get_settings_for_edit(domain=DOMAIN, project=PROJECT)
    assert {one.key: one.value for one in scope.local_settings}["labels"] == {"team": "ml"}
    assert {one.key: (one.value, str(one.origin)) for one in scope.effective_settings}["task_resource.min.cpu"] == ("100m", "DOMAIN(staging)")

    stale = remote.Settings.get_settings_for_edit(domain=DOMAIN, project=PROJECT)
    scope.update_settings({"labels": {"team": "first"}})
    with pytest.raises(Exception, match="they were changed; read them again"):
        stale.update_settings({"labels": {"team": "second"}})
    with pytest.raises(Exception, match="settings.task_resource.max.memory"):
        scope.update_settings({"task_resource.max.memory": "lots"})


def test_command_line(settings, cli, tmp_path):
    file = tmp_path / "settings.yaml"
    file.write_text("environment_variables: {FROM: cli}\ntask_resource.max.cpu: '4'\n")
    cli("edit", "settings", "--domain", DOMAIN, "--project", PROJECT, "--from-file", str(file))
    shown = tmp_path / "shown.yaml"
    cli("get", "settings", "--domain", DOMAIN, "--project", PROJECT, "--to-file", str(shown))
    assert yaml.safe_load(shown.read_text()) == {"environment_variables": {"FROM": "cli"}, "task_resource.max.cpu": "4"}


def kubernetes(server: Server, method: str, path: str, body: dict | None = None) -> dict:
    """A call of the demo's own Kubernetes API, as its kubeconfig allows."""
    config = yaml.safe_load((server.data / "kubernetes" / "kubeconfig").read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    if "certificate-authority-data" in cluster:
        trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    else:
        trust = ssl.create_default_context(cafile=cluster["certificate-authority"])
    token = user.get("token") or pathlib.Path(user["tokenFile"]).read_text().strip()
    request = urllib.request.Request(
        cluster["server"] + path, method=method, data=json.dumps(body).encode() if body else None,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=120, context=trust) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        if error.code != 409:  # it already exists
            raise
        return {}


def test_seen_by_tasks(settings, server):
    """Environment, labels and a pod template from settings reach a child on the local node; the run's own values override them."""
    kubernetes(server, "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "flyte"}})
    kubernetes(server, "POST", "/api/v1/namespaces/flyte/podtemplates", {
        "apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "tells"},
        "template": {"spec": {"containers": [{
            "name": "primary", "image": "placeholder",
            "env": [{"name": "TEAM", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['team']"}}},
                    {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}],
        }]}},
    })
    try:
        settings({"labels": {"team": "all"}, "environment_variables": {"LEVEL": "domain", "MODE": "domain"}})
        settings({"labels": {"team": "ml"}, "environment_variables": {"MODE": "project", "OWN": "project"},
                  "pod_template_name": "tells"}, project=True)
        names = ["LEVEL", "MODE", "OWN", "TEAM", "CPU"]
        handle = flyte.with_runcontext(project=PROJECT, domain=DOMAIN, env_vars={"OWN": "run"}).run(configured.told_to_a_child, names=names)
        handle.wait(quiet=True)
        assert handle.outputs()[0] == {"LEVEL": "domain", "MODE": "project", "OWN": "run", "TEAM": "ml", "CPU": "200"}
    finally:
        kubernetes(server, "DELETE", "/api/v1/namespaces/flyte/podtemplates/tells")


def test_run_base_and_bounds(settings, server):
    base = str(server.data / "blobs" / "_team")
    settings({"run.run_base_dir": base, "task_resource.max.memory": "200Mi", "task_resource.min.memory": "150Mi"}, project=True)
    handle = run(configured.nothing)
    assert str(handle.phase).lower().endswith("succeeded") or handle.outputs()[0] == "done", details(handle).error_info
    assert list(pathlib.Path(base).glob(f"{PROJECT}/{DOMAIN}/{handle.name}.*/a0/1/outputs.pb"))
    assert list(pathlib.Path(base).glob(f"{PROJECT}/{DOMAIN}/offloaded-inputs/*/inputs.pb"))

    handle = run(configured.told, names=[])
    error = details(handle).error_info
    assert "300Mi memory, and the maximum by settings is 200Mi" in error.message
    assert error.kind == error.KIND_USER


def test_missing_pod_template(settings):
    settings({"pod_template_name": "nowhere"}, project=True)
    handle = run(configured.nothing)
    assert 'there is no pod template "nowhere"' in details(handle).error_info.message


def test_checkpoints():
    handle = run(configured.in_steps)
    assert handle.outputs()[0] == ["one", "two", "attempt-2"]
