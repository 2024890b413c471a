import { useState, type Dispatch, type SetStateAction } from "react";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { Field, TextArea } from "@/design/field";
import { typeWords } from "@/entities/value/type-words";
import { valueOf } from "@/entities/value/value";
import { ValueView } from "@/entities/value/value-view";
import { t } from "@/texts/texts";
import { useError } from "./context";
import { after, draftOf, same, unset, type Draft } from "./draft";
import { draftsOf, isKept, readInputs, sourceOf, type Drafts, type Input } from "./inputs";
import { ValueEditor } from "./value";
import css from "./form.module.css";

export interface InputsFormProps {
  readonly inputs: readonly Input[];
  readonly drafts: Drafts;
  readonly onChange: Dispatch<SetStateAction<Drafts>>;
  /** The text of all inputs while they are edited as JSON; undefined in form mode. */
  readonly source: string | undefined;
  readonly onSource: (source: string | undefined) => void;
}

/** Edits the inputs of a task, in a form or as JSON. */
export function InputsForm({ inputs, drafts, onChange, source, onSource }: InputsFormProps) {
  const { zone } = usePreferences();
  const [wrong, setWrong] = useState("");
  if (inputs.length === 0) return <p className={css["about"]}>{t("This task has no inputs.")}</p>;
  const raw = source !== undefined;
  const toggle = () => {
    setWrong("");
    if (!raw) {
      onSource(sourceOf(inputs, drafts, zone));
      return;
    }
    const read = draftsOf(inputs, source);
    if ("error" in read) {
      setWrong(read.error);
      return;
    }
    onChange(read.drafts);
    onSource(undefined);
  };
  return (
    <div className={css["inputs"]}>
      <div className={css["bar"]}>
        <h2>{t("Inputs")}</h2>
        <Button small aria-pressed={raw} onClick={toggle}>
          {raw ? t("Edit as form") : t("Edit as JSON")}
        </Button>
      </div>
      {raw ? (
        <>
          <Field label={t("Inputs as JSON")} hint={t("An object with a value for each input.")}>
            {(control) => (
              <TextArea
                {...control}
                rows={Math.min(30, Math.max(6, source.split("\n").length + 1))}
                value={source}
                onChange={(event) => onSource(event.target.value)}
              />
            )}
          </Field>
          <SourceErrors inputs={inputs} source={source} wrong={wrong} zone={zone} />
        </>
      ) : (
        inputs.map((input) => (
          <InputEditor
            key={input.name}
            input={input}
            draft={drafts[input.name] ?? unset}
            onChange={(next) => onChange((before) => ({ ...before, [input.name]: after(before[input.name] ?? unset, next) }))}
          />
        ))
      )}
    </div>
  );
}

/** The errors of the JSON text, by input. */
function SourceErrors({
  inputs,
  source,
  wrong,
  zone,
}: {
  readonly inputs: readonly Input[];
  readonly source: string;
  readonly wrong: string;
  readonly zone: string | undefined;
}) {
  const read = draftsOf(inputs, source);
  const reasons = "error" in read ? [read.error] : [...readInputs(inputs, read.drafts, zone).errors].map(([path, reason]) => `${path}: ${reason}`);
  const all = wrong && !reasons.includes(wrong) ? [wrong, ...reasons] : reasons;
  return (
    <ul aria-live="polite" className={css["wrong"]}>
      {all.map((reason) => (
        <li key={reason}>{reason}</li>
      ))}
    </ul>
  );
}

function InputEditor({ input, draft, onChange }: { readonly input: Input; readonly draft: Draft; readonly onChange: Dispatch<SetStateAction<Draft>> }) {
  const { name, about, field, given, variable } = input;
  const { zone } = usePreferences();
  const error = useError(name);
  const label = (
    <>
      {name} <span className={css["type"]}>{typeWords(variable.value?.type)}</span>
    </>
  );
  if (field.kind === "opaque" || (isKept(input) && draft.kind === "unset")) {
    return (
      <div className={css["kept"]} data-input={name}>
        <strong>{label}</strong>
        {given ? (
          <>
            <ValueView value={valueOf(given.literal)} />
            <span className={css["about"]}>{t("Unchanged. Values of this type can only be set from Python.")}</span>
          </>
        ) : (
          <span className={error === undefined ? css["about"] : css["wrong"]}>
            {error ?? t("Values of this type can only be set from Python: use the CLI or SDK.")}
          </span>
        )}
      </div>
    );
  }
  const initial = given?.json === undefined ? undefined : draftOf(field, given.json);
  const reset = initial !== undefined && !same(readInputs([input], { [name]: draft }, zone).values[name], given?.json);
  return (
    <div data-input={name} className={css["kept"]}>
      <ValueEditor field={field} draft={draft} path={name} label={label} about={about} onChange={onChange} />
      {reset && (
        <div>
          <Button small kind="quiet" onClick={() => onChange(initial)}>
            {t("Reset")}
          </Button>
        </div>
      )}
    </div>
  );
}
