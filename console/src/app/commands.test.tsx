import { cleanup, render } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { fits, useCommands, useOffered } from "./commands";

afterEach(cleanup);

describe("what is typed", () => {
  it.each([
    ["", "anything", true],
    ["run", "Go to runs", true],
    ["go run", "Go to runs", true],
    ["uns", "Go to runs", true],
    ["un", "Go to runs", false],
    ["rst", "Go to runs", false],
    ["eu ber", "Time zone: Europe/Berlin", true],
  ])("%j fits %j: %s", (typed, text, wanted) => expect(fits(typed, text)).toBe(wanted));
});

function Page({ run, title }: { readonly run: () => void; readonly title: string }) {
  useCommands([{ title, run }]);
  return null;
}

function Palette({ hear }: { readonly hear: (run: (() => void) | undefined, titles: readonly string[]) => void }) {
  const offered = useOffered();
  hear(
    offered[0]?.run,
    offered.map(({ title }) => title),
  );
  return null;
}

it("offers what the page offers, in its latest form, as long as it is there", () => {
  const heard = vi.fn<(run: (() => void) | undefined, titles: readonly string[]) => void>();
  const first = vi.fn();
  const second = vi.fn();
  render(<Palette hear={heard} />);
  const page = render(<Page title="Abort" run={first} />);
  page.rerender(<Page title="Abort" run={second} />);
  expect(heard).toHaveBeenLastCalledWith(expect.any(Function), ["Abort"]);
  heard.mock.lastCall?.[0]?.();
  expect(first).not.toHaveBeenCalled();
  expect(second).toHaveBeenCalledOnce();
  page.unmount();
  expect(heard).toHaveBeenLastCalledWith(undefined, []);
});
