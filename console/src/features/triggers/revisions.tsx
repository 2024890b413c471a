import { useInfiniteQuery } from "@tanstack/react-query";
import { TriggerService } from "@gen/flyteidl2/trigger/trigger_service_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import type { TriggerId } from "./id";
import { actionWords } from "./words";
import css from "@/design/list.module.css";

/** What was done to a trigger, latest first. */
export function Revisions({ id }: { readonly id: TriggerId }) {
  const answer = useInfiniteQuery({
    queryKey: ["trigger-revisions", id],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => client(TriggerService).getTriggerRevisionHistory({ name: id, request: { limit: 50, token: pageParam } }, { signal }),
    getNextPageParam: (page) => page.token || undefined,
  });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what="revisions" />;
  const revisions = answer.data.pages.flatMap((page) => page.triggers);
  return (
    <>
      <table className={css["tasks"]} aria-label="Revisions">
        <thead>
          <tr>
            <th scope="col">Revision</th>
            <th scope="col">What</th>
            <th scope="col">When</th>
            <th scope="col">Who</th>
          </tr>
        </thead>
        <tbody>
          {revisions.map((revision) => (
            <tr key={String(revision.id?.revision)}>
              <th scope="row">{String(revision.id?.revision)}</th>
              <td data-label="What">{actionWords(revision.action)}</td>
              <td data-label="When">
                <When at={dateOf(revision.createdAt)} />
              </td>
              <td data-label="Who">{whoIs(revision.metadata?.updatedBy)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasNextPage && (
        <div>
          <Button onClick={() => void answer.fetchNextPage()}>Older revisions</Button>
        </div>
      )}
    </>
  );
}
