import { Code, ConnectError } from "@connectrpc/connect";
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { ArtifactType, DataProxyService } from "@gen/flyteidl2/dataproxy/dataproxy_service_pb.js";
import { client } from "@/api/transport";
import { dateOf } from "@/design/format";
import { actionId, keyOf, type ActionName } from "@/entities/action/name";

/** The current version of a report. */
export interface Report {
  /** A signed link, which needs no sign-in and expires. */
  readonly url: string;
  /** Its text; undefined if CORS rules allow only a frame to load it. */
  readonly html: string | undefined;
}

interface Link {
  readonly url: string;
  /** When to renew it, in milliseconds since the epoch. */
  readonly until: number;
}

/** The poll interval, in milliseconds. */
const interval = 3000;

/** A link is renewed after half of its lifetime, so that a shown link works for a while. */
const freshness = 0.5;

/** Fetches the report of an attempt, and polls it while it may change. The data is null if there is no report. */
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
    // A final report is only refetched to renew its link.
    refetchInterval: live ? interval : () => Math.max(interval, (kept.current?.until ?? 0) - Date.now()),
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
    if (new URL(url, location.href).origin !== location.origin) return undefined; // the CORS rules of the store do not allow this origin
    throw error;
  }
  if (response.status === 404) throw new Gone();
  if (!response.ok) throw new Error(`The object store answered ${response.status} ${response.statusText}.`);
  return await response.text();
}
