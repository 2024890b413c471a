import { useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { CodeService, type GetCodeResponse } from "@gen/flytebinary/insight/v1/code_pb.js";
import { Button } from "@/design/button";
import { Diff } from "@/design/diff";
import { Select } from "@/design/field";
import { Loading, ProblemNotice } from "@/design/notice";
import { actionId } from "@/entities/action/name";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import css from "./compare.module.css";

export interface CodeDiffProps {
  readonly a: RunName;
  readonly b: RunName;
  readonly marks: readonly [string, string];
}

/** The code of two runs, in place: the file of the task's function at first. It is read on demand. */
export function CodeDiff(props: CodeDiffProps) {
  const [open, setOpen] = useState(false);
  const [a, b] = props.marks;
  return (
    <section className={css["section"]} data-testid="compare-code">
      <div className={css["head"]}>
        <h2>{t("Code")}</h2>
        <Button small aria-pressed={open} onClick={() => setOpen(!open)}>
          {open ? t("Hide code") : t("Compare the code of {a} and {b}", { a, b })}
        </Button>
      </div>
      {open && <Files {...props} />}
    </section>
  );
}

function Files({ a, b, marks }: CodeDiffProps) {
  const [path, setPath] = useState("");
  const left = useCode(a, path);
  const right = useCode(b, path);
  const error = left.error ?? right.error;
  const [first, second] = [left.data, right.data];
  const paths = changedFirst(first, second);
  if (error && path === "") return <ProblemNotice error={error} retry={() => void (left.error ? left.refetch() : right.refetch())} />;
  if ((!first && !left.error) || (!second && !right.error)) return <Loading what={t("code")} />;
  const missing = [first, second].flatMap((code, at) => (code && code.files.length === 0 ? [`${marks[at] ?? ""}: ${code.missing}`] : []));
  if (missing.length > 0) return <p className={css["muted"]}>{missing.join(". ")}</p>;
  const shown = path || first?.path || second?.path || "";
  return (
    <>
      <label className={css["line"]}>
        {t("File{choice}", { choice: <Select value={shown} onChange={(event) => setPath(event.target.value)}>
          {paths.map(({ name, note }) => (
            <option key={name} value={name}>
              {name}
              {note}
            </option>
          ))}
        </Select> })}
      </label>
      {(first?.truncated || second?.truncated) && <p className={css["muted"]}>{t("Only the first MiB is compared.")}</p>}
      <Diff label={t("Code in {shown}", { shown })} before={left.error ? "" : (first?.text ?? "")} after={right.error ? "" : (second?.text ?? "")} equal={t("This file is the same.")} />
    </>
  );
}

/** The path of the function's file of one run is asked for in the other as well, once it is known. */
const useCode = (run: RunName, path: string) =>
  useQuery(CodeService.method.getCode, { actionId: actionId({ run, name: "a0" }), path }, { staleTime: Infinity, retry: false, placeholderData: (before) => before });

/** The files of both bundles: those that surely differ first, since their sizes do or only one run has them. */
export function changedFirst(a: GetCodeResponse | undefined, b: GetCodeResponse | undefined): readonly { readonly name: string; readonly note: string }[] {
  const sizes = (code: GetCodeResponse | undefined) => new Map((code?.files ?? []).map(({ path, size }) => [path, size]));
  const [left, right] = [sizes(a), sizes(b)];
  const names = [...new Set([...left.keys(), ...right.keys()])].sort();
  const note = (name: string) => {
    if (!left.has(name)) return " (new)";
    if (!right.has(name)) return " (removed)";
    return left.get(name) === right.get(name) ? "" : " (changed)";
  };
  return names.map((name) => ({ name, note: note(name) })).sort((x, y) => Number(x.note === "") - Number(y.note === ""));
}
