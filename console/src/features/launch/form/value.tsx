import { Button } from "@/design/button";
import { Field as Labelled, Input, Select, TextArea } from "@/design/field";
import { t } from "@/texts/texts";
import { ListEditor, MapEditor, StructEditor } from "./compound";
import { useError } from "./context";
import { after, initialDraft, unset } from "./draft";
import { textOf, type EditorProps } from "./editor";
import type { Field } from "./field";
import { SpanEditor, TimeEditor } from "./moment";
import { StoredEditor } from "./stored";
import css from "./form.module.css";

/** Edits a value of any type. */
export function ValueEditor(props: EditorProps) {
  const { field, draft } = props;
  if (draft.kind === "text" && isCompound(field)) return <SourceEditor {...props} />;
  switch (field.kind) {
    case "none":
    case "opaque":
      return null;
    case "integer":
    case "number":
      return <LineEditor {...props} inputMode={field.kind === "integer" ? "numeric" : "decimal"} />;
    case "text":
      return <TextEditor {...props} />;
    case "bytes":
      return <LineEditor {...props} note="Base64." />;
    case "time":
      return <TimeEditor {...props} field={field} />;
    case "span":
      return <SpanEditor {...props} field={field} />;
    case "flag":
      return <ChoiceEditor {...props} values={[true, false]} />;
    case "enum":
      return <ChoiceEditor {...props} values={field.values} />;
    case "list":
      return <ListEditor {...props} field={field} Editor={ValueEditor} />;
    case "map":
      return <MapEditor {...props} field={field} Editor={ValueEditor} />;
    case "struct":
      return <StructEditor {...props} field={field} Editor={ValueEditor} />;
    case "file":
    case "table":
      return <StoredEditor {...props} field={field} />;
    case "choice":
      return <VariantEditor {...props} field={field} />;
    case "json":
      return <SourceEditor {...props} />;
  }
}

const isCompound = ({ kind }: Field): boolean => ["list", "map", "struct", "choice", "enum", "flag", "none"].includes(kind);

function LineEditor({
  draft,
  onChange,
  path,
  label,
  about,
  inputMode,
  note,
}: EditorProps & { readonly inputMode?: "numeric" | "decimal"; readonly note?: string }) {
  const error = useError(path);
  return (
    <Labelled label={label} hint={about || note} error={error}>
      {(control) => (
        <Input
          {...control}
          data-path={path}
          inputMode={inputMode}
          autoComplete="off"
          value={textOf(draft)}
          onChange={(event) => onChange({ kind: "text", text: event.target.value })}
        />
      )}
    </Labelled>
  );
}

function TextEditor({ draft, onChange, path, label, about }: EditorProps) {
  const error = useError(path);
  const text = textOf(draft);
  const given = draft.kind === "text";
  return (
    <Labelled label={label} hint={about || undefined} error={error}>
      {(control) => (
        <TextArea
          {...control}
          data-path={path}
          rows={Math.min(12, Math.max(1, text.split("\n").length))}
          placeholder={given ? t("(empty string)") : ""}
          value={text}
          onChange={(event) => onChange({ kind: "text", text: event.target.value })}
        />
      )}
    </Labelled>
  );
}

function ChoiceEditor({ draft, onChange, path, label, about, values }: EditorProps & { readonly values: readonly unknown[] }) {
  const error = useError(path);
  const chosen = draft.kind === "chosen" ? values.findIndex((value) => value === draft.value) : -1;
  return (
    <Labelled label={label} hint={about || undefined} error={error}>
      {(control) => (
        <Select
          {...control}
          data-path={path}
          value={chosen}
          onChange={(event) => {
            const value = values[Number(event.target.value)];
            onChange(value === undefined ? unset : { kind: "chosen", value: value as string });
          }}
        >
          <option value={-1}>{t("Choose …")}</option>
          {values.map((value, at) => (
            <option key={at} value={at}>
              {typeof value === "string" ? value : JSON.stringify(value)}
            </option>
          ))}
        </Select>
      )}
    </Labelled>
  );
}

/** Edits a value as JSON, if there is no form for it. */
function SourceEditor({ field, draft, onChange, path, label, about }: EditorProps) {
  const error = useError(path);
  const text = textOf(draft);
  return (
    <Labelled label={label} hint={about || t("JSON.")} error={error}>
      {(control) => (
        <>
          <TextArea
            {...control}
            data-path={path}
            rows={Math.min(16, Math.max(2, text.split("\n").length))}
            placeholder={field.kind === "json" && field.object ? "{}" : ""}
            value={text}
            onChange={(event) => onChange({ kind: "text", text: event.target.value })}
          />
          {isCompound(field) && (
            <div>
              <Button small onClick={() => onChange(initialDraft(field))}>
                {t("Clear and edit as form")}
              </Button>
            </div>
          )}
        </>
      )}
    </Labelled>
  );
}

function VariantEditor({ field, draft, onChange, path, label, about }: EditorProps<Extract<Field, { kind: "choice" }>>) {
  const error = useError(path);
  const variant = draft.kind === "variant" ? draft.variant : -1;
  const chosen = field.variants[variant];
  const bare = chosen === undefined || chosen.field.kind === "none";
  return (
    <fieldset className={css["group"]}>
      <legend>{label}</legend>
      {about && <p className={css["about"]}>{about}</p>}
      <Labelled label={t("Type")} error={bare ? error : undefined}>
        {(control) => (
          <Select
            {...control}
            data-path={bare ? path : undefined}
            value={variant}
            onChange={(event) => {
              const at = Number(event.target.value);
              const next = field.variants[at];
              onChange(next ? { kind: "variant", variant: at, value: initialDraft(next.field) } : unset);
            }}
          >
            {variant === -1 && <option value={-1}>{t("Choose …")}</option>}
            {field.variants.map((one, at) => (
              <option key={at} value={at}>
                {one.title}
              </option>
            ))}
          </Select>
        )}
      </Labelled>
      {chosen && !bare && draft.kind === "variant" && (
        <ValueEditor
          field={chosen.field}
          draft={draft.value}
          path={path}
          label={t("Value")}
          onChange={(next) =>
            onChange((before) => (before.kind === "variant" && before.variant === variant ? { ...before, value: after(before.value, next) } : before))
          }
        />
      )}
    </fieldset>
  );
}
