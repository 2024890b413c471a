import { useQuery } from "@connectrpc/connect-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { TriggerInsightService } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { useTitle } from "@/app/title";
import { CopyButton } from "@/design/copy";
import { Facts, Tag } from "@/design/facts";
import { dateOf, duration } from "@/design/format";
import { Loading, Notice, ProblemNotice } from "@/design/notice";
import { SaidText } from "@/design/said";
import { Tabs } from "@/design/tabs";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import { TriggerActions } from "./actions";
import { Backfills } from "./backfills";
import { Revisions } from "./revisions";
import type { TriggerSearch, TriggerTab } from "./search";
import { Slots } from "./slots";
import { VersionLink } from "./version-link";
import { automationWords, catchUpWords } from "./words";
import css from "@/design/page.module.css";

/** A trigger: its schedule, the runs it started, its revisions and backfills. */
export function TriggerPage() {
  const { project = "", domain = "", task = "", name = "" } = useParams({ strict: false });
  const search: TriggerSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  useTitle(name, t("Triggers"));
  const id = { org: "flyte", project, domain, taskName: task, name };
  // Two requests: the trigger as it was deployed, and what the scheduler makes of it. Either is shown without the
  // other.
  const details = useQuery(TriggerService.method.getTriggerDetails, { name: id }, { refetchInterval: 5_000, retry: false });
  const explained = useQuery(TriggerInsightService.method.explainTrigger, { name: id, limit: 5 }, { refetchInterval: 5_000, retry: false });
  const trigger = details.data?.trigger;
  const why = explained.data;
  const tab: TriggerTab = search.tab ?? "slots";
  const refresh = () => void Promise.all([details.refetch(), explained.refetch()]);
  const waits = trigger?.automationSpec?.automation.case === "artifact";
  const jitter = why?.jitter ? durationMs(why.jitter) : 0;
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>{name}</h1>
        <CopyButton text={name} label={t("Copy trigger name")} />
        {trigger && <Tag>{trigger.spec?.active ? t("Enabled") : t("Disabled")}</Tag>}
        <div className={css["actions"]}>{trigger && <TriggerActions id={id} active={trigger.spec?.active ?? false} onChange={refresh} />}</div>
      </div>
      {trigger?.description && <p>{trigger.description}</p>}
      {explained.error && (
        <ProblemNotice error={explained.error} retry={refresh}>
          <Link to="/domain/$domain/project/$project/triggers" params={{ project, domain }}>
            {t("Triggers of {project} / {domain}", { project, domain })}
          </Link>
        </ProblemNotice>
      )}
      {explained.isLoading && <Loading what={t("trigger")} />}
      {why?.reason && <Notice title={t("No upcoming runs")}><SaidText of={sayMessage(why.reason)} /></Notice>}
      {why?.notes.map((note) => (
        <Notice key={note} title={t("About its runs")}>
          {note}
        </Notice>
      ))}
      {why && (
        <Facts
          facts={[
            [t("Schedule"), why.schedule || automationWords(trigger?.automationSpec)],
            [
              t("Next runs"),
              why.next.length > 0 && (
                <ul aria-label={t("Next runs")}>
                  {why.next.map((at) => (
                    <li key={String(at.seconds)}>
                      <When at={dateOf(at)} />
                    </li>
                  ))}
                </ul>
              ),
            ],
            [
              t("Skipped for"),
              why.ignored.length > 0 && (
                <ul aria-label={t("Skipped versions")}>
                  {why.ignored.map(({ artifact, reason }) => (
                    <li key={artifact?.version}>
                      <p>
                        {artifact && <VersionLink artifact={artifact} />}: {reason}
                      </p>
                    </li>
                  ))}
                </ul>
              ),
            ],
            [
              t("Task"),
              <Link key="task" to="/domain/$domain/project/$project/tasks/$task" params={{ domain, project, task }}>
                {task}
              </Link>,
            ],
            [t("Version"), trigger?.spec?.taskVersion],
            [t("Revision"), String(why.revision)],
            [t("Catch up"), !waits && catchUpWords(why.catchUp, why.catchUpLimit)],
            [t("Concurrency"), why.concurrency],
            [t("Jitter"), jitter > 0 && t("up to {jitter}", { jitter: duration(jitter) })],
            [t("Deployed"), trigger && <When key="deployed" at={dateOf(trigger.status?.deployedAt)} />],
            [t("Deployed by"), whoIs(trigger?.metadata?.deployedBy)],
          ]}
        />
      )}
      {!explained.error && (
      <Tabs
        label={t("Trigger")}
        value={tab}
        onChange={(next) =>
          void navigate({
            to: "/domain/$domain/project/$project/triggers/$task/$name",
            params: { domain, project, task, name },
            search: next === "slots" ? {} : { tab: next },
          })
        }
        tabs={[
          ["slots", t("Runs")],
          ["revisions", t("Revisions")],
          ["backfills", t("Backfills")],
        ]}
      >
        <div className={css["tab"]}>
          {tab === "slots" && <Slots id={id} next={why?.next[0]} />}
          {tab === "revisions" && <Revisions id={id} />}
          {tab === "backfills" && <Backfills id={id} />}
        </div>
      </Tabs>
      )}
    </div>
  );
}
