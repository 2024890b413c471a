import type { DescMethod } from "@bufbuild/protobuf";
import { createElement } from "react";
import type { Denial } from "@/design/denial";
import { t } from "@/texts/texts";
import { AskWhom } from "./ask-whom";
import { askWords, can, placeWords, roleFor, type Where } from "./rights";
import { takes } from "./takes";
import { useMe, useMePending, useRoles } from "./use-me";

/**
 * Why the caller may not make a call in a place, in words for a button; undefined if it may, or while that is not known: the server
 * decides in any case.
 */
export function useDenied(method: DescMethod, place: Where | "anywhere"): Denial | undefined {
  const call = `${method.parent.typeName}/${method.name}`;
  const permission = takes[call];
  if (permission === undefined) throw new Error(`entities/access/takes.ts does not have ${call}`);
  const lacking = useLacking(permission, place);
  return lacking && { ...lacking, call };
}

/** The same for a permission that no call of its own takes. */
export function useLacking(permission: string, place: Where | "anywhere"): Denial | undefined {
  const me = useMe();
  const denied = me !== undefined && !can(me, permission, place);
  const role = roleFor(useRoles(denied), permission);
  if (!denied) return undefined;
  const takesRole = role === undefined ? t("You may not do this") : t("Takes the role {role}", { role });
  return {
    why: t("{takesRole} in {placeWords}, for the permission {permission}. {askWords}", { takesRole, placeWords: placeWords(place), permission, askWords: askWords(me, place) }),
    more: createElement(AskWhom, { permission, place: place === "anywhere" ? place : { project: place.project, domain: place.domain } }),
  };
}

/**
 * Whether to read what may be denied. It waits for what the caller may do, because the server records each call that it denies; without an
 * answer the server decides.
 */
export const useMayRead = (denied: Denial | undefined): boolean => !useMePending() && denied === undefined;
