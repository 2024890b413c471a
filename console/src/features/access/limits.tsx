import { useQuery } from "@tanstack/react-query";
import { AccessService, type Limit } from "@gen/flytebinary/access/v1/access_pb.js";
import { client } from "@/api/transport";
import { useHere } from "@/app/places";
import { bytes, dateOf } from "@/design/format";
import { DataTable } from "@/design/data-table";
import { Empty } from "@/design/notice";
import { Note } from "@/design/table";
import { When } from "@/design/time";
import { t } from "@/texts/texts";
import { leftWords, limitWords, uploadedBytes } from "./words";
import css from "@/design/page.module.css";

/** How often what is left is read again, in milliseconds. */
const every = 5_000;

/** The limits of the reader, and of the current project, with what is left of them now. */
export function Limits() {
  const project = useHere()?.project ?? "";
  const answer = useQuery({
    queryKey: ["access", "limits", project],
    queryFn: async ({ signal }) => {
      const ask = (of: string) => client(AccessService).getLimits({ project: of }, { signal });
      // The last project may be one that the reader no longer sees.
      return project === "" ? ask("") : ask(project).catch(() => ask(""));
    },
    refetchInterval: every,
  });
  return (
    <section className={css["section"]} aria-labelledby="limits">
      <h2 id="limits">{t("Limits")}</h2>
      <p className={css["muted"]}>
        {t("Calls over a limit are refused with the time after which to try again. Each process of the server counts by itself, and this is the one that answered. Uploaded bytes are forgotten evenly over a day. Unfinished actions, waiting runs and stored bytes are those of all processes.")}
      </p>
      <DataTable<Limit>
        what={t("limits")}
        label={t("Limits")}
        answer={answer}
        rows={answer.data?.limits ?? []}
        keyOf={({ setting, project: of }) => `${setting}/${of}`}
        attributesOf={({ setting }) => ({ "data-testid": "limit-row", "data-setting": setting })}
        empty={<Empty title={t("No limits")} />}
        columns={[
          {
            label: t("What"),
            cell: ({ things, setting }) => (
              <>
                {things.charAt(0).toUpperCase() + things.slice(1)}
                <Note>{setting}</Note>
              </>
            ),
          },
          { label: t("Of"), cell: ({ project: of }) => (of === "" ? t("You") : t("All callers in {place}", { place: of })) },
          { label: t("Limit"), cell: limitWords },
          {
            label: t("Left now"),
            cell: (limit) => (
              <>
                {leftWords(limit)}
                {limit.things === uploadedBytes && limit.most > 0n && <Note>{t("{used} uploaded within a day", { used: bytes(Number(limit.used)) })}</Note>}
                {limit.measuredAt && (
                  <Note>
                    {t("{used} stored, measured {when}", { used: bytes(Number(limit.used)), when: <When at={dateOf(limit.measuredAt)} relative /> })}
                  </Note>
                )}
              </>
            ),
          },
        ]}
      />
    </section>
  );
}
