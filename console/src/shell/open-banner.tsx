import { isLoopback } from "@/app/loopback";
import { useMe } from "@/entities/access/use-me";
import { t } from "@/texts/texts";
import css from "./shell.module.css";

/** Says that access is open, where others may reach the server too. */
export function OpenBanner() {
  const me = useMe();
  if (!me?.open || isLoopback(location.hostname)) return null;
  return (
    <div role="note" className={css["open"]}>
      {t("Access is open: everybody who reaches this address may do everything.")}
    </div>
  );
}
