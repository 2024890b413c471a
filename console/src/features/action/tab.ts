import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import type { RunModel } from "@/entities/run/model/run-model";
import type { ActionName } from "@/entities/action/name";

export type PanelTab = "summary" | "io" | "logs" | "code" | "report" | "resources" | "pod";

/** A change of the panel, as it is written to the address; undefined removes a key. */
export interface PanelChange {
  readonly tab?: PanelTab | undefined;
  readonly attempt?: number | undefined;
  readonly line?: number | undefined;
  readonly file?: string | undefined;
}

/** What every tab of the panel gets. */
export interface TabProps {
  readonly action: ActionName;
  readonly model: RunModel;
  readonly details: ActionDetails;
  /** The attempt that is shown; 0 when there is none yet. */
  readonly attempt: number;
  readonly onChange: (next: PanelChange) => void;
  readonly onSelect: (action: string) => void;
}
