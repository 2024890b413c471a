import { useMutation } from "@connectrpc/connect-query";
import { useQuery } from "@tanstack/react-query";
import { Download, Eye } from "lucide-react";
import { lazy, Suspense, useState, type ReactNode } from "react";
import { FileService, type StoredFile, type StoredValue } from "@gen/flytebinary/insight/v1/files_pb.js";
import { chunk } from "@/api/chunk";
import { problemOf } from "@/api/problem";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { bytes } from "@/design/format";
import { Loading } from "@/design/notice";
import { saveFrom } from "@/design/save";
import { useNotify } from "@/design/toast";
import { actionId, keyOf, type ActionName } from "@/entities/action/name";
import { sourceOf } from "@/entities/run/kind";
import { StoredActions, type StoredPointer } from "@/entities/value/stored-actions";
import type { Value } from "@/entities/value/value-type";
import { t, tn } from "@/texts/texts";
import { nameOf, type FileRef } from "./source";
import css from "./stored-files.module.css";

const Preview = lazy(() => chunk(() => import("./preview")).then((m) => ({ default: m.Preview })));

/** The previews that are open at first: more would make a page long and slow. */
const openAtFirst = 3;

/** The URIs in values, in their order. */
function pointersOf(values: readonly Value[]): readonly string[] {
  return values.flatMap((value) => {
    switch (value.kind) {
      case "stored":
        return [value.uri];
      case "list":
        return pointersOf(value.items);
      case "map":
        return pointersOf(value.entries.map(([, one]) => one));
      default:
        return [];
    }
  });
}

interface StoredFilesProps {
  readonly action: ActionName;
  /** The values; previews of the first ones are open. */
  readonly values: readonly Value[];
  /** Changes when the action has other values. */
  readonly version: string;
  readonly children: ReactNode;
}

/** Offers previews and downloads for all files and directories among the values below it. */
export function StoredFiles({ action, values, version, children }: StoredFilesProps) {
  const pointers = pointersOf(values);
  const { data, error } = useQuery({
    queryKey: ["files", keyOf(action), version],
    queryFn: ({ signal }) => client(FileService).listFiles({ actionId: actionId(action), runSource: sourceOf(action.run) }, { signal }),
    enabled: pointers.length > 0, // each file costs the server a request to the object store
    staleTime: Infinity,
  });
  const first = new Set(pointers.slice(0, openAtFirst));
  const offer = (pointer: StoredPointer) => {
    if (error) return <span className={css["missing"]}>{t("Previews and downloads are not available: {message}", { message: problemOf(error).message })}</span>;
    const found = data?.values.find((value) => value.uri === pointer.uri);
    if (!found) return data && <span className={css["missing"]}>{t("No preview. It is not among the first 100 files and tables of the action.")}</span>;
    return <Files action={action} found={found} pointer={pointer} open={first.has(pointer.uri)} />;
  };
  return <StoredActions.Provider value={offer}>{children}</StoredActions.Provider>;
}

interface FilesProps {
  readonly action: ActionName;
  readonly found: StoredValue;
  readonly pointer: StoredPointer;
  /** Whether its preview is open at first. */
  readonly open: boolean;
}

function Files({ action, found, pointer, open }: FilesProps) {
  const [only] = found.files;
  if (found.missing || !only) return <span className={css["missing"]}>{found.missing}</span>;
  const file = ({ path, size }: StoredFile): FileRef => ({ action, uri: found.uri, path, size: Number(size) });
  const pickled = pointer.what === "pickle";
  if (only.path === "") return <OneFile file={file(only)} format={pointer.format} open={open && !pickled} />;
  const [table] = pointer.what === "dataframe" ? found.files.filter(({ path }) => !/(?:^|\/)[._]/.test(path)) : [];
  return (
    <div className={css["directory"]}>
      {table && <OneFile file={file(table)} format={pointer.format} open={open} note={found.files.length > 1 ? t("The first of several files: {path}", { path: table.path }) : undefined} />}
      {(!table || found.files.length > 1) && <Directory found={found} file={file} format={pointer.format} />}
    </div>
  );
}

/** How many files of a directory are listed at once. */
const filesAtOnce = 25;

function Directory({ found, file, format }: { readonly found: StoredValue; readonly file: (stored: StoredFile) => FileRef; readonly format: string }) {
  const [open, setOpen] = useState(false);
  const [limit, setLimit] = useState(filesAtOnce);
  const total = found.files.reduce((sum, one) => sum + Number(one.size), 0);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{found.partial ? tn(found.files.length, "The first {n} file", "The first {n} files") : `${tn(found.files.length, "{n} file", "{n} files")}, ${bytes(total)}`}</summary>
      {open && (
        <ul>
          {found.files.slice(0, limit).map((one) => (
            <li key={one.path}>
              <OneFile file={file(one)} format={format} open={false} label={one.path} />
            </li>
          ))}
        </ul>
      )}
      {open && found.files.length > limit && (
        <Button small onClick={() => setLimit(limit + filesAtOnce)}>
          {t("Show more ({files} hidden)", { files: found.files.length - limit })}
        </Button>
      )}
    </details>
  );
}

interface OneFileProps {
  readonly file: FileRef;
  readonly format: string;
  readonly open: boolean;
  /** Names the file in a list. */
  readonly label?: string;
  readonly note?: string | undefined;
}

function OneFile({ file, format, open, label, note }: OneFileProps) {
  const [shown, setShown] = useState(open);
  const name = nameOf(file);
  const buttons = (
    <span className={css["buttons"]}>
      <Button small aria-label={t("Preview {name}", { name })} aria-pressed={shown} onClick={() => setShown(!shown)}>
        <Eye size={14} aria-hidden /> {t("Preview")}
      </Button>
      <DownloadFile file={file} />
      <span className={css["size"]}>{bytes(file.size)}</span>
    </span>
  );
  return (
    <div className={css["file"]} data-file={name}>
      {label === undefined ? (
        buttons
      ) : (
        <div className={css["item"]}>
          <code>{label}</code>
          {buttons}
        </div>
      )}
      {note && <span className={css["size"]}>{note}</span>}
      {shown && (
        <Suspense fallback={<Loading what={t("preview")} />}>
          <Preview file={file} format={format} />
        </Suspense>
      )}
    </div>
  );
}

function DownloadFile({ file }: { readonly file: FileRef }) {
  const notify = useNotify();
  const link = useMutation(FileService.method.createFileLink);
  const name = nameOf(file);
  const download = () =>
    link.mutate(
      { actionId: actionId(file.action), runSource: sourceOf(file.action.run), uri: file.uri, path: file.path },
      {
        onSuccess: ({ url }) => saveFrom(url, name),
        onError: (error) => notify("danger", t("Download of {name} failed", { name }), problemOf(error).message),
      },
    );
  return (
    <Button small aria-label={t("Download {name}", { name })} disabled={link.isPending} onClick={download}>
      <Download size={14} aria-hidden /> {t("Download")}
    </Button>
  );
}
