import { useQuery } from "@connectrpc/connect-query";
import { ChevronDown } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import type { LiteralType } from "@gen/flyteidl2/core/types_pb.js";
import type { VariableMap } from "@gen/flyteidl2/core/interface_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import type { ActionDetails } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { Button } from "@/design/button";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { Menu, MenuItem } from "@/design/menu";
import { Loading, ProblemNotice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { useTell } from "@/design/toast";
import { asCli, asCliRerun, asCurl, asPython, asPythonRead, asPythonRerun, type Values } from "../copy-as";
import type { TabProps } from "../panel";
import { save } from "../save";
import { actionId, type ActionName } from "../use-action";
import { typeWords } from "./type-words";
import { valueOf, type Value } from "./value";
import { ValueView } from "./value-view";
import { json } from "./write-json";
import css from "./data.module.css";

/** The inputs and outputs of an action, by their types or as JSON. */
export function DataTab({ action, details }: TabProps) {
  const phase = details.status?.phase ?? ActionPhase.UNSPECIFIED;
  const { data, error, refetch, isPending } = useQuery(DataProxyService.method.getActionData, { actionId: actionId(action) }, { staleTime: Infinity, retry: 2 });
  const [first] = useState(phase);
  useEffect(() => {
    if (phase !== first) void refetch(); // outputs come with the end
  }, [phase, first, refetch]);
  const interfaces = interfaceOf(details);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (isPending) return <Loading what="inputs and outputs" />;
  const context = data.inputs?.context ?? [];
  return (
    <>
      <Side what="inputs" action={action} literals={data.inputs?.literals ?? []} types={interfaces?.inputs} uri={data.inputsUri} empty="It takes no inputs." />
      {context.length > 0 && (
        <section className={css["side"]}>
          <h3>Context</h3>
          <Facts facts={context.map(({ key, value }) => [key, value] as const)} />
        </section>
      )}
      <Side what="outputs" action={action} literals={data.outputs?.literals ?? []} types={interfaces?.outputs} uri={data.outputsUri} empty={emptyOutputs(phase)} />
    </>
  );
}

function emptyOutputs(phase: ActionPhase): string {
  if (isLive(phase)) return "There are no outputs before it has ended.";
  return phase === ActionPhase.SUCCEEDED || phase === ActionPhase.RECOVERED ? "It has no outputs." : "It made no outputs.";
}

function interfaceOf({ spec }: ActionDetails) {
  switch (spec.case) {
    case "task":
      return spec.value.taskTemplate?.interface;
    case "trace":
      return spec.value.interface;
    default:
      return undefined;
  }
}

interface SideProps {
  readonly what: "inputs" | "outputs";
  readonly action: ActionName;
  readonly literals: readonly NamedLiteral[];
  readonly types: VariableMap | undefined;
  readonly uri: string;
  readonly empty: string;
}

const titles = { inputs: "Inputs", outputs: "Outputs" } as const;

function Side({ what, action, literals, types, uri, empty }: SideProps) {
  const [raw, setRaw] = useState(false);
  const values: Values = useMemo(() => literals.map((one) => [one.name, valueOf(one.value)] as const), [literals]);
  const whole: Value = { kind: "map", struct: true, entries: values };
  const variables = new Map(types?.variables.map((entry) => [entry.key, entry.value]));
  return (
    <section className={css["side"]} data-testid={what}>
      <div className={css["head"]}>
        <h3>{titles[what]}</h3>
        {values.length > 0 && (
          <>
            <Button small aria-pressed={raw} onClick={() => setRaw(!raw)}>
              {raw ? "By type" : "JSON"}
            </Button>
            <Button small onClick={() => save(new Blob([`${json(whole)}\n`], { type: "application/json" }), `${action.run.name}-${action.name}-${what}.json`)}>
              Download
            </Button>
            <CopyAs what={what} action={action} values={values} types={types} />
          </>
        )}
      </div>
      {values.length === 0 ? (
        <p className={css["empty"]}>{empty}</p>
      ) : raw ? (
        <div className={css["raw"]}>
          <CopyButton text={() => json(whole)} label="Copy the JSON" />
          {/* A part that scrolls has to be within the reach of the keyboard. */}
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
          <pre tabIndex={0}>{json(whole)}</pre>
        </div>
      ) : (
        <dl className={css["values"]}>
          {values.map(([name, value]) => (
            <div key={name} className={css["value"]} data-value={name}>
              <dt>
                <span className={css["key"]}>{name}</span>
                <span className={css["type"]}>{typeWords(variables.get(name)?.type)}</span>
                {variables.get(name)?.description && <span className={css["about"]}>{variables.get(name)?.description}</span>}
              </dt>
              <dd>
                <ValueView value={value} />
              </dd>
            </div>
          ))}
        </dl>
      )}
      {uri && (
        <p className={css["where"]}>
          <span>Kept at</span> <code>{uri}</code>
          <CopyButton text={uri} label="Copy the address" />
        </p>
      )}
    </section>
  );
}

const hasEnum = (type: LiteralType | undefined): boolean => type?.type.case === "enumType" || (type?.type.case === "unionType" && type.type.value.variants.some(hasEnum));

const enumsOf = (types: VariableMap | undefined): ReadonlySet<string> => new Set(types?.variables.filter((entry) => hasEnum(entry.value?.type)).map((entry) => entry.key));

function CopyAs({ what, action, values, types }: { readonly what: "inputs" | "outputs"; readonly action: ActionName; readonly values: Values; readonly types: VariableMap | undefined }) {
  const tell = useTell();
  const copy = (text: string, as: string) => () =>
    void navigator.clipboard.writeText(text).then(
      () => tell("good", `Copied: ${as}`),
      () => tell("danger", "The browser does not let the console copy"),
    );
  return (
    <Menu
      trigger={
        <Button small>
          Copy as
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuItem onSelect={copy(asPython(values), "values in Python")}>Python: the values</MenuItem>
      <MenuItem onSelect={copy(asPythonRead(action, what), "a program that reads them")}>Python: read them</MenuItem>
      {what === "inputs" && <MenuItem onSelect={copy(asPythonRerun(action, values), "a program that runs it again")}>Python: run again</MenuItem>}
      <MenuItem onSelect={copy(asCli(action), "a command that shows them")}>Command: show them</MenuItem>
      {what === "inputs" && <MenuItem onSelect={copy(asCliRerun(action, values, enumsOf(types)), "a command that runs it again")}>Command: run again</MenuItem>}
      <MenuItem onSelect={copy(asCurl(action, location.origin), "a call with curl")}>curl</MenuItem>
      <MenuItem onSelect={copy(json({ kind: "map", struct: true, entries: values }), "JSON")}>JSON</MenuItem>
    </Menu>
  );
}
