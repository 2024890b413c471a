import { useQuery } from "@connectrpc/connect-query";
import { CodeService } from "@gen/flytebinary/insight/v1/code_pb.js";
import { ExceptionRelation, FailureService, type RaisedException, type StackFrame } from "@gen/flytebinary/insight/v1/failures_pb.js";
import { Button } from "@/design/button";
import { Loading } from "@/design/notice";
import { actionId, type ActionName } from "@/entities/action/name";
import { t } from "@/texts/texts";
import { around, exceptionTitle, folded, relationWords } from "./stack";
import css from "./traceback.module.css";

interface TracebackProps {
  readonly action: ActionName;
  readonly attempt: number;
  /** Opens the log, at a line from 1 if there is one. */
  readonly onLog: (line?: number) => void;
}

/** The traceback of a failed attempt: the user's frames, the failing line with the code around it, and what caused the exception. */
export function Traceback({ action, attempt, onLog }: TracebackProps) {
  const id = actionId(action);
  // An attempt that failed keeps its traceback. The server itself waits a while for a log that is not stored yet.
  const { data, isLoading } = useQuery(FailureService.method.explainFailure, { actionId: id, attempt }, { staleTime: Infinity, retry: 2 });
  if (isLoading) return <Loading what={t("traceback")} />;
  if (!data || data.exceptions.length === 0)
    return (
      <div>
        <Button small onClick={() => onLog()}>
          {t("Show log")}
        </Button>
      </div>
    );
  return (
    <section className={css["traceback"]} aria-label={t("Traceback")} data-testid="traceback">
      {data.exceptions.map((raised, at) => (
        <Raised key={at} action={action} raised={raised} />
      ))}
      <div>
        <Button small onClick={() => onLog(data.logLine + 1)}>
          {t("Show in log")}
        </Button>
      </div>
    </section>
  );
}

function Raised({ action, raised }: { readonly action: ActionName; readonly raised: RaisedException }) {
  const last = raised.frames.findLast(({ own }) => own);
  return (
    <div className={css["raised"]}>
      {raised.relation !== ExceptionRelation.UNSPECIFIED && <p className={css["relation"]}>{relationWords(raised.relation)}</p>}
      {raised.relation !== ExceptionRelation.UNSPECIFIED && <strong className={css["title"]}>{exceptionTitle(raised)}</strong>}
      <ol className={css["frames"]} aria-label={t("Frames of {type}", { type: raised.type })}>
        {folded(raised.frames).map((part, at) =>
          part.kind === "own" ? (
            <Frame key={at} action={action} frame={part.frame} withCode={part.frame === last} />
          ) : (
            <li key={at}>
              <details>
                <summary className={css["muted"]}>{part.frames.length === 1 ? t("1 frame of a library") : t("{frames} frames of libraries", { frames: part.frames.length })}</summary>
                <ol className={css["frames"]}>
                  {part.frames.map((frame, index) => (
                    <Frame key={index} action={action} frame={frame} />
                  ))}
                </ol>
              </details>
            </li>
          ),
        )}
      </ol>
    </div>
  );
}

function Frame({ action, frame, withCode = false }: { readonly action: ActionName; readonly frame: StackFrame; readonly withCode?: boolean }) {
  return (
    <li>
      <code>
        {frame.file}:{frame.line}
      </code>
      {frame.function !== "" && (
        <span className={css["muted"]}>{" "}{t("in {code}", { code: <code>{frame.function}</code> })}
        </span>
      )}
      {withCode ? <Lines action={action} frame={frame} /> : frame.code !== "" && <pre className={css["line"]}>{frame.code}</pre>}
    </li>
  );
}

/** The failing line with the lines around it, from the code bundle; the line alone where the bundle does not have its file. */
function Lines({ action, frame }: { readonly action: ActionName; readonly frame: StackFrame }) {
  const { data } = useQuery(
    CodeService.method.getCode,
    { actionId: actionId(action), path: frame.file },
    { staleTime: Infinity, gcTime: 60_000, retry: false, enabled: !frame.file.startsWith("/") },
  );
  const lines = data ? around(data.text, frame) : [];
  if (lines.length === 0) return frame.code === "" ? null : <pre className={css["line"]}>{frame.code}</pre>;
  return (
    <pre className={css["lines"]}>
      {lines.map(({ number, text }) => (
        <span key={number} className={css["row"]} data-failed={number === frame.line} aria-current={number === frame.line || undefined}>
          <span className={css["number"]}>{number}</span>
          {text}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
