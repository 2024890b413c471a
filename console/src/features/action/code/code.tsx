import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Download, LocateFixed } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { CodeService } from "@gen/flytebinary/insight/v1/code_pb.js";
import { ArtifactType, DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { chunk } from "@/api/chunk";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { bytes } from "@/design/format";
import { Empty, Loading, Notice, ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { problemOf } from "@/api/problem";
import type { RunName } from "@/entities/run/kind";
import { saveFrom } from "@/design/save";
import { actionId } from "@/entities/action/name";
import { t, tn } from "@/texts/texts";
import { FileTree } from "./file-tree";
import css from "./code.module.css";

const Editor = lazy(() => chunk(() => import("./editor")).then((m) => ({ default: m.Editor })));

export interface CodeViewProps {
  readonly run: RunName;
  readonly action: string;
  /** The file to show; the one with the task function if unset. */
  readonly file?: string | undefined;
  readonly onFile?: (file: string | undefined) => void;
}

/** The code bundle of an action's task, opened at the task function. */
export function CodeView({ run, action, file, onFile }: CodeViewProps) {
  const [own, setOwn] = useState<string>();
  const [reveals, setReveals] = useState(0);
  const wanted = onFile ? file : own;
  const show = onFile ?? setOwn;
  const id = actionId({ run, name: action });
  const { data, error, refetch, isPlaceholderData } = useQuery(
    CodeService.method.getCode,
    { actionId: id, path: wanted ?? "" },
    { staleTime: Infinity, gcTime: 60_000, placeholderData: (before) => before },
  );
  if (error)
    return (
      <>
        <ProblemNotice error={error} retry={() => void refetch()} />
        {wanted !== undefined && (
          <div>
            <Button onClick={() => show(undefined)}>{t("Show the task function")}</Button>
          </div>
        )}
      </>
    );
  if (!data) return <Loading what={t("code")} />;
  if (data.files.length === 0)
    return (
      <Empty title={t("No code available")}>
        <p>{data.missing}</p>
      </Empty>
    );
  const size = data.files.find((known) => known.path === data.path)?.size;
  return (
    <section className={css["code"]} data-testid="code-view" aria-busy={isPlaceholderData}>
      <div className={css["head"]}>
        {data.path !== "" && (
          <h3 className={css["path"]}>
            <span>{data.path}</span>
            <CopyButton text={data.path} label={t("Copy path")} />
          </h3>
        )}
        {data.line > 0 ? (
          <Button small onClick={() => setReveals(reveals + 1)}>
            <LocateFixed size={14} aria-hidden /> {t("{function}, line {line}", { function: data.function, line: data.line })}
          </Button>
        ) : (
          wanted !== undefined && (
            <Button small onClick={() => show(undefined)}>
              <LocateFixed size={14} aria-hidden /> {data.function || t("Task function")}
            </Button>
          )
        )}
        {data.text !== "" && <CopyButton text={data.text} label={t("Copy file")} />}
        <DownloadBundle id={id} />
      </div>
      {data.missing && <Notice>{data.missing}</Notice>}
      {data.partial && (
        <Notice tone="warning">
          {tn(data.files.length, "The bundle is too large to list completely: {n} file shown. Download the bundle to get all files.", "The bundle is too large to list completely: {n} files shown. Download the bundle to get all files.")}
        </Notice>
      )}
      <div className={css["split"]} data-single={data.files.length === 1 || undefined}>
        {data.files.length > 1 && <FileTree files={data.files} shown={data.path} onShow={(path) => show(path)} />}
        <div className={css["file"]}>
          {data.truncated && data.text !== "" && (
            <Notice tone="warning">
              {t("Showing the first {text}", { text: bytes(data.text.length) })}
              {size === undefined ? "" : ` ${t("of {size}", { size: bytes(Number(size)) })}`}.
            </Notice>
          )}
          {data.truncated && data.text === "" && <p className={css["muted"]}>{t("Not a text file")}{size === undefined ? "" : ` (${bytes(Number(size))})`}.</p>}
          {data.path === "" && <p className={css["muted"]}>{t("Select a file.")}</p>}
          {data.path !== "" && !data.truncated && data.text === "" && <p className={css["muted"]}>{t("This file is empty.")}</p>}
          {data.text !== "" && (
            <Suspense fallback={<Loading what={t("file")} />}>
              <Editor path={data.path} text={data.text} line={data.line} reveals={reveals} />
            </Suspense>
          )}
        </div>
      </div>
    </section>
  );
}

function DownloadBundle({ id }: { readonly id: ReturnType<typeof actionId> }) {
  const notify = useNotify();
  const link = useMutation(DataProxyService.method.createDownloadLink);
  const download = () =>
    link.mutate(
      { artifactType: ArtifactType.CODE_BUNDLE, source: { case: "actionAttemptId", value: { actionId: id, attempt: 1 } } },
      {
        onSuccess: (answer) => saveFrom(answer.preSignedUrls?.signedUrl[0] ?? "", "code.tar.gz"),
        onError: (error) => notify("danger", t("Bundle download failed"), problemOf(error).message),
      },
    );
  return (
    <Button small className={css["download"]} disabled={link.isPending} onClick={download}>
      <Download size={14} aria-hidden /> {t("Download bundle")}
    </Button>
  );
}
