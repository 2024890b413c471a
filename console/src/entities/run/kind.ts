import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { TrackedRunService } from "@gen/flyteidl2/workflow/tracked_run_service_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";

export interface RunName {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  /** Whether a client executes the run and only reports it. */
  readonly tracked?: boolean;
}

type Kind = Pick<RunName, "tracked">;

/** What differs between a run of the installation and a tracked one. Both services have the same reads. */
export const serviceOf = ({ tracked }: Kind) => (tracked ? TrackedRunService : RunService);

/** The source to name in requests about a run: only tracked runs have one. */
export const sourceOf = ({ tracked }: Kind): RunSource => (tracked ? RunSource.TRACKED : RunSource.UNSPECIFIED);

export const routeOf = ({ tracked }: Kind) =>
  tracked ? ("/domain/$domain/project/$project/tracked-runs/$run" as const) : ("/domain/$domain/project/$project/runs/$run" as const);

/** A key of a run. A tracked run may have the name of another run. */
export const keyOfRun = ({ project, domain, name, tracked }: RunName): string =>
  `${tracked ? "tracked:" : ""}${project}/${domain}/${name}`;
