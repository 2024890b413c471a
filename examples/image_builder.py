"""An image builder for clusters: turns the description of an image into a Dockerfile and has BuildKit build and push it.
docs/images.md says how an installation uses it. It runs in a container that has the flyte package and buildctl."""

import asyncio
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tarfile

from flyte import storage
from flyteidl2.imagebuilder import definition_pb2

SECRETS = pathlib.Path("/etc/flyte/secrets")


def mounts(secrets) -> tuple[str, list[str]]:
    """The options of RUN for a layer's secrets, and those of buildctl."""
    run, build = "", []
    for one in secrets:
        name = "_".join(part for part in (one.group, one.key) if part)
        variable = one.env_var or name.replace("-", "_").upper()
        run += f"--mount=type=secret,id={name},env={variable} "
        build += ["--secret", f"id={name},src={SECRETS / one.group / one.key}"]
    return run, build


def options(of) -> str:
    words = [f'--index-url "{of.index_url}"'] if of.index_url else []
    words += [f'--extra-index-url "{url}"' for url in of.extra_index_urls]
    words += ["--prerelease=allow"] if of.pre else []
    return " ".join([*words, of.extra_args])


def quoted(words) -> str:
    """Words of the shell in which the names of secrets are replaced."""
    return " ".join('"' + word.replace("\\", "\\\\").replace('"', '\\"').replace("`", "\\`") + '"' for word in words)


def dockerfile(spec: definition_pb2.ImageSpec) -> tuple[str, list[str]]:
    """The Dockerfile, and the options of buildctl for its secrets."""
    lines = [
        "# syntax=docker/dockerfile:1.10",
        f"FROM {spec.base_image}",
        "USER root",
        "COPY --from=ghcr.io/astral-sh/uv:0.13.9 /uv /usr/bin/uv",
        'ENV VIRTUAL_ENV=/opt/venv UV_PYTHON=/opt/venv/bin/python PATH="/opt/venv/bin:$PATH" UV_LINK_MODE=copy',
        f'RUN [ -f "$UV_PYTHON" ] || uv venv "$VIRTUAL_ENV" --python {spec.python_version}',
    ]
    secrets: list[str] = []
    for layer in spec.layers:
        kind = layer.WhichOneof("layer")
        of = getattr(layer, kind)
        run = ""
        if hasattr(of, "secret_mounts"):
            run, more = mounts(of.secret_mounts)
            secrets += more
        match kind:
            case "pip_packages":
                lines.append(f"RUN {run}uv pip install {options(of.options)} {quoted(of.packages)}")
            case "requirements":
                lines.append(f"RUN {run}--mount=type=bind,target=/tmp/r.txt,src={shlex.quote(of.file)} "
                             f"uv pip install {options(of.options)} -r /tmp/r.txt")
            case "python_wheels":
                lines.append(f"RUN {run}--mount=type=bind,target=/tmp/wheels,src={shlex.quote(of.dir)} "
                             f"uv pip install --find-links /tmp/wheels {options(of.options)} {quoted([of.package_name])}")
            case "uv_project":
                lines.append(f"COPY {json.dumps([of.source_dir or of.pyproject, '/opt/project/'])}")
                lines.append(f"RUN {run}uv sync --active --inexact --no-editable --project /opt/project {options(of.options)}")
            case "apt_packages":
                lines.append(f"RUN {run}apt-get update && apt-get install -y --no-install-recommends {' '.join(map(shlex.quote, of.packages))}")
            case "commands":
                lines += [f"RUN {run}{line}" for line in of.cmd]
            case "env":
                lines += [f"ENV {name}={json.dumps(value)}" for name, value in sorted(of.env_variables.items())]
            case "workdir":
                lines.append(f"WORKDIR {of.workdir}")
            case "copy_config":
                lines.append(f"COPY {json.dumps([of.src, of.dst])}")
            case _:
                raise SystemExit(f"this builder does not know layers of the kind {kind}")
    return "\n".join(lines) + "\n", secrets


async def fetch(uri: str, target: pathlib.Path) -> pathlib.Path:
    await storage.get(uri, str(target))
    return target


def main(spec_uri: str, context_uri: str, target: str) -> None:
    work = pathlib.Path("/tmp/build")
    files = work / "context"
    files.mkdir(parents=True)
    spec = definition_pb2.ImageSpec.FromString(asyncio.run(fetch(spec_uri, work / "spec.pb")).read_bytes())
    if context_uri:
        with tarfile.open(asyncio.run(fetch(context_uri, work / "context.tar.gz"))) as archive:
            archive.extractall(files, filter="data")
    text, secrets = dockerfile(spec)
    (work / "Dockerfile").write_text(text)
    print(text, flush=True)
    image = target if "/" in target else f"{os.environ['REGISTRY']}/{target}"
    subprocess.run(
        ["buildctl-daemonless.sh", "build", "--frontend", "dockerfile.v0", "--local", f"context={files}", "--local", f"dockerfile={work}",
         "--output", f"type=image,name={image},push=true", *secrets],
        check=True,
    )
    pathlib.Path("/var/flyte/outputs/image").write_text(image)


if __name__ == "__main__":
    main(*sys.argv[1:4])
