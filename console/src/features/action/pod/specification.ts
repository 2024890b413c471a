import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Resources_ResourceName, type Resources, type TaskTemplate } from "@gen/flyteidl2/core/tasks_pb.js";
import { Secret_MountType, type Secret } from "@gen/flyteidl2/core/security_pb.js";
import { t } from "@/texts/texts";

/** An environment variable, safe to show. */
export interface Variable {
  readonly name: string;
  readonly value: string;
  /** Whether the value is hidden because it may be a secret. */
  readonly hidden: boolean;
}

/** The specification of a container. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly environment: readonly Variable[];
  readonly resources: readonly (readonly [name: string, requested: string, limit: string])[];
  readonly ports: readonly string[];
}

/**
 * Names of variables whose values are hidden. A value that is hidden without need costs a look elsewhere, one that is
 * shown cannot be taken back.
 */
const secretive = /secret|token|passw(?:or)?d|passphrase|credential|private|api_?key|access_?key|auth|dsn|connection_?string/i;
/** A URL with a password, such as that of a database. */
const withPassword = /^[a-z][a-z0-9+.-]*:\/\/[^/\s:@]*:[^/\s@]+@/i;

/** A variable; its value is hidden if it may be a secret. */
export function variable(name: string, value: string): Variable {
  const hidden = value !== "" && (secretive.test(name) || withPassword.test(value));
  return { name, value: hidden ? "" : value, hidden };
}

/** The containers of a task template, primary first. */
export function containersOf(template: Pick<TaskTemplate, "target"> | undefined): ContainerSpec[] {
  const target = template?.target;
  switch (target?.case) {
    case "container": {
      const { image, command, args, env, resources, ports } = target.value;
      return [
        {
          name: "primary",
          image,
          command: [...command, ...args],
          environment: env.map(({ key, value }) => variable(key, value)),
          resources: resourcesOf(resources),
          ports: ports.map((port) => String(port.containerPort)),
        },
      ];
    }
    case "k8sPod": {
      const spec = target.value.podSpec ?? {};
      const primary = target.value.primaryContainerName;
      const found = [...objects(spec["initContainers"]), ...objects(spec["containers"])].map(fromPodSpec);
      // The primary container first, in a stable sort: the others keep the order of the specification.
      return found.sort((a, b) => Number(b.name === primary) - Number(a.name === primary));
    }
    default:
      return [];
  }
}

const names: Record<Resources_ResourceName, string> = {
  [Resources_ResourceName.UNKNOWN]: t("Unknown"),
  [Resources_ResourceName.CPU]: "CPU",
  [Resources_ResourceName.GPU]: "GPU",
  [Resources_ResourceName.MEMORY]: t("Memory"),
  [Resources_ResourceName.STORAGE]: t("Storage"),
  [Resources_ResourceName.EPHEMERAL_STORAGE]: t("Local disk"),
};

/** Requests and limits in one row for each resource. */
function resourcesOf(resources: Resources | undefined): ContainerSpec["resources"] {
  const all = new Map<string, [string, string]>();
  resources?.requests.forEach(({ name, value }) => all.set(names[name], [value, ""]));
  resources?.limits.forEach(({ name, value }) => all.set(names[name], [all.get(names[name])?.[0] ?? "", value]));
  return [...all].map(([name, [requested, limit]]) => [name, requested, limit] as const);
}

/** A container of a pod template, which is untyped JSON: what has another type than expected is empty. */
function fromPodSpec(container: JsonObject): ContainerSpec {
  const resources = object(container["resources"]);
  const requests = object(resources["requests"]);
  const limits = object(resources["limits"]);
  return {
    name: text(container["name"]),
    image: text(container["image"]),
    command: [...texts(container["command"]), ...texts(container["args"])],
    environment: objects(container["env"]).map((one) =>
      one["valueFrom"] === undefined
        ? variable(text(one["name"]), text(one["value"]))
        : { name: text(one["name"]), value: referenceOf(object(one["valueFrom"])), hidden: false },
    ),
    resources: [...new Set([...Object.keys(requests), ...Object.keys(limits)])].map((name) => [name, text(requests[name]), text(limits[name])] as const),
    ports: objects(container["ports"]).map((port) => text(port["containerPort"])),
  };
}

/** The source of a value, as text. */
function referenceOf(from: JsonObject): string {
  for (const [kind, words] of [
    ["secretKeyRef", "secret"],
    ["configMapKeyRef", t("config map")],
  ] as const) {
    const reference = object(from[kind]);
    if (from[kind] !== undefined) return t("from {kind} {name}, key {key}", { kind: words, name: text(reference["name"]), key: text(reference["key"]) });
  }
  const field = object(from["fieldRef"])["fieldPath"] ?? object(from["resourceFieldRef"])["resource"];
  return field === undefined ? t("from another source") : t("from {text}", { text: text(field) });
}

/** A reference to a secret, as text. Its value is never available here. */
export function secretWords({ group, key, envVar, mountRequirement }: Secret): string {
  const name = group ? `${group}/${key}` : key;
  if (envVar) return t("{name}, as environment variable {envVar}", { name, envVar });
  return mountRequirement === Secret_MountType.FILE ? t("{name}, as a file", { name }) : name;
}

const isObject = (value: JsonValue | undefined): value is JsonObject => typeof value === "object" && value !== null && !Array.isArray(value);
const object = (value: JsonValue | undefined): JsonObject => (isObject(value) ? value : {});
const objects = (value: JsonValue | undefined): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
const text = (value: JsonValue | undefined): string =>
  typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : "";
const texts = (value: JsonValue | undefined): string[] => (Array.isArray(value) ? value.map(text) : []);
