import { Upload as UploadIcon } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Button } from "@/design/button";
import { Field as Labelled, Input } from "@/design/field";
import { bytes } from "@/design/format";
import { ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { useError, useForm } from "./context";
import type { Draft } from "./draft";
import type { EditorProps } from "./editor";
import type { Field } from "./field";
import { upload, type Progress, type Upload } from "./upload";
import css from "./form.module.css";

type StoredField = Extract<Field, { kind: "file" | "table" }>;
type StoredDraft = Extract<Draft, { kind: "stored" }>;

function storedOf(field: StoredField, draft: Draft): StoredDraft {
  const { uri, format } = draft.kind === "stored" ? draft : { uri: "", format: field.format };
  return { kind: "stored", uri, format: format || (field.kind === "table" ? "parquet" : "") };
}

/** Edits a file, a folder or a table: by URI, or by upload. */
export function StoredEditor({ field, draft, onChange, path, label, about }: EditorProps<StoredField>) {
  const error = useError(path);
  const { uri, format } = storedOf(field, draft);
  const set = (next: Partial<StoredDraft>) => onChange((before) => ({ ...storedOf(field, before), ...next }));
  return (
    <fieldset className={css["group"]}>
      <legend>{label}</legend>
      {about && <p className={css["about"]}>{about}</p>}
      <UploadButton folder={field.kind === "file" && field.folder} table={field.kind === "table"} onUploaded={(address) => set({ uri: address })} />
      <Labelled label={t("URI in the object store")} error={error}>
        {(control) => (
          <Input
            {...control}
            data-path={path}
            autoComplete="off"
            placeholder={t("s3://bucket/path")}
            value={uri}
            onChange={(event) => set({ uri: event.target.value })}
          />
        )}
      </Labelled>
      {field.kind === "table" && (
        <Labelled label={t("Format")} hint={t("For example parquet or csv.")}>
          {(control) => <Input {...control} autoComplete="off" value={format} onChange={(event) => set({ format: event.target.value })} />}
        </Labelled>
      )}
    </fieldset>
  );
}

interface ActiveUpload {
  readonly name: string;
  readonly progress: Progress;
}

function progressOf({ name, progress }: ActiveUpload): string {
  const amounts = { name, done: bytes(progress.done), total: bytes(progress.total) };
  return progress.doing === "hashing" ? t("Hashing {name}: {done} of {total}", amounts) : t("Uploading {name}: {done} of {total}", amounts);
}

function UploadButton({ folder, table, onUploaded }: { readonly folder: boolean; readonly table: boolean; readonly onUploaded: (address: string) => void }) {
  const { place } = useForm();
  const [active, setActive] = useState<ActiveUpload>();
  const [error, setError] = useState<unknown>();
  const [done, setDone] = useState("");
  const control = useRef<AbortController>(undefined);
  const chooser = useRef<HTMLInputElement>(null);
  useEffect(() => () => control.current?.abort(), []);
  // The item may have moved in its list when the upload ends.
  const uploaded = useRef(onUploaded);
  useEffect(() => {
    uploaded.current = onUploaded;
  });
  const start = async (files: readonly Upload[]) => {
    const mine = new AbortController();
    control.current = mine;
    const name = files.length === 1 && files[0] ? files[0].path : t("{files} files", { files: files.length });
    setError(undefined);
    setDone("");
    try {
      const address = await upload(place, files, folder, mine.signal, (progress) => setActive({ name, progress }));
      uploaded.current(address);
      setDone(t("{name} uploaded.", { name }));
    } catch (failure) {
      if (!mine.signal.aborted) setError(failure);
    } finally {
      setActive(undefined);
    }
  };
  return (
    <div className={css["kept"]}>
      <input
        ref={chooser}
        type="file"
        hidden
        aria-label={folder ? t("Folder to upload") : t("File to upload")}
        {...(folder ? { webkitdirectory: "" } : {})}
        onChange={(event) => {
          const files = [...(event.target.files ?? [])].map((file) => ({ file, path: folder ? inFolder(file) : file.name }));
          event.target.value = "";
          if (files.length > 0) void start(files);
        }}
      />
      {active ? (
        <>
          <div className={css["bar"]}>
            <span role="status">{progressOf(active)}</span>
            <Button small onClick={() => control.current?.abort()}>
              {t("Cancel")}
            </Button>
          </div>
          <progress className={css["progress"]} max={Math.max(1, active.progress.total)} value={active.progress.done} aria-label={t("Upload")} />
        </>
      ) : (
        <div className={css["toggle"]}>
          <Button small onClick={() => chooser.current?.click()}>
            <UploadIcon size={14} aria-hidden /> {folder ? t("Upload folder …") : table ? t("Upload table …") : t("Upload file …")}
          </Button>
          {done && (
            <span role="status" className={css["about"]}>
              {done}
            </span>
          )}
        </div>
      )}
      {error !== undefined && <ProblemNotice error={error} />}
    </div>
  );
}

/** A file's path within the folder that was chosen. */
const inFolder = (file: File): string => file.webkitRelativePath.split("/").slice(1).join("/") || file.name;
