"""Writes golden.json: what the released SDK computes for inputs, interfaces and msgpack values.

Run it with a Python that has the SDK: python generate.py > golden.json
"""

import asyncio
import base64
import dataclasses
import json
import random
import struct
import sys
import typing

import flyte
import msgpack
from flyte._internal.runtime import convert
from flyte._internal.runtime.types_serde import transform_native_to_typed_interface
from flyte.models import NativeInterface
from flyteidl2.core import interface_pb2, literals_pb2
from flyteidl2.task import common_pb2


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@dataclasses.dataclass
class Point:
    x: int
    y: float
    name: str = "p"


async def simple(b: int, a: str, c: float = 1.5, d: bool = True) -> str: ...
async def nested(items: typing.List[int], table: typing.Dict[str, float], point: Point) -> Point: ...
async def untyped(anything: dict, more: list) -> None: ...
async def nothing() -> None: ...


def case(name, task, interface, version, ignored, inputs):
    inputs_hash = convert.generate_inputs_hash_from_proto(inputs)
    counted = convert.generate_filtered_inputs_hash(inputs, ignored) if ignored else inputs_hash
    return {
        "name": name, "task": task, "interface": b64(interface.SerializeToString()), "version": version, "ignored": ignored,
        "inputs": b64(inputs.SerializeToString()), "inputsHash": counted,
        "key": convert.generate_cache_key_hash(task, inputs_hash, interface, version, ignored, inputs),
    }


def lit(text: str, hash: str = "") -> literals_pb2.Literal:
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(primitive=literals_pb2.Primitive(string_value=text)), hash=hash)


def blob(uri: str, hash: str = "") -> literals_pb2.Literal:
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(blob=literals_pb2.Blob(uri=uri)), hash=hash)


def packed(data: bytes, tag: str = "msgpack") -> literals_pb2.Literal:
    return literals_pb2.Literal(scalar=literals_pb2.Scalar(binary=literals_pb2.Binary(value=data, tag=tag)))


def named(**literals) -> common_pb2.Inputs:
    return common_pb2.Inputs(literals=[common_pb2.NamedLiteral(name=k, value=v) for k, v in literals.items()])


async def native():
    calls = [
        ("simple", simple, dict(b=3, a="ä text"), []),
        ("defaults given", simple, dict(b=3, a="ä text", c=1.5, d=True), []),
        ("ignored", simple, dict(b=3, a="x"), ["a", "c"]),
        ("all ignored", simple, dict(b=3, a="x"), ["a", "b", "c", "d"]),
        ("nested", nested, dict(items=[3, 1, 2], table={"z": 1.0, "a": 2.0}, point=Point(1, 2.0)), []),
        ("untyped", untyped, dict(anything={"z": 1, "a": {"k": [1, 2.5, None, True]}}, more=[1, "two"]), []),
        ("untyped in another order", untyped, dict(anything={"a": {"k": [1, 2.5, None, True]}, "z": 1}, more=[1, "two"]), []),
        ("nothing", nothing, {}, []),
    ]
    for name, func, kwargs, ignored in calls:
        interface = NativeInterface.from_callable(func)
        inputs = await convert.convert_from_native_to_inputs(interface, custom_context={"trace": name}, **kwargs)
        yield case(name, f"env.{func.__name__}", transform_native_to_typed_interface(interface), "v" + name, ignored, inputs.proto_inputs)


def made():
    table = literals_pb2.LiteralMap(literals={"z": lit("1"), "a": blob("s3://b/x", "h1"), "ü": lit("3")})
    several = literals_pb2.LiteralCollection(literals=[lit("1"), blob("s3://b/x", "h1"), literals_pb2.Literal(map=table)])
    none = literals_pb2.Literal(scalar=literals_pb2.Scalar(none_type=literals_pb2.Void()))
    interface = interface_pb2.TypedInterface(
        inputs=interface_pb2.VariableMap(variables=[interface_pb2.VariableEntry(key=k, value=interface_pb2.Variable(description=k)) for k in ("z", "a", "m")]),
        outputs=interface_pb2.VariableMap(variables=[interface_pb2.VariableEntry(key=k, value=interface_pb2.Variable(description=k)) for k in ("o2", "o1")]),
    )
    empty = interface_pb2.TypedInterface()
    with_metadata = lit("1")
    with_metadata.metadata.update({"z": "1", "a": "2"})
    return [
        case("hash of content", "t", interface, "1", [], named(a=blob("s3://b/1", "h"))),
        case("hash of content elsewhere", "t", interface, "1", [], named(a=blob("s3://b/2", "h"))),
        case("collection", "t", interface, "1", [], named(a=literals_pb2.Literal(collection=several))),
        case("hashed collection", "t", interface, "1", [], named(a=literals_pb2.Literal(collection=several, hash="whole"))),
        case("map", "t", empty, "", [], named(a=literals_pb2.Literal(map=table), b=none)),
        case("empty collection", "t", empty, "", [], named(a=literals_pb2.Literal(collection=literals_pb2.LiteralCollection()))),
        case("empty literal", "t", empty, "", [], named(a=literals_pb2.Literal())),
        case("other binary", "t", empty, "", [], named(a=packed(b"\x82\xa1b\x01\xa1a\x02", "json"))),
        case("ignored hash", "t", empty, "", ["a"], named(a=blob("s3://b/1", "h"), b=lit("x"))),
        case("metadata", "t", empty, "", [], named(a=with_metadata)),
    ]


def values(rng: random.Random, depth: int = 0):
    kinds = ["int", "float", "text", "bytes", "none", "bool", "ext", "time"] + (["list", "map"] * 4 if depth < 4 else [])
    match rng.choice(kinds):
        case "int":
            return rng.choice([1, -1]) * rng.getrandbits(rng.choice([1, 6, 7, 8, 15, 16, 31, 32, 62]))
        case "float":
            return rng.choice([0.0, 1.5, -2.25, 1e300, float(rng.getrandbits(20)), float("inf")])
        case "text":
            return rng.choice(["", "a", "ü", "x" * 31, "x" * 32, "x" * 300])
        case "bytes":
            return rng.randbytes(rng.choice([0, 1, 16, 300]))
        case "none":
            return None
        case "bool":
            return rng.random() < 0.5
        case "ext":
            return msgpack.ExtType(rng.randrange(0, 127), rng.randbytes(rng.choice([0, 1, 2, 3, 4, 8, 16, 17])))
        case "time":
            return msgpack.Timestamp(rng.choice([0, 5, 2**32, 2**34, -1]), rng.choice([0, 1, 999_999_999]))
        case "list":
            return [values(rng, depth + 1) for _ in range(rng.choice([0, 1, 3, 17]))]
        case "map":
            made = {}
            for _ in range(rng.choice([0, 1, 3, 17])):
                key = values(rng, 9)
                made[key] = values(rng, depth + 1)
            return made


def msgpacks():
    rng = random.Random(7)
    # Not by hand what packb would not write: wide forms, single floats, equal keys, lists as keys, bad text, rests.
    odd = [
        b"", b"\xc1", b"\x93\x01", b"\x01\x02", b"\xcd\x00\x01", b"\xcf" + b"\x00" * 7 + b"\x05", b"\xd3" + b"\xff" * 8, b"\xd1\x00\x05",
        b"\xca" + struct.pack(">f", 1.1), b"\xcb" + struct.pack(">d", 3.0), b"\xd9\x01a", b"\xda\x00\x01a", b"\xdb\x00\x00\x00\x01a",
        b"\xc5\x00\x01a", b"\xdc\x00\x01\x01", b"\xde\x00\x02\xa1b\x01\xa1a\x02", b"\x82\xa1a\x01\xa1a\x02", b"\x82\x01\xa1x\xcb" + struct.pack(">d", 1.0) + b"\xa1y",
        b"\x83\xc3\x01\x01\x02\xa1a\x03", b"\x82\xc2\x01\x00\x02", b"\x81\x91\x01\x02", b"\x81\x80\x02", b"\xa1\xff", b"\xa3\xed\xa0\x80", b"\x81\xc0\x01",
        b"\xc7\x01\x05a", b"\xc8\x00\x01\x05a", b"\x82\xd4\x06b\x01\xd4\x05a\xd4\x07c", b"\xd4\xfea", b"\xd6\xff\x00\x00\x00\x01", b"\xd7\xff" + b"\x00" * 7 + b"\x01",
        b"\xc7\x0c\xff" + b"\x00" * 11 + b"\x09", b"\xc7\x0c\xff" + b"\x00" * 4 + b"\xff" * 8, b"\xc7\x03\xffabc", b"\xd7\xff" + b"\xff" * 8,
        b"\xdd\xff\xff\xff\xff\x01", b"\xdf\x00\x00\x00\x02\x02\x01\x01\x02", b"\x91" * 300 + b"\xdc\x00\x00", b"\xcb\x80" + b"\x00" * 7,
        b"\x82\xcb\x80" + b"\x00" * 7 + b"\x01\x00\x02",
    ]
    for data in odd + [msgpack.packb(values(rng)) for _ in range(400)]:
        if len(data) < 1500:
            yield {"data": b64(data), "canonical": b64(convert._canonical_msgpack_bytes(data))}


async def main():
    cases = [c async for c in native()] + made()
    for data in ({"b": 1, "a": [1, {"z": 1, "y": 2}]}, [1, 2], "text"):
        cases.append(case(f"msgpack {data}", "t", interface_pb2.TypedInterface(), "1", [], named(a=packed(msgpack.packb(data)))))
    json.dump({"sdk": flyte.__version__, "cases": cases, "msgpack": list(msgpacks())}, sys.stdout, indent=1)


asyncio.run(main())
