import type { Said } from "@/texts/server";
import { t } from "@/texts/texts";
import { headline } from "./headline";
import css from "./apps.module.css";

/** A message; of a long one, such as a traceback, what it is about until it is opened. */
export function Message({ of: { text, lang } }: { readonly of: Said }) {
  const [, ...rest] = text.trim().split("\n");
  const first = headline(text);
  if (rest.length === 0)
    return (
      <span className={css["message"]} lang={lang}>
        {first}
      </span>
    );
  return (
    <details className={css["message"]} lang={lang}>
      <summary>{first}</summary>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
      <pre tabIndex={0} aria-label={t("The rest of the message")}>
        {rest.join("\n")}
      </pre>
    </details>
  );
}
