import { useEffect } from "react";
import { count, plural } from "@/design/format";
import { maxSearched } from "@/entities/run/model/inputs";
import type { RunModel } from "@/entities/run/model/run-model";

/** Reads the inputs of all actions while they are searched. Returns what is not searched, in words; empty for nothing. */
export function useInputSearch(model: RunModel, on: boolean): string {
  useEffect(() => {
    model.inputs.search("find", on);
    return () => model.inputs.search("find", false);
  }, [model, on]);
  if (!on) return "";
  const { unread, partial } = model.inputs;
  if (unread > 0) return `reading the inputs of ${plural(unread, "more action")} …`;
  if (!partial) return "";
  return model.size > maxSearched ? `inputs of the first ${count(maxSearched)} actions only` : "inputs not searched";
}
