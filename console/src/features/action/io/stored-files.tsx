import { useMutation } from "@connectrpc/connect-query";
import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState, type ReactNode } from "react";
import { FileService, type StoredFile, type StoredValue } from "@gen/flytebinary/insight/v1/files_pb.js";
import { problemOf } from "@/api/problem";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { bytes, plural } from "@/design/format";
import { useNotify } from "@/design/toast";
import { actionId, keyOf, type ActionName } from "@/entities/action/name";
import { sourceOf } from "@/entities/run/kind";
import { StoredActions } from "@/entities/value/stored-actions";
import type { Value } from "@/entities/value/value-type";
import { saveFrom } from "../save";
import css from "./stored-files.module.css";

const isStored = (value: Value): boolean =>
  value.kind === "stored" || (value.kind === "list" && value.items.some(isStored)) || (value.kind === "map" && value.entries.some(([, one]) => isStored(one)));

interface StoredFilesProps {
  readonly action: ActionName;
  readonly values: readonly Value[];
  /** Changes when the action has other values. */
  readonly version: string;
  readonly children: ReactNode;
}

/** Offers downloads for all files and directories among the values below it. */
export function StoredFiles({ action, values, version, children }: StoredFilesProps) {
  const { data, error } = useQuery({
    queryKey: ["files", keyOf(action), version],
    queryFn: ({ signal }) => client(FileService).listFiles({ actionId: actionId(action), runSource: sourceOf(action.run) }, { signal }),
    enabled: values.some(isStored), // each file costs the server a request to the object store
    staleTime: Infinity,
  });
  const offer = (uri: string) => {
    if (error) return <span className={css["missing"]}>Downloads are not available: {problemOf(error).message}</span>;
    const found = data?.values.find((value) => value.uri === uri);
    return found && <Files action={action} found={found} />;
  };
  return <StoredActions.Provider value={offer}>{children}</StoredActions.Provider>;
}

function Files({ action, found }: { readonly action: ActionName; readonly found: StoredValue }) {
  const [open, setOpen] = useState(false);
  const [only] = found.files;
  if (found.missing || !only) return <span className={css["missing"]}>{found.missing}</span>;
  if (only.path === "") return <DownloadFile action={action} uri={found.uri} file={only} />;
  const total = found.files.reduce((sum, file) => sum + Number(file.size), 0);
  return (
    <details className={css["directory"]} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{found.partial ? `The first ${plural(found.files.length, "file")}` : `${plural(found.files.length, "file")}, ${bytes(total)}`}</summary>
      {open && (
        <ul>
          {found.files.map((file) => (
            <li key={file.path}>
              <code>{file.path}</code>
              <DownloadFile action={action} uri={found.uri} file={file} />
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}

const lastPart = (path: string): string => path.replace(/\/+$/, "").split("/").at(-1) ?? "";

function DownloadFile({ action, uri, file }: { readonly action: ActionName; readonly uri: string; readonly file: StoredFile }) {
  const notify = useNotify();
  const link = useMutation(FileService.method.createFileLink);
  const name = lastPart(file.path || uri);
  const download = () =>
    link.mutate(
      { actionId: actionId(action), runSource: sourceOf(action.run), uri, path: file.path },
      {
        onSuccess: ({ url }) => saveFrom(url, name),
        onError: (error) => notify("danger", `Download of ${name} failed`, problemOf(error).message),
      },
    );
  return (
    <span className={css["file"]}>
      <Button small aria-label={`Download ${name}`} disabled={link.isPending} onClick={download}>
        <Download size={14} aria-hidden /> Download
      </Button>
      <span className={css["size"]}>{bytes(Number(file.size))}</span>
    </span>
  );
}
