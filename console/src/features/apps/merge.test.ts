import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import type { App } from "@gen/flyteidl2/app/app_definition_pb.js";
import { WatchResponseSchema, type WatchResponse } from "@gen/flyteidl2/app/app_payload_pb.js";
import { appOf } from "./apps.fixture";
import { fold, merged, nameOf } from "./merge";

const created = (app: App) => create(WatchResponseSchema, { event: { case: "createEvent", value: { app } } });
const updated = (updatedApp: App) => create(WatchResponseSchema, { event: { case: "updateEvent", value: { updatedApp } } });
const deleted = (app: App) => create(WatchResponseSchema, { event: { case: "deleteEvent", value: { app } } });
const watched = (...events: WatchResponse[]) => events.reduce<ReturnType<typeof fold> | undefined>(fold, undefined)?.apps ?? new Map<string, App>();
const rows = (apps: readonly App[]) => apps.map((app) => `${nameOf(app)} ${app.metadata?.revision ?? 0n}`);
const all = () => true;

it("shows what the stream has of the listed apps, and those that came since", () => {
  const listed = [appOf("b", { minute: 2 }), appOf("a", { minute: 1 })];
  const stream = watched(created(appOf("a", { minute: 1 })), updated(appOf("a", { minute: 1, revision: 2n })), created(appOf("c", { minute: 3 })));
  expect(rows(merged(listed, false, stream, all))).toEqual(["c 1", "b 1", "a 2"]);
});

it("removes what was deleted, and what the filter does not match any more", () => {
  const listed = [appOf("b", { minute: 2 }), appOf("a", { minute: 1 })];
  const stream = watched(created(appOf("b", { minute: 2, revision: 7n })), deleted(appOf("a")));
  expect(rows(merged(listed, false, stream, (app) => app.metadata?.revision !== 7n))).toEqual([]);
  expect(rows(merged(listed, false, watched(deleted(appOf("a")), created(appOf("a", { minute: 5 }))), all))).toEqual(["a 1", "b 1"]);
});

it("leaves apps of later pages to those", () => {
  const listed = [appOf("c", { minute: 3 }), appOf("b", { minute: 2 })];
  const stream = watched(created(appOf("a", { minute: 1 })), created(appOf("d", { minute: 4 })));
  expect(rows(merged(listed, true, stream, all))).toEqual(["d 1", "c 1", "b 1"]);
  expect(rows(merged(listed, false, stream, all))).toEqual(["d 1", "c 1", "b 1", "a 1"]);
});
