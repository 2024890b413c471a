import { useMutation, useQuery } from "@connectrpc/connect-query";
import { ChevronDown } from "lucide-react";
import { useState } from "react";
import { AccessService } from "@gen/flytebinary/access/v1/access_pb.js";
import { ConditionService, type Assignee as Person } from "@gen/flytebinary/insight/v1/conditions_pb.js";
import { problemOf } from "@/api/problem";
import { Button } from "@/design/button";
import { Menu, MenuItem } from "@/design/menu";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { useMe } from "@/entities/access/use-me";
import { nameOfPerson } from "@/entities/person/name-of-person";
import type { RunName } from "@/entities/run/kind";
import { t } from "@/texts/texts";
import css from "./inbox.module.css";

export interface AssigneeProps {
  readonly run: RunName;
  readonly action: string;
  readonly assignee: Person | undefined;
  readonly onChange: () => void;
}

/** Who is asked to answer, and the way to ask someone else. Nothing where access is open: there all callers are the same. */
export function Assignee({ run, action, assignee, onChange }: AssigneeProps) {
  const me = useMe();
  const notify = useNotify();
  const denied = useDenied(ConditionService.method.assignCondition, run);
  const { project, domain, name } = run;
  const assign = useMutation(ConditionService.method.assignCondition, {
    onSuccess: onChange,
    onError: (error) => notify("danger", t("Not assigned"), problemOf(error).message),
  });
  if (!me || (me.open && !assignee)) return null;
  const ask = (subject: string) => assign.mutate({ actionId: { run: { project, domain, name }, name: action }, subject });
  const mine = assignee?.subject === me.subject;
  return (
    <div className={css["assignee"]} data-testid="assignee">
      <span>{assignee ? (mine ? t("Assigned to you") : t("Assigned to {name}", { name: nameOfPerson(assignee) })) : t("Assigned to no one")}</span>
      {!me.open && (
        <>
          {!mine && me.kind === "user" && (
            <Button small denied={denied} disabled={assign.isPending} onClick={() => ask(me.subject)}>
              {t("Assign to me")}
            </Button>
          )}
          {!denied && (
            <Menu
              align="start"
              trigger={
                <Button small disabled={assign.isPending}>
                  {t("Assign")} <ChevronDown size={14} aria-hidden />
                </Button>
              }
            >
              <People run={run} without={assignee?.subject} onChoose={ask} />
              {assignee && <MenuItem onSelect={() => ask("")}>{t("No one")}</MenuItem>}
            </Menu>
          )}
        </>
      )}
    </div>
  );
}

interface PeopleProps {
  readonly run: RunName;
  readonly without: string | undefined;
  readonly onChoose: (subject: string) => void;
}

/** The people who may answer. Loaded when the menu opens. */
function People({ run: { project, domain }, without, onChoose }: PeopleProps) {
  const [asked] = useState({ permission: "action.signal", scope: { project, domain } });
  const { data, error, isPending } = useQuery(AccessService.method.listHolders, asked, { staleTime: 30_000 });
  if (isPending) return <p className={css["menu-note"]}>{t("Loading …")}</p>;
  if (error) return <p className={css["menu-note"]}>{problemOf(error).message}</p>;
  const people = data.holders.filter(({ subject }) => subject !== without);
  return (
    <>
      {people.length === 0 && <p className={css["menu-note"]}>{t("No one else is known to be able to answer.")}</p>}
      {people.map((person) => (
        <MenuItem key={person.subject} onSelect={() => onChoose(person.subject)}>
          {nameOfPerson(person)}
        </MenuItem>
      ))}
      {data.more && <p className={css["menu-note"]}>{t("The first {n}.", { n: data.holders.length })}</p>}
    </>
  );
}
