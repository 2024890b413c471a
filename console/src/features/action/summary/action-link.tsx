import { Link } from "@tanstack/react-router";
import type { ActionIdentifier, RunIdentifier } from "@gen/flyteidl2/common/identifier_pb.js";
import type { ActionName } from "@/entities/action/name";
import { t } from "@/texts/texts";
import css from "./summary.module.css";

/** Links to an action. Actions of the same run are selected in place. */
export function ActionLink({ id, here, onSelect }: { readonly id: ActionIdentifier; readonly here: ActionName; readonly onSelect: (action: string) => void }) {
  const { run } = id;
  if (!run || (run.name === here.run.name && run.project === here.run.project && run.domain === here.run.domain)) {
    return (
      <button type="button" className={css["link"]} onClick={() => onSelect(id.name)}>
        {id.name}
      </button>
    );
  }
  return (
    <Link to="/domain/$domain/project/$project/runs/$run" params={{ project: run.project, domain: run.domain, run: run.name }} search={{ action: id.name }}>
      {t("{action} of run {run}", { action: id.name, run: run.name })}
    </Link>
  );
}

/** A link to a run, which may be in another project. */
export function RunLink({ run }: { readonly run: RunIdentifier }) {
  return (
    <Link to="/domain/$domain/project/$project/runs/$run" params={{ project: run.project, domain: run.domain, run: run.name }}>
      {run.name}
    </Link>
  );
}
