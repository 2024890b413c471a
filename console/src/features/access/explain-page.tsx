import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { AccessService, MemberKind } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import type { Denial } from "@/design/denial";
import { Field, Input, Select } from "@/design/field";
import { DenialNotice, Loading, ProblemNotice } from "@/design/notice";
import { permissionGroups } from "@/entities/access/permissions";
import { useLacking, useMayRead } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";
import { Explanation } from "./explanation";
import { explainedKinds, ExplainSearch } from "./search";
import css from "./access.module.css";
import page from "@/design/page.module.css";

const kinds = { user: MemberKind.USER, group: MemberKind.GROUP, key: MemberKind.KEY } as const;
const kindNames = { user: t("User"), group: t("Group"), key: "API key" } as const;

/** Why someone may or may not do something. Everyone may ask about themselves. The question is in the URL. */
export function ExplainPage() {
  const search: ExplainSearch = useSearch({ strict: false });
  const { kind = "user", member = "", groups = "", permission = "", project = "", domain = "" } = search;
  const place = { project, domain };
  const noOthers = useLacking("access.explain", place);
  const denied = member === "" ? undefined : noOthers;
  const mayRead = useMayRead(denied);
  useTitle(t("Explain access"));
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ["access", "explain", search],
    queryFn: ({ signal }) =>
      client(AccessService).explain(
        {
          permission,
          scope: place,
          ...(member !== "" && { member: { kind: kinds[kind], name: member } }),
          ...(groups !== "" && { groups: groups.split(",").map((group) => group.trim()) }),
        },
        { signal },
      ),
    enabled: permission !== "" && mayRead,
    staleTime: 0,
  });
  return (
    <div className={page["page"]}>
      <h1>{t("Explain access")}</h1>
      <p className={page["muted"]}>{t("Why someone may or may not do something. Leave the member empty to ask about yourself.")}</p>
      <Question key={JSON.stringify(search)} search={search} noOthers={noOthers} />
      {denied !== undefined && <DenialNotice title={t("You may ask only about yourself here")} denial={denied} />}
      {isLoading && <Loading what={t("the answer")} />}
      {error && <ProblemNotice error={error} retry={() => void refetch()} />}
      {data && denied === undefined && <Explanation answer={data} permission={permission} place={place} own={member === ""} />}
    </div>
  );
}

function Question({ search, noOthers }: { readonly search: ExplainSearch; readonly noOthers: Denial | undefined }) {
  const navigate = useNavigate();
  const [kind, setKind] = useState<(typeof explainedKinds)[number]>(search.kind ?? "user");
  const text = (name: "member" | "groups" | "project" | "domain", label: string, hint: string) => (
    <Field label={label} hint={hint}>
      {(control) => <Input {...control} name={name} autoComplete="off" autoCapitalize="none" defaultValue={search[name] ?? ""} />}
    </Field>
  );
  return (
    <form
      className={css["filters"]}
      style={{ alignItems: "start" }}
      aria-label={t("Question")}
      onSubmit={(event) => {
        event.preventDefault();
        void navigate({ to: "/explain", search: ExplainSearch(Object.fromEntries(new FormData(event.currentTarget))) });
      }}
    >
      <Field label={t("Kind")}>
        {(control) => (
          <Select {...control} name="kind" value={kind} onChange={(event) => setKind(explainedKinds.find((one) => one === event.target.value) ?? "user")}>
            {explainedKinds.map((one) => (
              <option key={one} value={one}>
                {kindNames[one]}
              </option>
            ))}
          </Select>
        )}
      </Field>
      {text("member", t("Member"), noOthers?.why ?? (kind === "key" ? t("The ID of the key. Empty means you.") : t("The subject or the group. Empty means you.")))}
      {kind === "user" && text("groups", t("Groups"), t("Of the user at the identity provider, with commas between them."))}
      <Field label={t("Permission")} hint={t("What it is about.")}>
        {(control) => (
          <Select {...control} name="permission" required defaultValue={search.permission ?? ""}>
            <option value="">{t("Choose …")}</option>
            {permissionGroups.map(({ title, permissions }) => (
              <optgroup key={title} label={title}>
                {Object.entries(permissions).map(([permission, words]) => (
                  <option key={permission} value={permission}>
                    {words} ({permission})
                  </option>
                ))}
              </optgroup>
            ))}
          </Select>
        )}
      </Field>
      {text("project", t("Project"), t("Empty means every project."))}
      {text("domain", t("Domain"), t("Empty means every domain."))}
      <div className={css["buttons"]}>
        <Button type="submit" kind="primary">
          {t("Explain")}
        </Button>
      </div>
    </form>
  );
}
