import { useInfiniteQuery } from "@tanstack/react-query";
import { AppInsightService } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { client } from "@/api/transport";
import { Button } from "@/design/button";
import { dateOf } from "@/design/format";
import { Empty, Loading, ProblemNotice } from "@/design/notice";
import { When } from "@/design/time";
import { whoIs } from "@/entities/person/who-is";
import { AppStatus } from "./app-status";
import type { AppId } from "./id";
import { Message } from "./message";
import { shownAs } from "./words";
import css from "@/design/list.module.css";

/** What happened to an app, newest first. */
export function History({ id }: { readonly id: AppId }) {
  const answer = useInfiniteQuery({
    queryKey: ["app-events", id],
    initialPageParam: "",
    queryFn: ({ pageParam, signal }) => client(AppInsightService).listAppEvents({ appId: id, limit: 50, token: pageParam }, { signal }),
    getNextPageParam: (page) => page.token || undefined,
    refetchInterval: (query) => ((query.state.data?.pages.length ?? 0) === 1 ? 5_000 : false),
  });
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what="history" />;
  const events = answer.data.pages.flatMap((page) => page.events);
  if (events.length === 0) return <Empty title="No events yet" />;
  return (
    <>
      <table className={css["tasks"]} aria-label="History">
        <thead>
          <tr>
            <th scope="col">Time</th>
            <th scope="col">State</th>
            <th scope="col">Revision</th>
            <th scope="col">Message</th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {events.map(({ seq, time, status, substate, revision, message, actor }) => (
            <tr key={String(seq)}>
              <th scope="row">
                <When at={dateOf(time)} />
              </th>
              <td data-label="State">
                <AppStatus shown={shownAs(status, substate)} />
              </td>
              <td data-label="Revision">{String(revision)}</td>
              <td data-label="Message">
                <Message text={message} />
              </td>
              <td data-label="By">{whoIs(actor) || "the system"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {answer.hasNextPage && (
        <div>
          <Button disabled={answer.isFetchingNextPage} onClick={() => void answer.fetchNextPage()}>
            Older events
          </Button>
        </div>
      )}
    </>
  );
}
