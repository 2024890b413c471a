import { Bell, BellOff } from "lucide-react";
import { Button } from "@/design/button";
import { setAlerts, useAlertSetting } from "./setting";
import { t } from "@/texts/texts";
import css from "../inbox.module.css";

/** Turns the notifications of the browser on and off. The browser asks the person only when this is clicked. */
export function AlertSwitch() {
  const setting = useAlertSetting();
  if (setting === "unsupported") return null;
  if (setting === "blocked") {
    return (
      <p className={css["alerts"]}>
        <BellOff size={14} aria-hidden /> {t("This browser blocks notifications of the console. Allow them in its settings for this site.")}
      </p>
    );
  }
  const on = setting === "on";
  return (
    <p className={css["alerts"]}>
      <Button small aria-pressed={on} onClick={() => void setAlerts(!on)}>
        <Bell size={14} aria-hidden /> {t("Browser notifications")}
      </Button>
      {on ? t("On: while no tab of the console is visible, you hear of approvals that wait for you and of your runs that fail.") : t("Off in this browser.")}
    </p>
  );
}
