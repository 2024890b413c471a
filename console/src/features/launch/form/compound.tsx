import { Plus, X } from "lucide-react";
import { useState, type ComponentType, type Dispatch, type SetStateAction } from "react";
import { Button, IconButton } from "@/design/button";
import { Input } from "@/design/field";
import { t } from "@/texts/texts";
import { useForm } from "./context";
import { after, initialDraft, unset, type Draft } from "./draft";
import type { CompoundProps, EditorProps } from "./editor";
import type { Field, Part } from "./field";
import css from "./form.module.css";

type Entry = readonly [key: string, value: Draft];

const itemsOf = (draft: Draft): readonly Draft[] => (draft.kind === "list" ? draft.items : []);
const entriesOf = (draft: Draft): readonly Entry[] => (draft.kind === "map" ? draft.entries : []);
const partsOf = (draft: Draft): Readonly<Record<string, Draft>> => (draft.kind === "struct" ? draft.parts : {});

function Wrong({ path }: { readonly path: string }) {
  const error = useForm().errors.get(path);
  return error === undefined ? null : (
    <p className={css["wrong"]} role="alert">
      {error}
    </p>
  );
}

/** Keys that stay with their rows when earlier rows are removed. */
function useRowKeys(count: number): { readonly keyOf: (at: number) => number; readonly remove: (at: number) => void } {
  const [keys, setKeys] = useState<readonly number[]>([]);
  const known = [...keys];
  while (known.length < count) known.push((known.at(-1) ?? -1) + 1 + known.length * 1000);
  return { keyOf: (at) => known[at] ?? at, remove: (at) => setKeys(known.slice(0, count).filter((_, one) => one !== at)) };
}

/** Edits a list item by item. */
export function ListEditor({ field, draft, onChange, path, label, about, Editor }: CompoundProps<Extract<Field, { kind: "list" }>>) {
  const items = itemsOf(draft);
  const rows = useRowKeys(items.length);
  const change = (next: (items: readonly Draft[]) => readonly Draft[]) => onChange((before) => ({ kind: "list", items: next(itemsOf(before)) }));
  return (
    <fieldset className={css["group"]} data-path={path}>
      <legend>{label}</legend>
      {about && <p className={css["about"]}>{about}</p>}
      {draft.kind === "list" && items.length === 0 && <p className={css["about"]}>{t("Empty list.")}</p>}
      {items.map((item, at) => (
        <div key={rows.keyOf(at)} className={css["row"]}>
          <Editor
            field={field.item}
            draft={item}
            path={`${path}[${at}]`}
            label={t("Item {number}", { number: at + 1 })}
            onChange={(next) => change((before) => before.map((one, place) => (place === at ? after(one, next) : one)))}
          />
          <IconButton
            small
            label={t("Remove item {number}", { number: at + 1 })}
            onClick={() => {
              rows.remove(at);
              change((before) => before.filter((_, place) => place !== at));
            }}
          >
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
      <Wrong path={path} />
      <div className={css["toggle"]}>
        <Button small onClick={() => change((before) => [...before, initialDraft(field.item)])}>
          <Plus size={14} aria-hidden /> {t("Add item")}
        </Button>
        {draft.kind === "unset" && (
          <Button small onClick={() => change(() => [])}>
            {t("Use empty list")}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

/** Edits a dictionary entry by entry. */
export function MapEditor({ field, draft, onChange, path, label, about, Editor }: CompoundProps<Extract<Field, { kind: "map" }>>) {
  const entries = entriesOf(draft);
  const rows = useRowKeys(entries.length);
  const change = (next: (entries: readonly Entry[]) => readonly Entry[]) => onChange((before) => ({ kind: "map", entries: next(entriesOf(before)) }));
  const changeAt = (at: number, next: (entry: Entry) => Entry) => change((before) => before.map((entry, place) => (place === at ? next(entry) : entry)));
  return (
    <fieldset className={css["group"]} data-path={path}>
      <legend>{label}</legend>
      {about && <p className={css["about"]}>{about}</p>}
      {draft.kind === "map" && entries.length === 0 && <p className={css["about"]}>{t("Empty dictionary.")}</p>}
      {entries.map(([key, value], at) => (
        <div key={rows.keyOf(at)} className={css["row"]}>
          <div className={css["inputs"]}>
            <Input
              aria-label={t("Key {number}", { number: at + 1 })}
              placeholder={t("Key")}
              autoComplete="off"
              value={key}
              onChange={(event) => changeAt(at, ([, before]) => [event.target.value, before])}
            />
            <Wrong path={`${path}{${at}}`} />
            <Editor
              field={field.value}
              draft={value}
              path={`${path}.${key}`}
              label={key === "" ? t("Value {number}", { number: at + 1 }) : t("Value of {key}", { key })}
              onChange={(next) => changeAt(at, ([name, before]) => [name, after(before, next)])}
            />
          </div>
          <IconButton
            small
            label={t("Remove entry {number}", { number: at + 1 })}
            onClick={() => {
              rows.remove(at);
              change((before) => before.filter((_, place) => place !== at));
            }}
          >
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      ))}
      <Wrong path={path} />
      <div className={css["toggle"]}>
        <Button small onClick={() => change((before) => [...before, ["", initialDraft(field.value)]])}>
          <Plus size={14} aria-hidden /> {t("Add entry")}
        </Button>
        {draft.kind === "unset" && (
          <Button small onClick={() => change(() => [])}>
            {t("Use empty dictionary")}
          </Button>
        )}
      </div>
    </fieldset>
  );
}

/** Edits the fields of a dataclass. */
export function StructEditor({ field, draft, onChange, path, label, about, Editor }: CompoundProps<Extract<Field, { kind: "struct" }>>) {
  const parts = partsOf(draft);
  return (
    <fieldset className={css["group"]} data-path={path}>
      <legend>{label}</legend>
      {about && <p className={css["about"]}>{about}</p>}
      {field.parts.map((part) => (
        <PartEditor
          key={part.name}
          part={part}
          Editor={Editor}
          draft={parts[part.name] ?? unset}
          path={`${path}.${part.name}`}
          onChange={(next) =>
            onChange((before) => ({ kind: "struct", parts: { ...partsOf(before), [part.name]: after(partsOf(before)[part.name] ?? unset, next) } }))
          }
        />
      ))}
      <Wrong path={path} />
    </fieldset>
  );
}

interface PartProps {
  readonly part: Part;
  readonly Editor: ComponentType<EditorProps>;
  readonly draft: Draft;
  readonly path: string;
  readonly onChange: Dispatch<SetStateAction<Draft>>;
}

function PartEditor({ part, Editor, draft, path, onChange }: PartProps) {
  const optional = !part.required;
  const compound = part.field.kind === "struct" || part.field.kind === "choice";
  if (optional && draft.kind === "unset" && compound) {
    return (
      <div>
        <Button small onClick={() => onChange(initialDraft(part.field))}>
          <Plus size={14} aria-hidden /> {part.name}
        </Button>{" "}
        <span className={css["about"]}>{t("omitted")}{part.initial === undefined ? "" : ` ${t("(default {value})", { value: JSON.stringify(part.initial) })}`}</span>
      </div>
    );
  }
  return (
    <div className={css["row"]}>
      <Editor
        field={part.field}
        draft={draft}
        path={path}
        label={
          <>
            {part.name}
            {optional && <span className={css["type"]}>{t("optional")}</span>}
          </>
        }
        about={part.about}
        onChange={onChange}
      />
      {optional && draft.kind !== "unset" && (
        <IconButton small label={t("Omit {name}", { name: part.name })} onClick={() => onChange(unset)}>
          <X size={14} aria-hidden />
        </IconButton>
      )}
    </div>
  );
}
