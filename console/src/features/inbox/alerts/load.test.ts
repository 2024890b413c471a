import { create } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { GetMeResponseSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { PausedActionSchema } from "@gen/flytebinary/insight/v1/overview_pb.js";
import { isFor } from "./load";

const me = (subject: string, permissions: string[] = [], project = "p") =>
  create(GetMeResponseSchema, { subject, grants: [{ scope: { project }, permissions }] });
const asked = (subject?: string) =>
  create(PausedActionSchema, { actionId: { run: { project: "p", domain: "d", name: "r" }, name: "a" }, ...(subject !== undefined && { assignee: { subject } }) });

it("tells of an approval whom it waits for", () => {
  expect(isFor(me("ada", ["action.signal"]), asked("ada"))).toBe(true);
  expect(isFor(me("ada", ["action.signal"]), asked("grace"))).toBe(false);
  expect(isFor(me("ada", ["action.signal"]), asked())).toBe(true);
  expect(isFor(me("vera", ["action.view"]), asked())).toBe(false);
  expect(isFor(me("paul", ["action.signal"], "other"), asked())).toBe(false);
  expect(isFor(create(GetMeResponseSchema, { open: true, subject: "anonymous" }), asked("grace"))).toBe(true);
});
