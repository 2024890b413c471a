import { Link } from "@tanstack/react-router";
import type { AppUse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { variable } from "@/features/action/pod/specification";
import { t } from "@/texts/texts";
import { artifactOf } from "./artifact-uri";
import { routeTo } from "./id";
import page from "@/design/page.module.css";

/** What an input of an app refers to, with a link where there is a page for it. */
export function Used({ input, used, actionId }: Pick<AppUse, "input" | "used"> & Partial<Pick<AppUse, "actionId">>) {
  switch (used.case) {
    case "artifactUri": {
      const artifact = artifactOf(used.value);
      if (!artifact) return <code className={page["address"]}>{used.value}</code>;
      const { project, domain, name, version } = artifact;
      return (
        <Link to="/domain/$domain/project/$project/artifacts/$artifact" params={{ project, domain, artifact: name }} search={version === "" ? {} : { version }}>
          {t("artifact {name}", { name })}
          {version && `@${version}`}
        </Link>
      );
    }
    case "appId":
      return (
        <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo(used.value)}>
          {t("app {name}", { name: used.value.name })}
        </Link>
      );
    default:
      if (variable(input, used.value ?? "").hidden) return <em className={page["muted"]}>{t("hidden")}</em>;
      return (
        <>
          {actionId?.run && (
            <div>
              <Link
                to="/domain/$domain/project/$project/runs/$run"
                params={{ domain: actionId.run.domain, project: actionId.run.project, run: actionId.run.name }}
                search={{ action: actionId.name }}
              >
                {t("run {run}, action {action}", { run: actionId.run.name, action: actionId.name })}
              </Link>
            </div>
          )}
          <code className={page["address"]}>{used.value ?? ""}</code>
        </>
      );
  }
}
