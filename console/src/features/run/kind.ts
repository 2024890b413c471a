import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import { TrackedRunService } from "@gen/flyteidl2/workflow/tracked_run_service_pb.js";
import { RunSource } from "@gen/flyteidl2/workflow/run_definition_pb.js";

/** Says of which kind a run is: one that a client executes and reports, or one of the installation. */
interface Kind {
  readonly tracked?: boolean;
}

/** What differs between a run of the installation and a tracked one. Both services have the same reads. */
export const serviceOf = ({ tracked }: Kind) => (tracked ? TrackedRunService : RunService);

/** The source to name in requests about a run: only tracked runs have one. */
export const sourceOf = ({ tracked }: Kind): RunSource => (tracked ? RunSource.TRACKED : RunSource.UNSPECIFIED);

/** The route of a run. */
export const routeOf = ({ tracked }: Kind) =>
  tracked ? ("/domain/$domain/project/$project/tracked-runs/$run" as const) : ("/domain/$domain/project/$project/runs/$run" as const);

/** Identifies a run. A tracked run may have the name of another run. */
export const keyOfRun = ({ project, domain, name, tracked }: Kind & { readonly project: string; readonly domain: string; readonly name: string }): string => `${tracked ? "tracked:" : ""}${project}/${domain}/${name}`;
