import { useContext, useState } from "react";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { bytes, count, duration, exactly } from "@/design/format";
import { t, tn } from "@/texts/texts";
import { StoredActions } from "./stored-actions";
import { pythonText } from "./write-python";
import type { Value } from "./value-type";
import css from "./value.module.css";

/** Entries of a list or map before "Show more": each may render a tree of its own. */
const initialLimit = 50;
/** In characters; longer texts are cut. */
const longText = 600;

/** A value by type; large values are collapsed. */
export function ValueView({ value, depth = 0 }: { readonly value: Value; readonly depth?: number }) {
  const { zone } = usePreferences();
  switch (value.kind) {
    case "none":
      return <span className={css["none"]}>{t("None")}</span>;
    case "text":
      return <Text text={value.text} quoted={depth > 0} />;
    case "number":
      return <span className={css["number"]}>{value.whole && depth === 0 ? grouped(value.digits) : value.digits}</span>;
    case "boolean":
      return <span className={css["number"]}>{value.value ? t("True") : t("False")}</span>;
    case "time":
      return (
        <time dateTime={value.iso} title={value.iso}>
          {exactly(value.at, zone)}
        </time>
      );
    case "duration":
      return <span title={`${value.seconds} s`}>{value.seconds < 0 ? t("minus {duration}", { duration: duration(-value.seconds * 1000) }) : duration(value.seconds * 1000)}</span>;
    case "list":
      return <Items entries={value.items.map((item, at) => [String(at), item] as const)} words={tn(value.items.length, "{n} item", "{n} items")} depth={depth} list />;
    case "map":
      return (
        <Items
          entries={value.entries}
          words={value.struct ? tn(value.entries.length, "{n} field", "{n} fields") : tn(value.entries.length, "{n} entry", "{n} entries")}
          depth={depth}
        />
      );
    case "stored":
      return <StoredView value={value} />;
    case "bytes":
      return (
        <span>
          {t("{bytes} of binary data", { bytes: bytes(value.bytes.length) })} {value.tag && <Tag>{value.tag}</Tag>}
        </span>
      );
    case "error":
      return <span className={css["wrong"]}>{value.message}</span>;
  }
}

const grouped = (digits: string): string => (/^-?\d+$/.test(digits) ? count(BigInt(digits)) : digits);

function Text({ text, quoted }: { readonly text: string; readonly quoted: boolean }) {
  const [all, setAll] = useState(false);
  if (text === "") return <span className={css["none"]}>{t("empty string")}</span>;
  const cut = !all && text.length > longText;
  const shown = cut ? text.slice(0, longText) : text;
  return (
    <span className={css["text"]}>
      {quoted && !text.includes("\n") ? pythonText(shown) : shown}
      {cut && (
        <>
          {" … "}
          <Button small onClick={() => setAll(true)}>
            {t("Show all {text} characters", { text: count(text.length) })}
          </Button>
        </>
      )}
    </span>
  );
}

const isLeaf = ({ kind }: Value): boolean => kind !== "list" && kind !== "map" && kind !== "stored" && kind !== "text";

function Items({
  entries,
  words,
  depth,
  list = false,
}: {
  readonly entries: readonly (readonly [string, Value])[];
  readonly words: string;
  readonly depth: number;
  readonly list?: boolean;
}) {
  // Deep or long structures start closed, and a closed one renders nothing: values may have millions of entries.
  const [open, setOpen] = useState(depth < 2 && entries.length <= 20);
  const [limit, setLimit] = useState(initialLimit);
  if (entries.length === 0) return <span className={css["none"]}>{list ? t("empty list") : t("empty")}</span>;
  if (list && entries.length <= 12 && entries.every(([, value]) => isLeaf(value))) {
    return (
      <span className={css["inline"]}>
        {entries.map(([at, value]) => (
          <span key={at} className={css["item"]}>
            <ValueView value={value} depth={depth + 1} />
          </span>
        ))}
      </span>
    );
  }
  return (
    <details className={css["branch"]} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words}</summary>
      {open && (
        <dl className={css["entries"]}>
          {entries.slice(0, limit).map(([name, value]) => (
            <div key={name} className={css["entry"]}>
              <dt>{name}</dt>
              <dd>
                <ValueView value={value} depth={depth + 1} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {open && entries.length > limit && (
        <Button small onClick={() => setLimit(limit * 10)}>
          {t("Show more ({entries} hidden)", { entries: count(entries.length - limit) })}
        </Button>
      )}
    </details>
  );
}

const kinds = { file: t("File"), directory: t("Directory"), dataframe: t("Table"), pickle: t("Pickled object"), value: t("Large value in the object store") } as const;

function StoredView({ value }: { readonly value: Extract<Value, { kind: "stored" }> }) {
  const actions = useContext(StoredActions);
  return (
    <span className={css["stored"]}>
      <span>
        {kinds[value.what]} {value.format && <Tag>{value.format}</Tag>} {value.size !== undefined && <Tag>{bytes(Number(value.size))}</Tag>}
      </span>
      <span className={css["uri"]}>
        <code>{value.uri}</code>
        <CopyButton text={value.uri} label={t("Copy URI")} />
      </span>
      {value.columns && <span className={css["columns"]}>{t("Columns: {columns}", { columns: value.columns.join(", ") })}</span>}
      {actions(value)}
    </span>
  );
}
