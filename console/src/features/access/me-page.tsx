import { Link } from "@tanstack/react-router";
import { useHere } from "@/app/places";
import { useTitle } from "@/app/title";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Loading } from "@/design/notice";
import { When } from "@/design/time";
import { askWords, placeWords, whereOf } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { Agents } from "./agents";
import { ChangePassword } from "./change-password";
import { Limits } from "./limits";
import css from "@/design/page.module.css";

/** Who the reader is, what it may do where, its limits, and its password. */
export function MePage() {
  const me = useMe();
  const here = useHere();
  useTitle(t("My account"));
  return (
    <div className={css["page"]}>
      <h1>{t("My account")}</h1>
      {!me && <Loading what={t("your account")} />}
      {me?.open && <p>{t("Access is open: everybody who reaches this address may do everything, and there are no accounts.")}</p>}
      {me && !me.open && (
        <Facts
          facts={[
            [t("Name"), me.name],
            [t("Subject"), <code key="subject">{me.subject}</code>],
            ["E-mail", me.email],
            [t("Groups"), me.groups.join(", ") || t("None")],
            [
              t("Roles"),
              me.grants.length === 0 ? (
                t("None")
              ) : (
                <ul key="roles" style={{ margin: 0, padding: 0, listStyle: "none" }}>
                  {me.grants.map(({ scope, roles }) => (
                    <li key={placeWords(whereOf(scope))}>
                      {t("{roles} in {placeWords}", { roles: roles.join(", "), placeWords: placeWords(whereOf(scope)) })}
                    </li>
                  ))}
                </ul>
              ),
            ],
            [t("For more"), askWords(me, here ?? "anywhere")],
            [t("Signed in by"), me.credential],
            [t("Until"), me.expiresAt && <When at={dateOf(me.expiresAt)} />],
          ]}
        />
      )}
      {me && (
        <p>
          <Link to="/keys">{t("My API keys")}</Link> · <Link to="/explain">{t("Explain access")}</Link>
        </p>
      )}
      <Limits />
      {me && <Agents open={me.open} />}
      {me !== undefined && me.account !== "" && <ChangePassword account={me.account} />}
    </div>
  );
}
