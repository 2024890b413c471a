import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { KeyService, type Key } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { useNow, When } from "@/design/time";
import { can, everywhere, placeWords, whereOf } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { CreateKeyDialog, RevokeDialog } from "./key-dialogs";
import { KeysSearch } from "./search";
import { keyState } from "./words";
import css from "@/design/page.module.css";

/** The API keys of the reader; those of everybody for those who administer keys. */
export function KeysPage() {
  const search: KeysSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const me = useMe();
  const now = useNow(60_000);
  const [creating, setCreating] = useState(false);
  const [revoked, setRevoked] = useState<Key>();
  const noCreate = useDenied(KeyService.method.createKey, "anywhere");
  const noRevoke = useDenied(KeyService.method.revokeKey, "anywhere");
  useTitle(t("API keys"));
  const { ended = false, all = false } = search;
  const { answer, rows } = usePages(
    ["access", "keys", ended, all],
    (token, signal) => client(KeyService).listKeys({ ended, all, limit: 100, token }, { signal }),
    (page) => page.keys,
  );
  const change = (next: KeysSearch) => void navigate({ to: "/keys", search: next, replace: true });
  const refetch = () => void answer.refetch();
  const columns: readonly (Column<Key> | false)[] = [
    {
      label: t("Name"),
      cell: ({ name, id, hint }) => (
        <>
          {name}
          <Note>
            {t("{id}, ends in {hint}", { id, hint })}
          </Note>
        </>
      ),
    },
    all && { label: t("Owner"), cell: ({ owner, service }) => (service ? t("A service, made by {owner}", { owner }) : owner) },
    { label: t("Roles"), cell: ({ roles }) => roles.map(({ role, scope }) => t("{role} in {placeWords}", { role, placeWords: placeWords(whereOf(scope)) })).join("; ") || t("None") },
    { label: t("Created"), cell: ({ createdAt }) => <When at={dateOf(createdAt)} relative /> },
    { label: t("Last used"), cell: ({ lastUsedAt }) => (lastUsedAt ? <When at={dateOf(lastUsedAt)} relative /> : t("Never")) },
    { label: t("Ends"), cell: (key) => <End of={key} now={now} /> },
    {
      label: t("Actions"),
      hideLabel: true,
      cell: (key) =>
        keyState(key, now) === "active" && (
          <Button small denied={noRevoke} onClick={() => setRevoked(key)} aria-label={t("Revoke {name}", { name: key.name })}>
            {t("Revoke")}
          </Button>
        ),
    },
  ];
  return (
    <ListPage
      title={all ? t("API keys") : t("My API keys")}
      what={t("keys")}
      label={t("API keys")}
      head={
        <>
          <label>
            <input type="checkbox" checked={ended} onChange={(event) => change(KeysSearch({ all, ended: event.target.checked }))} /> {t("Include ended")}
          </label>
          {me && can(me, "key.administer", everywhere) && (
            <label>
              <input type="checkbox" checked={all} onChange={(event) => change(KeysSearch({ ended, all: event.target.checked }))} /> {t("Of everybody")}
            </label>
          )}
          <div className={css["actions"]}>
            <Button kind="primary" denied={noCreate} onClick={() => setCreating(true)}>
              {t("Create key")}
            </Button>
          </div>
        </>
      }
      empty={
        <Empty title={t("No API keys")}>
          <p>{t("Programs that start runs without a person, such as those of a CI system, sign in with a key.")}</p>
        </Empty>
      }
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={({ id }) => id}
      attributesOf={({ id, name }) => ({ "data-testid": "key-row", "data-key": id, "data-name": name })}
    >
      <CreateKeyDialog open={creating} onClose={() => setCreating(false)} onChanged={refetch} />
      <RevokeDialog apiKey={revoked} onClose={() => setRevoked(undefined)} onChanged={refetch} />
    </ListPage>
  );
}

function End({ of, now }: { readonly of: Key; readonly now: number }) {
  const state = keyState(of, now);
  if (state === "active") return of.expiresAt ? <When at={dateOf(of.expiresAt)} /> : t("Never");
  return (
    <>
      <Tag>{state}</Tag> <When at={dateOf(of.revokedAt ?? of.expiresAt)} relative />
    </>
  );
}
