import { useQuery } from "@connectrpc/connect-query";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { actionId, type ActionName } from "@/entities/action/name";
import { StoredFiles } from "@/entities/data/stored-files";
import { sourceOf } from "@/entities/run/kind";
import { valueOf } from "@/entities/value/value";
import { t } from "@/texts/texts";
import { interfaceOf } from "./interface-of";
import { ValueList } from "./value-list";
import css from "./data.module.css";

/** What an action returned, for its summary. Shows nothing if there is nothing, or if it cannot be read: the tab of the data says why. */
export function Outputs({ action, details }: { readonly action: ActionName; readonly details: ActionDetails }) {
  const request = { actionId: actionId(action), runSource: sourceOf(action.run) };
  const { data } = useQuery(DataProxyService.method.getActionData, request, { staleTime: Infinity, retry: 2 });
  const literals = data?.outputs?.literals ?? [];
  if (!data || literals.length === 0) return null;
  const values = literals.map(({ name, value }) => [name, valueOf(value)] as const);
  return (
    <section className={css["side"]} data-testid="returned">
      <h3>{values.length === 1 ? t("Output") : t("Outputs")}</h3>
      <StoredFiles action={action} values={values.map(([, value]) => value)} version={`${data.inputsUri} ${data.outputsUri}`}>
        <ValueList side="outputs" values={values} types={interfaceOf(details)?.outputs} file={`${action.run.name}-${action.name}`} />
      </StoredFiles>
    </section>
  );
}
