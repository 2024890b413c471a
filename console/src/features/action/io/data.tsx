import { useQuery } from "@connectrpc/connect-query";
import { DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { Loading, ProblemNotice } from "@/design/notice";
import type { TabProps } from "../panel";
import { actionId } from "../use-action";

/** The inputs and outputs of an action. */
export function DataTab({ action }: TabProps) {
  const { data, error, refetch } = useQuery(DataProxyService.method.getActionData, { actionId: actionId(action) });
  if (error) return <ProblemNotice error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="inputs and outputs" />;
  return <p>{data.inputs?.literals.length ?? 0} inputs</p>;
}
