import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useState } from "react";
import { chunk } from "@/api/chunk";
import { bytes, count } from "@/design/format";
import { Loading } from "@/design/notice";
import { keyOf } from "@/entities/action/name";
import { ReportFrame } from "@/entities/frame/report-frame";
import { ValueView } from "@/entities/value/value-view";
import { t } from "@/texts/texts";
import { ArrayView } from "./array-view";
import { ArraysView } from "./arrays-view";
import { openFile, type Opened } from "./open";
import { PreviewProblem } from "./preview-problem";
import { nameOf, sourceFor, type FileRef } from "./source";
import { TableView } from "./table-view";
import css from "./data-view.module.css";

const Markdown = lazy(() => chunk(() => import("@/design/markdown")).then((m) => ({ default: m.Markdown })));
const NotebookView = lazy(() => chunk(() => import("./notebook-view")).then((m) => ({ default: m.NotebookView })));

/** How long a file that is no longer shown is kept, in milliseconds: it may be large. */
const kept = 30_000;

/** Shows a file of a run by its kind. */
export function Preview({ file, format }: { readonly file: FileRef; readonly format: string }) {
  const queryKey = ["preview", keyOf(file.action), file.uri, file.path, file.size];
  const { data, error, isPending, refetch } = useQuery({
    queryKey,
    queryFn: ({ signal }) => openFile(sourceFor(file, signal), format),
    retry: false,
    staleTime: Infinity,
    gcTime: kept,
  });
  const name = nameOf(file);
  return (
    <div className={css["preview"]} data-preview={data?.show}>
      {error ? (
        <PreviewProblem error={error} retry={() => void refetch()} />
      ) : isPending ? (
        <Loading what={t("preview")} />
      ) : (
        <Suspense fallback={<Loading what={t("preview")} />}>
          <Shown opened={data} name={name} size={file.size} queryKey={queryKey} />
        </Suspense>
      )}
    </div>
  );
}

interface ShownProps {
  readonly opened: Opened;
  readonly name: string;
  readonly size: number;
  readonly queryKey: readonly unknown[];
}

function Shown({ opened, name, size, queryKey }: ShownProps) {
  switch (opened.show) {
    case "table":
      return <TableView table={opened.table} queryKey={queryKey} />;
    case "array":
      return <ArrayView array={opened.array} />;
    case "arrays":
      return <ArraysView arrays={opened.arrays} />;
    case "json":
      return (
        <div className={css["scroll"]}>
          <ValueView value={opened.value} depth={1} />
        </div>
      );
    case "html":
      return <ReportFrame html={opened.html} title={name} />;
    case "notebook":
      return <NotebookView notebook={opened.notebook} />;
    case "markdown":
    case "text":
      return (
        <>
          {opened.part !== undefined && (
            <p className={css["muted"]}>
              {t("The first {part} of {size}.", { part: bytes(opened.part), size: bytes(size) })}
            </p>
          )}
          {opened.show === "markdown" ? (
            <div className={css["scroll"]}>
              <Markdown text={opened.text} />
            </div>
          ) : (
            // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard
            <pre className={css["text"]} tabIndex={0}>
              {opened.text}
            </pre>
          )}
        </>
      );
    case "image":
    case "audio":
    case "video":
      return <Media {...opened} show={opened.show} name={name} />;
  }
}

interface MediaProps {
  readonly show: "image" | "audio" | "video";
  readonly data: Uint8Array<ArrayBuffer>;
  readonly type: string;
  readonly name: string;
}

/** An image or a recording. An image as an element runs no script, even if it is SVG. */
function Media({ show, data, type, name }: MediaProps) {
  const url = useUrl(data, type);
  const [broken, setBroken] = useState(false);
  const [size, setSize] = useState("");
  if (broken) return <p className={css["muted"]}>{t("No preview. The browser cannot read the {type} data. The file may be damaged.", { type })}</p>;
  if (url === undefined) return null;
  const fail = () => setBroken(true);
  // What tasks record has no captions.
  /* eslint-disable jsx-a11y/media-has-caption -- see above */
  if (show === "audio") return <audio controls src={url} aria-label={name} preload="metadata" onError={fail} />;
  if (show === "video") return <video controls src={url} aria-label={name} preload="metadata" onError={fail} className={css["image"]} />;
  /* eslint-enable jsx-a11y/media-has-caption -- see above */
  return (
    <figure className={css["figure"]}>
      <img
        src={url}
        alt={name}
        className={css["image"]}
        onError={fail}
        onLoad={({ currentTarget: image }) => setSize(t("{width} × {height} pixels", { width: count(image.naturalWidth), height: count(image.naturalHeight) }))}
      />
      <figcaption className={css["muted"]}>{size}</figcaption>
    </figure>
  );
}

/**
 * An address of data in the page. SVG gets one that holds the data: opened in a tab of its own, that has no origin, while others have
 * the origin of the console.
 */
function useUrl(data: Uint8Array<ArrayBuffer>, type: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (type === "image/svg+xml") {
      setUrl(`data:${type},${encodeURIComponent(new TextDecoder().decode(data))}`);
      return undefined;
    }
    const made = URL.createObjectURL(new Blob([data], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data, type]);
  return url;
}
