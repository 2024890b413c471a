import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { TriggerInsightService } from "@gen/flytebinary/insight/v1/triggers_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { Tag } from "@/design/facts";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import type { TriggerId } from "./id";
import { VersionLink } from "./version-link";
import { stateWords } from "./words";
import css from "@/design/list.module.css";

/** The slots of a trigger with their runs, newest first. */
export function Slots({ id }: { readonly id: TriggerId }) {
  const answer = useInfiniteQuery({
    queryKey: ["trigger-slots", id],
    initialPageParam: undefined as Timestamp | undefined,
    queryFn: ({ pageParam, signal }) =>
      client(TriggerInsightService).listSlots({ name: id, limit: 50, ...(pageParam && { before: pageParam }) }, { signal }),
    getNextPageParam: (page) => (page.more ? page.slots.at(-1)?.time : undefined),
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 5_000 : false),
  });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what="slots" />;
  const slots = answer.data.pages.flatMap((page) => page.slots);
  if (slots.length === 0) return <Empty title="It has not fired yet" />;
  return (
    <>
      <table className={css["tasks"]} aria-label="Slots">
        <thead>
          <tr>
            <th scope="col">Slot</th>
            <th scope="col">State</th>
            <th scope="col">Run</th>
            <th scope="col">Revision</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {slots.map((slot) => (
            <tr key={`${slot.time?.seconds ?? 0n}.${slot.time?.nanos ?? 0} ${slot.artifact?.version ?? ""}`}>
              <th scope="row">
                <When at={dateOf(slot.time)} />
                {slot.artifact && (
                  <>
                    {" "}
                    <VersionLink artifact={slot.artifact} />
                  </>
                )}
              </th>
              <td data-label="State">
                <Tag>{stateWords(slot.state)}</Tag>
              </td>
              <td data-label="Run">
                {slot.runId ? (
                  <Link
                    to="/domain/$domain/project/$project/runs/$run"
                    params={{ domain: slot.runId.domain, project: slot.runId.project, run: slot.runId.name }}
                  >
                    {slot.runId.name}
                  </Link>
                ) : (
                  "–"
                )}
              </td>
              <td data-label="Revision">{String(slot.revision)}</td>
              <td data-label="Reason">
                {slot.reason}
                {slot.backfill > 0n && ` Backfill ${slot.backfill}.`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            Older slots
          </Button>
        </div>
      )}
    </>
  );
}
