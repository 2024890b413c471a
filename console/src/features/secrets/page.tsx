import { useInfiniteQuery } from "@tanstack/react-query";
import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { SecretService } from "@gen/flyteidl2/secret/secret_pb.js";
import { SecretType, type Secret } from "@gen/flyteidl2/secret/definition_pb.js";
import { client } from "@/api/transport";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import css from "@/design/list.module.css";
import { SecretDialog, type Asked } from "./dialogs";
import { scopes, SecretsSearch, type Scope } from "./search";
import { placeOf, scopeWords } from "./secret";

/** The secrets of a project's domain, of the domain, or of the organization. Their values can be set, never shown. */
export function SecretsPage() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const search: SecretsSearch = useSearch({ strict: false });
  const scope: Scope = search.scope ?? "project";
  const navigate = useNavigate();
  const [asked, setAsked] = useState<Asked>();
  const place = { project, domain };
  useTitle("Secrets", `${project} / ${domain}`);
  const answer = useInfiniteQuery({
    queryKey: ["secrets", scope, project, domain],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => client(SecretService).listSecrets({ ...placeOf(scope, place), limit: 100, token: pageParam }, { signal }),
    getNextPageParam: (page) => page.token || undefined,
  });
  const secrets = answer.data?.pages.flatMap((page) => page.secrets) ?? [];
  return (
    <div className={css["page"]}>
      <div className={css["head"]}>
        <h1>Secrets</h1>
        <Select
          className={css["versions"]}
          aria-label="Scope"
          value={scope}
          onChange={(event) =>
            void navigate({
              to: "/domain/$domain/project/$project/secrets",
              params: place,
              search: SecretsSearch({ scope: event.target.value }),
              replace: true,
            })
          }
        >
          {scopes.map((one) => (
            <option key={one} value={one}>
              {scopeWords(placeOf(one, place))}
              {one === "project" ? "" : ", and below"}
            </option>
          ))}
        </Select>
        <div className={css["do"]}>
          <Button kind="primary" onClick={() => setAsked({ what: "create" })}>
            Create secret
          </Button>
        </div>
      </div>
      {answer.error && <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />}
      {answer.isLoading && <Loading what="secrets" />}
      {answer.isSuccess && secrets.length === 0 && !answer.hasNextPage && (
        <Empty
          title={`No secrets in ${scopeWords(placeOf(scope, place))}`}
          command={`flyte create secret my-key${scope === "project" ? ` -p ${project}` : ""}${scope === "organization" ? "" : ` -d ${domain}`}`}
        />
      )}
      {secrets.length > 0 && (
        <table className={css["tasks"]} aria-label="Secrets">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Scope</th>
              <th scope="col">Type</th>
              <th scope="col">Created</th>
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {secrets.map((secret) => (
              <Row key={`${secret.id?.domain}/${secret.id?.project}/${secret.id?.name}`} secret={secret} onAsk={setAsked} />
            ))}
          </tbody>
        </table>
      )}
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            {answer.isFetchingNextPage ? "Loading …" : "More secrets"}
          </Button>
        </div>
      )}
      <SecretDialog asked={asked} place={place} scope={scope} onClose={() => setAsked(undefined)} onChanged={() => void answer.refetch()} />
    </div>
  );
}

function Row({ secret, onAsk }: { readonly secret: Secret; readonly onAsk: (asked: Asked) => void }) {
  const { id, secretMetadata } = secret;
  const name = id?.name ?? "";
  return (
    <tr data-testid="secret-row" data-name={name}>
      <th scope="row">{name}</th>
      <td data-label="Scope">{id && scopeWords(id)}</td>
      <td data-label="Type">{secretMetadata?.type === SecretType.IMAGE_PULL_SECRET ? "Image pull secret" : "Generic"}</td>
      <td data-label="Created">
        <When at={dateOf(secretMetadata?.createdTime)} relative />
      </td>
      <td>
        <span className={css["last"]}>
          <Button small onClick={() => onAsk({ what: "update", secret })} aria-label={`Replace value of ${name}`}>
            Replace value
          </Button>
          <Button small onClick={() => onAsk({ what: "delete", secret })} aria-label={`Delete ${name}`}>
            Delete
          </Button>
        </span>
      </td>
    </tr>
  );
}
