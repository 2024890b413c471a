import { Plus, X } from "lucide-react";
import { useId } from "react";
import { Button, IconButton } from "@/design/button";
import { Input } from "@/design/field";
import { t } from "@/texts/texts";
import type { Pair } from "./options";
import css from "./form/form.module.css";

export interface PairsProps {
  readonly label: string;
  readonly hint: string;
  readonly pairs: readonly Pair[];
  readonly error: string | undefined;
  readonly onChange: (pairs: readonly Pair[]) => void;
}

/** Edits names with values, such as labels. */
export function Pairs({ label, hint, pairs, error, onChange }: PairsProps) {
  const id = useId();
  return (
    <fieldset className={css["group"]} aria-describedby={`${id}-hint`}>
      <legend>{label}</legend>
      <p id={`${id}-hint`} className={css["about"]}>
        {hint}
      </p>
      {pairs.map(([key, value], at) => (
        <div key={at} className={css["pair"]}>
          <Input
            aria-label={t("{label}: name {number}", { label, number: at + 1 })}
            placeholder={t("Name")}
            autoComplete="off"
            value={key}
            onChange={(event) => onChange(pairs.with(at, [event.target.value, value]))}
          />
          <Input
            aria-label={t("{label}: value {number}", { label, number: at + 1 })}
            placeholder={t("Value")}
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(pairs.with(at, [key, event.target.value]))}
          />
          <IconButton small label={t("Remove {key}", { key: key || t("row {number}", { number: at + 1 }) })} onClick={() => onChange(pairs.filter((_, one) => one !== at))}>
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
      {error && (
        <p className={css["wrong"]} role="alert">
          {error}
        </p>
      )}
      <div>
        <Button small onClick={() => onChange([...pairs, ["", ""]])}>
          <Plus size={14} aria-hidden /> {t("Add")}
        </Button>
      </div>
    </fieldset>
  );
}
