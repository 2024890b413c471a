"""The Dockerfile that examples/image_builder.py writes. BuildKit itself runs on clusters only (docs/images.md)."""

from __future__ import annotations

import importlib.util
import os
import pathlib

import pytest
from flyteidl2.core import security_pb2
from flyteidl2.imagebuilder import definition_pb2 as pb


def written(monkeypatch: pytest.MonkeyPatch, *layers: pb.Layer, **variables: str) -> tuple[list[str], list[str]]:
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_")) or name.upper().endswith("_PROXY") or name == "SSL_CERT_FILE":
            monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    path = pathlib.Path(__file__).parents[2] / "examples" / "image_builder.py"
    spec = importlib.util.spec_from_file_location("image_builder", path)
    builder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(builder)
    text, options = builder.dockerfile(pb.ImageSpec(base_image="base:1", python_version="3.12", layers=layers))
    return text.splitlines(), options


def test_values_of_layers_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, _ = written(
        monkeypatch,
        pb.Layer(env=pb.Env(env_variables={"A": 'é "x" \\ `y` $PATH'})),
        pb.Layer(commands=pb.Commands(cmd=["one\ntwo"])),
        pb.Layer(pip_packages=pb.PipPackages(packages=["a>=1,<2"])),
    )
    assert lines[0] == "FROM base:1"
    assert 'ENV A="é \\"x\\" \\\\ `y` $PATH"' in lines
    assert 'RUN ["/bin/sh", "-c", "one\\ntwo"]' in lines
    assert lines[-1].endswith('uv pip install  "a>=1,<2"')


def test_secrets_and_settings_are_mounted_for_the_steps_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = security_pb2.Secret(key="index-token", env_var="TOKEN")
    lines, options = written(
        monkeypatch, pb.Layer(commands=pb.Commands(cmd=["true"], secret_mounts=[secret])),
        UV_DEFAULT_INDEX="https://index.example", SSL_CERT_FILE="/all.pem", HTTPS_PROXY="http://proxy.example",
    )
    assert "ARG UV_DEFAULT_INDEX" in lines and not any(line.startswith("ENV SSL") for line in lines)
    assert "--mount=type=secret,id=certificates" in lines[-1] and "--mount=type=secret,id=index-token,env=TOKEN" in lines[-1]
    assert {"--opt=build-arg:UV_DEFAULT_INDEX=https://index.example", "--opt=build-arg:HTTPS_PROXY=http://proxy.example",
            "--secret=id=certificates,src=/all.pem", "--secret=id=index-token,src=/etc/flyte/secrets/index-token"} <= set(options)


def test_a_project_of_uv_keeps_its_place_next_to_what_it_refers_to(monkeypatch: pytest.MonkeyPatch) -> None:
    project = pb.UVProject(pyproject="repo/app", source_dir="repo", uvlock="repo/locks/uv.lock")
    lines, _ = written(monkeypatch, pb.Layer(uv_project=project))
    assert lines[-3:-1] == ['COPY ["repo", "/opt/project0/"]', 'COPY ["repo/locks/uv.lock", "/opt/project0/app/"]']
    assert "--project /opt/project0/app" in lines[-1]
