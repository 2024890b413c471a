import { Link } from "@tanstack/react-router";
import { Notice } from "@/design/notice";
import { dateOf } from "@/design/format";
import { SaidText } from "@/design/said";
import { Span } from "@/design/time";
import type { RunName } from "@/entities/run/kind";
import { useSummaries } from "@/entities/run/use-summaries";
import { sentencesOf, waitWords } from "@/entities/run/waits";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** What actions below the root wait for, with the way to them. The root's own wait is explained elsewhere. */
export function WaitsBelow({ run, onSelect }: { readonly run: RunName; readonly onSelect: (action: string) => void }) {
  const summary = useSummaries(run, [run.name])[run.name];
  const waits = (summary?.waits ?? []).filter(({ actionId }) => actionId?.name !== "a0");
  if (waits.length === 0) return null;
  return (
    <div data-testid="waits-below">
      {waits.map((one) => (
        <Notice key={one.actionId?.name} tone="warning" title={waitWords(one)}>
          <p>
            {one.wait && <SaidText of={sentencesOf(one.wait)} />} {one.wait?.since && <Span from={dateOf(one.wait.since)} to={undefined} />}
          </p>
          <p className={css["muted"]}>
            <button type="button" className={css["link"]} onClick={() => onSelect(one.actionId?.name ?? "a0")}>
              {one.actions > 1 ? t("The first of {actions} actions", { actions: one.actions }) : t("The action")}
            </button>{" "}
            {one.holders.length > 0 && `${t("· The places are taken by")} `}
            {one.holders.map(({ runId, places }, at) => (
              <span key={runId?.name}>
                {at > 0 && ", "}
                <Link to="/domain/$domain/project/$project/runs/$run" params={{ domain: runId?.domain ?? "", project: runId?.project ?? "", run: runId?.name ?? "" }}>
                  {runId?.name}
                </Link>{" "}
                ({places})
              </span>
            ))}
          </p>
        </Notice>
      ))}
    </div>
  );
}
