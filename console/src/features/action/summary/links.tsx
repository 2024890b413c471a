import type { ReactNode } from "react";
import { isTerminal } from "@/design/phases";
import type { ActionAttempt } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import css from "./summary.module.css";

/** Links of plugins, such as dashboards, some of which end with the attempt. Only http and https URLs become links. */
export function linksOf(attempt: ActionAttempt | undefined): ReactNode {
  const over = attempt !== undefined && isTerminal(attempt.phase);
  const links = attempt?.logInfo.filter((link) => /^https?:\/\//i.test(link.uri) && !(over && link.HideOnceFinished)) ?? [];
  if (links.length === 0) return undefined;
  return (
    <span className={css["links"]}>
      {links.map((link) => (
        <a key={`${link.name} ${link.uri}`} href={link.uri} target="_blank" rel="noreferrer">
          {link.name || link.uri}
        </a>
      ))}
    </span>
  );
}
