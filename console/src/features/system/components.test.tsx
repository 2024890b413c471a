import { create } from "@bufbuild/protobuf";
import { cleanup, render, screen, within } from "@testing-library/react";
import { afterEach, expect, it } from "vitest";
import { ComponentSchema } from "@gen/flytebinary/insight/v1/system_pb.js";
import { Components } from "./components";

afterEach(cleanup);

const component = (name: string, message: string, state: { degraded?: boolean; healthy?: boolean } = {}) =>
  create(ComponentSchema, { name, message, healthy: true, ...state });

it("shows what waits for each sink of events, those that lag first", () => {
  render(
    <Components
      components={[
        component("database", ""),
        component("sink: lake", "nothing waits"),
        component("sink: hook", "4211 changes of runs wait, the oldest for 12m3s; the log of the server has the reason", { degraded: true }),
      ]}
    />,
  );
  expect(screen.getByRole("alert").textContent).toContain("1 of 3 components degraded");
  const rows = screen.getAllByRole("row").slice(1);
  expect(rows.map((row) => within(row).getByRole("rowheader").textContent)).toEqual(["sink: hook", "database", "sink: lake"]);
  expect(rows[0]?.textContent).toContain("Degraded");
  expect(rows[0]?.textContent).toContain("4211 changes of runs wait, the oldest for 12m3s");
  expect(rows[2]?.textContent).toContain("nothing waits");
});

it("says that all is well when nothing waits", () => {
  render(<Components components={[component("database", ""), component("sink: lake", "nothing waits")]} />);
  expect(screen.queryByRole("alert")).toBeNull();
  expect(screen.getByTestId("components").textContent).toContain("All 2 components healthy");
});
