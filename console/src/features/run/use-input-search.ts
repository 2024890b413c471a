import { useEffect } from "react";
import { count } from "@/design/format";
import { maxSearched } from "@/entities/run/model/inputs";
import type { RunModel } from "@/entities/run/model/run-model";
import { t, tn } from "@/texts/texts";

/** Reads the inputs of all actions while they are searched. Returns what is not searched, in words; empty for nothing. */
export function useInputSearch(model: RunModel, on: boolean): string {
  useEffect(() => {
    model.inputs.search("find", on);
    return () => model.inputs.search("find", false);
  }, [model, on]);
  if (!on) return "";
  const { unread, partial } = model.inputs;
  if (unread > 0) return tn(unread, "reading the inputs of {n} more action …", "reading the inputs of {n} more actions …");
  if (!partial) return "";
  return model.size > maxSearched ? t("inputs of the first {maxSearched} actions only", { maxSearched: count(maxSearched) }) : t("inputs not searched");
}
