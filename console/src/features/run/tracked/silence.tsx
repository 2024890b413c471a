import { Notice } from "@/design/notice";
import { duration } from "@/design/format";
import { useNow } from "@/design/time";
import type { RunModel } from "@/entities/run/model/run-model";
import { t } from "@/texts/texts";
import { lastReport, silentAfter } from "./last-report";

/** Says that the client of a live tracked run has not reported for a while. */
export function Silence({ model, live }: { readonly model: RunModel; /** Renders changes of the model. */ readonly version: number; readonly live: boolean }) {
  useNow(30_000, live);
  if (!live || model.size === 0) return null;
  const silent = model.now - lastReport(model);
  if (silent < silentAfter) return null;
  return (
    <div data-testid="silence">
      <Notice tone="warning" title={t("No report for {silent}", { silent: duration(silent) })}>
        <p>
          {t("The process that executes this run reports only when an action starts or ends. It may be in a long task, or it may have died. If it has died, abort the run.")}
        </p>
      </Notice>
    </div>
  );
}
