import { Link } from "@tanstack/react-router";
import { useHere } from "@/app/places";
import { useTitle } from "@/app/title";
import { Facts } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Loading } from "@/design/notice";
import { When } from "@/design/time";
import { askWords, placeWords, whereOf } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { Agents } from "./agents";
import { ChangePassword } from "./change-password";
import { Limits } from "./limits";
import css from "@/design/page.module.css";

/** Who the reader is, what it may do where, its limits, and its password. */
export function MePage() {
  const me = useMe();
  const here = useHere();
  useTitle("My account");
  return (
    <div className={css["page"]}>
      <h1>My account</h1>
      {!me && <Loading what="your account" />}
      {me?.open && <p>Access is open: everybody who reaches this address may do everything, and there are no accounts.</p>}
      {me && !me.open && (
        <Facts
          facts={[
            ["Name", me.name],
            ["Subject", <code key="subject">{me.subject}</code>],
            ["E-mail", me.email],
            ["Groups", me.groups.join(", ") || "None"],
            [
              "Roles",
              me.grants.length === 0 ? (
                "None"
              ) : (
                <ul key="roles" style={{ margin: 0, padding: 0, listStyle: "none" }}>
                  {me.grants.map(({ scope, roles }) => (
                    <li key={placeWords(whereOf(scope))}>
                      {roles.join(", ")} in {placeWords(whereOf(scope))}
                    </li>
                  ))}
                </ul>
              ),
            ],
            ["For more", askWords(me, here ?? "anywhere")],
            ["Signed in by", me.credential],
            ["Until", me.expiresAt && <When at={dateOf(me.expiresAt)} />],
          ]}
        />
      )}
      {me && (
        <p>
          <Link to="/keys">My API keys</Link> · <Link to="/explain">Explain access</Link>
        </p>
      )}
      <Limits />
      {me && <Agents open={me.open} />}
      {me !== undefined && me.account !== "" && <ChangePassword account={me.account} />}
    </div>
  );
}
