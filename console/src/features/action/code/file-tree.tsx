import { useVirtualizer } from "@tanstack/react-virtual";
import { ChevronDown, ChevronRight, File } from "lucide-react";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { Input } from "@/design/field";
import { bytes } from "@/design/format";
import { below, rowsOf, type TreeFile, type TreeRow } from "./tree";
import css from "./code.module.css";

const rowHeight = 28;

/** So many files are shown with all folders open, and without a field to filter them. */
const few = 40;

export interface FileTreeProps {
  readonly files: readonly TreeFile[];
  /** The path of the file that is shown. */
  readonly shown: string;
  readonly onShow: (path: string) => void;
}

/** The files of a bundle in their folders, to go through with the arrow keys. */
export function FileTree({ files, shown, onShow }: FileTreeProps) {
  const [sought, setSought] = useState("");
  const [turned, setTurned] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [active, setActive] = useState(shown);
  const many = files.length > few;
  const rows = useMemo(() => {
    const words = sought.trim().toLowerCase();
    const fitting = words === "" ? files : files.filter((file) => file.path.toLowerCase().includes(words));
    return rowsOf(fitting, (folder) => turned.get(folder) ?? (!many || words !== "" || below(shown, folder)));
  }, [files, sought, turned, many, shown]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => rowHeight, overscan: 10 });
  const known = rows.findIndex((row) => row.path === active);
  const at = known < 0 ? Math.max(0, rows.findIndex((row) => row.path === shown)) : known;
  const go = (to: number) => {
    const row = rows[to];
    if (!row) return;
    setActive(row.path);
    virtual.scrollToIndex(to);
  };
  const turn = (row: TreeRow, open: boolean) => setTurned(new Map(turned).set(row.path, open));
  const choose = (row: TreeRow) => {
    setActive(row.path);
    if (row.open === undefined) onShow(row.path);
    else turn(row, !row.open);
  };
  const take = (event: KeyboardEvent) => {
    const row = rows[at];
    if (!row) return;
    const keys: Readonly<Record<string, () => void>> = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      ArrowRight: () => (row.open === false ? turn(row, true) : go(at + 1)),
      ArrowLeft: () => (row.open === true ? turn(row, false) : go(rows.findLastIndex((other, index) => index < at && other.level < row.level))),
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
      {many && <Input aria-label="Filter the files" placeholder={`Filter ${files.length} files`} value={sought} onChange={(event) => setSought(event.target.value)} />}
      <div ref={scroller} className={css["tree"]} role="tree" aria-label="Files" aria-activedescendant={rows[at] && idOf(rows[at].path)} tabIndex={0} onKeyDown={take}>
        <div style={{ height: virtual.getTotalSize(), position: "relative" }} role="presentation">
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            if (!row) return null;
            const Sign = row.open === undefined ? File : row.open ? ChevronDown : ChevronRight;
            return (
              // eslint-disable-next-line jsx-a11y/click-events-have-key-events -- the tree takes the keys
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
                <Sign size={14} aria-hidden />
                <span>{row.name}</span>
              </div>
            );
          })}
        </div>
      </div>
      {rows.length === 0 && <p className={css["muted"]}>No file is called so.</p>}
    </div>
  );
}

const idOf = (path: string): string => `file-${encodeURIComponent(path)}`;
