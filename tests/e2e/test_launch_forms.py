"""Values of the released SDK on their way through a launch form: what is sent back unchanged is what it was."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import datetime
import enum
import json
import typing

import pydantic
import pytest
from flyte.types import TypeEngine
from flyteidl2.core import interface_pb2, literals_pb2
from google.protobuf import json_format

pytestmark = pytest.mark.usefixtures("sdk")

UTC = datetime.UTC


@dataclasses.dataclass
class Inner:
    weight: float
    tags: typing.List[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Outer:
    number: int
    ratio: float
    inner: Inner
    when: datetime.datetime
    note: typing.Optional[str] = None
    bag: typing.Dict[str, int] = dataclasses.field(default_factory=dict)


class Model(pydantic.BaseModel):
    y: float
    x: int
    more: typing.Optional[typing.List[float]] = None


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


WHEN = datetime.datetime(2026, 1, 31, 12, 0, 0, 123456, tzinfo=UTC)
OUTER = Outer(2**53 + 1, 2.0, Inner(3.0, ["1"]), WHEN, bag={"b": 1, "a": 2})
Texts = typing.Union[typing.List[int], typing.List[str]]
TextOrTime = typing.Union[str, datetime.datetime]

CASES = {
    "integer": (int, 2**63 - 1),
    "not safe": (int, 2**53 + 1),
    "float": (float, 1.0),
    "infinite": (float, float("-inf")),
    "text": (str, "grüße\n"),
    "flag": (bool, True),
    "none": (type(None), None),
    "datetime": (datetime.datetime, WHEN),
    "duration": (datetime.timedelta, datetime.timedelta(days=-1, seconds=3, microseconds=7)),
    "300 years": (datetime.timedelta, datetime.timedelta(days=365 * 300, milliseconds=500)),
    "bytes": (bytes, b"\x00abcd"),
    "set": (typing.Set[int], {1, 2}),
    "any": (typing.Any, "abcd"),
    "one of some texts": (typing.Literal["x", "y"], "x"),
    "dict": (dict, {"b": 1, "a": 1.0, "deep": [None, {"x": 2.0, "y": 2**60}]}),
    "numbers as keys": (typing.Dict[int, str], {1: "a", 2: "b"}),
    "map of lists": (typing.Dict[str, typing.List[int]], {"a": [1, 2], "b": []}),
    "map of dicts": (typing.Dict[str, dict], {"a": {"x": 1.0}, "b": {"x": 1}}),
    "lists of lists": (typing.List[typing.List[float]], [[1.0], []]),
    "dataclass": (Outer, OUTER),
    "list of dataclasses": (typing.List[Outer], [OUTER, dataclasses.replace(OUTER, ratio=0.5, note="1")]),
    "optional dataclass": (typing.Optional[Outer], OUTER),
    "no dataclass": (typing.Optional[Outer], None),
    "model": (Model, Model(y=2.0, x=1, more=[1.0])),
    "tuple": (typing.Tuple[int, str], (1, "1")),
    "enum": (Colour, Colour.BLUE),
    "text or number": (typing.Union[int, str], "3"),
    "number or text": (typing.Union[str, int], 3),
    "texts": (Texts, ["1", "2"]),
    "time, not text": (TextOrTime, WHEN),
    "text, not time": (TextOrTime, "2026-01-31T12:00:00Z"),
    "whole float": (typing.Union[int, float], 3.0),
}


def as_json(message) -> dict:
    return json.loads(json_format.MessageToJson(message))


@pytest.mark.parametrize("name", CASES)
def test_values_survive_their_form(server, name: str):
    python, value = CASES[name]
    kind = TypeEngine.to_literal_type(python)
    literal = asyncio.run(TypeEngine.to_literal(value, python, kind))
    variables = as_json(interface_pb2.VariableMap(variables=[interface_pb2.VariableEntry(key="x", value=interface_pb2.Variable(type=kind))]))

    def call(procedure: str, body: dict) -> dict:
        status, answer = server.call(f"flyteidl2.workflow.TranslatorService/{procedure}", body)
        assert status == 200, answer
        return answer

    form = call("LiteralsToLaunchFormJson", {"variables": variables, "literals": [{"name": "x", "value": as_json(literal)}]})["json"]
    given = form["properties"]["x"]["default"]
    ways = {
        "form": call("LaunchFormJsonToLiterals", {"json": form}),
        "values": call("JsonValuesToLiterals", {"variables": variables, "values": {"x": given}}),
    }
    for way, answer in ways.items():
        back = json_format.ParseDict(answer["literals"][0]["value"], literals_pb2.Literal())
        again = asyncio.run(TypeEngine.to_python_value(back, python))
        assert exactly(again) == exactly(value), (way, given)


def exactly(value):
    """A value with its types: 1 == 1.0 == True in Python. Maps of protobuf have no order."""
    if dataclasses.is_dataclass(value):
        return type(value), {f.name: exactly(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, pydantic.BaseModel):
        return type(value), {name: exactly(getattr(value, name)) for name in type(value).model_fields}
    if isinstance(value, dict):
        return {repr(k): (exactly(k), exactly(v)) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value), [exactly(one) for one in value]
    return type(value), value


def test_what_json_cannot_tell_apart_is_refused(server):
    body = TypeEngine.to_literal_type(typing.Dict[str, typing.Any])
    packed = literals_pb2.Literal(scalar=literals_pb2.Scalar(binary=literals_pb2.Binary(
        value=base64.b64decode("ggGhYaExoWI="), tag="msgpack",  # {1: "a", "1": "b"}
    )))
    variables = as_json(interface_pb2.VariableMap(variables=[interface_pb2.VariableEntry(key="x", value=interface_pb2.Variable(type=body))]))
    status, answer = server.call("flyteidl2.workflow.TranslatorService/LiteralsToLaunchFormJson", {
        "variables": variables, "literals": [{"name": "x", "value": as_json(packed)}],
    })
    assert status == 400 and 'two keys of a map are both \\"1\\"' in json.dumps(answer), answer
    number = as_json(interface_pb2.VariableMap(variables=[interface_pb2.VariableEntry(
        key="x", value=interface_pb2.Variable(type=TypeEngine.to_literal_type(int)),
    )]))
    status, answer = server.call("flyteidl2.workflow.TranslatorService/JsonValuesToLiterals", {"variables": number, "values": {"x": 2**53 + 1}})
    assert status == 400 and "write it as text" in json.dumps(answer), answer
