import { cleanup, fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { Tooltip } from "radix-ui";
import { afterEach, expect, it, vi } from "vitest";
import { Button } from "./button";
import { Menu, MenuItem } from "./menu";

afterEach(cleanup);

it("says why an item is denied, and whom to ask, when it is chosen", async () => {
  const act = vi.fn();
  render(
    <Tooltip.Provider>
      <Menu trigger={<Button>Actions</Button>}>
        <MenuItem denied={{ why: "Takes the role contributor.", more: <button>Copy the request</button>, call: "Service/Call" }} onSelect={act}>
          Archive
        </MenuItem>
      </Menu>
    </Tooltip.Provider>,
  );
  const trigger = screen.getByRole("button", { name: "Actions" });
  trigger.focus();
  fireEvent.keyDown(trigger, { key: "Enter" });
  const item = await screen.findByRole("menuitem", { name: /Archive/ });
  expect(item.getAttribute("aria-disabled")).toBe("true");
  expect(item.getAttribute("data-denied")).toBe("Service/Call");
  item.focus();
  fireEvent.keyDown(item, { key: "Enter" });
  const dialog = within(await screen.findByRole("dialog", { name: "Why you may not do this" }));
  expect(dialog.getByText("Takes the role contributor.")).toBeTruthy();
  expect(dialog.getByRole("button", { name: "Copy the request" })).toBeTruthy();
  expect(act).not.toHaveBeenCalled();
  fireEvent.click(dialog.getByRole("button", { name: "Close" }));
  await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
});
