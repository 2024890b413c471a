import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccessService, type Binding } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button, buttonClass } from "@/design/button";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { When } from "@/design/time";
import { placeWords, whereOf, type Where } from "@/entities/access/rights";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { AddMemberDialog, RemoveMemberDialog } from "./member-dialogs";
import { Roles } from "./roles";
import { memberScopes, MembersSearch, type MemberScope } from "./search";
import { kindWords, memberName } from "./words";
import css from "@/design/page.module.css";

const placeAt = (scope: MemberScope, { project, domain }: Where): Where => ({
  project: scope === "installation" ? "" : project,
  domain: scope === "domain" ? domain : "",
});

const configured = "configuration";

/** Who has which role in a project's domain, in the project, or in the installation, and what each role may do. */
export function MembersPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: MembersSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const [adding, setAdding] = useState(false);
  const [removed, setRemoved] = useState<Binding>();
  const here = { project, domain };
  const place = placeAt(search.scope ?? "domain", here);
  const noView = useDenied(AccessService.method.listBindings, place);
  const noAdd = useDenied(AccessService.method.createBinding, place);
  useTitle(t("Members and roles"), `${project} / ${domain}`);
  const { answer, rows } = usePages(
    ["access", "bindings", place.project, place.domain],
    (token, signal) => client(AccessService).listBindings({ scope: place, limit: 100, token }, { signal }),
    (page) => page.bindings,
    { enabled: useMayRead(noView) },
  );
  const refetch = () => void answer.refetch();
  const columns: readonly Column<Binding>[] = [
    {
      label: t("Member"),
      cell: (binding) => (
        <>
          {memberName(binding)}
          <Note>
            {kindWords(binding.member)} {binding.keyName !== "" && binding.member?.name}
          </Note>
        </>
      ),
    },
    { label: t("Role"), cell: ({ role }) => role },
    { label: t("Where"), cell: ({ scope }) => placeWords(whereOf(scope)) },
    {
      label: t("Added"),
      cell: ({ createdBy, createdAt }) =>
        createdBy === configured ? (
          t("In the configuration")
        ) : (
          <span>
            {t("{when} by {who}", { when: <When at={dateOf(createdAt)} relative />, who: createdBy })}
          </span>
        ),
    },
    {
      label: t("Actions"),
      hideLabel: true,
      cell: (binding) => binding.createdBy !== configured && <Remove binding={binding} onRemove={() => setRemoved(binding)} />,
    },
  ];
  return (
    <ListPage
      title={t("Members and roles")}
      what={t("members")}
      label={t("Members")}
      head={
        <>
          <Select
            className={css["select"]}
            aria-label={t("Scope")}
            value={search.scope ?? "domain"}
            onChange={(event) =>
              void navigate({
                to: "/domain/$domain/project/$project/members",
                params: here,
                search: MembersSearch({ scope: event.target.value }),
                replace: true,
              })
            }
          >
            {memberScopes.map((scope) => (
              <option key={scope} value={scope}>
                {placeWords(placeAt(scope, here))}
              </option>
            ))}
          </Select>
          <div className={css["actions"]}>
            <Link to="/explain" search={{ ...(place.project !== "" && { project }), ...(place.domain !== "" && { domain }) }} className={buttonClass()}>
              {t("Explain access")}
            </Link>
            <Button kind="primary" denied={noAdd} onClick={() => setAdding(true)}>
              {t("Add member")}
            </Button>
          </div>
        </>
      }
      empty={<Empty title={t("No roles are given in {placeWords}", { placeWords: placeWords(place) })} />}
      denied={noView}
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={({ id, member, role }) => `${id}/${member?.name ?? ""}/${role}`}
      attributesOf={({ member, role }) => ({ "data-testid": "member-row", "data-name": member?.name ?? "", "data-role": role })}
    >
      <Roles />
      <AddMemberDialog open={adding} here={here} place={place} onClose={() => setAdding(false)} onChanged={refetch} />
      <RemoveMemberDialog binding={removed} onClose={() => setRemoved(undefined)} onChanged={refetch} />
    </ListPage>
  );
}

function Remove({ binding, onRemove }: { readonly binding: Binding; readonly onRemove: () => void }) {
  const denied = useDenied(AccessService.method.deleteBinding, whereOf(binding.scope));
  return (
    <Button small denied={denied} onClick={onRemove} aria-label={t("Remove {role} from {name}", { role: binding.role, name: memberName(binding) })}>
      {t("Remove")}
    </Button>
  );
}
