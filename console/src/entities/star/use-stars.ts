import { useMutation, useQuery, createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { StarService, type Star, type StarTarget, type StarTargetSchema } from "@gen/flytebinary/insight/v1/stars_pb.js";
import { problemOf } from "@/api/problem";
import type { Place } from "@/app/place";
import { useNotify } from "@/design/toast";
import { useDenied } from "@/entities/access/use-denied";
import { t } from "@/texts/texts";

/** What can have a star: a run or a task of a place. */
export type Starred = Place & { readonly kind: "run" | "task"; readonly name: string };

/** Identifies what has a star. */
export const keyOfStar = ({ project, domain, kind, name }: Starred): string => `${project}/${domain}/${kind}/${name}`;

/** What a star is of; undefined for a kind that this console does not know. */
export function starredOf(target: StarTarget | undefined): Starred | undefined {
  if (target?.target.case === undefined) return undefined;
  return { project: target.project, domain: target.domain, kind: target.target.case, name: target.target.value };
}

const targetOf = ({ project, domain, kind, name }: Starred): MessageInitShape<typeof StarTargetSchema> => ({
  project,
  domain,
  target: { case: kind, value: name },
});

const every = 60_000;

/** The stars of the reader, and how to change them. Until they are known, nothing has one. */
export function useStars() {
  const notify = useNotify();
  const queries = useQueryClient();
  const refetchInterval = (query: { readonly state: { readonly error: unknown } }) => (query.state.error ? false : every);
  const answer = useQuery(StarService.method.listStars, {}, { refetchInterval, retry: false, staleTime: every / 2 });
  const change = {
    onSettled: () => queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: StarService.method.listStars, cardinality: "finite" }) }),
    onError: (error: Error) => notify("danger", t("The star is not changed"), problemOf(error).message),
  };
  const [noAdd, noRemove] = [useDenied(StarService.method.addStar, "anywhere"), useDenied(StarService.method.removeStar, "anywhere")];
  const add = useMutation(StarService.method.addStar, change);
  const remove = useMutation(StarService.method.removeStar, change);
  const stars: readonly Star[] = answer.data?.stars ?? [];
  const keys = new Set(stars.map(({ target }) => starredOf(target)).flatMap((one) => (one ? [keyOfStar(one)] : [])));
  return {
    stars,
    /** Whether the server keeps stars. */
    known: answer.isSuccess,
    has: (one: Starred): boolean => keys.has(keyOfStar(one)),
    set: (one: Starred, on: boolean): void => (on ? add : remove).mutate({ target: targetOf(one) }),
    /** Why the reader may not change a star; undefined if they may. */
    denied: (one: Starred) => (keys.has(keyOfStar(one)) ? noRemove : noAdd),
    changing: add.isPending || remove.isPending,
  };
}
