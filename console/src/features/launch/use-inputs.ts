import { useQuery } from "@tanstack/react-query";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import type { RunName } from "@/entities/run/kind";
import { loadInputs } from "./form/inputs";
import { sourceOfRun, withStartTime } from "./source";

/** Loads the source of a run, and its inputs for the form. */
export function useSource(run: RunName | undefined, action = "a0") {
  return useQuery({
    queryKey: ["launch-source", run, action],
    queryFn: async ({ signal }) => {
      if (!run) throw new Error("no run is selected");
      const source = withStartTime(await sourceOfRun(run, action, signal));
      return { source, inputs: await loadInputs(source.spec, source.inputs?.literals ?? [], signal) };
    },
    enabled: run !== undefined,
    staleTime: Infinity,
  });
}

/** Loads the inputs of a task, with the values of a source run or the defaults. */
export function useTaskInputs(key: string, spec: TaskSpec | undefined, from: Awaited<ReturnType<typeof sourceOfRun>> | undefined, ready: boolean) {
  return useQuery({
    queryKey: ["launch-inputs", key, from?.run, from?.action],
    queryFn: ({ signal }) => {
      if (!spec) throw new Error("no task is selected");
      return loadInputs(spec, from?.inputs?.literals ?? [], signal);
    },
    enabled: ready && spec !== undefined,
    staleTime: Infinity,
  });
}
