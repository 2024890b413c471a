import { ClusterRegistryService, type Credential } from "@gen/flytebinary/clusters/v1/clusters_pb.js";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { When } from "@/design/time";
import { everywhere } from "@/entities/access/rights";
import { useDenied } from "@/entities/access/use-denied";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

interface CredentialsProps {
  readonly of: readonly Credential[];
  readonly onRevoke: (credential: Credential) => void;
}

/** The credentials of a cluster, oldest first, with when they were used. */
export function Credentials({ of, onRevoke }: CredentialsProps) {
  const noRevoke = useDenied(ClusterRegistryService.method.revokeCredential, everywhere);
  if (of.length === 0) return t("None");
  return (
    <ul>
      {of.map((credential) => (
        <li key={credential.id} className={css["inline"]}>
          <span>
            {t("{id}, ends in {hint}, {used}", { id: credential.id, hint: credential.hint, used: credential.lastUsedAt ? `${t("used")} ` : t("never used") })}
            {credential.lastUsedAt && <When at={dateOf(credential.lastUsedAt)} relative />}
          </span>
          {credential.revokedAt ? (
            <span>
              <Tag>{t("revoked")}</Tag> <When at={dateOf(credential.revokedAt)} relative />
            </span>
          ) : (
            <Button small denied={noRevoke} onClick={() => onRevoke(credential)} aria-label={t("Revoke {id}", { id: credential.id })}>
              {t("Revoke")}
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
