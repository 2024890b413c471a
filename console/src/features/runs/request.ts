import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { FilterSchema, ListRequest } from "@gen/flyteidl2/common/list_pb.js";
import { ListRequestSchema, Sort_Direction } from "@gen/flyteidl2/common/list_pb.js";
import { RunOrder, RunQueryService } from "@gen/flytebinary/insight/v1/queries_pb.js";
import type { ListRunsRequestSchema } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Run } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { client } from "@/api/transport";
import type { Place } from "@/app/place";
import { dateOf } from "@/design/format";
import { serviceOf } from "@/entities/run/kind";
import { canMatch } from "@/entities/run/query/match";
import { tryQuery } from "@/entities/run/query/parse";
import type { RunsSearch, Sort } from "./search";

const orders: Readonly<Record<Sort, readonly [key: string, direction: Sort_Direction, order: RunOrder]>> = {
  newest: ["created_at", Sort_Direction.DESCENDING, RunOrder.UNSPECIFIED],
  oldest: ["created_at", Sort_Direction.ASCENDING, RunOrder.OLDEST],
  updated: ["updated_at", Sort_Direction.DESCENDING, RunOrder.UPDATED],
  longest: ["duration_ms", Sort_Direction.DESCENDING, RunOrder.LONGEST],
  shortest: ["duration_ms", Sort_Direction.ASCENDING, RunOrder.SHORTEST],
};

export const orderOfSort = (sort: Sort | undefined): RunOrder => orders[sort ?? "newest"][2];

export function sortOfOrder(order: RunOrder): RunsSearch["sort"] {
  const [sort] = Object.entries(orders).find(([, [, , known]]) => known === order) ?? [];
  return sort === "newest" ? undefined : (sort as RunsSearch["sort"]);
}

/** The request for the first page of a list. */
export function listRequest(limit: number, sort: Sort = "newest", filters: readonly MessageInitShape<typeof FilterSchema>[] = []): ListRequest {
  const [key, direction] = orders[sort];
  return create(ListRequestSchema, { limit, token: "", filters: [...filters], sortByFields: [{ key, direction }] });
}

/** A request for the runs of a place. */
export const runsRequest = (place: Place, request: ListRequest) =>
  ({
    request,
    scopeBy: { case: "projectId", value: { organization: "flyte", name: place.project, domain: place.domain } },
  }) satisfies MessageInitShape<typeof ListRunsRequestSchema>;

/** A page of the runs that match a search. */
export interface RunsPage {
  readonly runs: readonly Run[];
  /** The token of the next page; empty on the last. */
  readonly token: string;
  /** Set if the server stopped before the page was full: when the last run that it looked at was created. */
  readonly lookedUntil?: Date | undefined;
  /** Whether the order is that of the newest runs only. */
  readonly ofNewest?: boolean;
}

export interface PageRequest {
  readonly limit: number;
  readonly token: string;
  readonly tracked: boolean;
}

/** Both, in the order of their index. */
const withoutTrigger = ["trigger_name", "trigger_task_name"].map((field) => ({ field, values: [""] }));

/**
 * Loads a page. Without a query it is the list of the contract, which every server has; but an order by duration has no index, so
 * that list would read all runs there are, and the query those of the newest only.
 */
export async function loadRuns(place: Place, search: RunsSearch, { limit, token, tracked }: PageRequest, signal: AbortSignal): Promise<RunsPage> {
  const { query = "", sort, untriggered } = search;
  const listed = runsRequest(place, { ...listRequest(limit, sort, untriggered ? withoutTrigger : []), token });
  const contract = () => client(serviceOf({ tracked })).listRuns(listed, { signal });
  if (query === "" && orders[sort ?? "newest"][0] !== "duration_ms") return contract();
  const projectId = { name: place.project, domain: place.domain };
  const request = { projectId, query, order: orderOfSort(sort), limit, token, tracked, untriggered: untriggered ?? false };
  try {
    const page = await client(RunQueryService).queryRuns(request, { signal });
    return { runs: page.runs, token: page.token, lookedUntil: dateOf(page.lookedUntil), ofNewest: page.orderOfNewest };
  } catch (error) {
    if (query !== "" || ConnectError.from(error).code !== Code.Unimplemented) throw error;
    return contract();
  }
}

/** Whether the stream of changes can keep a list up to date: it sends runs in creation order, with what lists have. */
export function canBeLive({ query = "", sort }: RunsSearch): boolean {
  const answer = tryQuery(query);
  return sort === undefined && "node" in answer && canMatch(answer.node);
}
