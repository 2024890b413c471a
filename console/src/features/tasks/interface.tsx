import type { VariableMap } from "@gen/flyteidl2/core/interface_pb.js";
import type { Literal } from "@gen/flyteidl2/core/literals_pb.js";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import { Notice } from "@/design/notice";
import { Table } from "@/design/table";
import { typeWords } from "@/entities/value/type-words";
import { valueOf } from "@/entities/value/value";
import { ValueView } from "@/entities/value/value-view";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

/** The inputs and outputs of a task, with types, defaults and descriptions. */
export function InterfaceTab({ spec }: { readonly spec: TaskSpec }) {
  const defaults = new Map<string, Literal>();
  for (const { name, parameter } of spec.defaultInputs) if (parameter?.behavior.case === "default") defaults.set(name, parameter.behavior.value);
  const { inputs, outputs } = spec.taskTemplate?.interface ?? {};
  return (
    <>
      {spec.documentation?.longDescription && (
        <Notice>
          <p className={css["doc"]}>{spec.documentation.longDescription}</p>
        </Notice>
      )}
      <Variables title={t("Inputs")} variables={inputs} defaults={defaults} empty={t("No inputs.")} />
      <Variables title={t("Outputs")} variables={outputs} empty={t("No outputs.")} />
    </>
  );
}

interface VariablesProps {
  readonly title: string;
  readonly variables: VariableMap | undefined;
  readonly defaults?: ReadonlyMap<string, Literal>;
  readonly empty: string;
}

/** A table of variables. Without defaults, as for outputs, it has no column for them. */
function Variables({ title, variables, defaults, empty }: VariablesProps) {
  const all = variables?.variables ?? [];
  return (
    <section className={css["section"]}>
      <h2>{title}</h2>
      {all.length === 0 ? (
        <p className={css["muted"]}>{empty}</p>
      ) : (
        <Table
          label={title}
          rows={all}
          keyOf={({ key }) => key}
          columns={[
            { label: t("Name"), cell: ({ key }) => key },
            { label: t("Type"), cell: ({ value }) => <code>{typeWords(value?.type)}</code> },
            defaults !== undefined && {
              label: t("Default"),
              cell: ({ key }) => {
                const initial = defaults.get(key);
                return initial ? <ValueView value={valueOf(initial)} /> : <span className={css["muted"]}>{t("required")}</span>;
              },
            },
            {
              label: t("Description"),
              cell: ({ key, value }) => value?.description && value.description !== key && <span className={css["doc"]}>{value.description}</span>,
            },
          ]}
        />
      )}
    </section>
  );
}
