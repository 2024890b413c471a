import { Link } from "@tanstack/react-router";
import { CircleUser } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { GetMeResponse } from "@gen/flytebinary/access/v1/access_pb.js";
import { problemOf } from "@/api/problem";
import { signOut } from "@/api/session";
import { useHere } from "@/app/places";
import { Button, IconButton } from "@/design/button";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Popover } from "@/design/popover";
import { When } from "@/design/time";
import { useNotify } from "@/design/toast";
import { askWords, can, everywhere, placeWords, whereOf } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import css from "./shell.module.css";

/** Who the reader is, what it may do, and the way out. */
export function AccountMenu() {
  const me = useMe();
  const notify = useNotify();
  const [open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      label={t("Account")}
      align="end"
      trigger={
        <IconButton label={me && !me.open ? t("Account of {name}", { name: me.name || me.subject }) : t("Account")}>
          <CircleUser size={16} aria-hidden />
        </IconButton>
      }
    >
      <div className={css["account"]}>
        {!me && <p>{t("The server has not said yet who you are.")}</p>}
        {me?.open && <p>{t("Access is open: everybody who reaches this address may do everything.")}</p>}
        {me && !me.open && <Who me={me} />}
        {me && <Pages me={me} onGo={close} />}
        {me && !me.open && (
          <div>
            <Button onClick={() => void signOut().catch((error: unknown) => notify("danger", t("You are still signed in"), problemOf(error).message))}>{t("Sign out")}</Button>
          </div>
        )}
      </div>
    </Popover>
  );
}

function Who({ me }: { readonly me: GetMeResponse }) {
  const here = useHere();
  return (
    <>
      <strong>{me.name || me.subject}</strong>
      <Facts
        facts={[
          [t("Subject"), me.subject],
          ["E-mail", me.email],
          [t("Groups"), me.groups.join(", ")],
          [t("Roles"), me.grants.length === 0 ? t("None") : <Roles me={me} />],
          [t("For more"), askWords(me, here ?? "anywhere")],
          [t("Credential"), me.credential],
          [t("Until"), me.expiresAt && <When at={dateOf(me.expiresAt)} />],
        ]}
      />
    </>
  );
}

const Roles = ({ me }: { readonly me: GetMeResponse }) => (
  <ul>
    {me.grants.map(({ scope, roles }) => (
      <li key={`${scope?.project ?? ""}/${scope?.domain ?? ""}`}>
        {t("{roles} in {placeWords}", { roles: roles.join(", "), placeWords: placeWords(whereOf(scope)) })}
      </li>
    ))}
  </ul>
);

function Pages({ me, onGo }: { readonly me: GetMeResponse; readonly onGo: () => void }) {
  const here = useHere();
  const links: (ReactNode | false)[] = [
    <Link key="me" to="/me" onClick={onGo}>
      {t("My account and limits")}
    </Link>,
    <Link key="keys" to="/keys" onClick={onGo}>
      {t("My API keys")}
    </Link>,
    here && (
      <Link key="members" to="/domain/$domain/project/$project/members" params={here} onClick={onGo}>
        {t("Members and roles of {project}", { project: here.project })}
      </Link>
    ),
    <Link key="explain" to="/explain" search={here ?? {}} onClick={onGo}>
      {t("Explain access")}
    </Link>,
    (can(me, "audit.view", everywhere) || (here !== undefined && can(me, "audit.view", here))) && (
      <Link key="audit" to="/audit" search={can(me, "audit.view", everywhere) || !here ? {} : here} onClick={onGo}>
        {t("Audit")}
      </Link>
    ),
  ];
  if (can(me, "cluster.view", everywhere)) {
    links.push(
      <Link key="clusters" to="/clusters" onClick={onGo}>
        {t("Clusters")}
      </Link>,
    );
  }
  if (!me.open && can(me, "account.view", everywhere)) {
    links.push(
      <Link key="accounts" to="/accounts" onClick={onGo}>
        {t("Local accounts")}
      </Link>,
    );
  }
  return <nav aria-label={t("Access")}>{links}</nav>;
}
