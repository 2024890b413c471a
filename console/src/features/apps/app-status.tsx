import { State } from "@/design/phase";
import type { Shown } from "./words";
import css from "./apps.module.css";

/** The state of an app, with its detail. */
export function AppStatus({ shown: { look, detail } }: { readonly shown: Shown }) {
  return (
    <span className={css["status"]}>
      <State look={look} turning={look.key === "deploying"} />
      {detail && <span className={css["detail"]}>{detail}</span>}
    </span>
  );
}
