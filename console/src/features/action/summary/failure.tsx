import type { ErrorInfo } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { Notice } from "@/design/notice";
import type { PanelTab } from "../panel";
import { adviceOf, kindOf } from "./advice";
import css from "./summary.module.css";

const looks = { logs: "Look at the log", pod: "Look at the pod" } as const;

/** An error with its kind and code, and what to do about it. */
export function Failure({ error, onLook }: { readonly error: ErrorInfo; readonly onLook?: (tab: PanelTab) => void }) {
  const advice = adviceOf(error);
  const look = advice?.look;
  const kind = kindOf(error.kind);
  return (
    <div data-testid="failure">
      <Notice
        tone="danger"
        title={
          <span className={css["heading"]}>
            {advice?.title ?? "It failed"}
            <span className={css["tags"]}>
              {error.code && <Tag>{error.code}</Tag>}
              {kind && <Tag>{kind}</Tag>}
              <CopyButton text={error.message} label="Copy the message" />
            </span>
          </span>
        }
      >
        <pre className={css["message"]}>{error.message || "There is no message."}</pre>
        {advice && (
          <div className={css["advice"]}>
            <strong>What to do</strong>
            <ul>
              {advice.steps.map((step) => (
                <li key={step}>{step}</li>
              ))}
            </ul>
          </div>
        )}
        {look && onLook && (
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
