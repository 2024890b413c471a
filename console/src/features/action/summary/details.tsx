import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { InsightService } from "@gen/flytebinary/insight/v1/insight_pb.js";
import { RelationType } from "@gen/flyteidl2/common/run_pb.js";
import { RunSource, type ActionAttempt, type ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { isLive } from "@/design/phases";
import { SaidText } from "@/design/said";
import { Span, When } from "@/design/time";
import { workerOf } from "@/features/pools/words";
import { ClusterLink } from "@/entities/access/cluster-link";
import { actionId, type ActionName } from "@/entities/action/name";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import { jobOf } from "../job/words";
import { ActionLink, RunLink } from "./action-link";
import { linksOf } from "./links";
import { whoIs } from "@/entities/person/who-is";
import css from "./summary.module.css";

/** How the run was started, after "via". */
const sources: Record<RunSource, string> = {
  [RunSource.UNSPECIFIED]: "",
  [RunSource.WEB]: "console",
  [RunSource.CLI]: t("CLI or SDK"),
  [RunSource.SCHEDULE_TRIGGER]: "schedule",
  [RunSource.TRACKED]: t("tracked run"),
  [RunSource.ARTIFACT_TRIGGER]: t("artifact trigger"),
};

const relations: Record<RelationType, string> = {
  [RelationType.UNSPECIFIED]: t("Related to"),
  [RelationType.RERUN]: t("Rerun of"),
  [RelationType.RECOVER]: t("Recovery of"),
  [RelationType.SPAWN]: t("Started by run"),
  [RelationType.TRIGGERED]: t("Triggered by"),
  [RelationType.ON_ARTIFACT]: t("Triggered by an artifact of"),
};

interface DetailsProps {
  readonly action: ActionName;
  readonly details: ActionDetails;
  readonly attempt: ActionAttempt | undefined;
  readonly onSelect: (action: string) => void;
}

/** Task, origin, times and relations of an action. */
export function Details({ action, details, attempt, onSelect }: DetailsProps) {
  const { metadata, status } = details;
  const relation = metadata?.relation;
  const cached = attempt?.cacheMetadata?.sourceActionAttempt?.actionId;
  const live = isLive(status?.phase ?? ActionPhase.UNSPECIFIED);
  // The explanation of why it waits asks the same.
  const placed = useQuery(InsightService.method.explainAction, { actionId: actionId(action) }).data?.placement;
  const cluster = (attempt?.cluster ?? "") || placed?.cluster; // until an attempt begins, where it is to be
  return (
    <section className={css["section"]}>
      <h3>{t("Details")}</h3>
      <Facts
        facts={[
          [t("Task"), taskLink(details, action.run.tracked)],
          [t("Environment"), metadata?.environmentName],
          [t("Group"), metadata?.group],
          [
            t("Parent"),
            metadata?.parent && <ActionLink id={{ $typeName: "flyteidl2.common.ActionIdentifier", name: metadata.parent }} here={action} onSelect={onSelect} />,
          ],
          [t("Recovered from"), metadata?.recoveredFrom && <ActionLink id={metadata.recoveredFrom} here={action} onSelect={onSelect} />],
          [t("Outputs from"), cached && <ActionLink id={cached} here={action} onSelect={onSelect} />],
          [relation ? relations[relation.relationType] : "", relation?.relatedTo && <RunLink run={relation.relatedTo} />],
          [t("Trigger"), triggerOf(details)],
          [t("Started by"), [whoIs(metadata?.executedBy), sources[metadata?.source ?? RunSource.UNSPECIFIED]].filter(Boolean).join(`${t(", via")} `)],
          [t("Created"), <When key="created" at={dateOf(status?.startTime)} />],
          [t("Ended"), status?.endTime && !live && <When at={dateOf(status.endTime)} />],
          [t("Duration"), status?.startTime && <Span from={dateOf(status.startTime)} to={live ? undefined : dateOf(status.endTime)} />],
          [t("Cluster"), cluster && <ClusterLink key="cluster" name={cluster} />],
          [t("Placed because"), placed?.cluster === cluster && placed?.reason && <SaidText key="placed" of={sayMessage(placed.reason)} />],
          [t("Worker"), workerLink(action, details, attempt)],
          [t("Links"), !jobOf(attempt?.clusterEvents) && linksOf(attempt)],
        ]}
      />
    </section>
  );
}

/** The worker that has or had the attempt, with the pools of its environment. */
function workerLink({ run }: ActionName, { metadata }: ActionDetails, attempt: ActionAttempt | undefined): ReactNode {
  const worker = workerOf(attempt?.clusterEvents);
  if (worker === undefined) return undefined;
  return (
    <Link
      to="/domain/$domain/project/$project/pools"
      params={{ project: run.project, domain: run.domain }}
      search={metadata?.environmentName ? { environment: metadata.environmentName } : {}}
    >
      {worker}
    </Link>
  );
}

/** A link to the task. The task of a tracked run may not be deployed, so it is plain text. */
function taskLink({ metadata }: ActionDetails, tracked: boolean | undefined): ReactNode {
  const spec = metadata?.spec;
  if (spec?.case !== "task") return undefined;
  const { id, taskType } = spec.value;
  if (!id?.name) return taskType;
  const place = { project: id.project, domain: id.domain, task: id.name };
  if (!id.project || !id.version || tracked) return id.name;
  return (
    <>
      <Link to="/domain/$domain/project/$project/tasks/$task" params={place}>
        {id.name}
      </Link>
      <span className={css["muted"]}>{t(", version")} </span>
      <Link to="/domain/$domain/project/$project/tasks/$task/$version" params={{ ...place, version: id.version }}>
        {id.version}
      </Link>
    </>
  );
}

/** The trigger that started the run. One that an older server named without its task is not a link. */
function triggerOf({ metadata }: ActionDetails): ReactNode {
  const { project = "", domain = "", taskName = "", name = "" } = metadata?.triggerId?.name ?? {};
  if (!taskName) return metadata?.triggerName;
  return (
    <Link to="/domain/$domain/project/$project/triggers/$task/$name" params={{ project, domain, task: taskName, name }}>
      {name}
    </Link>
  );
}
