import { t } from "@/texts/texts";
import { CopyButton } from "./copy";
import { Field, Input } from "./field";

/** A text to be copied, such as a secret that is shown once. */
export function CopyField({ label, hint, value }: { readonly label: string; readonly hint: string; readonly value: string }) {
  return (
    <Field label={label} hint={hint}>
      {(control) => (
        <span style={{ display: "flex", gap: "var(--space-2)", alignItems: "center" }}>
          <Input {...control} readOnly value={value} style={{ flex: 1, fontFamily: "var(--mono)" }} onFocus={(event) => event.target.select()} />
          <CopyButton text={value} label={t("Copy {label}", { label })} />
        </span>
      )}
    </Field>
  );
}
