import { toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { SpecSchema, type Spec } from "@gen/flyteidl2/app/app_definition_pb.js";
import { variable } from "@/features/action/pod/specification";
import { t } from "@/texts/texts";

const hidden = "(hidden)";

/** The texts of two specs, to compare them. Values that may be secrets are hidden; whether they differ is not. */
export function textsOf(before: Spec | undefined, after: Spec | undefined): { readonly before: string; readonly after: string } {
  const [a, b] = [jsonOf(before), jsonOf(after)];
  const old = new Map(variablesOf(a).map(({ name, value }) => [name, value]));
  const write = (spec: JsonObject, marked: (name: string, value: string) => string): string => {
    for (const { name, value, set } of variablesOf(spec)) if (variable(name, value).hidden) set(marked(name, value));
    return JSON.stringify(spec, undefined, 2);
  };
  return { before: write(a, () => hidden), after: write(b, (name, value) => (old.has(name) && old.get(name) !== value ? t("(hidden, changed)") : hidden)) };
}

/** The creator is not a part of what is deployed, and the state is shown elsewhere. */
function jsonOf(spec: Spec | undefined): JsonObject {
  if (!spec) return {};
  const json = toJson(SpecSchema, spec) as JsonObject;
  delete json["creator"];
  delete json["desiredState"];
  return json;
}

interface Found {
  readonly name: string;
  readonly value: string;
  readonly set: (value: string) => void;
}

const isObject = (value: JsonValue | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const objects = (value: JsonValue | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** The environment variables of all containers, and the inputs, which may become such. */
function variablesOf(spec: JsonObject): Found[] {
  const pod = isObject(spec["pod"]) && isObject(spec["pod"]["podSpec"]) ? spec["pod"]["podSpec"] : {};
  const containers = [...(isObject(spec["container"]) ? [spec["container"]] : []), ...objects(pod["containers"]), ...objects(pod["initContainers"])];
  const inputs = isObject(spec["inputs"]) ? objects(spec["inputs"]["items"]) : [];
  return [
    ...containers.flatMap((container) => objects(container["env"]).flatMap((entry) => foundIn(entry, "value"))),
    ...inputs.flatMap((entry) => foundIn(entry, "stringValue")),
  ];
}

function foundIn(entry: JsonObject, field: string): Found[] {
  const name = entry["key"] ?? entry["name"];
  const value = entry[field];
  return typeof name === "string" && typeof value === "string" ? [{ name, value, set: (next: string) => void (entry[field] = next) }] : [];
}

const groups: readonly (readonly [words: string, of: (spec: JsonObject) => JsonValue | undefined])[] = [
  ["image", (spec) => container(spec)["image"]],
  ["command", (spec) => [container(spec)["command"] ?? [], container(spec)["args"] ?? []]],
  ["environment", (spec) => container(spec)["env"]],
  ["resources", (spec) => [container(spec)["resources"] ?? null, spec["extendedResources"] ?? null]],
  ["port", (spec) => container(spec)["ports"]],
  ["pod", (spec) => spec["pod"]],
  ["scaling", (spec) => spec["autoscaling"]],
  ["address", (spec) => spec["ingress"]],
  [t("secrets and identity"), (spec) => spec["securityContext"]],
  ["inputs", (spec) => spec["inputs"]],
  ["links", (spec) => spec["links"]],
  [t("time limits"), (spec) => spec["timeouts"]],
  ["cluster", (spec) => [spec["clusterPool"] ?? "", spec["cluster"] ?? ""]],
  ["description", (spec) => spec["profile"]],
];

const container = (spec: JsonObject): JsonObject => (isObject(spec["container"]) ? spec["container"] : {});

/** What differs between two specs, in words. */
export function changesOf(before: Spec | undefined, after: Spec | undefined): string[] {
  const [a, b] = [jsonOf(before), jsonOf(after)];
  const changed = groups.filter(([, of]) => JSON.stringify(of(a) ?? null) !== JSON.stringify(of(b) ?? null)).map(([words]) => words);
  return changed.length > 0 || JSON.stringify(a) === JSON.stringify(b) ? changed : [t("other settings")];
}
