import { create } from "@bufbuild/protobuf";
import { useDeferredValue, useMemo, useRef, useState, type ReactNode } from "react";
import { RelationType } from "@gen/flyteidl2/common/run_pb.js";
import { InputsSchema } from "@gen/flyteidl2/task/common_pb.js";
import { RunService } from "@gen/flyteidl2/workflow/run_service_pb.js";
import type { Place } from "@/app/place";
import { usePreferences } from "@/app/preferences";
import { Button } from "@/design/button";
import { DialogActions } from "@/design/dialog";
import { Diff } from "@/design/diff";
import { Notice, ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import { relatedSpec } from "./related-run";
import { CopyMenu } from "./copy-menu";
import { FormContext } from "./form/context";
import { changed, draftsOf, initialDrafts, readInputs, sourceOf, type Input } from "./form/inputs";
import { InputsForm } from "./form/inputs-form";
import { literalsOf } from "./form/literals";
import { checkOptions, optionLines, optionsOf, runSpecOf } from "./options";
import { OptionsForm } from "./options-form";
import { fieldErrors } from "./server-errors";
import type { Source } from "./source";
import { Names, submit, type Task } from "./submit";
import css from "./form/form.module.css";

export interface LaunchFormProps {
  readonly place: Place;
  readonly task: Task;
  readonly inputs: readonly Input[];
  /** The source run, with which the inputs are compared. */
  readonly source?: Source | undefined;
  /** Whether the new run is a rerun of the source. */
  readonly related: boolean;
  readonly onLaunched: (run: RunName) => void;
  readonly cancel?: ReactNode;
}

const noErrors: ReadonlyMap<string, string> = new Map();

/** The form to launch a run: inputs, options and the changes from its source. */
export function LaunchForm({ place, task, inputs, source, related, onLaunched, cancel }: LaunchFormProps) {
  const { zone } = usePreferences();
  const notify = useNotify();
  const denied = useDenied(RunService.method.createRun, place);
  const first = useMemo(() => ({ drafts: initialDrafts(inputs), options: optionsOf(source?.runSpec) }), [inputs, source]);
  const [drafts, setDrafts] = useState(first.drafts);
  const [text, setText] = useState<string>();
  const [options, setOptions] = useState(first.options);
  const [submitted, setSubmitted] = useState(false);
  const [refused, setRefused] = useState<{ readonly drafts: object; readonly errors: ReadonlyMap<string, string> }>();
  const [failure, setFailure] = useState<unknown>();
  const [sending, setSending] = useState(false);
  const [names] = useState(() => new Names());
  const form = useRef<HTMLFormElement>(null);

  // JSON that is being typed counts as soon as it parses.
  const read = useMemo(() => (text === undefined ? { drafts } : draftsOf(inputs, text)), [text, drafts, inputs]);
  const current = "drafts" in read ? read.drafts : undefined;
  const { values, errors } = useMemo(() => readInputs(inputs, current ?? {}, zone), [inputs, current, zone]);
  const optionErrors = useMemo(() => checkOptions(options), [options]);
  const shown = useMemo(() => {
    // Errors of the server are shown until the inputs change.
    const all = new Map(refused?.drafts === current ? refused?.errors : noErrors);
    if (submitted) for (const [path, reason] of errors) all.set(path, reason);
    return all;
  }, [submitted, errors, refused, current]);
  const context = useMemo(() => ({ place, errors: shown }), [place, shown]);

  const build = async () => {
    const literals = await literalsOf(inputs, current ?? {}, values);
    const runSpec = runSpecOf(options, source?.runSpec);
    return {
      place,
      name: options.name.trim(),
      task,
      inputs: create(InputsSchema, { literals, context: source?.inputs?.context ?? [] }),
      runSpec: source && related ? relatedSpec(runSpec, source, RelationType.RERUN) : runSpec,
    };
  };
  const launch = async () => {
    setSubmitted(true);
    setFailure(undefined);
    if (!current || errors.size > 0 || optionErrors.size > 0) {
      // After the errors are rendered.
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"], [role="alert"]')?.focus());
      return;
    }
    setSending(true);
    try {
      const run = await submit(await build(), names);
      notify("good", t("Run {name} started", { name: run.name }));
      onLaunched(run);
    } catch (error) {
      const known = fieldErrors(error, inputs);
      if (known.size > 0) setRefused({ drafts: current, errors: known });
      setFailure(error);
    } finally {
      setSending(false);
    }
  };

  const wrong = submitted && (errors.size > 0 || optionErrors.size > 0 || !current);
  return (
    <FormContext value={context}>
      <form
        ref={form}
        className={css["inputs"]}
        noValidate
        data-testid="launch-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!sending && !denied) void launch();
        }}
      >
        <InputsForm inputs={inputs} drafts={drafts} onChange={setDrafts} source={text} onSource={setText} />
        <details open={submitted && optionErrors.size > 0 ? true : undefined}>
          <summary>
            <strong>{t("Options")}</strong> <span className={css["about"]}>{t("name, labels, environment, queue, limits, cache, service account")}</span>
          </summary>
          <div style={{ paddingTop: "var(--space-4)" }}>
            <OptionsForm options={options} errors={submitted ? optionErrors : noErrors} onChange={setOptions} />
          </div>
        </details>
        {source && current && (
          <Changes
            name={source.run.name}
            before={[sourceOf(inputs, first.drafts, zone), optionLines(first.options)]}
            after={[JSON.stringify(values, null, 2), optionLines(options)]}
            count={changed(inputs, values).length}
          />
        )}
        {wrong && (
          <Notice tone="danger" title={t("Fix these fields")} role="alert">
            <ul>
              {[...errors, ...optionErrors].slice(0, 5).map(([path, reason]) => (
                <li key={path}>
                  <code>{path}</code>: {reason}
                </li>
              ))}
              {!current && "error" in read && <li>{read.error}</li>}
            </ul>
          </Notice>
        )}
        {failure !== undefined && <ProblemNotice error={failure} />}
        <DialogActions>
          {current && errors.size === 0 && optionErrors.size === 0 && (
            <CopyMenu build={build} inputs={inputs} options={options} source={related ? source : undefined} />
          )}
          {cancel}
          <Button kind="primary" type="submit" denied={denied} disabled={sending}>
            {sending ? t("Starting …") : t("Launch")}
          </Button>
        </DialogActions>
      </form>
    </FormContext>
  );
}

type Texts = readonly [inputs: string, options: string];

/** The changes from the source run. */
function Changes({ name, before, after, count }: { readonly name: string; readonly before: Texts; readonly after: Texts; readonly count: number }) {
  const inputs = useDeferredValue(after[0]);
  const options = useDeferredValue(after[1]);
  const same = before[0] === inputs && before[1] === options;
  return (
    <section aria-label={t("Changes from {name}", { name })} className={css["inputs"]} data-testid="changes">
      <h2>{t("Changes from {name}", { name })}</h2>
      {same ? (
        <p className={css["about"]}>{t("No changes: same inputs and options.")}</p>
      ) : (
        <>
          {before[0] !== inputs && <Diff label={count === 0 ? t("Inputs") : t("Inputs, {count} changed", { count })} before={before[0]} after={inputs} />}
          {before[1] !== options && <Diff label={t("Options")} before={before[1]} after={options} />}
        </>
      )}
    </section>
  );
}
