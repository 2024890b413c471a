import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { Field as Labelled, Input } from "@/design/field";
import { duration, exactly } from "@/design/format";
import { t } from "@/texts/texts";
import { useError } from "./context";
import { textOf, type EditorProps } from "./editor";
import type { Field } from "./field";
import { parseSpan, parseTime } from "./text";
import css from "./form.module.css";

/** Edits a time or a date, typed or picked. */
export function TimeEditor({ field, draft, onChange, path, label, about }: EditorProps<Extract<Field, { kind: "time" }>>) {
  const { zone } = usePreferences();
  const error = useError(path);
  const text = textOf(draft);
  const day = field.format === "date";
  const moment = day ? undefined : parseTime(text, zone);
  const meaning =
    moment === undefined
      ? day
        ? t("A date such as 2026-01-31.")
        : t("For example 2026-01-31 12:00 in {zone} time, or with a UTC offset.", { zone: zone ?? "local" })
      : `= ${exactly(new Date(moment), zone)}`;
  const set = (next: string) => onChange({ kind: "text", text: next });
  return (
    <Labelled label={label} hint={about ? `${about} ${meaning}` : meaning} error={error}>
      {(control) => (
        <div className={css["wrap"]}>
          <Input {...control} data-path={path} autoComplete="off" value={text} onChange={(event) => set(event.target.value)} />
          <Input
            className={css["picker"] ?? ""}
            type={day ? "date" : "datetime-local"}
            step={day ? undefined : 1}
            aria-label={t("Pick from calendar")}
            value={pickable(text, day)}
            onChange={(event) => set(event.target.value.replace("T", " "))}
          />
          {!day && (
            <Button small onClick={() => set(new Date().toISOString())}>
              {t("Now")}
            </Button>
          )}
        </div>
      )}
    </Labelled>
  );
}

/** The text for the browser's picker, which only supports local times without an offset. */
function pickable(text: string, day: boolean): string {
  const form = day ? /^\d{4}-\d{2}-\d{2}$/ : /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?$/;
  return form.test(text) ? text.replace(" ", "T") : "";
}

/** Edits a duration. */
export function SpanEditor({ draft, onChange, path, label, about }: EditorProps) {
  const error = useError(path);
  const text = textOf(draft);
  const seconds = parseSpan(text);
  const meaning = seconds === undefined ? t("For example 90 (seconds), 1h30m or 2d.") : `= ${seconds < 0 ? "minus " : ""}${duration(Math.abs(seconds) * 1000)}`;
  return (
    <Labelled label={label} hint={about ? `${about} ${meaning}` : meaning} error={error}>
      {(control) => (
        <Input {...control} data-path={path} autoComplete="off" value={text} onChange={(event) => onChange({ kind: "text", text: event.target.value })} />
      )}
    </Labelled>
  );
}
