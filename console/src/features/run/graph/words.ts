import { count, duration } from "@/design/format";
import { lookOf, phases } from "@/design/phases";
import { nameOf as identity } from "@/entities/action/identity";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { inSentence, t, tn } from "@/texts/texts";
import type { Edge } from "./edges";
import type { GroupNode, GraphNode, Picture } from "./picture";

/** The name of a node. */
export function nameOf(model: RunModel, node: GraphNode): string {
  switch (node.kind) {
    case "action":
      return identity(model, node.row);
    case "group":
      return `×${count(node.count)} ${node.title}`;
    case "more":
      return t("and {count} more", { count: count(node.count) });
  }
}

/** The state of an action, as text. */
export function stateOf(model: RunModel, row: number): string {
  const [started, ended, attempt] = [model.started(row), model.ended(row), model.attempt(row)];
  const words = [model.cached(row) ? t("Cached") : lookOf(model.phase(row)).label];
  if (ended !== none && started !== none) words.push(duration(ended - started));
  if (attempt > 1) words.push(t("attempt {attempt}", { attempt }));
  if (model.group(row) !== "") words.push(model.group(row));
  return words.join(" · ");
}

/** The phases of the actions of a group, as text. */
export const countsOf = (node: GroupNode): string =>
  phases
    .map((look) => [node.phases.get(look.phase) ?? 0, inSentence(look.label)] as const)
    .filter(([n]) => n > 0)
    .map(([n, label]) => `${count(n)} ${label}`)
    .join(", ");

/** The description of a node with its data sources, for screen readers. */
export function describe(model: RunModel, picture: Picture, node: GraphNode, taken: readonly Edge[]): string {
  const words = [nameOf(model, node)];
  if (node.kind === "action") {
    words.push(stateOf(model, node.row));
    if (node.below > 0) words.push(tn(node.below, "{n} child", "{n} children"));
  } else if (node.kind === "group") {
    if (node.group !== "") words.push(t("group {group}", { group: node.group }));
    words.push(countsOf(node));
  } else {
    words.push(node.full ? t("collapse nodes to make room") : t("press enter to show them"));
  }
  const sources = taken.map(({ from }) => picture.byId.get(from)).filter((source) => source !== undefined);
  if (sources.length > 0) words.push(t("takes data from {sources}", { sources: sources.map((source) => nameOf(model, source)).join(", ") }));
  return words.join(", ");
}
