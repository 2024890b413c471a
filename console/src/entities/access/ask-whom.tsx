import { useQuery } from "@tanstack/react-query";
import { AccessService, MemberKind, type GetMeResponse, type Giver } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { CopyButton } from "@/design/copy";
import { t } from "@/texts/texts";
import { permissionWords } from "./permissions";
import { everywhere, placeWords, whereOf, type Where } from "./rights";
import { useMe } from "./use-me";
import css from "./access.module.css";

interface AskWhomProps {
  readonly permission: string;
  readonly place: Where | "anywhere";
}

/** Who can give the reader a permission, by name, and a request to send to them. */
export function AskWhom({ permission, place }: AskWhomProps) {
  const me = useMe();
  const scope = place === "anywhere" ? everywhere : place;
  const { data } = useQuery({
    queryKey: ["access", "givers", permission, scope],
    queryFn: ({ signal }) => client(AccessService).listGivers({ permission, scope }, { signal }),
    staleTime: 60_000,
  });
  if (!me || !data) return null;
  const request = requestWords(me, permission, place, data.roles[0], location.href);
  return (
    <div className={css["ask"]} data-testid="ask-whom">
      {data.givers.length > 0 && (
        <>
          <span>{t("Who can give you this:")}</span>
          <ul className={css["givers"]}>
            {data.givers.map((giver) => (
              <li key={`${giver.member?.kind ?? 0}/${giver.member?.name ?? ""}`}>
                <Name giver={giver} subject={t("Access to Flyte")} body={request} />
              </li>
            ))}
            {data.more && <li>{t("and others")}</li>}
          </ul>
        </>
      )}
      <span className={css["request"]}>
        <q>{request}</q>
        <CopyButton text={request} label={t("Copy the request")} />
      </span>
    </div>
  );
}

function Name({ giver: { member, name, email, scope }, subject, body }: { readonly giver: Giver; readonly subject: string; readonly body: string }) {
  const where = ` (${placeWords(whereOf(scope))})`;
  if (member?.kind === MemberKind.GROUP)
    return (
      <>
        {t("the group {name}{provider}", { name: member.name, provider: where })}
      </>
    );
  return (
    <>
      {name || member?.name}
      {email !== "" && (
        <>
          {", "}
          <a href={`mailto:${encodeURIComponent(email)}?${new URLSearchParams({ subject, body }).toString().replaceAll("+", "%20")}`}>{email}</a>
        </>
      )}
      {where}
    </>
  );
}

/** A request for a permission, to be sent to who can give it. */
export function requestWords(me: Pick<GetMeResponse, "subject" | "name">, permission: string, place: Where | "anywhere", role: string | undefined, page: string): string {
  const what = role === undefined ? t("the permission {permission}", { permission }) : t("the role {role}", { role });
  const who = me.name === "" || me.name === me.subject ? me.subject : `${me.name}, ${me.subject}`;
  return t("Please give me {what} in {placeWords}. I need {permission} ({permissionWords}) for {page}. My subject is {who}.", { what, placeWords: placeWords(place), permission, permissionWords: permissionWords(permission), page, who });
}
