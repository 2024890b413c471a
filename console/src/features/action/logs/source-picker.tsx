import type { LogContext } from "@gen/flyteidl2/core/execution_pb.js";
import { Select } from "@/design/field";
import { t } from "@/texts/texts";
import type { Source } from "./tail";
import css from "./logs.module.css";

/** Chooses the containers whose log is shown; nothing if there is only one. */
export function SourcePicker({
  context,
  source,
  onSource,
}: {
  readonly context: LogContext | undefined;
  readonly source: Source;
  readonly onSource: (source: Source) => void;
}) {
  const pods = context?.pods ?? [];
  const containers = pods.reduce((sum, pod) => sum + pod.containers.length + pod.initContainers.length, 0);
  if (containers < 2) return null;
  const value = source.kind === "pod" ? `pod:${source.pod}` : source.kind;
  const choose = (next: string) => onSource(next.startsWith("pod:") ? { kind: "pod", pod: next.slice(4) } : { kind: next === "all" ? "all" : "primary" });
  return (
    <Select className={css["narrow"]} aria-label={t("Containers")} value={value} onChange={(event) => choose(event.target.value)}>
      <option value="primary">{t("Primary container")}</option>
      <option value="all">{t("All pods and containers")}</option>
      {pods.length > 1 &&
        pods.map((pod) => (
          <option key={pod.podName} value={`pod:${pod.podName}`}>
            {pod.podName}
          </option>
        ))}
    </Select>
  );
}
