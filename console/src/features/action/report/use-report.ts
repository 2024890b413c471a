import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { ArtifactType, DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { client } from "@/api/transport";
import { dateOf } from "@/design/format";
import { actionId, keyOf, type ActionName } from "../use-action";

/** A report as it is now. */
export interface Report {
  /** Leads to the report for some time, also for those who are not signed in. */
  readonly url: string;
  /** Its text; undefined where the store lets no script of ours read it, though a frame may show it. */
  readonly html: string | undefined;
}

interface Link {
  readonly url: string;
  /** When to ask for another, in milliseconds. */
  readonly until: number;
}

const often = 3000;

/** A link is asked for anew in the second half of its time, so that one that is shown works for a while. */
const freshness = 0.5;

/** Fetches the report of an attempt, again and again while it may change. It is null when there is none. */
export function useReport(action: ActionName, attempt: number, live: boolean) {
  const kept = useRef<Link>(undefined);
  const link = async (signal: AbortSignal): Promise<Link> => {
    if (kept.current && Date.now() < kept.current.until) return kept.current;
    const now = Date.now();
    const answer = await client(DataProxyService).createDownloadLink(
      { artifactType: ArtifactType.REPORT, source: { case: "actionAttemptId", value: { actionId: actionId(action), attempt } } },
      { signal },
    );
    const ends = dateOf(answer.preSignedUrls?.expiresAt)?.getTime() ?? now;
    return (kept.current = { url: answer.preSignedUrls?.signedUrl[0] ?? "", until: now + (ends - now) * freshness });
  };
  return useQuery<Report | null>({
    queryKey: ["report", keyOf(action), attempt, live],
    enabled: attempt > 0,
    queryFn: async ({ signal }) => {
      try {
        const { url } = await link(signal);
        return { url, html: await textOf(url, signal) };
      } catch (error) {
        kept.current = undefined;
        if (error instanceof Gone || ConnectError.from(error).code === Code.NotFound) return null;
        throw error;
      }
    },
    placeholderData: (before) => before,
    // One that does not change any more is only asked for so that its link works.
    refetchInterval: live ? often : () => Math.max(often, (kept.current?.until ?? 0) - Date.now()),
    gcTime: 0,
  });
}

class Gone extends Error {}

async function textOf(url: string, signal: AbortSignal): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetch(url, { signal, cache: "no-cache", credentials: "omit", referrerPolicy: "no-referrer" });
  } catch (error) {
    if (signal.aborted) throw error;
    if (new URL(url, location.href).origin !== location.origin) return undefined; // a store that does not allow this origin
    throw error;
  }
  if (response.status === 404) throw new Gone();
  if (!response.ok) throw new Error(`The store answers ${response.status} ${response.statusText}.`);
  return await response.text();
}
