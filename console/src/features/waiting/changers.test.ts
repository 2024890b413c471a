import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { RoleSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { RunWaitSchema, WaitCause } from "@gen/flytebinary/insight/v1/waits_pb.js";
import { changesOf } from "./changers";

const role = (name: string, ...permissions: string[]) => create(RoleSchema, { name, permissions });
const roles = [role("viewer", "*.view"), role("contributor", "run.*", "action.signal"), role("operator", "*.*")];
const wait = (cause: WaitCause) => create(RunWaitSchema, { wait: { cause } });

describe("who can change a wait", () => {
  it("are the roles with the permission", () => {
    expect(changesOf(wait(WaitCause.SIGNAL), roles)).toEqual([{ what: "Answer the approval", who: "roles contributor, operator" }]);
    expect(changesOf(wait(WaitCause.PLACEMENT), roles)[0]?.who).toBe("role operator");
  });

  it("are the operators for what is configured, and everyone where access is open", () => {
    expect(changesOf(wait(WaitCause.QUEUE_ACTIONS), "everyone").map(({ who }) => who)).toEqual(["everyone", "operators of the server"]);
  });

  it("is not said before it is known, nor of roles that do not have it", () => {
    expect(changesOf(wait(WaitCause.SIGNAL), undefined)[0]?.who).toBe("");
    expect(changesOf(wait(WaitCause.SIGNAL), [role("viewer", "*.view")])[0]?.who).toBe("no role");
  });
});
