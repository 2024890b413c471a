import { act, cleanup, fireEvent, render, screen } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { Tone } from "./notice";
import { Toasts, useNotify } from "./toast";

function Trigger({ tone, title }: { readonly tone: Tone; readonly title: string }) {
  const notify = useNotify();
  return <button onClick={() => notify(tone, title)}>{`Show ${title}`}</button>;
}

const show = (tone: Tone, title: string) => {
  render(
    <Tooltip.Provider>
      <Toasts>
        <Trigger tone={tone} title={title} />
      </Toasts>
    </Tooltip.Provider>,
  );
  fireEvent.click(screen.getByRole("button", { name: `Show ${title}` }));
};
const messages = () => screen.queryAllByRole("listitem");

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

it("closes a message by itself", () => {
  show("good", "Saved");
  expect(messages()).toHaveLength(1);
  act(() => void vi.advanceTimersByTime(5900));
  expect(messages()).toHaveLength(1);
  act(() => void vi.advanceTimersByTime(200));
  expect(messages()).toHaveLength(0);
});

it("keeps a message while the pointer is over it", () => {
  show("good", "Saved");
  fireEvent.pointerMove(screen.getByRole("region"));
  act(() => void vi.advanceTimersByTime(60_000));
  expect(messages()).toHaveLength(1);
});

it("keeps an error until it is dismissed", () => {
  show("danger", "Refused");
  act(() => void vi.advanceTimersByTime(60_000));
  expect(messages()).toHaveLength(1);
  fireEvent.click(screen.getByRole("button", { name: "Dismiss" }));
  expect(messages()).toHaveLength(0);
});
