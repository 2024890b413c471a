import type { MessageInitShape } from "@bufbuild/protobuf";
import { Filter_Function, type FilterSchema } from "@gen/flyteidl2/common/list_pb.js";
import { Status_DeploymentStatus, type App } from "@gen/flyteidl2/app/app_definition_pb.js";
import type { EnrichedIdentity } from "@gen/flyteidl2/common/identity_pb.js";
import { stateOf, statusNames } from "./words";
import type { AppsSearch } from "./search";

/** The filters of the list, as the server applies them. */
export function filtersOf({ q, state, owner }: AppsSearch): MessageInitShape<typeof FilterSchema>[] {
  return [
    ...(q === undefined ? [] : [{ function: Filter_Function.CONTAINS_CASE_INSENSITIVE, field: "name", values: [q] }]),
    ...(state === undefined ? [] : [{ function: Filter_Function.VALUE_IN, field: "status_phase", values: statusNames(state) }]),
    ...(owner === undefined ? [] : [{ function: Filter_Function.EQUAL, field: "created_by", values: [owner] }]),
  ];
}

/** Whether an app that the stream sent belongs in the list. */
export function matches(app: App, { q, state, owner }: AppsSearch): boolean {
  const status = app.status?.conditions.at(-1)?.deploymentStatus ?? Status_DeploymentStatus.UNSPECIFIED;
  return (
    (q === undefined || (app.metadata?.id?.name ?? "").toLowerCase().includes(q.toLowerCase())) &&
    (state === undefined || stateOf(status) === state) &&
    (owner === undefined || subjectOf(app.spec?.creator) === owner)
  );
}

function subjectOf(identity: EnrichedIdentity | undefined): string {
  const principal = identity?.principal;
  return principal?.case === undefined ? "" : (principal.value.id?.subject ?? "");
}
