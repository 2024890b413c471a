import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { ErrorGroup } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { count, dateOf, plural } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import type { RunModel } from "../model/run-model";
import type { RunName } from "../model/use-run-model";
import css from "./errors.module.css";

/** How long the failures of a run must rest before they are grouped anew, in milliseconds. */
const calm = 1000;

export interface ErrorsViewProps {
  readonly run: RunName;
  readonly model: RunModel;
  /** How many actions have failed by now; the groups are asked for anew when it changes. */
  readonly failures: number;
  readonly selected: string;
  readonly onSelect: (action: string) => void;
}

/** The failures of a run by their cause, the earliest first: it is often what brought on the others. */
export function ErrorsView({ run, model, failures, selected, onSelect }: ErrorsViewProps) {
  const { data, error, refetch } = useQuery(
    InsightService.method.listErrors,
    { runId: { project: run.project, domain: run.domain, name: run.name } },
    { placeholderData: (before) => before },
  );
  const asked = useRef(failures);
  useEffect(() => {
    if (asked.current === failures) return;
    const timer = setTimeout(() => {
      asked.current = failures;
      void refetch();
    }, calm);
    return () => clearTimeout(timer);
  }, [failures, refetch]);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="the failures" />;
  if (data.groups.length === 0) return <Empty title="Nothing has failed" />;
  return (
    <div className={css["errors"]}>
      <p className={css["total"]}>
        {plural(data.total, "action")} failed in {plural(data.totalGroups, "way")}
        {data.totalGroups > data.groups.length && <>, of which these {data.groups.length} began first</>}.
        {data.truncated && <> Only the actions that were created first were looked at: there are very many.</>}
      </p>
      <ol className={css["groups"]}>
        {data.groups.map((group) => (
          <Group key={`${group.firstAction} ${group.code}`} group={group} model={model} selected={selected} onSelect={onSelect} />
        ))}
      </ol>
    </div>
  );
}

interface GroupProps {
  readonly group: ErrorGroup;
  readonly model: RunModel;
  readonly selected: string;
  readonly onSelect: (action: string) => void;
}

function Group({ group, model, selected, onSelect }: GroupProps) {
  const names = [group.firstAction, ...group.actions.filter((name) => name !== group.firstAction)];
  return (
    <li className={css["group"]}>
      <div className={css["head"]}>
        <strong>{group.code || "Failure"}</strong>
        {group.kind && <Tag>{group.kind.toLowerCase()}</Tag>}
        <span>{plural(group.count, "action")}</span>
        <span className={css["first"]}>
          first <When at={dateOf(group.firstAt)} />
        </span>
        <CopyButton text={group.message} label="Copy the message" />
      </div>
      <pre className={css["message"]}>{group.message}</pre>
      <ul className={css["names"]}>
        {names.map((name) => (
          <li key={name}>
            <button type="button" className={css["link"]} aria-pressed={name === selected} onClick={() => onSelect(name)}>
              {titleOf(model, name)}
            </button>
          </li>
        ))}
        {group.count > names.length && <li className={css["more"]}>and {count(group.count - names.length)} more</li>}
      </ul>
    </li>
  );
}

function titleOf(model: RunModel, name: string): string {
  const row = model.row(name);
  const title = row < 0 ? name : model.title(row);
  return title === name ? name : `${title} (${name})`;
}
