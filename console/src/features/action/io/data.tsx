import { useQuery } from "@connectrpc/connect-query";
import { ChevronDown } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import type { NamedLiteral } from "@gen/flyteidl2/task/common_pb.js";
import type { LiteralType } from "@gen/flyteidl2/core/types_pb.js";
import type { VariableMap } from "@gen/flyteidl2/core/interface_pb.js";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { Button } from "@/design/button";
import { copyText } from "@/design/clipboard";
import { CopyButton } from "@/design/copy";
import { Facts } from "@/design/facts";
import { Menu, MenuItem } from "@/design/menu";
import { Loading, ProblemNotice } from "@/design/notice";
import { isLive } from "@/design/phases";
import { useNotify } from "@/design/toast";
import { sourceOf } from "@/entities/run/kind";
import { asCli, asCliRerun, asCurl, asPython, asPythonRead, asPythonRerun, type Values } from "@/entities/action/copy-as";
import { t } from "@/texts/texts";
import type { TabProps } from "../tab";
import { save } from "@/design/save";
import { actionId, type ActionName } from "@/entities/action/name";
import { valueOf } from "@/entities/value/value";
import type { Value } from "@/entities/value/value-type";
import { json } from "@/entities/value/write-json";
import { StoredFiles } from "@/entities/data/stored-files";
import { interfaceOf } from "./interface-of";
import { ValueList } from "./value-list";
import css from "./data.module.css";

/** The inputs and outputs of an action, by type or as JSON. */
export function DataTab({ action, details }: TabProps) {
  const phase = details.status?.phase ?? ActionPhase.UNSPECIFIED;
  const { data, error, refetch, isPending } = useQuery(
    DataProxyService.method.getActionData,
    { actionId: actionId(action), runSource: sourceOf(action.run) },
    { staleTime: Infinity, retry: 2 },
  );
  // Values never change once they are stored, so they are only read again when the phase has changed.
  const [first] = useState(phase);
  useEffect(() => {
    if (phase !== first) void refetch(); // outputs are stored when the action ends
  }, [phase, first, refetch]);
  const interfaces = interfaceOf(details);
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (isPending) return <Loading what={t("inputs and outputs")} />;
  const context = data.inputs?.context ?? [];
  // Previews of outputs are open first.
  const values = [...(data.outputs?.literals ?? []), ...(data.inputs?.literals ?? [])].map((one) => valueOf(one.value));
  return (
    <StoredFiles action={action} values={values} version={`${data.inputsUri} ${data.outputsUri}`}>
      <Side side="inputs" action={action} literals={data.inputs?.literals ?? []} types={interfaces?.inputs} uri={data.inputsUri} empty={t("No inputs.")} />
      {context.length > 0 && (
        <section className={css["side"]}>
          <h3>{t("Context")}</h3>
          <Facts facts={context.map(({ key, value }) => [key, value] as const)} />
        </section>
      )}
      <Side
        side="outputs"
        action={action}
        literals={data.outputs?.literals ?? []}
        types={interfaces?.outputs}
        uri={data.outputsUri}
        empty={emptyOutputs(phase)}
      />
    </StoredFiles>
  );
}

/** Why there are no outputs: an action that still runs has none yet, one that failed never will. */
function emptyOutputs(phase: ActionPhase): string {
  return isLive(phase) ? t("Outputs appear when the action has ended.") : t("No outputs");
}

interface SideProps {
  readonly side: "inputs" | "outputs";
  readonly action: ActionName;
  readonly literals: readonly NamedLiteral[];
  readonly types: VariableMap | undefined;
  readonly uri: string;
  readonly empty: string;
}

const titles = { inputs: t("Inputs"), outputs: t("Outputs") } as const;

/** One side, typed or as JSON. The JSON is that of the download, so that what is copied and what is saved agree. */
function Side({ side, action, literals, types, uri, empty }: SideProps) {
  const [raw, setRaw] = useState(false);
  const values: Values = useMemo(() => literals.map((one) => [one.name, valueOf(one.value)] as const), [literals]);
  const whole: Value = { kind: "map", struct: true, entries: values };
  return (
    <section className={css["side"]} data-testid={side}>
      <div className={css["head"]}>
        <h3>{titles[side]}</h3>
        {values.length > 0 && (
          <>
            <Button small aria-pressed={raw} onClick={() => setRaw(!raw)}>
              {raw ? t("By type") : t("JSON")}
            </Button>
            <Button small onClick={() => save(new Blob([`${json(whole)}\n`], { type: "application/json" }), `${action.run.name}-${action.name}-${side}.json`)}>
              {t("Download JSON")}
            </Button>
            <CopyAs side={side} action={action} values={values} types={types} />
          </>
        )}
      </div>
      {values.length === 0 ? (
        <p className={css["empty"]}>{empty}</p>
      ) : raw ? (
        <div className={css["raw"]}>
          <CopyButton text={() => json(whole)} label={t("Copy JSON")} />
          {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- a scrollable region must be reachable by keyboard */}
          <pre tabIndex={0}>{json(whole)}</pre>
        </div>
      ) : (
        <ValueList side={side} values={values} types={types} file={`${action.run.name}-${action.name}`} />
      )}
      {uri && (
        <p className={css["where"]}>
          <span>{t("Stored at")}</span> <code>{uri}</code>
          <CopyButton text={uri} label={t("Copy URI")} />
        </p>
      )}
    </section>
  );
}

/**
 * The command line takes the name of an enum's value, not its literal, so inputs of this type are written differently.
 */
const hasEnum = (type: LiteralType | undefined): boolean =>
  type?.type.case === "enumType" || (type?.type.case === "unionType" && type.type.value.variants.some(hasEnum));

const enumsOf = (types: VariableMap | undefined): ReadonlySet<string> =>
  new Set(types?.variables.filter((entry) => hasEnum(entry.value?.type)).map((entry) => entry.key));

/**
 * Ways to use the values elsewhere. For tracked runs, only the values themselves are offered.
 */
function CopyAs({
  side,
  action,
  values,
  types,
}: {
  readonly side: "inputs" | "outputs";
  readonly action: ActionName;
  readonly values: Values;
  readonly types: VariableMap | undefined;
}) {
  const notify = useNotify();
  const copy = (text: string, as: string) => () =>
    void copyText(text).then((done) => (done ? notify("good", t("Copied: {language}", { language: as })) : notify("danger", t("The browser blocked copying"))));
  return (
    <Menu
      trigger={
        <Button small>
          {t("Copy as")}
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuItem onSelect={copy(asPython(values), t("values as Python"))}>{t("Python: values")}</MenuItem>
      {!action.run.tracked && (
        <>
          <MenuItem onSelect={copy(asPythonRead(action, side), t("Python program to read them"))}>{t("Python: read")}</MenuItem>
          {side === "inputs" && <MenuItem onSelect={copy(asPythonRerun(action, values), t("Python program to rerun"))}>{t("Python: rerun")}</MenuItem>}
          <MenuItem onSelect={copy(asCli(action), t("command to show them"))}>{t("Command: show")}</MenuItem>
          {side === "inputs" && <MenuItem onSelect={copy(asCliRerun(action, values, enumsOf(types)), t("command to rerun"))}>{t("Command: rerun")}</MenuItem>}
          <MenuItem onSelect={copy(asCurl(action, location.origin), "curl command")}>{t("curl")}</MenuItem>
        </>
      )}
      <MenuItem onSelect={copy(json({ kind: "map", struct: true, entries: values }), "JSON")}>{t("JSON")}</MenuItem>
    </Menu>
  );
}
