import { describe, expect, it } from "vitest";
import { shellWord } from "@/app/shell-word";
import { asCli, asCliRerun, asCurl, asPython, asPythonRead, asPythonRerun, type Values } from "./copy-as";

const root = { run: { project: "p", domain: "d", name: "r1" }, name: "a0" };
const child = { ...root, name: "x7" };

const values: Values = [
  ["n", { kind: "number", digits: "-3", whole: true }],
  ["who", { kind: "text", text: "it's; rm -rf $HOME" }],
  ["on", { kind: "boolean", value: false }],
  ["at", { kind: "time", at: new Date(0), iso: "1970-01-01T00:00:00.000250Z" }],
  ["wait", { kind: "duration", seconds: 90 }],
  ["xs", { kind: "list", items: [{ kind: "text", text: "a b" }] }],
  ["config", { kind: "map", struct: true, entries: [["x", { kind: "none" }]] }],
  ["data", { kind: "stored", what: "file", uri: "s3://b/x y", format: "" }],
  ["Upper", { kind: "number", digits: "1", whole: true }],
  ["recover", { kind: "number", digits: "1", whole: true }],
];

it.each([
  ["plain-1.2", "plain-1.2"],
  ["", "''"],
  ["a b", "'a b'"],
  ["it's", `'it'\\''s'`],
  ["$(x)`y`\\", "'$(x)`y`\\'"],
  ["a\nb", "'a\nb'"],
])("a shell reads %j as one word", (word, quoted) => expect(shellWord(word)).toBe(quoted));

describe("a command that runs it again", () => {
  it("gives each input that a command can say", () => {
    expect(asCliRerun(child, values)).toBe(
      [
        "flyte rerun",
        "--project p",
        "--domain d",
        "--action-name x7",
        "r1",
        "--n=-3",
        `--who 'it'\\''s; rm -rf $HOME'`,
        "--no-on",
        "--at '1970-01-01 00:00:00.000250+00:00'",
        "--wait PT90S",
        `--xs '["a b"]'`,
        `--config '{"x":null}'`,
        "--data 's3://b/x y'",
      ].join(" \\\n  "),
    );
  });
  it("leaves out enumerations", () => expect(asCliRerun(root, [["c", { kind: "text", text: "RED" }]], new Set(["c"]))).not.toContain("RED"));
  it("is short for a run without inputs", () => expect(asCliRerun(root, [])).toBe("flyte rerun --project p --domain d r1"));
});

describe("programs in Python", () => {
  it("run it again, and say what they leave out", () => {
    expect(asPythonRerun(child, values)).toBe(`from datetime import datetime
from datetime import timedelta
from flyte.io import File
import flyte

flyte.init_from_config(project="p", domain="d")
# These inputs keep their values: config, recover
run = flyte.rerun(
    "r1",
    action_name="x7",
    n=-3,
    who="it's; rm -rf $HOME",
    on=False,
    at=datetime.fromisoformat("1970-01-01T00:00:00.000250+00:00"),
    wait=timedelta(seconds=90),
    xs=["a b"],
    data=File.from_existing_remote("s3://b/x y"),
    Upper=1,
)
print(run.url)
`);
  });
  it("read what is there", () => {
    expect(asPythonRead(root, "outputs")).toContain('print(flyte.remote.Run.get("r1").outputs())');
    expect(asPythonRead(child, "inputs")).toContain('ActionDetails.get.aio(run_name="r1", name="x7")\n    print(await action.inputs())');
  });
  it("are values alone too", () => expect(asPython([["n", { kind: "number", digits: "1", whole: true }]])).toBe('{"n": 1}\n'));
});

it("a command shows them", () => expect(asCli(child)).toBe("flyte get io --project p --domain d r1 x7"));

it("curl gets them", () => {
  expect(asCurl({ ...root, name: "a'b" }, "https://flyte.example.com")).toBe(
    [
      "curl -sS -X POST",
      "https://flyte.example.com/flyteidl2.dataproxy.DataProxyService/GetActionData",
      "-H 'content-type: application/json'",
      `-d '{"actionId":{"run":{"project":"p","domain":"d","name":"r1"},"name":"a'\\''b"}}'`,
    ].join(" \\\n  "),
  );
});
