import { useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { CostService, type CostPart, type GetCostsResponse } from "@gen/flytebinary/insight/v1/cost_pb.js";
import type { Place } from "@/app/place";
import { useTitle } from "@/app/title";
import { DataTable } from "@/design/data-table";
import { Select } from "@/design/field";
import { count, dateOf } from "@/design/format";
import { Empty, Loading, Notice } from "@/design/notice";
import { Note, type Column } from "@/design/table";
import { Tabs } from "@/design/tabs";
import { When } from "@/design/time";
import { changed, costOf, hours, hoursOf } from "@/entities/use/use";
import { inSentence, t } from "@/texts/texts";
import { groups } from "./groups";
import { CostsSearch, spans, type SpanKey } from "./search";
import { measuredText, sharesOf, sharesText, Used } from "./used";
import page from "@/design/page.module.css";
import css from "./costs.module.css";

const spanNames: Readonly<Record<SpanKey, string>> = { today: t("Today"), week: "7 days", month: "30 days" };

/** What the runs of a project's domain cost, or of all projects: by task, run, owner and label. */
export function CostsPage() {
  const { project, domain } = useParams({ strict: false });
  const search: CostsSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const place: Place | undefined = project !== undefined && domain !== undefined ? { project, domain } : undefined;
  useTitle(t("Costs"), place ? `${place.project} / ${place.domain}` : t("all projects"));
  const span: SpanKey = search.span ?? "week";
  const by = search.by ?? "task";
  const group = groups[by];
  const answer = useQuery(
    CostService.method.getCosts,
    { days: spans[span], ...(place && { projectId: { name: place.project, domain: place.domain }, ...(group && { group: group.group }) }) },
    { placeholderData: keepPreviousData, refetchInterval: 30_000 },
  );
  const change = (next: Readonly<Record<string, unknown>>) => {
    const after = CostsSearch({ ...search, ...next });
    void (place
      ? navigate({ to: "/domain/$domain/project/$project/costs", params: place, search: after, replace: true })
      : navigate({ to: "/costs", search: after, replace: true }));
  };
  const currency = answer.data?.currency ?? "";
  const list = (
    <DataTable
      keys
      what={place ? (group?.what ?? t("tasks")) : t("projects")}
      label={currency === "" ? t("Use") : t("Costs")}
      empty={<Empty title={span === "today" ? t("Nothing has ended today") : t("Nothing has ended in the last {span}", { span: spanNames[span] })} />}
      answer={answer}
      rows={answer.data?.parts ?? []}
      keyOf={({ projectId, name }) => `${projectId?.name ?? ""}/${projectId?.domain ?? ""}/${name}`}
      attributesOf={({ projectId, name }) => ({ "data-testid": "cost-row", "data-name": name || (projectId?.name ?? "") })}
      columns={columns(place, by, currency, answer.data)}
    />
  );
  return (
    <div className={page["page"]}>
      <div className={page["head"]}>
        <h1>{t("Costs")}</h1>
        <Select className={page["select"]} aria-label={t("Time range")} value={span} onChange={({ target }) => change({ span: target.value })}>
          {Object.entries(spanNames).map(([key, name]) => (
            <option key={key} value={key}>
              {name}
            </option>
          ))}
        </Select>
        {place ? <Link to="/costs">{t("All projects")}</Link> : <span className={page["muted"]}>{t("of all projects")}</span>}
      </div>
      {answer.data && <Totals costs={answer.data} span={span} />}
      {/* What is below the totals would jump when they come. */}
      {answer.isLoading ? (
        <Loading what={t("costs")} />
      ) : place ? (
        <Tabs label={t("Costs by")} value={by} onChange={(next) => change({ by: next })} tabs={Object.entries(groups).map(([key, { label }]) => [key, t("By {label}", { label: inSentence(label) })] as const)}>
          <div className={page["tab"]}>{list}</div>
        </Tabs>
      ) : (
        list
      )}
      {!answer.isLoading && (
        <p className={page["muted"]}>
          {t("What actions request, times how long they have it, all attempts together. It counts on the day (UTC) on which an action ends.")}{" "}
          {t("Used is the share that was really used, of what was measured: of cores their time, of memory the peak of each attempt.")}
        </p>
      )}
    </div>
  );
}

function Totals({ costs, span }: { readonly costs: GetCostsResponse; readonly span: SpanKey }) {
  const { total, before, currency, days, missingSetting } = costs;
  if (!total) return null;
  const amount = (use: typeof total): number => (currency === "" ? use.coreHours : use.cost);
  const highest = Math.max(...days.map(amount), 1e-9);
  const by = before && changed(amount(total), amount(before));
  const shares = sharesOf(total);
  const title = (day: typeof total) => {
    const used = sharesOf(day);
    return used ? `${costOf(day, currency)}, ${t("used: {shares}", { shares: sharesText(used) })}` : costOf(day, currency);
  };
  return (
    <>
      <div className={css["totals"]} data-testid="cost-total">
        <strong>{costOf(total, currency)}</strong>
        {by !== undefined && before && (
          <span title={t("{cost} before", { cost: costOf(before, currency) })}>
            {t("{change} against {span}", { change: by, span: span === "today" ? t("yesterday, the whole day") : t("the {span} before", { span: spanNames[span] }) })}
          </span>
        )}
        <span>{hoursOf(total, currency !== "")}</span>
        {shares && <span title={measuredText(shares)}>{t("used: {shares}", { shares: sharesText(shares) })}</span>}
        {days.length > 1 && (
          <span className={css["days"]} role="img" aria-label={t("By day, the last one today: {days}", { days: days.map(title).join("; ") })}>
            {days.map((day, at) => (
              <span key={at} style={{ height: `${2 + (22 * amount(day)) / highest}px` }} title={title(day)} />
            ))}
          </span>
        )}
      </div>
      {missingSetting !== "" && (
        <Notice title={currency === "" ? t("No prices are set") : t("Some of this has no price")}>
          <p>
            {t("Set {setting} in the configuration to see money, for example {example}: the prices of a core and of a GiB for an hour.", { setting: <code>{missingSetting}</code>, example: <code>core=0.04 memory=0.005</code> })}
          </p>
        </Notice>
      )}
    </>
  );
}

function columns(place: Place | undefined, by: string, currency: string, costs: GetCostsResponse | undefined): readonly (Column<CostPart> | false)[] {
  const total = costs?.total ? (currency === "" ? costs.total.coreHours : costs.total.cost) : 0;
  const amount = ({ use }: CostPart): number => (use ? (currency === "" ? use.coreHours : use.cost) : 0);
  return [
    {
      label: place ? (groups[by]?.label ?? t("Name")) : t("Project"),
      wrap: true,
      sortBy: ({ projectId, name }) => name || (projectId?.name ?? ""),
      cell: (part) => <Name place={place} by={by} part={part} />,
    },
    currency === ""
      ? { label: "Core-h", number: true, descending: true, sortBy: amount, cell: ({ use }) => hours(use?.coreHours ?? 0) }
      : { label: t("Cost"), number: true, descending: true, sortBy: amount, cell: ({ use }) => use && costOf(use, currency) },
    {
      label: t("Share"),
      number: true,
      hint: t("Of everything in this time. A run with several labels counts under each."),
      cell: (part) => (total > 0 ? `${Math.round((100 * amount(part)) / total)} %` : "–"),
    },
    currency !== "" && { label: "Core-h", number: true, descending: true, sortBy: ({ use }) => use?.coreHours, cell: ({ use }) => hours(use?.coreHours ?? 0) },
    { label: "GiB-h", number: true, descending: true, sortBy: ({ use }) => use?.gibHours, cell: ({ use }) => hours(use?.gibHours ?? 0) },
    { label: "GPU-h", number: true, descending: true, sortBy: ({ use }) => use?.gpuHours, cell: ({ use }) => hours(use?.gpuHours ?? 0) },
    {
      label: t("Used"),
      hint: t("What was really used of what was requested, as far as it was measured."),
      sortBy: ({ use }) => {
        const shares = sharesOf(use);
        return shares?.cores ?? shares?.memory;
      },
      cell: ({ use, name }) => <Used use={use} task={place && by === "task" && name !== "…" ? { ...place, task: name } : undefined} />,
    },
    by !== "run" && { label: t("Actions"), number: true, descending: true, sortBy: ({ actions }) => actions, cell: ({ actions }) => count(actions) },
    by === "run" && place !== undefined && { label: t("Created"), sortBy: ({ createdAt }) => createdAt?.seconds, cell: ({ createdAt }) => <When at={dateOf(createdAt)} /> },
  ];
}

/** The name of a part, with a link to what has that name. */
function Name({ place, by, part: { projectId, name, task } }: { readonly place: Place | undefined; readonly by: string; readonly part: CostPart }) {
  if (!place) {
    const of = { project: projectId?.name ?? "", domain: projectId?.domain ?? "" };
    return (
      <Link to="/domain/$domain/project/$project/costs" params={of}>
        {of.project} / {of.domain}
      </Link>
    );
  }
  if (name === "…") return <>{t("all further ones")}</>;
  switch (by) {
    case "task":
      return (
        <Link to="/domain/$domain/project/$project/tasks/$task" params={{ ...place, task: name }}>
          {name}
        </Link>
      );
    case "run":
      return (
        <>
          <Link to="/domain/$domain/project/$project/runs/$run" params={{ ...place, run: name }}>
            {name}
          </Link>
          <Note>{task}</Note>
        </>
      );
    default:
      return <>{name}</>;
  }
}
