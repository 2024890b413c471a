import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import type { ErrorGroup } from "@gen/flytebinary/insight/v1/run_actions_pb.js";
import { CopyButton } from "@/design/copy";
import { Tag } from "@/design/facts";
import { count, dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { causeOf } from "@/features/action/summary/advice";
import { sourceOf } from "@/entities/run/kind";
import { distinctionOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { useModelVersion } from "@/entities/run/model/use-run-model";
import type { RunModel } from "@/entities/run/model/run-model";
import type { RunName } from "@/entities/run/kind";
import { inSentence, t, tn } from "@/texts/texts";
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
  if (!data) return <Loading what={t("failures")} />;
  if (data.groups.length === 0) return <Empty title={t("No failures")} />;
  return (
    <div className={css["errors"]}>
      <p className={css["total"]}>
        {tn(data.total - data.inherited, "{n} failed action", "{n} failed actions")}, {tn(data.totalGroups, "{n} distinct error", "{n} distinct errors")}
        {data.totalGroups > data.groups.length && <>{t(", showing the first {count}", { count: data.groups.length })}</>}.
        {data.truncated && <> {t("Too many actions to scan: only the oldest are included.")}</>}
        {data.inherited > 0 && <> {tn(data.inherited, "{n} parent failed because of them.", "{n} parents failed because of them.")}</>}
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
    t("failures {action} {code}", { action: group.firstAction, code: group.code }),
    names.map((name) => model.row(name)),
  );
  return (
    <li className={css["group"]}>
      <div className={css["head"]}>
        <strong>{causeOf(group.code) || t("Failure")}</strong>
        {group.kind && <Tag>{t("{kind} error", { kind: inSentence(group.kind) })}</Tag>}
        <span>{tn(group.count, "{n} action", "{n} actions")}</span>
        <span className={css["first"]}>
          {t("first {when}", { when: <When at={dateOf(group.firstAt)} /> })}
        </span>
        <CopyButton text={group.message} label={t("Copy message")} />
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
        {group.count > names.length && <li className={css["more"]}>{t("and {count} more", { count: count(group.count - names.length) })}</li>}
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
