import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { ErrorGroup } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { count, dateOf, plural } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { causeOf } from "@/features/action/summary/advice";
import { sourceOf } from "@/entities/run/kind";
import { distinctionOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import type { RunModel } from "@/entities/run/model/run-model";
import type { RunName } from "@/entities/run/kind";
import css from "./errors.module.css";

/** How long the number of failures must be unchanged before the groups are refetched, in milliseconds. */
const debounce = 1000;

export interface ErrorsViewProps {
  readonly run: RunName;
  readonly model: RunModel;
  /** The number of failed actions; the groups are refetched when it changes. */
  readonly failures: number;
  readonly selected: string;
  readonly onSelect: (action: string) => void;
}

/** The failures of a run by error, earliest first, which is often the cause of the others. */
export function ErrorsView({ run, model, failures, selected, onSelect }: ErrorsViewProps) {
  const { data, error, refetch } = useQuery(
    InsightService.method.listErrors,
    { runId: { project: run.project, domain: run.domain, name: run.name }, runSource: sourceOf(run) },
    { placeholderData: (before) => before },
  );
  const asked = useRef(failures);
  useEffect(() => {
    if (asked.current === failures) return;
    const timer = setTimeout(() => {
      asked.current = failures;
      void refetch();
    }, debounce);
    return () => clearTimeout(timer);
  }, [failures, refetch]);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="failures" />;
  if (data.groups.length === 0) return <Empty title="No failures" />;
  return (
    <div className={css["errors"]}>
      <p className={css["total"]}>
        {plural(data.total - data.inherited, "failed action")}, {plural(data.totalGroups, "distinct error")}
        {data.totalGroups > data.groups.length && <>, showing the first {data.groups.length}</>}.
        {data.truncated && <> Too many actions to scan: only the oldest are included.</>}
        {data.inherited > 0 && <> {data.inherited === 1 ? "1 parent" : `${count(data.inherited)} parents`} failed because of them.</>}
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
  useModelVersion(model);
  const names = [group.firstAction, ...group.actions.filter((name) => name !== group.firstAction)];
  useWanted(
    model,
    `failures ${group.firstAction} ${group.code}`,
    names.map((name) => model.row(name)),
  );
  return (
    <li className={css["group"]}>
      <div className={css["head"]}>
        <strong>{causeOf(group.code) || "Failure"}</strong>
        {group.kind && <Tag>{group.kind.toLowerCase()} error</Tag>}
        <span>{plural(group.count, "action")}</span>
        <span className={css["first"]}>
          first <When at={dateOf(group.firstAt)} />
        </span>
        <CopyButton text={group.message} label="Copy message" />
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
  if (row < 0 || model.title(row) === name) return name;
  const distinction = distinctionOf(model, row);
  // Only an action without siblings needs its name to be recognised.
  return distinction === "" ? `${model.title(row)} (${name})` : `${model.title(row)} ${distinction}`;
}
