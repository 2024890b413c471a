import { expect, test } from "vitest";
import { SecretsSearch } from "./search";
import { dockerConfig, placeOf, scopeWords, variableOf, wrongName } from "./secret";

test("the place of a scope", () => {
  const place = { project: "p", domain: "d" };
  expect(placeOf("project", place)).toEqual(place);
  expect(placeOf("domain", place)).toEqual({ project: "", domain: "d" });
  expect(placeOf("organization", place)).toEqual({ project: "", domain: "" });
});

test("scopes in words", () => {
  expect(scopeWords({ project: "p", domain: "d" })).toBe("p / d");
  expect(scopeWords({ project: "", domain: "d" })).toBe("Domain d");
  expect(scopeWords({ project: "", domain: "" })).toBe("Organization");
});

test("names that the server accepts", () => {
  for (const name of ["key", "a-b_C9", "-", "n".repeat(253)]) expect(wrongName(name)).toBe("");
  for (const name of ["", "a.b", "a b", "ä", "n".repeat(254)]) expect(wrongName(name)).not.toBe("");
});

test("the default variable", () => expect(variableOf("my-key")).toBe("MY_KEY"));

test("the credentials of a registry", () => {
  const config = JSON.parse(dockerConfig("ghcr.io", "user", "pässword")) as { auths: Record<string, { auth: string }> };
  const auth = config.auths["ghcr.io"]?.auth ?? "";
  const bytes = Uint8Array.from(atob(auth), (char) => char.charCodeAt(0));
  expect(new TextDecoder().decode(bytes)).toBe("user:pässword");
});

test("parameters of the page", () => {
  expect(SecretsSearch({ scope: "domain" })).toEqual({ scope: "domain" });
  for (const scope of ["project", "all", 3, undefined]) expect(SecretsSearch({ scope })).toEqual({});
});
