import { CopyField } from "@/design/copy-field";
import css from "@/design/page.module.css";
import { t } from "@/texts/texts";

/** How to connect an agent, with the addresses of this installation. */
export function Agents({ open }: { readonly open: boolean }) {
  const { origin } = window.location;
  return (
    <section className={css["section"]} aria-labelledby="agents">
      <h2 id="agents">{t("Agents")}</h2>
      <p className={css["muted"]}>
        {t("Coding assistants and other agents can find runs, explain failures, and read logs, data and code through the Model Context Protocol. {value}", { value: open ? t("Anyone who reaches this address can connect one.") : t("Give each agent an API key of its own, with the role that it needs, as a bearer token.") })}
      </p>
      <CopyField label={t("Read only")} hint={t("Tools that change nothing; served unless mcp.enabled is false")} value={`${origin}/mcp`} />
      <CopyField label={t("With changes")} hint={t("Also reruns, recovers and aborts runs, and answers conditions; served unless mcp.changes is false")} value={`${origin}/mcp/changes`} />
    </section>
  );
}
