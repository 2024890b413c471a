import { Link } from "@tanstack/react-router";
import type { AppUse } from "@gen/flytebinary/insight/v1/apps_pb.js";
import { variable } from "@/features/action/pod/specification";
import { artifactOf } from "./artifact-uri";
import { routeTo } from "./id";
import css from "./apps.module.css";

/** What an input of an app refers to, with a link where there is a page for it. */
export function Used({ input, used }: Pick<AppUse, "input" | "used">) {
  switch (used.case) {
    case "artifactUri": {
      const artifact = artifactOf(used.value);
      if (!artifact) return <code className={css["address"]}>{used.value}</code>;
      const { project, domain, name, version } = artifact;
      return (
        <Link to="/domain/$domain/project/$project/artifacts/$artifact" params={{ project, domain, artifact: name }} search={version === "" ? {} : { version }}>
          artifact {name}
          {version && `@${version}`}
        </Link>
      );
    }
    case "appId":
      return (
        <Link to="/domain/$domain/project/$project/apps/$app" params={routeTo(used.value)}>
          app {used.value.name}
        </Link>
      );
    default:
      if (variable(input, used.value ?? "").hidden) return <em className={css["muted"]}>hidden</em>;
      return <code className={css["address"]}>{used.value ?? ""}</code>;
  }
}
