import { useEffect } from "react";
import type { RunModel } from "@/entities/run/model/run-model";

/** Reads what tells these actions apart while the component is mounted. Who is a name of the component's own. */
export function useWanted(model: RunModel | undefined, who: string, rows: readonly number[]): void {
  const key = rows.join(",");
  useEffect(() => {
    model?.inputs.want(who, key === "" ? [] : key.split(",").map(Number));
  }, [model, who, key]);
  useEffect(() => () => model?.inputs.want(who, []), [model, who]);
}
