import { useQuery } from "@connectrpc/connect-query";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { Facts } from "@/design/facts";
import { actionId, type ActionName } from "@/entities/action/name";
import { sourceOf } from "@/entities/run/kind";
import { valueOf } from "@/entities/value/value";
import { json } from "@/entities/value/write-json";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** How much is shown: of each value in characters, and of the values. */
const longest = 200;
const most = 8;

/** The inputs of a failed action, a line each. */
export function FailingInputs({ action }: { readonly action: ActionName }) {
  const { data } = useQuery(
    DataProxyService.method.getActionData,
    { actionId: actionId(action), runSource: sourceOf(action.run) },
    { staleTime: Infinity, retry: 1 },
  );
  const literals = data?.inputs?.literals ?? [];
  if (literals.length === 0) return null;
  return (
    <section className={css["section"]} aria-label={t("Inputs of the failed action")} data-testid="failing-inputs">
      <strong>{t("Inputs")}</strong>
      <Facts facts={literals.slice(0, most).map(({ name, value }) => [name, <code key={name}>{clipped(json(valueOf(value)))}</code>] as const)} />
      {literals.length > most && <p className={css["muted"]}>{t("and {count} more", { count: literals.length - most })}</p>}
    </section>
  );
}

const clipped = (text: string): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);
