import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, File } from "lucide-react";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Input } from "@/design/field";
import { bytes } from "@/design/format";
import { t } from "@/texts/texts";
import { below, rowsOf, type TreeFile, type TreeRow } from "./tree";
import css from "./code.module.css";

const rowHeight = 28;

/** Up to this many files are shown with all folders open and without a filter. */
const maxUnfiltered = 40;

export interface FileTreeProps {
  readonly files: readonly TreeFile[];
  /** The path of the file that is shown. */
  readonly shown: string;
  readonly onShow: (path: string) => void;
}

/** The files of a bundle as a tree with arrow key navigation. */
export function FileTree({ files, shown, onShow }: FileTreeProps) {
  const [query, setQuery] = useState("");
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [active, setActive] = useState(shown);
  const many = files.length > maxUnfiltered;
  const rows = useMemo(() => {
    const words = query.trim().toLowerCase();
    const matching = words === "" ? files : files.filter((file) => file.path.toLowerCase().includes(words));
    return rowsOf(matching, (folder) => toggled.get(folder) ?? (!many || words !== "" || below(shown, folder)));
  }, [files, query, toggled, many, shown]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 10 });
  const known = rows.findIndex((row) => row.path === active);
  const at =
    known < 0
      ? Math.max(
          0,
          rows.findIndex((row) => row.path === shown),
        )
      : known;
  const go = (to: number) => {
    const row = rows[to];
    if (!row) return;
    setActive(row.path);
    virtual.scrollToIndex(to);
  };
  const setOpen = (row: TreeRow, open: boolean) => setToggled(new Map(toggled).set(row.path, open));
  const choose = (row: TreeRow) => {
    setActive(row.path);
    if (row.open === undefined) onShow(row.path);
    else setOpen(row, !row.open);
  };
  const handleKey = (event: KeyboardEvent) => {
    const row = rows[at];
    if (!row) return;
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.open === false ? setOpen(row, true) : go(at + 1)),
      ArrowLeft: () => (row.open === true ? setOpen(row, false) : go(rows.findLastIndex((other, index) => index < at && other.level < row.level))),
      Enter: () => choose(row),
      " ": () => choose(row),
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div className={css["files"]}>
      {many && (
        <Input aria-label={t("Filter files")} placeholder={t("Filter {files} files", { files: files.length })} value={query} onChange={(event) => setQuery(event.target.value)} />
      )}
      <div
        ref={scroller}
        className={css["tree"]}
        role="tree"
        aria-label={t("Files")}
        aria-activedescendant={rows[at] && idOf(rows[at].path)}
        tabIndex={0}
        onKeyDown={handleKey}
      >
        <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const Icon = row.open === undefined ? File : row.open ? ChevronDown : ChevronRight;
            return (
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree handles the keys
              <div
                key={row.path}
                id={idOf(row.path)}
                role="treeitem"
                tabIndex={-1}
                aria-level={row.level}
                aria-expanded={row.open}
                aria-selected={row.path === shown}
                data-active={item.index === at || undefined}
                className={css["row"]}
                style={{ transform: `translateY(${item.start}px)`, paddingLeft: `calc(${row.level - 1} * var(--space-4) + var(--space-2))` }}
                onClick={() => choose(row)}
                title={row.size === undefined ? row.path : `${row.path}, ${bytes(Number(row.size))}`}
              >
                <Icon size={14} aria-hidden />
                <span>{row.name}</span>
              </div>
            );
          })}
        </div>
      </div>
      {rows.length === 0 && <p className={css["muted"]}>{t("No results")}</p>}
    </div>
  );
}

const idOf = (path: string): string => `file-${encodeURIComponent(path)}`;
