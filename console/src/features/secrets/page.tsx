import { useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { SecretService } from "@gen/flyteidl2/secret/secret_pb.js";
import { SecretType, type Secret } from "@gen/flyteidl2/secret/definition_pb.js";
import { client } from "@/api/transport";
import { usePages } from "@/api/use-pages";
import { useTitle } from "@/app/title";
import { Button } from "@/design/button";
import { Select } from "@/design/field";
import { dateOf } from "@/design/format";
import { ListPage } from "@/design/list-page";
import { Empty } from "@/design/notice";
import type { Column } from "@/design/table";
import { When } from "@/design/time";
import css from "@/design/page.module.css";
import { useDenied, useMayRead } from "@/entities/access/use-denied";
import { firstSecret } from "@/entities/project/first-commands";
import { t } from "@/texts/texts";
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
  useTitle(t("Secrets"), `${project} / ${domain}`);
  const noView = useDenied(SecretService.method.listSecrets, placeOf(scope, place));
  const { answer, rows } = usePages(
    ["secrets", scope, project, domain],
    (token, signal) => client(SecretService).listSecrets({ ...placeOf(scope, place), limit: 100, token }, { signal }),
    (page) => page.secrets,
    { enabled: useMayRead(noView) },
  );
  const noCreate = useDenied(SecretService.method.createSecret, placeOf(scope, place));
  const columns: readonly Column<Secret>[] = [
    { label: t("Name"), cell: nameOf },
    { label: t("Scope"), cell: ({ id }) => id && scopeWords(id) },
    { label: t("Type"), cell: ({ secretMetadata }) => (secretMetadata?.type === SecretType.IMAGE_PULL_SECRET ? t("Image pull secret") : t("Generic")) },
    { label: t("Created"), cell: ({ secretMetadata }) => <When at={dateOf(secretMetadata?.createdTime)} relative /> },
    {
      label: t("Actions"),
      hideLabel: true,
      cell: (secret) => <Actions secret={secret} onAsk={setAsked} />,
    },
  ];
  return (
    <ListPage
      title={t("Secrets")}
      what={t("secrets")}
      label={t("Secrets")}
      head={
        <>
          <Select
            className={css["select"]}
            aria-label={t("Scope")}
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
                {one === "project" ? "" : t(", and below")}
              </option>
            ))}
          </Select>
          <div className={css["actions"]}>
            <Button kind="primary" denied={noCreate} onClick={() => setAsked({ what: "create" })}>
              {t("Create secret")}
            </Button>
          </div>
        </>
      }
      empty={
        <Empty
          title={t("No secrets in {scope}", { scope: scopeWords(placeOf(scope, place)) })}
          command={firstSecret(placeOf(scope, place))}
        />
      }
      denied={noView}
      answer={answer}
      rows={rows}
      columns={columns}
      keyOf={(secret) => `${secret.id?.domain}/${secret.id?.project}/${nameOf(secret)}`}
      attributesOf={(secret) => ({ "data-testid": "secret-row", "data-name": nameOf(secret) })}
    >
      <SecretDialog asked={asked} place={place} scope={scope} onClose={() => setAsked(undefined)} onChanged={() => void answer.refetch()} />
    </ListPage>
  );
}

const nameOf = ({ id }: Secret): string => id?.name ?? "";

/** The buttons of a secret, which may be of a narrower scope than that of the page. */
function Actions({ secret, onAsk }: { readonly secret: Secret; readonly onAsk: (asked: Asked) => void }) {
  const at = { project: secret.id?.project ?? "", domain: secret.id?.domain ?? "" };
  const noUpdate = useDenied(SecretService.method.updateSecret, at);
  const noDelete = useDenied(SecretService.method.deleteSecret, at);
  return (
    <span className={css["inline"]}>
      <Button small denied={noUpdate} onClick={() => onAsk({ what: "update", secret })} aria-label={t("Replace value of {name}", { name: nameOf(secret) })}>
        {t("Replace value")}
      </Button>
      <Button small denied={noDelete} onClick={() => onAsk({ what: "delete", secret })} aria-label={t("Delete {name}", { name: nameOf(secret) })}>
        {t("Delete")}
      </Button>
    </span>
  );
}
