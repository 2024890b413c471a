import type { ActionAttempt, ClusterEvent } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { JobMetric } from "@gen/flytebinary/insight/v1/connectors_pb.js";
import { language } from "@/texts/language";
import { topOf } from "../resources/curves";

/** What the events of an attempt say about its job in another system. */
export interface Told {
  readonly connector: string;
  /** What the job is called there; empty if that is not for people. */
  readonly job: string;
  /** What its connector said of it last. */
  readonly said: ClusterEvent | undefined;
}

/** The job of an attempt; undefined if no connector runs it. The words are those of the events that the server writes. */
export function jobOf(events: readonly ClusterEvent[] | undefined): Told | undefined {
  const ofConnector = events?.filter(({ sourceComponent }) => sourceComponent === "connector") ?? [];
  const created = ofConnector.findLast(({ reason }) => reason === "JobCreated");
  const words = /^connector (\S+) runs it(?: as job (.*))?$/s.exec(created?.message ?? "");
  if (!words) return undefined;
  return { connector: words[1] ?? "", job: words[2] ?? "", said: ofConnector.findLast(({ reason }) => reason === "Job") };
}

/** Whether a connector runs the attempt, or could not start its job. */
export const isJob = (attempt: Pick<ActionAttempt, "clusterEvents" | "errorInfo"> | undefined): boolean =>
  jobOf(attempt?.clusterEvents) !== undefined || attempt?.errorInfo?.code === "JobNotStarted";

/** The project, the domain and the name of the app that a connector is; undefined for one of the configuration. */
export function appOf(connector: string): { readonly project: string; readonly domain: string; readonly app: string } | undefined {
  const [kind, project, domain, app] = connector.split("/");
  return kind === "apps" && project && domain && app ? { project, domain, app } : undefined;
}

const columns = 120;

/** The curve of a metric: at most as many values as a chart has columns, with the last one. */
export function curveOf({ samples }: Pick<JobMetric, "samples">): { readonly values: readonly number[]; readonly max: number } {
  const every = Math.max(1, Math.ceil(samples.length / columns));
  const values = samples.filter((_, at) => (samples.length - 1 - at) % every === 0).map(({ value }) => value);
  return { values, max: topOf(Math.max(0, ...values), []) };
}

const numbers = new Intl.NumberFormat(language, { maximumSignificantDigits: 4, notation: "compact" });

export const write = (value: number): string => numbers.format(value);
