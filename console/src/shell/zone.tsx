import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { zoneName } from "@/design/format";
import { Tooltip } from "@/design/tooltip";
import { t } from "@/texts/texts";
import css from "./shell.module.css";

/** The zone of all times of the console, which a press changes between UTC and that of the browser. The preferences have all others. */
export function Zone() {
  const { zone, setZone } = usePreferences();
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const name = zoneName(zone);
  const other = zone === "UTC" ? t("your time ({zone})", { zone: own }) : "UTC";
  return (
    <Tooltip text={t("Times are in {zone}. Press for {other}.", { zone: zone ?? own, other })}>
      <Button small kind="quiet" className={css["zone"]} aria-label={t("Times are in {name}. Show them in {other}", { name, other })} onClick={() => setZone(zone === "UTC" ? undefined : "UTC")}>
        {name}
      </Button>
    </Tooltip>
  );
}
