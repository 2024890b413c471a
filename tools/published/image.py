"""Writes proto/published.binpb: the wire contract as it is published, which `buf breaking` compares proto/ with.

Its flyteidl2 files are the descriptors in the Python package of requirements.txt; its flytebinary files are those of this tree, as
`buf build` sees them. Run it through `make published`."""

from __future__ import annotations

import importlib
import pathlib
import subprocess
import sys

import flyteidl2
from google.protobuf import descriptor_pb2, descriptor_pool

ROOT = pathlib.Path(__file__).resolve().parents[2]
# buf's ImageFileExtension{is_import: true}, field 8042 of a file: what is only imported is not compared.
IMPORTED = b"\xd2\xf6\x03\x02\x08\x01"


def flyte_files() -> dict[str, descriptor_pb2.FileDescriptorProto]:
    """The package's files and what they import, each after its imports."""
    root = pathlib.Path(list(flyteidl2.__path__)[0])
    for path in sorted(root.rglob("*_pb2.py")):
        importlib.import_module("flyteidl2." + ".".join(path.relative_to(root).with_suffix("").parts))
    found: dict[str, descriptor_pb2.FileDescriptorProto] = {}

    def add(name: str) -> None:
        if name in found:
            return
        file = descriptor_pb2.FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(name).CopyToProto(file)
        for imported in file.dependency:
            add(imported)
        if not name.startswith("flyteidl2/"):
            file.MergeFromString(IMPORTED)
        found[name] = file

    for path in sorted(root.rglob("*_pb2.py")):
        add("flyteidl2/" + str(path.relative_to(root)).removesuffix("_pb2.py") + ".proto")
    return found


def own_files() -> dict[str, descriptor_pb2.FileDescriptorProto]:
    """The files of this tree that are not flyteidl2's, in the order in which they import each other."""
    buf = ROOT / "tools" / "node_modules" / ".bin" / "buf"
    built = subprocess.run([buf, "build", "--exclude-source-info", "-o", "-"], cwd=ROOT, check=True, capture_output=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(built.stdout)
    return {file.name: file for file in files.file if file.name.startswith("flytebinary/")}


def main(out: pathlib.Path) -> None:
    files = flyte_files() | own_files()
    image = descriptor_pb2.FileDescriptorSet(file=files.values())
    out.write_bytes(image.SerializeToString(deterministic=True))
    print(f"{out}: {len(files)} files")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
