import { act, cleanup, fireEvent, render } from "@testing-library/react";
import { afterEach, expect, it, vi } from "vitest";
import { recognizer, useShortcut, useShortcuts } from "./shortcuts";

afterEach(cleanup);

it("recognizes keys that follow each other soon", () => {
  const pressed = recognizer("g r");
  expect([pressed("g", 0), pressed("r", 500)]).toEqual([false, true]);
  expect([pressed("g", 1000), pressed("r", 3000)]).toEqual([false, false]);
  expect([pressed("x", 4000), pressed("g", 4100), pressed("r", 4200)]).toEqual([false, false, true]);
  expect(pressed("r", 4300)).toBe(false);
});

function Page({ action }: { readonly action: () => void }) {
  useShortcut("j", action, "next");
  useShortcut("mod+k", action);
  return (
    <>
      <input aria-label="text" />
      <input aria-label="box" type="checkbox" />
    </>
  );
}

function Listed() {
  return <p>{useShortcuts().map(({ keys, words }) => `${keys}: ${words}`)}</p>;
}

it("leaves letters to those who type, and to dialogs", () => {
  const action = vi.fn();
  const { getByLabelText } = render(<Page action={action} />);
  fireEvent.keyDown(getByLabelText("text"), { key: "j" });
  expect(action).not.toHaveBeenCalled();
  fireEvent.keyDown(getByLabelText("text"), { key: "k", ctrlKey: true });
  fireEvent.keyDown(getByLabelText("box"), { key: "j" });
  expect(action).toHaveBeenCalledTimes(2);
  const dialog = document.createElement("div");
  dialog.setAttribute("role", "dialog");
  dialog.dataset["state"] = "open";
  document.body.append(dialog);
  fireEvent.keyDown(document.body, { key: "j" });
  expect(action).toHaveBeenCalledTimes(2);
  dialog.remove();
});

it("lists what works now", () => {
  const listed = render(<Listed />);
  const page = render(<Page action={() => undefined} />);
  expect(listed.container.textContent).toBe("j: next");
  act(() => page.unmount());
  expect(listed.container.textContent).toBe("");
});
