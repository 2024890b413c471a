import { Fragment, type ReactNode } from "react";
import css from "./parts.module.css";

/** Names and values in two columns; undefined, null, false and empty values are skipped. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={css["facts"]}>
      {facts
        .filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false)
        .map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </Fragment>
        ))}
    </dl>
  );
}

export function Tag({ children }: { readonly children: ReactNode }) {
  return <span className={css["tag"]}>{children}</span>;
}
