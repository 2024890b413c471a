import { useMutation, useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { CacheInsightService, CacheMissReason, type CacheMiss, type CacheUse as Use } from "@gen/flytebinary/insight/v1/cache_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { Button } from "@/design/button";
import { DataTable } from "@/design/data-table";
import { Dialog, DialogActions } from "@/design/dialog";
import { count, dateOf } from "@/design/format";
import { Empty, ProblemNotice } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { percent } from "@/entities/use/use";
import css from "@/design/page.module.css";
import { t, tn } from "@/texts/texts";

interface CacheUseProps {
  readonly place: Place;
  readonly text: string;
  /** The task whose misses are shown. */
  readonly task: string | undefined;
  readonly onTask: (task: string) => void;
}

const words: Readonly<Record<CacheMissReason, string>> = {
  [CacheMissReason.UNSPECIFIED]: "other",
  [CacheMissReason.NEW_KEY]: t("new key"),
  [CacheMissReason.EXPIRED]: "expired",
  [CacheMissReason.OUTPUTS_GONE]: t("outputs deleted"),
  [CacheMissReason.OUTPUTS_FAR]: t("outputs out of reach"),
  [CacheMissReason.OVERWRITTEN]: t("overwritten by request"),
  [CacheMissReason.OFF]: t("cache off"),
  [CacheMissReason.LOOKUP_FAILED]: t("lookup failed"),
  [CacheMissReason.INPUTS]: t("new inputs"),
  [CacheMissReason.VERSION]: t("new cache version"),
  [CacheMissReason.INTERFACE]: t("new interface"),
};

const missesOf = ({ misses }: Use): number => misses.reduce((sum, one) => sum + Number(one.count), 0);
const rateOf = (use: Use): number | undefined => {
  const all = Number(use.hits) + missesOf(use);
  return all === 0 ? undefined : Number(use.hits) / all;
};

/** How often the cache was hit in the last seven days, by task, and why it was missed. */
export function CacheUse({ place, text, task, onTask }: CacheUseProps) {
  const answer = useQuery(CacheInsightService.method.listCacheUse, { projectId: { name: place.project, domain: place.domain } }, { refetchInterval: 10_000 });
  const rows = (answer.data?.tasks ?? []).filter((one) => one.task.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      <p className={css["muted"]}>{t("The last seven days (UTC). Tasks that do not use the cache are not listed.")}</p>
      <DataTable
        keys
        what={t("tasks")}
        label={t("Cache by task")}
        empty={<Empty title={text === "" ? t("No task has used the cache") : t("No tasks that use the cache match “{text}”", { text })} />}
        answer={answer}
        rows={rows}
        keyOf={(one) => one.task}
        attributesOf={(one) => ({ "data-testid": "cache-row", "data-name": one.task, ...(one.task === task && { "aria-current": true }) })}
        columns={columns(place, onTask)}
      />
      {task !== undefined && <Misses place={place} task={task} />}
    </>
  );
}

const columns = (place: Place, onTask: (task: string) => void): readonly Column<Use>[] => [
  {
    label: t("Task"),
    sortBy: ({ task }) => task,
    cell: ({ task }) => (
      <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task }}>
        {task}
      </Link>
    ),
  },
  {
    label: t("Hit rate"),
    number: true,
    sortBy: rateOf,
    cell: (use) => {
      const rate = rateOf(use);
      return rate === undefined ? "–" : percent(rate);
    },
  },
  { label: t("Hits"), number: true, descending: true, sortBy: ({ hits }) => hits, cell: ({ hits }) => count(hits) },
  { label: t("Misses"), number: true, descending: true, sortBy: missesOf, cell: (use) => count(missesOf(use)) },
  {
    label: t("Why missed"),
    wrap: true,
    cell: ({ misses }) =>
      [...misses]
        .sort((a, b) => Number(b.count - a.count))
        .map((one) => `${count(one.count)} ${words[one.reason]}`)
        .join(", "),
  },
  {
    label: t("Show misses"),
    hideLabel: true,
    cell: ({ task }) => (
      <Button small aria-label={t("Latest misses of {task}", { task })} onClick={() => onTask(task)}>
        {t("Latest misses")}
      </Button>
    ),
  },
];

/** The latest misses of a task, with what made their keys new. */
function Misses({ place, task }: { readonly place: Place; readonly task: string }) {
  const projectId = { name: place.project, domain: place.domain };
  const answer = useQuery(CacheInsightService.method.listCacheMisses, { projectId, task });
  const denied = useDenied(CacheInsightService.method.evictCacheEntries, place);
  const [wanted, setWanted] = useState<"all" | CacheMiss>();
  return (
    <section className={css["section"]} aria-label={t("Misses of {task}", { task })} data-testid="cache-misses">
      <div className={css["head"]}>
        <h2>{t("Latest misses of {task}", { task })}</h2>
        <div className={css["actions"]}>
          <Button denied={denied} onClick={() => setWanted("all")}>
            {t("Evict entries …")}
          </Button>
        </div>
      </div>
      <DataTable
        what={t("misses")}
        label={t("Misses of {task}", { task })}
        empty={<Empty title={t("No misses among the last 1,000 actions that ended")} />}
        answer={answer}
        rows={answer.data?.misses ?? []}
        keyOf={({ actionId }) => `${actionId?.run?.name ?? ""}/${actionId?.name ?? ""}`}
        attributesOf={() => ({ "data-testid": "cache-miss" })}
        columns={[
          { label: t("Action"), cell: ({ actionId }) => <ActionLink id={actionId} /> },
          { label: t("Ended"), cell: ({ endedAt }) => <When at={dateOf(endedAt)} relative /> },
          { label: t("Why"), wrap: true, cell: (miss) => <Why miss={miss} /> },
          {
            label: t("Evict"),
            hideLabel: true,
            cell: (miss) => (
              <Button small denied={denied} aria-label={t("Evict the entry of {name}", { name: miss.actionId?.name ?? "" })} onClick={() => setWanted(miss)}>
                {t("Evict")}
              </Button>
            ),
          },
        ]}
      />
      <Evict place={place} task={task} wanted={wanted} onClose={() => setWanted(undefined)} />
    </section>
  );
}

function ActionLink({ id }: { readonly id: CacheMiss["actionId"] }) {
  if (!id?.run) return null;
  return (
    <Link to="/domain/$domain/project/$project/runs/$run" params={{ project: id.run.project, domain: id.run.domain, run: id.run.name }} search={{ action: id.name }}>
      {id.run.name} · {id.name}
    </Link>
  );
}

function Why({ miss: { reason, inputs, message, comparedWith } }: { readonly miss: CacheMiss }) {
  return (
    <>
      {words[reason]}
      {inputs.length > 0 && `: ${inputs.join(", ")}`}
      <Note>
        {message}
        {comparedWith && (
          <>
            {`${t("; compared with")} `}
            <ActionLink id={comparedWith} />
          </>
        )}
      </Note>
    </>
  );
}

interface EvictProps {
  readonly place: Place;
  readonly task: string;
  readonly wanted: "all" | CacheMiss | undefined;
  readonly onClose: () => void;
}

/** Asks, then deletes the entry of an action, or those of all actions of the task, part by part. */
function Evict({ place, task, wanted, onClose }: EvictProps) {
  const notify = useNotify();
  const projectId = { name: place.project, domain: place.domain };
  const [busy, setBusy] = useState(false);
  const one = useMutation(CacheInsightService.method.evictCacheEntries);
  const [error, setError] = useState<unknown>();
  const evict = async () => {
    setBusy(true);
    setError(undefined);
    try {
      let evicted = 0;
      if (wanted !== "all" && wanted?.actionId) {
        evicted = (await one.mutateAsync({ projectId, task, actionId: wanted.actionId })).evicted;
      } else {
        for (let token = "", first = true; first || token !== ""; first = false) {
          const part = await client(CacheInsightService).evictCacheEntries({ projectId, task, token });
          evicted += part.evicted;
          token = part.token;
        }
      }
      notify("good", tn(evicted, "Evicted {n} entry", "Evicted {n} entries"));
      onClose();
    } catch (failed) {
      setError(failed);
    } finally {
      setBusy(false);
    }
  };
  const what = wanted === "all" ? t("all entries of {task}", { task }) : t("the entry of this action");
  return (
    <Dialog open={wanted !== undefined} onClose={onClose} title={t("Evict {what}?", { what })}>
      <p>{t("The next action with the same key runs, and its outputs are cached again. The outputs of earlier runs stay.")}</p>
      {error !== undefined && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind="danger" disabled={busy} onClick={() => void evict()}>
          {busy ? t("Evicting …") : t("Evict")}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
