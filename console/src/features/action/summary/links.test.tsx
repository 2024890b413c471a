// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { cleanup, render, screen } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ActionPhase } from "@gen/flyteidl2/common/phase_pb.js";
import { ActionAttemptSchema } from "@gen/flyteidl2/workflow/run_definition_pb.js";
import { linksOf } from "./links";

afterEach(cleanup);

it.each([
  [ActionPhase.RUNNING, ["Ray dashboard", "Logs elsewhere"]],
  [ActionPhase.SUCCEEDED, ["Logs elsewhere"]],
])("the dashboard of a cluster is linked while the attempt runs: phase %s", (phase, names) => {
  const logInfo = [
    { name: "Ray dashboard", uri: "http://127.64.0.1:8265", HideOnceFinished: true },
    { name: "Logs elsewhere", uri: "https://logs.example" },
    { name: "A trap", uri: "javascript:alert(1)" },
  ];
  render(linksOf(create(ActionAttemptSchema, { phase, logInfo })));
  expect(screen.getAllByRole("link").map((link) => link.textContent)).toEqual(names);
});
