import { Outlet, useParams } from "@tanstack/react-router";
import { UnknownPlace, usePlaceCheck } from "@/entities/project/unknown-place";
import { covers, whereOf } from "@/entities/access/rights";
import { useMe } from "@/entities/access/use-me";

/** The pages of a project's domain; where there is no such project or domain, it says so instead. Those without a role there learn that alone. */
export function KnownPlace() {
  const { project = "", domain = "" } = useParams({ strict: false });
  const me = useMe();
  const known = me?.open === true || me?.grants.some(({ scope }) => covers(whereOf(scope), { project, domain })) === true;
  const check = usePlaceCheck({ project, domain }, known);
  return check.unknown === undefined ? <Outlet /> : <UnknownPlace title={check.unknown} />;
}
