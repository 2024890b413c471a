import { Link } from "@tanstack/react-router";
import { can, everywhere } from "./rights";
import { useMe } from "./use-me";

/** The name of a cluster; a link for those who may see clusters. */
export function ClusterLink({ name }: { readonly name: string }) {
  const me = useMe();
  if (!me || !can(me, "cluster.view", everywhere)) return name;
  return (
    <Link to="/clusters/$cluster" params={{ cluster: name }}>
      {name}
    </Link>
  );
}
