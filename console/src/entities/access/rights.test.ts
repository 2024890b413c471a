import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { GetMeResponseSchema, RoleSchema } from "@gen/flytebinary/access/v1/access_pb.js";
import { askWords, can, placeWords, roleFor, type Where } from "./rights";

const at = (project: string, domain: string): Where => ({ project, domain });
const me = (...scopes: Where[]) => create(GetMeResponseSchema, { grants: scopes.map((scope) => ({ scope, permissions: ["run.view", "run.create"] })) });

describe("what a role in one place allows in another", () => {
  it.each([
    ["a domain of a project", at("p", "d"), at("p", "d"), true],
    ["another domain", at("p", "d"), at("p", "e"), false],
    ["another project", at("p", "d"), at("q", "d"), false],
    ["all of the project", at("p", "d"), at("p", ""), false],
    ["a domain of the whole project", at("p", ""), at("p", "d"), true],
    ["a project in a domain of all projects", at("", "d"), at("q", "d"), true],
    ["another domain of all projects", at("", "d"), at("q", "e"), false],
    ["anything in the installation", at("", ""), at("q", "e"), true],
    ["the installation, from a project", at("p", ""), at("", ""), false],
  ])("%s", (_, scope, place, wanted) => expect(can(me(scope), "run.create", place)).toBe(wanted));

  it("does not join the scopes of two grants", () => expect(can(me(at("p", "d"), at("q", "e")), "run.create", at("p", "e"))).toBe(false));
  it("needs the permission itself", () => expect(can(me(at("", "")), "app.create", at("p", "d"))).toBe(false));
  it("is asked of any place for one's own things", () => expect(can(me(at("p", "d")), "run.create", "anywhere")).toBe(true));
  it("is everything where access is open", () => expect(can(create(GetMeResponseSchema, { open: true }), "app.create", at("p", "d"))).toBe(true));
});

const roles = [
  { name: "admin", permissions: ["run.view", "run.create", "binding.create"] },
  { name: "auditor", permissions: ["audit.*"] },
  { name: "operator", permissions: ["*.*"] },
  { name: "runner", permissions: ["run.view", "run.create"] },
].map((role) => create(RoleSchema, role));

it.each([
  ["run.create", "runner"],
  ["binding.create", "admin"],
  ["audit.view", "operator"],
])("%s takes %s: a built-in role is named before another", (permission, wanted) => expect(roleFor(roles, permission)).toBe(wanted));

it("counts on operators alone for local accounts", () => {
  const own = create(RoleSchema, { name: "clerk", permissions: ["account.*", "*.update"] });
  expect(roleFor([own, ...roles], "account.update")).toBe("operator");
  expect(roleFor([own], "account.update")).toBeUndefined();
  expect(roleFor([own], "account.view")).toBe("clerk");
});

it("names a role of the installation if no built-in one gives the permission", () => expect(roleFor(roles.slice(0, 2), "audit.view")).toBe("auditor"));

it("says where, and whom to ask", () => {
  expect([at("p", "d"), at("p", ""), at("", "d"), at("", "")].map(placeWords)).toEqual(["p/d", "p", "the domain d of every project", "the whole installation"]);
  expect(askWords(create(GetMeResponseSchema), at("p", "d"))).toBe("Ask an admin of p.");
  expect(askWords(create(GetMeResponseSchema, { ask: "Ask in #data." }), at("p", "d"))).toBe("Ask in #data.");
});
