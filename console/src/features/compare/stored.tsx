import { useState } from "react";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import { Button } from "@/design/button";
import { StoredFiles } from "@/entities/data/stored-files";
import type { RunName } from "@/entities/run/kind";
import { valueOf } from "@/entities/value/value";
import type { Value } from "@/entities/value/value-type";
import { ValueView } from "@/entities/value/value-view";
import { inSentence, t } from "@/texts/texts";
import css from "./compare.module.css";

interface StoredProps {
  readonly label: string;
  readonly a: RunName;
  readonly b: RunName;
  readonly before: readonly NamedLiteral[];
  readonly after: readonly NamedLiteral[];
}

const hasStored = (value: Value): boolean =>
  value.kind === "stored" || (value.kind === "list" && value.items.some(hasStored)) || (value.kind === "map" && value.entries.some(([, one]) => hasStored(one)));

/** The values of a side that are in the object store, by name. */
const storedOf = (literals: readonly NamedLiteral[]): ReadonlyMap<string, Value> =>
  new Map(literals.map(({ name, value }) => [name, valueOf(value)] as const).filter(([, value]) => hasStored(value)));

/** Tables and files of both runs side by side: their text has only where they are. They are opened on demand, for they may be many. */
export function Stored({ label, a, b, before, after }: StoredProps) {
  const [open, setOpen] = useState(false);
  const left = storedOf(before);
  const right = storedOf(after);
  const names = [...new Set([...left.keys(), ...right.keys()])];
  if (names.length === 0) return null;
  return (
    <>
      <div>
        <Button small aria-pressed={open} aria-label={t("Show data of {label}", { label: inSentence(label) })} onClick={() => setOpen(!open)}>
          {open ? t("Hide data") : t("Show data")}
        </Button>
      </div>
      {open && (
        <div className={css["sides"]}>
          <Column mark="A" run={a} names={names} values={left} />
          <Column mark="B" run={b} names={names} values={right} />
        </div>
      )}
    </>
  );
}

interface ColumnProps {
  readonly mark: string;
  readonly run: RunName;
  readonly names: readonly string[];
  readonly values: ReadonlyMap<string, Value>;
}

function Column({ mark, run, names, values }: ColumnProps) {
  return (
    <div className={css["data"]} role="group" aria-label={t("Data of run {run}", { run: mark })}>
      <StoredFiles action={{ run, name: "a0" }} values={[...values.values()]} version={[...values.keys()].join()}>
        {names.map((name) => {
          const value = values.get(name);
          return (
            <div key={name} className={css["datum"]}>
              <strong>{name}</strong>
              {value ? <ValueView value={value} /> : <span className={css["muted"]}>{t("This run has no such file or table.")}</span>}
            </div>
          );
        })}
      </StoredFiles>
    </div>
  );
}
