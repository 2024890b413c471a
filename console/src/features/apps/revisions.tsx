import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { AppInsightService, AppRevisionState, type AppRevision } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Diff } from "@/design/diff";
import { Tag } from "@/design/facts";
import { Field, Input } from "@/design/field";
import { dateOf } from "@/design/format";
import { More } from "@/design/data-table";
import { Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { useNotify } from "@/design/toast";
import type { Denial } from "@/design/denial";
import { useDenied } from "@/entities/access/use-denied";
import { whoIs } from "@/entities/person/who-is";
import { sayMessage } from "@/texts/server";
import { t } from "@/texts/texts";
import type { AppId } from "./id";
import { Message } from "./message";
import { changesOf, textsOf } from "./spec-text";
import { revisionWords } from "./words";
import page from "@/design/page.module.css";
import css from "./apps.module.css";

interface RevisionsProps {
  readonly id: AppId;
  /** The newest revision. */
  readonly current: bigint;
  readonly onChange: () => void;
}

/** The revisions of an app, newest first, with what each changed. */
export function Revisions({ id, current, onChange }: RevisionsProps) {
  const [chosen, setChosen] = useState<AppRevision>();
  const denied = useDenied(AppInsightService.method.rollBack, id);
  const { answer, rows: revisions } = usePages(
    ["app-revisions", id, String(current)],
    (token, signal) => client(AppInsightService).listRevisions({ appId: id, limit: 20, token }, { signal }),
    (page) => page.revisions,
    { refresh: 5_000 },
  );
  const refetch = () => void answer.refetch();
  if (answer.error) return <ProblemNotice error={answer.error} retry={refetch} />;
  if (!answer.data) return <Loading what={t("revisions")} />;
  const newest = revisions[0];
  const serving = revisions.find(({ state }) => state === AppRevisionState.SERVING)?.revision;
  return (
    <>
      <ol className={css["revisions"]} aria-label={t("Revisions")}>
        {revisions.map((revision, at) => (
          <Revision
            key={String(revision.revision)}
            revision={revision}
            before={revisions[at + 1]}
            denied={denied}
            onRollBack={revision === newest ? undefined : () => setChosen(revision)}
          />
        ))}
      </ol>
      <More answer={answer} label={t("Older revisions")} />
      {chosen && newest && (
        <RollBack
          id={id}
          serving={serving}
          from={newest}
          to={chosen}
          onClose={() => setChosen(undefined)}
          onDone={() => {
            setChosen(undefined);
            refetch();
            onChange();
          }}
        />
      )}
    </>
  );
}

interface RevisionProps {
  readonly revision: AppRevision;
  /** The one before it, as far as it is loaded. */
  readonly before: AppRevision | undefined;
  /** Why the reader may not roll back; undefined if it may. */
  readonly denied: Denial | undefined;
  readonly onRollBack: (() => void) | undefined;
}

function Revision({ revision, before, denied, onRollBack }: RevisionProps) {
  const [open, setOpen] = useState(false);
  const number = String(revision.revision);
  const changes = before && changesOf(before.spec, revision.spec);
  return (
    <li className={css["revision"]} data-testid="app-revision" data-revision={number}>
      <div className={css["line"]}>
        <strong>{t("Revision {revision}", { revision: number })}</strong>
        <Tag>{revisionWords(revision.state)}</Tag>
        <When at={dateOf(revision.createdAt)} />
        {whoIs(revision.createdBy) && <span>{t("by {who}", { who: whoIs(revision.createdBy) })}</span>}
        {revision.restores > 0n && <span>{t("restores revision {restores}", { restores: String(revision.restores) })}</span>}
        {onRollBack && (
          <Button small className={page["actions"] ?? ""} denied={denied} onClick={onRollBack} aria-label={t("Roll back to revision {revision}", { revision: number })}>
            {t("Roll back")}
          </Button>
        )}
      </div>
      {revision.reason && <p>{revision.reason}</p>}
      {revision.message && (
        <div className={revision.state === AppRevisionState.FAILED ? css["wrong"] : page["muted"]}>
          <Message of={sayMessage(revision.message)} />
        </div>
      )}
      {changes && (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{changes.length === 0 ? t("No changes") : t("Changed: {changes}", { changes: changes.join(", ") })}</summary>
          {open && <Diff label={t("Changes of revision {revision}", { revision: number })} {...textsOf(before.spec, revision.spec)} />}
        </details>
      )}
      {!changes && revision.revision === 1n && <p className={page["muted"]}>{t("The first revision")}</p>}
    </li>
  );
}

function RollBack({
  id,
  serving,
  from,
  to,
  onClose,
  onDone,
}: {
  readonly id: AppId;
  /** The revision that serves; undefined for none. */
  readonly serving: bigint | undefined;
  readonly from: AppRevision;
  readonly to: AppRevision;
  readonly onClose: () => void;
  readonly onDone: () => void;
}) {
  const [reason, setReason] = useState("");
  const notify = useNotify();
  const number = String(to.revision);
  const roll = useMutation({
    mutationFn: () => client(AppInsightService).rollBack({ appId: id, revision: to.revision, reason }),
    onSuccess: ({ app }) => {
      notify("good", t("Revision {revision} restores revision {restored}", { revision: String(app?.metadata?.revision ?? ""), restored: number }));
      onDone();
    },
  });
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("Roll back to revision {revision}", { revision: number })}
      description={serving === undefined ? t("Redeploys this spec as a new revision. No revision serves until it is ready.") : t("Redeploys this spec as a new revision. Revision {serving} keeps serving until it is ready.", { serving })}
    >
      <Diff
        label={t("Changes from revision {from} to revision {to}", { from: String(from.revision), to: number })}
        equal={t("No changes from revision {revision}.", { revision: String(from.revision) })}
        {...textsOf(from.spec, to.spec)}
      />
      <form
        className={page["section"]}
        onSubmit={(event) => {
          event.preventDefault();
          roll.mutate();
        }}
      >
        <Field label={t("Reason")} hint={t("Optional. Shown in the history.")}>
          {(control) => <Input {...control} autoComplete="off" maxLength={100} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
        {roll.error && <ProblemNotice error={roll.error} />}
        <DialogActions>
          <Button onClick={onClose}>{t("Cancel")}</Button>
          <Button type="submit" kind="primary" disabled={roll.isPending}>
            {t("Roll back")}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}
