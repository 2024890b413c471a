import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { RunDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { dateOf, duration, exactly } from "@/design/format";
import { isTerminal, lookOf } from "@/design/phases";
import { containersOf, variable } from "@/features/action/pod/specification";
import { whoIs } from "@/entities/person/who-is";
import { optionLines, optionsOf } from "@/features/launch/options";
import { t } from "@/texts/texts";

/** One property of a run, as text. */
export type Fact = readonly [name: string, value: string];

/** The properties in which two runs may differ, apart from data and actions. */
export function factsOf(details: RunDetails, zone: string | undefined): Fact[] {
  const root = details.action;
  const status = root?.status;
  const spec = root?.spec.case === "task" ? root.spec.value : undefined;
  const id = root?.metadata?.spec.case === "task" ? root.metadata.spec.value.id : undefined;
  const template = spec?.taskTemplate;
  const metadata = template?.metadata;
  const started = dateOf(status?.startTime);
  const ended = dateOf(status?.endTime);
  const phase = status?.phase ?? ActionPhase.UNSPECIFIED;
  const container = containersOf(template)[0];
  const facts: Fact[] = [
    [t("Phase"), lookOf(phase).label],
    [t("Duration"), started && ended && isTerminal(phase) ? duration(ended.getTime() - started.getTime()) : ""],
    [t("Started"), started ? exactly(started, zone) : ""],
    [t("Started by"), whoIs(root?.metadata?.executedBy)],
    [t("Attempts"), String(status?.attempts ?? "")],
    [t("Task"), id?.name ?? spec?.shortName ?? ""],
    [t("Task version"), id?.version ?? ""],
    // The name of the bundle contains its digest, so the same code has the same name.
    [t("Code"), metadata?.codeBundleUri.split("/").at(-1) ?? ""],
    [t("Environment"), spec?.environment?.name ?? ""],
    [t("Image"), container?.image ?? ""],
    [t("Command"), commandOf(container?.command ?? [])],
    [
      t("Resources"),
      (container?.resources ?? []).map(([name, asked, limit]) => `${name} ${asked || "–"}${limit && limit !== asked ? ` ${t("to {limit}", { limit })}` : ""}`).join(", "),
    ],
    // Values that may be secret are hidden already.
    [t("Task variables"), (container?.environment ?? []).map(({ name, value, hidden }) => `${name}=${hidden ? "(hidden)" : value}`).join("\n")],
    [t("Retries"), metadata?.retries ? String(metadata.retries.retries) : ""],
    [t("Cache"), metadata?.discoverable ? t("version {version}", { version: metadata.discoveryVersion }) : "off"],
    [t("Client"), metadata?.runtime ? `${metadata.runtime.flavor} ${metadata.runtime.version}`.trim() : ""],
    [t("Options"), optionsText(details)],
    ...Object.entries(details.runSpec?.labels?.values ?? {}).map(([key, value]): Fact => [t("Label {key}", { key }), value || "(empty)"]),
  ];
  return facts;
}

function optionsText({ runSpec }: RunDetails): string {
  const options = optionsOf(runSpec);
  return optionLines({ ...options, env: options.env.map(([name, value]) => [name, variable(name, value).hidden ? "(hidden)" : value] as const) }).trim();
}

const varying = /^--(tgz|pkl|version|inputs|outputs-path|raw-data-path|run-base-dir|image-cache)$/;

/** A command without arguments that differ between any two runs, such as the location of the code. */
const commandOf = (command: readonly string[]): string => command.filter((word, at) => !varying.test(word) && !varying.test(command[at - 1] ?? "")).join(" ");
