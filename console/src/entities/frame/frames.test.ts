import { expect, test } from "vitest";
import { add, drawn, withoutFonts, parseMessage } from "./frames";

test("a version waits behind the one that is shown until it is drawn", () => {
  const one = add([], "one");
  expect(one.map((frame) => frame.html)).toEqual(["one"]);
  const two = add(one, "two");
  expect(two.map((frame) => frame.html)).toEqual(["one", "two"]);
  expect(drawn(two, two[1]?.id ?? 0).map((frame) => frame.html)).toEqual(["two"]);
});

test("one that still loads makes place for a newer one, and its late word changes nothing", () => {
  const two = add(add([], "one"), "two");
  const three = add(two, "three");
  expect(three.map((frame) => frame.html)).toEqual(["one", "three"]);
  expect(drawn(three, two[1]?.id ?? 0)).toBe(three);
});

test("the same text is not a new version", () => {
  const one = add([], "one");
  expect(add(one, "one")).toBe(one);
});

test("words of a report are not trusted", () => {
  expect(parseMessage({ ready: true })).toEqual({ kind: "ready" });
  expect(parseMessage({ shown: true })).toEqual({ kind: "shown" });
  expect(parseMessage({ x: 1, y: 2, tab: 3 })).toEqual({ kind: "position", position: { x: 1, y: 2, tab: 3 } });
  expect(parseMessage({ x: 1, y: 2 })).toEqual({ kind: "position", position: { x: 1, y: 2, tab: -1 } });
  for (const other of [undefined, null, "ready", 3, {}, { ready: "yes" }, { x: "1", y: 2 }, { x: NaN, y: 1 }, { y: Infinity, x: 0 }])
    expect(parseMessage(other)).toBeUndefined();
});

test("no report tells a host of fonts who reads it", () => {
  const html =
    '<head>\n<link href="https://fonts.googleapis.com/css?family=Lato:300%7COpen+Sans" rel="stylesheet"><link rel=stylesheet href="https://cdn.example/a.css"></head>';
  expect(withoutFonts(html)).toBe('<head>\n<link rel=stylesheet href="https://cdn.example/a.css"></head>');
});
