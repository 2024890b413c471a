import { Download } from "lucide-react";
import type { VariableMap } from "@gen/flyteidl2/core/interface_pb.js";
import { IconButton } from "@/design/button";
import { save } from "@/design/save";
import type { Values } from "@/entities/action/copy-as";
import { typeWords } from "@/entities/value/type-words";
import type { Value } from "@/entities/value/value-type";
import { ValueView } from "@/entities/value/value-view";
import { json } from "@/entities/value/write-json";
import { t } from "@/texts/texts";
import css from "./data.module.css";

/** The name that the SDK gives to the first return value, the second and so on, for Python has no names for them. */
const positional = /^o(\d+)$/;

/** The name of a value for people: that of an output without a name is its position. */
export function titleOf(name: string, side: "inputs" | "outputs", count: number): string {
  const position = side === "outputs" ? positional.exec(name)?.[1] : undefined;
  if (position === undefined) return name;
  return count === 1 ? t("Output") : t("Output {number}", { number: Number(position) + 1 });
}

interface ValueListProps {
  readonly side: "inputs" | "outputs";
  readonly values: Values;
  readonly types: VariableMap | undefined;
  /** What the names of downloaded files begin with. */
  readonly file: string;
}

/** Values by name, with their types and a download for each. */
export function ValueList({ side, values, types, file }: ValueListProps) {
  const variables = new Map(types?.variables.map((entry) => [entry.key, entry.value]));
  return (
    <dl className={css["values"]}>
      {values.map(([name, value]) => (
        <div key={name} className={css["value"]} data-value={name}>
          <dt>
            <span className={css["key"]} title={name}>
              {titleOf(name, side, values.length)}
            </span>
            <span className={css["type"]}>{typeWords(variables.get(name)?.type)}</span>
            {variables.get(name)?.description && <span className={css["about"]}>{variables.get(name)?.description}</span>}
          </dt>
          <dd>
            <ValueView value={value} />
            {downloadOf(value) && (
              <IconButton label={t("Download {name}", { name })} className={css["save"] ?? ""} onClick={() => saveValue(value, `${file}-${name}`)}>
                <Download size={14} aria-hidden />
              </IconButton>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** Whether a value is worth a file: what is stored has one already, and what is short can be copied. */
function downloadOf(value: Value): boolean {
  switch (value.kind) {
    case "text":
      return value.text.length > 40 || value.text.includes("\n");
    case "list":
      return value.items.length > 0;
    case "map":
      return value.entries.length > 0;
    case "bytes":
      return true;
    default:
      return false;
  }
}

function saveValue(value: Value, name: string): void {
  if (value.kind === "text") save(new Blob([value.text], { type: "text/plain" }), `${name}.txt`);
  else if (value.kind === "bytes") save(new Blob([Uint8Array.from(value.bytes)], { type: "application/octet-stream" }), `${name}.bin`);
  else save(new Blob([`${json(value)}\n`], { type: "application/json" }), `${name}.json`);
}
