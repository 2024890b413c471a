import type { ExplainResponse } from "@gen/flytebinary/access/v1/access_pb.js";
import { Notice } from "@/design/notice";
import { Note, Table } from "@/design/table";
import { AskWhom } from "@/entities/access/ask-whom";
import { askWords, placeWords, whereOf, type Where } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import { kindWords } from "./words";
import page from "@/design/page.module.css";

interface ExplanationProps {
  readonly answer: ExplainResponse;
  readonly permission: string;
  readonly place: Where;
  /** Whether the reader asked about itself. */
  readonly own: boolean;
}

/** The decision, the bindings behind it, and what would change it. */
export function Explanation({ answer: { allowed, reason, bindings, roles }, permission, place, own }: ExplanationProps) {
  const me = useMe();
  return (
    <section className={page["section"]} aria-label={t("Answer")} data-testid="explanation" data-allowed={allowed}>
      <Notice tone={allowed ? "good" : "warning"} role="status" title={allowed ? t("Allowed") : t("Not allowed")}>
        <p>{reason}.</p>
        {!allowed && roles.length > 0 && (
          <p>
            {t("One of the roles {roles} in {placeWords} allows it.", { roles: roles.join(", "), placeWords: placeWords(place) })}{own && ` ${askWords(me, place)}`}
          </p>
        )}
        {!allowed && own && <AskWhom permission={permission} place={place} />}
      </Notice>
      {bindings.length > 0 && (
        <>
          <h2>{allowed ? t("The bindings that allow it") : t("What the member has there")}</h2>
          <Table
            label={t("Bindings")}
            rows={bindings}
            keyOf={({ id, member, role, scope }) => `${id}/${member?.name ?? ""}/${role}/${placeWords(whereOf(scope))}`}
            columns={[
              { label: t("Role"), cell: ({ role }) => role },
              {
                label: t("Member"),
                wrap: true,
                cell: ({ member }) => (
                  <span>
                    {member?.name}
                    <Note>{kindWords(member)}</Note>
                  </span>
                ),
              },
              { label: t("Where"), cell: ({ scope }) => placeWords(whereOf(scope)) },
              { label: t("Given by"), cell: ({ createdBy }) => createdBy },
            ]}
          />
        </>
      )}
    </section>
  );
}
