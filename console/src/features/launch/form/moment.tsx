import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { Field as Labelled, Input } from "@/design/field";
import { duration, exactly } from "@/design/format";
import { useError } from "./context";
import type { Field } from "./field";
import { parseSpan, parseTime } from "./text";
import { textOf, type EditorProps } from "./value";
import css from "./form.module.css";

/** Asks for a moment or a day: typed in any usual form, or picked. */
export function TimeEditor({ field, draft, onChange, path, label, about }: EditorProps<Extract<Field, { kind: "time" }>>) {
  const { zone } = usePreferences();
  const error = useError(path);
  const text = textOf(draft);
  const day = field.format === "date";
  const moment = day ? undefined : parseTime(text, zone);
  const meaning = moment === undefined ? (day ? "A day, such as 2026-01-31." : `Such as 2026-01-31 12:00, which is ${zone ?? "local"} time, or with an offset.`) : `It is ${exactly(new Date(moment), zone)}.`;
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
            aria-label="Pick it from a calendar"
            value={pickable(text, day)}
            onChange={(event) => set(event.target.value.replace("T", " "))}
          />
          {!day && (
            <Button small onClick={() => set(new Date().toISOString())}>
              Now
            </Button>
          )}
        </div>
      )}
    </Labelled>
  );
}

/** What the browser's picker can show of a text: only wall clocks without an offset. */
function pickable(text: string, day: boolean): string {
  const form = day ? /^\d{4}-\d{2}-\d{2}$/ : /^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2})?$/;
  return form.test(text) ? text.replace(" ", "T") : "";
}

/** Asks for a span of time. */
export function SpanEditor({ draft, onChange, path, label, about }: EditorProps) {
  const error = useError(path);
  const text = textOf(draft);
  const seconds = parseSpan(text);
  const meaning = seconds === undefined ? "Such as 90 (seconds), 1h30m or 2d." : `It is ${seconds < 0 ? "minus " : ""}${duration(Math.abs(seconds) * 1000)}.`;
  return (
    <Labelled label={label} hint={about ? `${about} ${meaning}` : meaning} error={error}>
      {(control) => <Input {...control} data-path={path} autoComplete="off" value={text} onChange={(event) => onChange({ kind: "text", text: event.target.value })} />}
    </Labelled>
  );
}
