import type { DescMethod } from "@bufbuild/protobuf";
import { askWords, can, placeWords, roleFor, type Where } from "./rights";
import { takes } from "./takes";
import { useMe, useRoles } from "./use-me";

/**
 * Why the caller may not make a call in a place, in words for a button; undefined if it may, or while that is not known: the server
 * decides in any case.
 */
export function useDenied(method: DescMethod, place: Where | "anywhere"): string | undefined {
  const call = `${method.parent.typeName}/${method.name}`;
  const permission = takes[call];
  if (permission === undefined) throw new Error(`entities/access/takes.ts does not have ${call}`);
  return useLacking(permission, place);
}

/** The same for a permission that no call of its own takes. */
export function useLacking(permission: string, place: Where | "anywhere"): string | undefined {
  const me = useMe();
  const denied = me !== undefined && !can(me, permission, place);
  const role = roleFor(useRoles(denied), permission);
  if (!denied) return undefined;
  return `${role === undefined ? "You may not do this" : `Takes the role ${role}`} in ${placeWords(place)}. ${askWords(me, place)}`;
}
