import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import { t } from "@/texts/texts";
import { metricsOf } from "./columns";
import type { Measured } from "./points";

/** The numbers of a run: its inputs, and those in its outputs, which have the names of the outputs before them. */
export function measuredOf(name: string, inputs: readonly NamedLiteral[] = [], outputs: readonly NamedLiteral[] = []): Measured {
  const given = metricsOf(inputs);
  const taken = new Set(given.map(([path]) => path));
  // An output may have the name of an input.
  return { key: name, name, values: new Map([...given, ...metricsOf(outputs).map(([path, value]) => [taken.has(path) ? t("{path} (output)", { path }) : path, value] as const)]) };
}
