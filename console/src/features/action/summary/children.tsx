import { useQuery } from "@connectrpc/connect-query";
import { Filter_Function } from "@gen/flyteidl2/common/list_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { Action } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Phase } from "@/design/phase";
import { serviceOf } from "@/entities/run/kind";
import { actionId, type ActionName } from "@/entities/action/name";
import css from "./summary.module.css";

/** More would push the details out of the panel. The actions view lists all. */
const maxChildren = 10;

/** The first children of an action. */
export function Children({ action, live, onSelect }: { readonly action: ActionName; readonly live: boolean; readonly onSelect: (action: string) => void }) {
  const { data } = useQuery(
    serviceOf(action.run).method.listActions,
    {
      runId: actionId(action).run,
      request: { limit: maxChildren, filters: [{ field: "parent_name", function: Filter_Function.EQUAL, values: [action.name] }] },
    },
    { refetchInterval: live ? 5000 : false },
  );
  const children = data?.actions ?? [];
  if (children.length === 0) return null;
  return (
    <section className={css["section"]}>
      <h3>Children</h3>
      <ul className={css["children"]}>
        {children.map((child) => (
          <li key={child.id?.name}>
            <Phase phase={child.status?.phase ?? ActionPhase.UNSPECIFIED} compact />
            <button type="button" className={css["link"]} onClick={() => onSelect(child.id?.name ?? "")}>
              {nameOf(child)}
            </button>
          </li>
        ))}
      </ul>
      {data?.token && <p className={css["muted"]}>Showing the first {maxChildren}. The actions view lists all.</p>}
    </section>
  );
}

function nameOf(child: Action): string {
  const spec = child.metadata?.spec;
  const title = spec?.case === "task" ? spec.value.shortName : spec?.value?.name;
  return title || (child.id?.name ?? "");
}
