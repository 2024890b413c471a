"""Compares our wire contract with the published ones: ours has all of their messages, fields, enum values and methods."""

from __future__ import annotations

import base64
import importlib
import pathlib
import re
import shutil
import subprocess

import flyteidl2
import pytest
from google.protobuf import descriptor_pb2 as d

ROOT = pathlib.Path(__file__).resolve().parents[2]
NPM = ROOT / "tools" / "node_modules" / "@flyteorg" / "flyteidl2"


def facts(files: list[d.FileDescriptorProto]) -> dict[str, tuple]:
    """Everything that a client depends on, by full name."""
    found: dict[str, tuple] = {}

    def message(prefix: str, m: d.DescriptorProto, file: str) -> None:
        name = f"{prefix}.{m.name}"
        found[f"message {name}"] = (file,)
        for f in m.field:
            oneof = ""
            if f.HasField("oneof_index") and not f.proto3_optional:
                oneof = m.oneof_decl[f.oneof_index].name
            found[f"field {name}.{f.name}"] = (f.number, f.type, f.label, f.type_name, oneof, f.proto3_optional)
        for nested in m.nested_type:
            message(name, nested, file)
        for e in m.enum_type:
            enum(name, e, file)

    def enum(prefix: str, e: d.EnumDescriptorProto, file: str) -> None:
        for value in e.value:
            found[f"enum {prefix}.{e.name}.{value.name}"] = (value.number, file)

    for file in files:
        package = "." + file.package
        for m in file.message_type:
            message(package, m, file.name)
        for e in file.enum_type:
            enum(package, e, file.name)
        for s in file.service:
            for r in s.method:
                found[f"rpc {package}.{s.name}/{r.name}"] = (r.input_type, r.output_type, r.client_streaming, r.server_streaming, file.name)
    return found


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple]:
    out = tmp_path_factory.mktemp("wire") / "ours.binpb"
    subprocess.run([str(ROOT / "tools" / "node_modules" / ".bin" / "buf"), "build", "-o", str(out)], cwd=ROOT, check=True)
    files = d.FileDescriptorSet()
    files.ParseFromString(out.read_bytes())
    return facts(list(files.file))


def published_python() -> list[d.FileDescriptorProto]:
    root = pathlib.Path(list(flyteidl2.__path__)[0])
    files = []
    for path in sorted(root.rglob("*_pb2.py")):
        module = importlib.import_module("flyteidl2." + ".".join(path.relative_to(root).with_suffix("").parts))
        file = d.FileDescriptorProto()
        file.ParseFromString(module.DESCRIPTOR.serialized_pb)
        files.append(file)
    return files


def published_npm() -> list[d.FileDescriptorProto]:
    files = []
    for path in sorted((NPM / "flyteidl2").rglob("*_pb.ts")):
        for encoded in re.findall(r'fileDesc\("([^"]+)"', path.read_text()):
            file = d.FileDescriptorProto()
            file.ParseFromString(base64.b64decode(encoded + "=" * (-len(encoded) % 4)))
            files.append(file)
    return files


@pytest.mark.parametrize("published", [published_python, published_npm])
def test_contract(ours: dict[str, tuple], published) -> None:
    theirs = facts(published())
    assert len(theirs) > 2000
    newest = facts(published_python())
    wrong = {}
    for name, fact in theirs.items():
        if name not in ours:
            # A removal in the newest published contract is theirs, not ours.
            if name in newest:
                wrong[name] = "missing"
        elif ours[name] != fact and newest.get(name, fact) == fact:
            wrong[name] = (ours[name], fact)
    assert not wrong, dict(list(wrong.items())[:20])


def test_same_files() -> None:
    here = {str(p.relative_to(ROOT / "proto")) for p in (ROOT / "proto" / "flyteidl2").rglob("*.proto")}
    assert {f.name for f in published_python()} <= here


def published_image() -> list[d.FileDescriptorProto]:
    return list(d.FileDescriptorSet.FromString((ROOT / "proto" / "published.binpb").read_bytes()).file)


def test_the_contract_is_the_published_one(ours: dict[str, tuple]) -> None:
    """proto/ declares exactly the version of the contract that the image holds."""
    image = facts([file for file in published_image() if file.name.startswith("flyteidl2/")])
    here = {name: fact for name, fact in ours.items() if ".flyteidl2." in name}
    assert {name: (here.get(name), image.get(name)) for name in here.keys() | image.keys() if here.get(name) != image.get(name)} == {}
    # What came after the version that the SDK pins.
    assert image["field .flyteidl2.workflow.ActionUpdate.address"][0] == 6
    assert image["field .flyteidl2.core.ReusePolicy.version"][0] == 8


def test_the_image_is_what_is_published() -> None:
    """What `buf breaking` compares with has all facts of the SDK's package, and our own packages."""
    image = published_image()
    known = facts([file for file in image if file.name.startswith("flyteidl2/")])
    assert {name: fact for name, fact in facts(published_python()).items() if known.get(name) != fact} == {}, "run `make published`"
    own = {str(p.relative_to(ROOT / "proto")) for p in (ROOT / "proto" / "flytebinary").rglob("*.proto")}
    assert {file.name for file in image if file.name.startswith("flytebinary/")} <= own


@pytest.mark.parametrize("file,line,changed", [
    ("flyteidl2/common/identifier.proto", "string name = 4", "string name = 40"),
    ("flytebinary/engine/v1/engine.proto", "= 2;", "= 200;"),
    ("flyteidl2/workflow/run_service.proto", "rpc AbortRun", "rpc AbortTheRun"),
])
def test_breaking_changes_are_found(tmp_path: pathlib.Path, file: str, line: str, changed: str) -> None:
    """The check of `make verify` fails when a number or a name changes, and passes without a change."""
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    shutil.copy(ROOT / "buf.yaml", tmp_path)

    def check() -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(ROOT / "tools" / "node_modules" / ".bin" / "buf"), "breaking", "proto", "--against", "proto/published.binpb", "--exclude-imports"],
            cwd=tmp_path, text=True, capture_output=True, timeout=300,
        )

    before = check()
    assert before.returncode == 0, before.stdout + before.stderr
    path = tmp_path / "proto" / file
    assert line in path.read_text()
    path.write_text(path.read_text().replace(line, changed, 1))
    after = check()
    assert after.returncode == 100 and file in after.stdout, after.stdout + after.stderr


def test_every_declaration_is_documented() -> None:
    """Each message, enum, service and method has a comment above it."""
    bare = []
    for path in sorted(p for tree in ("flyteidl2", "flytebinary") for p in (ROOT / "proto" / tree).rglob("*.proto")):  # not third_party
        lines = path.read_text().splitlines()
        for i, line in enumerate(lines):
            if re.match(r"\s*(message|enum|service|rpc) \w+", line) and not (i and lines[i - 1].lstrip().startswith(("//", "*/"))):
                bare.append(f"{path.relative_to(ROOT)}:{i + 1}")
    assert not bare, f"{len(bare)} without a comment, first: {bare[:10]}"


# How the SDK and its plugins write the type of a task.
TYPES = re.compile(r"""(?:\btask_type(?:: str)?|_?[A-Z_]*TASK_TYPE[A-Z_]*|task\.type) = "([^"]+)"(?: if [^\n]* else "([^"]+)")?|\btask_type="([^"]+)\"""")


def test_every_type_of_task_of_the_sdk_is_documented() -> None:
    """The installed SDK, and the plugins that are installed with it, send no type of which the documentation does not say what serves it."""
    packages = [pathlib.Path(importlib.import_module("flyte").__file__).parent]
    packages += [place for place in [packages[0].parent / "flyteplugins"] if place.is_dir()]
    sent = {found: path for package in packages for path in package.rglob("*.py") for groups in TYPES.findall(path.read_text()) for found in groups if found}
    assert {"python", "python-task", "core-sleep", "raw-container", "clustered-task", "actor"} <= set(sent), "the search must find what the SDK has"
    documented = (ROOT / "docs" / "wire-compatibility.md").read_text()
    section = documented.split("## Types of task", 1)[1].split("\n## ", 1)[0]
    assert not {name: str(path) for name, path in sent.items() if f"`{name}`" not in section}
