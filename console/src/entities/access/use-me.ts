import { useQuery } from "@tanstack/react-query";
import { AccessService } from "@gen/flytebinary/access/v1/access_pb.js";
import { reportCaller } from "@/api/session";
import { client } from "@/api/transport";

/** How soon a change of the caller's rights is noticed, in milliseconds. */
const every = 30_000;

const useMeQuery = () =>
  useQuery({
    queryKey: ["access", "me"],
    queryFn: async ({ signal }) => {
      const me = await client(AccessService).getMe({}, { signal });
      reportCaller(me.subject);
      return me;
    },
    staleTime: every / 3,
    refetchInterval: every,
  });

/** Who the caller is and what it may do; undefined until the server has answered. */
export const useMe = () => useMeQuery().data;

/** Whether the server has not yet said who the caller is. */
export const useMePending = (): boolean => useMeQuery().isPending;

/** The roles of the installation, in alphabetical order; empty until the server has answered. */
export function useRoles(enabled = true) {
  const { data } = useQuery({
    queryKey: ["access", "roles"],
    queryFn: ({ signal }) => client(AccessService).listRoles({}, { signal }),
    staleTime: 10 * every,
    enabled,
  });
  return data?.roles ?? [];
}
