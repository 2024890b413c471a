import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { Button, buttonClass } from "@/design/button";
import { Facts } from "@/design/facts";
import { Loading, ProblemNotice } from "@/design/notice";
import { actionId } from "@/entities/action/name";
import { StoredFiles } from "@/entities/data/stored-files";
import type { RunName } from "@/entities/run/kind";
import { valueOf } from "@/entities/value/value";
import { ValueView } from "@/entities/value/value-view";
import { t } from "@/texts/texts";
import css from "./inbox.module.css";

/** How many inputs are shown; the others are on the page of the run. */
const most = 12;

/** What the action that asks was given, with previews of tables and files, and a link to its report. Loaded when it is opened. */
export function Evidence({ run, parent }: { readonly run: RunName; readonly parent: string }) {
  const [open, setOpen] = useState(false);
  return (
    <div className={css["evidence"]}>
      <Button small aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? t("Hide inputs") : t("Show inputs")}
      </Button>
      <Link
        className={buttonClass("plain", true)}
        to="/domain/$domain/project/$project/runs/$run"
        params={{ project: run.project, domain: run.domain, run: run.name }}
        search={{ action: parent, tab: "report" }}
      >
        {t("Report")}
      </Link>
      {open && <Inputs run={run} parent={parent} />}
    </div>
  );
}

function Inputs({ run, parent }: { readonly run: RunName; readonly parent: string }) {
  const action = { run, name: parent };
  const { data, error, refetch, isPending } = useQuery(DataProxyService.method.getActionData, { actionId: actionId(action) }, { staleTime: Infinity });
  const literals = data?.inputs?.literals;
  const values = useMemo(() => (literals ?? []).slice(0, most).map((one) => [one.name, valueOf(one.value)] as const), [literals]);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (isPending) return <Loading what={t("inputs")} />;
  if (values.length === 0) return <p className={css["muted"]}>{t("It has no inputs.")}</p>;
  return (
    <StoredFiles action={action} values={values.map(([, value]) => value)} version={data.inputsUri}>
      <Facts facts={values.map(([name, value]) => [name, <ValueView key={name} value={value} />] as const)} />
      {(literals?.length ?? 0) > most && <p className={css["muted"]}>{t("The first {count} inputs.", { count: most })}</p>}
    </StoredFiles>
  );
}
