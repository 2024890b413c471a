import { clone, create, type JsonValue } from "@bufbuild/protobuf";
import { VariableEntrySchema, type VariableEntry } from "@gen/flyteidl2/core/interface_pb.js";
import { NamedLiteralSchema, type NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import { TranslatorService } from "@gen/flyteidl2/workflow/translator_service_pb.js";
import { client } from "@/api/transport";
import { unset, type Draft } from "./draft";
import type { Field } from "./field";
import { changed, type Drafts, type Input } from "./inputs";
import { changedFrom } from "./shown";

/** The literals of inputs, in the order of the interface. Unchanged inputs keep their literals, so that cache keys stay the same. */
export async function literalsOf(inputs: readonly Input[], drafts: Drafts, values: Readonly<Record<string, JsonValue>>): Promise<NamedLiteral[]> {
  const plan = planOf(inputs, drafts, values);
  const made = new Map<string, NamedLiteral>();
  if (plan.variables.length > 0) {
    const { literals } = await client(TranslatorService).jsonValuesToLiterals({ variables: { variables: [...plan.variables] }, values: { ...plan.values } });
    for (const literal of literals) made.set(literal.name, literal);
  }
  return inputs.flatMap(({ name, given }) => {
    const literal = made.get(name);
    if (literal) return [literal];
    return given ? [create(NamedLiteralSchema, { name, value: given.literal })] : [];
  });
}

/** The inputs that must be translated. */
export function planOf(
  inputs: readonly Input[],
  drafts: Drafts,
  values: Readonly<Record<string, JsonValue>>,
): { readonly variables: readonly VariableEntry[]; readonly values: Readonly<Record<string, JsonValue>> } {
  const names = new Set(changed(inputs, values));
  const selected = inputs.filter(({ name }) => names.has(name));
  return {
    variables: selected.map(({ name, variable, field }) => narrowed(variable, field, drafts[name] ?? unset)),
    values: Object.fromEntries(selected.map(({ name, schema }) => [name, changedFrom(schema["default"], values[name] ?? null)])),
  };
}

/** A variable reduced to the selected variant, so that a text such as "2026-01-31" is not parsed as the first variant that matches. */
function narrowed(variable: VariableEntry, field: Field, draft: Draft): VariableEntry {
  const result = clone(VariableEntrySchema, variable);
  const type = result.value?.type?.type;
  if (field.kind !== "choice" || draft.kind !== "variant" || type?.case !== "unionType") return result;
  const chosen = type.value.variants[field.variants[draft.variant]?.at ?? -1];
  if (chosen) type.value.variants = [chosen];
  return result;
}
