import { useQuery } from "@tanstack/react-query";
import type { TaskSpec } from "@gen/flyteidl2/task/task_definition_pb.js";
import type { RunName } from "@/features/run/model/use-run-model";
import { loadInputs } from "./form/inputs";
import { sourceOfRun } from "./source";

/** Reads what a run ran, and its inputs as a form asks for them. */
export function useSource(run: RunName | undefined, action = "a0") {
  return useQuery({
    queryKey: ["launch-source", run, action],
    queryFn: async ({ signal }) => {
      if (!run) throw new Error("no run is asked for");
      const source = await sourceOfRun(run, action, signal);
      return { source, inputs: await loadInputs(source.spec, source.inputs?.literals ?? [], signal) };
    },
    enabled: run !== undefined,
    staleTime: Infinity,
  });
}

/** The inputs of a task, with its defaults, or with the values of a run where it has them. */
export function useTaskInputs(key: string, spec: TaskSpec | undefined, from: Awaited<ReturnType<typeof sourceOfRun>> | undefined, ready: boolean) {
  return useQuery({
    queryKey: ["launch-inputs", key, from?.run, from?.action],
    queryFn: ({ signal }) => {
      if (!spec) throw new Error("no task is asked for");
      return loadInputs(spec, from?.inputs?.literals ?? [], signal);
    },
    enabled: ready && spec !== undefined,
    staleTime: Infinity,
  });
}
