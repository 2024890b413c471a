import { useQuery } from "@connectrpc/connect-query";
import { useNavigate } from "@tanstack/react-router";
import { ArtifactInsightService, type LineageAction, type LineageNode } from "@gen/flytebinary/insight/v1/artifact_pb.js";
import type { Place } from "@/app/place";
import { Loading, ProblemNotice } from "@/design/notice";
import { t } from "@/texts/texts";
import { boxHeight, boxWidth, edgeWords, layout } from "./layout";
import page from "@/design/page.module.css";
import css from "./artifacts.module.css";

/** What made a version and what used it, as a graph and as a list. */
export function Lineage({ place: { project, domain }, name, version }: { readonly place: Place; readonly name: string; readonly version: string }) {
  const answer = useQuery(ArtifactInsightService.method.getLineage, { artifactId: { name: { project, domain, name }, version } });
  const navigate = useNavigate();
  if (answer.error) return <ProblemNotice error={answer.error} retry={() => void answer.refetch()} />;
  if (!answer.data) return <Loading what={t("lineage")} />;
  const { boxes, lines, width, height } = layout(answer.data);
  if (boxes.length < 2) return <p className={page["muted"]}>{t("No lineage recorded for this version.")}</p>;
  const open = (href: string) => void navigate({ href });
  return (
    <>
      <div className={css["graph"]}>
        <svg width={width + 8} height={height + 8} viewBox={`-4 -4 ${width + 8} ${height + 8}`} role="group" aria-label={t("Lineage")}>
          {lines.map(({ path, kind }, at) => (
            <path key={at} d={path} className={css["line"]} data-kind={edgeWords[kind]} />
          ))}
          {boxes.map(({ node, title, about, x, y }, at) => (
            <a
              key={at}
              href={hrefOf(node)}
              className={css["box"]}
              data-kind={node.subject.case}
              data-chosen={at === 0}
              data-missing={node.missing}
              onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey) return;
                event.preventDefault();
                open(hrefOf(node));
              }}
            >
              <title>{`${title} ${about}`}</title>
              <rect x={x} y={y} width={boxWidth} height={boxHeight} rx={6} />
              <text x={x + 10} y={y + 19}>
                {short(title)}
              </text>
              <text x={x + 10} y={y + 36} className={css["about"]}>
                {short(about)}
              </text>
            </a>
          ))}
        </svg>
      </div>
      {answer.data.truncated && <p className={page["muted"]}>{t("Not everything is shown. Open a node to see more.")}</p>}
      <details>
        <summary>{t("Show as list")}</summary>
        <ul>
          {answer.data.edges.map(({ from, to, kind, actions }, at) => {
            const [a, b] = [boxes[from], boxes[to]];
            return (
              <li key={at}>
                {a?.title} {a?.about} {edgeWords[kind]} {b?.title} {b?.about}
                {b && <Actions node={b.node} actions={actions} />}
              </li>
            );
          })}
        </ul>
      </details>
    </>
  );
}

/** The actions that used a version, with links to them. */
function Actions({ node, actions }: { readonly node: LineageNode; readonly actions: readonly LineageAction[] }) {
  const below = actions.filter(({ name }) => name !== "a0");
  if (below.length === 0) return null;
  return (
    <ul>
      {below.map(({ name, task }) => (
        <li key={name}>
          <a href={`${hrefOf(node)}?action=${encodeURIComponent(JSON.stringify(name))}`}>{task || name}</a>
        </li>
      ))}
    </ul>
  );
}

const short = (text: string): string => (text.length > 24 ? `${text.slice(0, 23)}…` : text);

/** The page of a node. */
function hrefOf({ subject }: LineageNode): string {
  const part = encodeURIComponent;
  switch (subject.case) {
    case "artifact": {
      const { project = "", domain = "", name = "" } = subject.value.name ?? {};
      return `/v2/domain/${part(domain)}/project/${part(project)}/artifacts/${part(name)}?version=${part(JSON.stringify(subject.value.version))}`;
    }
    case "run":
      return `/v2/domain/${part(subject.value.domain)}/project/${part(subject.value.project)}/runs/${part(subject.value.name)}`;
    case "app":
      return `/v2/domain/${part(subject.value.domain)}/project/${part(subject.value.project)}/apps/${part(subject.value.name)}`;
    default:
      return "";
  }
}
