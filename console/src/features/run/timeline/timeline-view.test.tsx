import { Code, ConnectError } from "@connectrpc/connect";
import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { Tooltip } from "radix-ui";
import { expect, it, vi } from "vitest";
import { modelOf } from "@/entities/run/model/run-model.fixture";
import { TimelineView } from "./timeline-view";

vi.mock("@/api/transport", () => ({ client: () => ({ listTransitions: () => Promise.reject(new ConnectError("no", Code.Unimplemented)) }) }));

const run = { project: "p", domain: "d", name: "r" };
const everything = () => true;

it("describes its rows, follows the keys, and shows the critical path", async () => {
  const person = userEvent.setup();
  const chosen = vi.fn();
  const model = modelOf([
    { name: "a0", title: "main", started: 0, ended: 10_000 },
    { name: "b", parent: "a0", title: "load", created: 1000, started: 2000, ended: 3000 },
    { name: "c", parent: "a0", title: "train", created: 3000, started: 3500, ended: 9500 },
  ]);
  render(
    <Tooltip.Provider>
      <TimelineView run={run} model={model} version={model.version} selected="" onSelect={chosen} visible={everything} />
    </Tooltip.Provider>,
  );
  const why = await screen.findByTestId("critical-path");
  expect(why.textContent).toContain("The run took 10.0 s. Critical path: 3 actions of 3");
  expect(why.textContent).toContain("Longest: train, 6.5 s (65 %)");
  const list = screen.getByRole("listbox", { name: "Timeline of 3 actions" });
  act(() => list.focus());
  await person.keyboard("{ArrowDown}{ArrowDown}{ArrowDown}");
  await waitFor(() => expect(chosen).toHaveBeenLastCalledWith("c"));
  const row = screen.getByRole("option", { selected: true });
  expect(list.getAttribute("aria-activedescendant")).toBe(row.id);
  expect(row.textContent).toBe("train, Succeeded, created at +3.00 s, waited 500 ms, ran 6.0 s, on the critical path");
  await person.keyboard(" {Home}{Enter}0+-");
  await waitFor(() => expect(chosen).toHaveBeenLastCalledWith("a0"));
});
