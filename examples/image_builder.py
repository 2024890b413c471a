"""An image builder for clusters: turns the description of an image into a Dockerfile and has BuildKit build and push it.
docs/images.md has the image that it runs in, and its settings."""

import asyncio
import json
import os
import pathlib
import posixpath
import shlex
import subprocess
import sys

from flyte import storage
from flyteidl2.imagebuilder import definition_pb2

SECRETS = pathlib.Path("/etc/flyte/secrets")
UV = "/opt/uv"  # a directory with uv alone, linked statically: base images may have any libc
CERTIFICATES = "/run/builder/certificates.pem"
POETRY = "poetry==2.5.1"

# Settings of this container for the installers, which must not become part of the images. BuildKit knows the proxies.
PASSED = [name for name in sorted(os.environ) if name.startswith(("UV_", "PIP_"))]
PROXIES = [name for name in sorted(os.environ) if name.upper() in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")]


def settings() -> tuple[list[str], str, list[str]]:
    """What passes this container's settings to each step: lines of the Dockerfile, options of RUN and of buildctl."""
    lines = [f"ARG {name}" for name in PASSED]
    build = [f"--opt=build-arg:{name}={os.environ[name]}" for name in PASSED + PROXIES]
    if not (file := os.environ.get("SSL_CERT_FILE")):
        return lines, "", build
    lines += [f"ARG {name}={CERTIFICATES}" for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")]
    return lines, f"--mount=type=secret,id=certificates,mode=0444,target={CERTIFICATES} ", [*build, f"--secret=id=certificates,src={file}"]


def mounts(secrets) -> tuple[str, list[str]]:
    """The options of RUN for a layer's secrets, and those of buildctl."""
    run, build = "", []
    for one in secrets:
        name = "_".join(part for part in (one.group, one.key) if part)
        variable = one.env_var or name.replace("-", "_").upper()
        run += f"--mount=type=secret,id={name},env={variable} "
        build.append(f"--secret=id={name},src={SECRETS / one.group / one.key}")
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
    """The Dockerfile, and the options of buildctl that it requires."""
    passed, certificates, build = settings()
    lines = [
        f"FROM {spec.base_image}",
        "USER root",
        *passed,
        "COPY --from=uv /uv /usr/bin/uv",
        'ENV VIRTUAL_ENV=/opt/venv UV_PYTHON=/opt/venv/bin/python PATH="/opt/venv/bin:$PATH" UV_LINK_MODE=copy',
        f'RUN {certificates}[ -f "$UV_PYTHON" ] || uv venv "$VIRTUAL_ENV" --python {spec.python_version}',
    ]
    for number, layer in enumerate(spec.layers):
        kind = layer.WhichOneof("layer")
        of = getattr(layer, kind)
        run = certificates
        if hasattr(of, "secret_mounts"):
            more, options_of_build = mounts(of.secret_mounts)
            run, build = run + more, build + options_of_build
        uv = run + "--mount=type=cache,target=/root/.cache/uv "  # keeps the downloads out of the image
        project = f"/opt/project{number}"
        match kind:
            case "pip_packages":
                lines.append(f"RUN {uv}uv pip install {options(of.options)} {quoted(of.packages)}")
            case "requirements":
                lines.append(f"RUN {uv}--mount=type=bind,target=/tmp/r.txt,src={of.file} uv pip install {options(of.options)} -r /tmp/r.txt")
            case "python_wheels":
                name, links = quoted([of.package_name]), "--find-links /tmp/wheels"
                # An index may have another package of that name: what it depends on first, then the wheel itself.
                lines.append(f"RUN {uv}--mount=type=bind,target=/tmp/wheels,src={of.dir} "
                             f"uv pip install {links} {options(of.options)} {name} && "
                             f"uv pip install {links} --no-index --no-deps --reinstall {name}")
            case "uv_project":
                source = of.source_dir or of.pyproject
                place = posixpath.normpath(posixpath.join(project, posixpath.relpath(of.pyproject, source)))
                lines.append(f"COPY {json.dumps([source, project + '/'], ensure_ascii=False)}")
                if of.uvlock:
                    lines.append(f"COPY {json.dumps([of.uvlock, place + '/'], ensure_ascii=False)}")
                lines.append(f"RUN {uv}uv sync --active --inexact --no-editable --project {shlex.quote(place)} {options(of.options)}")
            case "poetry_project":
                lines += [f"COPY {json.dumps([source, project + '/'], ensure_ascii=False)}" for source in (of.pyproject, of.poetry_lock)]
                lines.append(f"RUN {uv}POETRY_VIRTUALENVS_CREATE=false uv tool run {POETRY} install --no-interaction --directory {project} {of.extra_args}")
            case "apt_packages":
                lines.append(f"RUN {run}--mount=type=cache,target=/var/lib/apt/lists --mount=type=cache,target=/var/cache/apt "
                             f"apt-get update && apt-get install -y --no-install-recommends {' '.join(map(shlex.quote, of.packages))}")
            case "commands":
                # The form with brackets: a command may have several lines.
                lines += [f"RUN {run}{json.dumps(['/bin/sh', '-c', line], ensure_ascii=False)}" for line in of.cmd]
            case "env":
                for name, value in sorted(of.env_variables.items()):
                    value = value.replace("\\", "\\\\").replace('"', '\\"')
                    lines.append(f'ENV {name}="{value}"')
            case "workdir":
                lines.append(f"WORKDIR {of.workdir}")
            case "copy_config":
                lines.append(f"COPY {json.dumps([of.src, of.dst], ensure_ascii=False)}")
            case _:
                raise SystemExit(f"this builder does not know layers of the kind {kind}")
    return "\n".join(lines) + "\n", build


async def fetch(uri: str, target: pathlib.Path) -> pathlib.Path:
    await storage.get(uri, str(target))
    return target


def main(spec_uri: str, context_uri: str, target: str) -> None:
    work = pathlib.Path("/tmp/build")
    files = work / "context"
    files.mkdir(parents=True)
    spec = definition_pb2.ImageSpec.FromString(asyncio.run(fetch(spec_uri, work / "spec.pb")).read_bytes())
    if context_uri:
        archive = asyncio.run(fetch(context_uri, work / "context.tar.gz"))
        subprocess.run(["tar", "--extract", "--gzip", f"--file={archive}", f"--directory={files}"], check=True)
    text, build = dockerfile(spec)
    (work / "Dockerfile").write_text(text)
    print(text, flush=True)
    image = target if "/" in target else f"{os.environ['REGISTRY']}/{target}"
    done = subprocess.run(
        ["buildctl-daemonless.sh", "build", "--progress=plain", "--frontend=dockerfile.v0", f"--local=context={files}", f"--local=dockerfile={work}",
         f"--local=uv={UV}", "--opt=context:uv=local:uv", f"--output=type=image,name={image},push=true", f"--metadata-file={work / 'result.json'}", *build,
         *shlex.split(os.environ.get("BUILDCTL_FLAGS", ""))],
    )
    if done.returncode != 0:
        raise SystemExit(done.returncode)  # buildctl has said why
    # The digest too: when an image is built again, nodes that have the tag must not keep the old one.
    digest = json.loads((work / "result.json").read_text())["containerimage.digest"]
    pathlib.Path("/var/flyte/outputs/image").write_text(f"{image}@{digest}")


if __name__ == "__main__":
    main(*sys.argv[1:4])
