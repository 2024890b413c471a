import { clone, create } from "@bufbuild/protobuf";
import { IdentitySchema, SecurityContextSchema } from "@gen/flyteidl2/core/security_pb.js";
import {
  AnnotationsSchema,
  CacheConfigSchema,
  CacheLookupScope,
  EnvsSchema,
  LabelsSchema,
  RawDataStorageSchema,
  RunSpecSchema,
  type RunSpec,
} from "@gen/flyteidl2/task/run_pb.js";
import { t } from "@/texts/texts";
import { wrongRunName } from "./run-name";

export type Pair = readonly [key: string, value: string];

/** The options of a run, as edited in the form. */
export interface Options {
  /** Empty to generate one. */
  readonly name: string;
  readonly labels: readonly Pair[];
  readonly annotations: readonly Pair[];
  readonly env: readonly Pair[];
  /** Empty for the queue of the task or of the project. */
  readonly queue: string;
  /** The maximum number of parallel actions, as digits; empty for no limit. */
  readonly concurrency: string;
  readonly overwriteCache: boolean;
  readonly cacheScope: CacheScope;
  readonly interruptible: Interruptible;
  readonly serviceAccount: string;
  readonly rawData: string;
}

export type CacheScope = "global" | "place";
/** Whether nodes may be preemptible: as the task is set, always or never. */
export type Interruptible = "task" | "yes" | "no";

/** The options of a spec; without one, the defaults of clients. */
export function optionsOf(spec: RunSpec | undefined): Options {
  const pairs = (values: Readonly<Record<string, string>> | undefined): Pair[] => Object.entries(values ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: "",
    labels: pairs(spec?.labels?.values),
    annotations: pairs(spec?.annotations?.values),
    env: (spec?.envs?.values ?? []).map(({ key, value }) => [key, value] as const),
    queue: spec?.queue ?? "",
    concurrency: spec?.maxActionConcurrency ? String(spec.maxActionConcurrency) : "",
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- older clients wrote only this one
    overwriteCache: Boolean(spec?.cacheConfig?.overwriteCache) || Boolean(spec?.overwriteCache),
    cacheScope: !spec || spec.cacheConfig?.cacheLookupScope === CacheLookupScope.GLOBAL ? "global" : "place",
    interruptible: spec?.interruptible === undefined ? "task" : spec.interruptible ? "yes" : "no",
    serviceAccount: spec?.securityContext?.runAs?.k8sServiceAccount ?? "",
    rawData: spec?.rawDataStorage?.rawDataPrefix ?? "",
  };
}

/** Errors by the name of the option. */
export function checkOptions(options: Options): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  const name = options.name.trim();
  if (name && wrongRunName(name)) errors.set("name", wrongRunName(name));
  const concurrency = options.concurrency.trim();
  if (concurrency && (!/^\d+$/.test(concurrency) || Number(concurrency) < 2 || Number(concurrency) > 2 ** 30)) {
    errors.set("concurrency", "Enter a whole number from 2, or leave it empty for no limit.");
  }
  for (const key of ["labels", "annotations", "env"] as const) {
    const names = options[key].map(([one]) => one.trim());
    if (names.some((one, at) => one === "" && options[key][at]?.[1] !== "")) errors.set(key, "Enter a name for every value.");
    const twice = names.find((one, at) => one !== "" && names.indexOf(one) !== at);
    if (twice !== undefined) errors.set(key, `Duplicate name ${twice}.`);
  }
  const variable = options.env.find(([key]) => key.trim() !== "" && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key.trim()));
  if (variable) errors.set("env", `“${variable[0]}” is not a valid name of an environment variable. Use letters, digits and underscores.`);
  return errors;
}

/** The spec of a run with these options. Fields that the form does not edit are kept from the base. */
export function runSpecOf(options: Options, base: RunSpec | undefined): RunSpec {
  const spec = base ? clone(RunSpecSchema, base) : create(RunSpecSchema);
  // The relations belong to the source run only.
  delete spec.relation;
  delete spec.relatedTo; // eslint-disable-line @typescript-eslint/no-deprecated -- older clients wrote it
  delete spec.recover;
  const kept = (pairs: readonly Pair[]): Pair[] => pairs.filter(([key]) => key.trim() !== "").map(([key, value]) => [key.trim(), value] as const);
  spec.labels = create(LabelsSchema, { values: Object.fromEntries(kept(options.labels)) });
  spec.annotations = create(AnnotationsSchema, { values: Object.fromEntries(kept(options.annotations)) });
  spec.envs = create(EnvsSchema, { values: kept(options.env).map(([key, value]) => ({ key, value })) });
  spec.queue = options.queue.trim();
  spec.maxActionConcurrency = Number(options.concurrency.trim() || 0);
  spec.overwriteCache = options.overwriteCache; // eslint-disable-line @typescript-eslint/no-deprecated -- clients write both
  const scope =
    options.cacheScope === "global"
      ? CacheLookupScope.GLOBAL
      : base?.cacheConfig?.cacheLookupScope === CacheLookupScope.UNSPECIFIED
        ? CacheLookupScope.UNSPECIFIED
        : CacheLookupScope.PROJECT_DOMAIN;
  spec.cacheConfig = create(CacheConfigSchema, { overwriteCache: options.overwriteCache, cacheLookupScope: scope });
  if (options.interruptible === "task") delete spec.interruptible;
  else spec.interruptible = options.interruptible === "yes";
  const account = options.serviceAccount.trim();
  if (account !== (base?.securityContext?.runAs?.k8sServiceAccount ?? "")) {
    spec.securityContext ??= create(SecurityContextSchema);
    spec.securityContext.runAs ??= create(IdentitySchema);
    spec.securityContext.runAs.k8sServiceAccount = account;
  }
  const prefix = options.rawData.trim();
  if (prefix) spec.rawDataStorage = create(RawDataStorageSchema, { rawDataPrefix: prefix });
  else delete spec.rawDataStorage;
  return spec;
}

/** The options as lines of text, to compare them. */
export function optionLines(options: Options): string {
  const lines: string[] = [];
  const say = (name: string, value: string) => value !== "" && lines.push(`${name}: ${value}`);
  say("name", options.name.trim());
  for (const [key, value] of options.labels) say(t("label {key}", { key }), JSON.stringify(value));
  for (const [key, value] of options.annotations) say(t("annotation {key}", { key }), JSON.stringify(value));
  for (const [key, value] of options.env) say(t("env {key}", { key }), JSON.stringify(value));
  say("queue", options.queue.trim());
  say(t("max parallel actions"), options.concurrency.trim());
  say("cache", options.overwriteCache ? "overwrite" : "");
  say(t("cache scope"), options.cacheScope === "global" ? t("all projects") : t("project and domain"));
  say("interruptible", options.interruptible === "task" ? "" : options.interruptible);
  say(t("service account"), options.serviceAccount.trim());
  say(t("raw data"), options.rawData.trim());
  return `${lines.join("\n")}\n`;
}
