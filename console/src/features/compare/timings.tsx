import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import { Fragment, useMemo, useState } from "react";
import { Button } from "@/design/button";
import { count, duration } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { Phase, PhaseNumbers } from "@/design/phase";
import { useModelVersion, useRunModel } from "@/entities/run/model/use-run-model";
import type { RunName } from "@/entities/run/kind";
import { none, type RunModel } from "@/entities/run/model/run-model";
import { distinctionOf, nameOf } from "@/entities/action/identity";
import { useWanted } from "@/entities/action/use-wanted";
import { fixed, t, tn } from "@/texts/texts";
import { alignTitles, change, pairsOf, durationOf, type Pair, type Share } from "./align";
import { WhyLonger } from "./why-longer";
import css from "./compare.module.css";

const pageSize = 200;

/** The durations of the actions of both runs by task, and on demand one by one. */
export function Timings({ a, b, marks }: { readonly a: RunName; readonly b: RunName; readonly marks: readonly [string, string] }) {
  const left = useRunModel(a);
  const right = useRunModel(b);
  const versions = [useModelVersion(left.model), useModelVersion(right.model)];
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  // eslint-disable-next-line react-hooks/exhaustive-deps -- the models change in place; their versions say when
  const rows = useMemo(() => alignTitles(left.model, right.model), [left.model, right.model, ...versions]);
  const [limit, setLimit] = useState(pageSize);
  const problem = left.problem ?? right.problem;
  if (problem) return <ProblemNotice error={problem} />;
  if (left.model.size === 0 || right.model.size === 0) return <Loading what={t("actions")} />;
  const toggle = (title: string) =>
    setOpen((before) => {
      const next = new Set(before);
      if (!next.delete(title)) next.add(title);
      return next;
    });
  return (
    <section className={css["section"]} data-testid="compare-timings">
      <h2>{t("Actions")}</h2>
      <WhyLonger left={left.model} right={right.model} versions={versions} marks={marks} />
      <div className={css["sides"]}>
        <Total mark={marks[0]} model={left.model} />
        <Total mark={marks[1]} model={right.model} />
      </div>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
      <div className={css["scroller"]} tabIndex={0} role="region" aria-label={t("Durations of the actions")}>
        {/* eslint-disable-next-line no-restricted-syntax -- rows unfold into rows of the pairs */}
        <table className={css["timings"]}>
          <thead>
            <tr>
              <th scope="col">{t("Task")}</th>
              <th scope="col">{marks[0]}</th>
              <th scope="col">{marks[1]}</th>
              <th scope="col">{t("Difference")}</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, limit).map((row) => (
              <Fragment key={row.title}>
                <tr data-title={row.title}>
                  <th scope="row">
                    <button type="button" className={css["open"]} aria-expanded={open.has(row.title)} onClick={() => toggle(row.title)}>
                      {open.has(row.title) ? <ChevronDown size={14} aria-hidden /> : <ChevronRight size={14} aria-hidden />}
                      {row.title}
                    </button>
                  </th>
                  <td>
                    <Amount share={row.a} />
                  </td>
                  <td>
                    <Amount share={row.b} />
                  </td>
                  <td>
                    <Difference a={row.a.count > 0 ? row.a.total : undefined} b={row.b.count > 0 ? row.b.total : undefined} />
                  </td>
                </tr>
                {open.has(row.title) && <Pairs title={row.title} a={a} b={b} left={left.model} right={right.model} />}
              </Fragment>
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > limit && (
        <div>
          <Button small onClick={() => setLimit(limit + pageSize)}>
            {t("Show more of {rows} tasks", { rows: count(rows.length) })}
          </Button>
        </div>
      )}
    </section>
  );
}

function Total({ mark, model }: { readonly mark: string; readonly model: RunModel }) {
  return (
    <div className={css["total"]}>
      <strong>{mark}</strong> {tn(model.size, "{n} action", "{n} actions")} <PhaseNumbers counts={model.counts} />
    </div>
  );
}

function Amount({ share }: { readonly share: Share }) {
  if (share.count === 0) return <span className={css["muted"]}>–</span>;
  return (
    <>
      {duration(share.total)}
      <span className={css["detail"]}>
        {[
          share.count > 1 && t("{count} actions", { count: count(share.count) }),
          share.count > 1 && share.median !== undefined && t("median {median}", { median: duration(share.median) }),
          share.count > 1 && t("at most {longest}", { longest: duration(share.longest) }),
          share.failed > 0 && t("{failed} failed", { failed: count(share.failed) }),
          share.cached > 0 && t("{cached} reused", { cached: count(share.cached) }),
        ]
          .filter(Boolean)
          .join(", ")}
      </span>
    </>
  );
}

/** With a sign, so that the color does not carry the meaning alone. */
function Difference({ a, b }: { readonly a: number | undefined; readonly b: number | undefined }) {
  if (a === undefined || b === undefined) return <span className={css["muted"]}>{a === undefined ? t("only in B") : t("only in A")}</span>;
  const by = b - a;
  const percent = change(a, b);
  // Times have a resolution of a millisecond.
  if (Math.abs(by) < 1) return <span className={css["muted"]}>{t("same")}</span>;
  return (
    <span className={by > 0 ? css["slower"] : css["faster"]}>
      {by > 0 ? "+" : "−"}
      {duration(Math.abs(by))}
      <span className={css["detail"]}>
        {percent === undefined ? "" : `${by > 0 ? "+" : "−"}${Math.abs(percent) < 10 ? fixed(Math.abs(percent), 1) : Math.round(Math.abs(percent))} %`}
      </span>
    </span>
  );
}

interface PairsProps {
  readonly title: string;
  readonly a: RunName;
  readonly b: RunName;
  readonly left: RunModel;
  readonly right: RunModel;
}

function Pairs({ title, a, b, left, right }: PairsProps) {
  const [limit, setLimit] = useState(50);
  const pairs = pairsOf(left, right, title);
  const shown = pairs.slice(0, limit);
  const rowsOf = (side: "a" | "b") => shown.flatMap((pair) => pair[side] ?? []);
  useWanted(left, t("pairs {title}", { title }), rowsOf("a"));
  useWanted(right, t("pairs {title}", { title }), rowsOf("b"));
  return (
    <>
      {shown.map((pair) => (
        <tr key={`${pair.a ?? ""}/${pair.b ?? ""}`} className={css["pair"]}>
          <th scope="row">
            <PairName left={left} right={right} pair={pair} />
          </th>
          <td>
            <One run={a} model={left} row={pair.a} />
          </td>
          <td>
            <One run={b} model={right} row={pair.b} />
          </td>
          <td>
            {pair.a !== undefined && pair.b !== undefined ? (
              <Difference a={durationOf(left, pair.a)} b={durationOf(right, pair.b)} />
            ) : (
              <span className={css["muted"]}>{pair.a === undefined ? t("only in B") : t("only in A")}</span>
            )}
          </td>
        </tr>
      ))}
      {pairs.length > limit && (
        <tr className={css["pair"]}>
          <td colSpan={4}>
            <Button small onClick={() => setLimit(limit + 200)}>
              {t("Show more of {total}", { total: count(pairs.length) })}
            </Button>
          </td>
        </tr>
      )}
    </>
  );
}

/** What tells the actions apart from others of the task, and their name. */
function PairName({ left, right, pair }: { readonly left: RunModel; readonly right: RunModel; readonly pair: Pair }) {
  const [model, row] = pair.a !== undefined ? [left, pair.a] : [right, pair.b ?? none];
  const distinction = distinctionOf(model, row);
  return (
    <>
      {distinction} <code className={distinction === "" ? undefined : css["muted"]}>{pair.name}</code>
    </>
  );
}

function One({ run, model, row }: { readonly run: RunName; readonly model: RunModel; readonly row: number | undefined }) {
  if (row === undefined) return <span className={css["muted"]}>–</span>;
  const time = durationOf(model, row);
  return (
    <Link
      to="/domain/$domain/project/$project/runs/$run"
      params={{ project: run.project, domain: run.domain, run: run.name }}
      search={{ action: model.name(row) }}
      className={css["line"]}
      aria-label={t("{action} of {run}, {time}", { action: nameOf(model, row), run: run.name, time: time === undefined ? "active" : duration(time) })}
    >
      <Phase phase={model.phase(row)} compact /> {time === undefined ? t("active") : duration(time)}
    </Link>
  );
}
