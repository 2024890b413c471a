/** A file of a bundle, as the tree needs it. */
export interface TreeFile {
  readonly path: string;
  readonly size: bigint;
}

/** A row of the tree of files: a folder or a file. */
export interface TreeRow {
  readonly path: string;
  readonly name: string;
  /** From 1, as assistive technology counts. */
  readonly level: number;
  /** Whether a folder is open; undefined for files. */
  readonly open: boolean | undefined;
  readonly size: bigint | undefined;
}

interface Folder {
  readonly folders: Map<string, Folder>;
  readonly files: TreeFile[];
}

const empty = (): Folder => ({ folders: new Map(), files: [] });

/** The visible rows: folders before files, both by name. A folder that only contains a folder shares its row. */
export function rowsOf(files: readonly TreeFile[], open: (folder: string) => boolean): readonly TreeRow[] {
  const top = empty();
  for (const file of files) {
    const parts = file.path.split("/");
    let at = top;
    for (const part of parts.slice(0, -1)) {
      let next = at.folders.get(part);
      if (!next) at.folders.set(part, (next = empty()));
      at = next;
    }
    at.files.push(file);
  }
  const rows: TreeRow[] = [];
  const add = (folder: Folder, before: string, level: number) => {
    for (const key of [...folder.folders.keys()].sort(byName)) {
      let [name, inner] = [key, folder.folders.get(key) ?? empty()];
      for (let only = onlyFolder(inner); only; only = onlyFolder(inner)) [name, inner] = [`${name}/${only[0]}`, only[1]];
      const path = before + name;
      rows.push({ path, name, level, open: open(path), size: undefined });
      if (open(path)) add(inner, `${path}/`, level + 1);
    }
    for (const file of folder.files.toSorted((a, b) => byName(a.path, b.path)))
      rows.push({ path: file.path, name: file.path.slice(before.length), level, open: undefined, size: file.size });
  };
  add(top, "", 1);
  return rows;
}

const onlyFolder = (folder: Folder): readonly [string, Folder] | undefined =>
  folder.files.length === 0 && folder.folders.size === 1 ? [...folder.folders][0] : undefined;

const byName = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

/** Whether a file is below a folder. */
export const below = (path: string, folder: string): boolean => path.startsWith(`${folder}/`);
