import type { ReactNode } from "react";
import type { ErrorInfo } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { Notice } from "@/design/notice";
import { t } from "@/texts/texts";
import type { PanelTab } from "../tab";
import { adviceOf, causeOf, kindOf } from "./advice";
import css from "./summary.module.css";

const looks = { logs: t("Show log"), pod: t("Show pod"), resources: t("Show resources") } as const;

interface FailureProps {
  readonly error: ErrorInfo;
  readonly onLook?: (tab: PanelTab) => void;
  /** What the log tells about the error, with a way to the log. */
  readonly children?: ReactNode;
}

/** An error with its code, kind and suggested fix. */
export function Failure({ error, onLook, children }: FailureProps) {
  const advice = adviceOf(error);
  const look = advice?.look;
  const kind = kindOf(error.kind);
  return (
    <div data-testid="failure">
      <Notice
        tone="danger"
        title={
          <span className={css["heading"]}>
            {advice?.title ?? t("Failed")}
            <span className={css["tags"]}>
              {error.code && <Tag>{causeOf(error.code)}</Tag>}
              {kind && <Tag>{kind}</Tag>}
              <CopyButton text={error.message} label={t("Copy message")} />
            </span>
          </span>
        }
      >
        <pre className={css["message"]}>{error.message || t("No error message.")}</pre>
        {children}
        {advice && (
          <div className={css["advice"]}>
            <strong>{t("Suggested fix")}</strong>
            <ul>
              {advice.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ul>
          </div>
        )}
        {look && onLook && !(children && look === "logs") && (
          <div>
            <Button small onClick={() => onLook(look)}>
              {looks[look]}
            </Button>
          </div>
        )}
      </Notice>
    </div>
  );
}
