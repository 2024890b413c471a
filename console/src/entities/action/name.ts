import { keyOfRun, type RunName } from "@/entities/run/kind";

export interface ActionName {
  readonly run: RunName;
  readonly name: string;
}

export const actionId = ({ run, name }: ActionName) => ({ run: { project: run.project, domain: run.domain, name: run.name }, name });
export const keyOf = ({ run, name }: ActionName): string => `${keyOfRun(run)}/${name}`;
