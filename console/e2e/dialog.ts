import { expect, type Locator, type Page } from "@playwright/test";

/** The window in which dialogs have to fit. */
export const small = { width: 900, height: 600 };

/** The dialog fits the window, nothing is cut off, and each of its buttons can be reached. */
export async function expectFits(page: Page, dialog: Locator): Promise<void> {
  await expect(dialog).toBeVisible();
  const { width, height } = page.viewportSize() ?? small;
  const edges = await dialog.evaluate((element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { left, top, right, bottom, cut: element.scrollWidth - element.clientWidth };
  });
  expect(edges.left).toBeGreaterThanOrEqual(0);
  expect(edges.top).toBeGreaterThanOrEqual(0);
  expect(edges.right).toBeLessThanOrEqual(width);
  expect(edges.bottom).toBeLessThanOrEqual(height);
  expect(edges.cut, "what is cut off at the right").toBeLessThanOrEqual(0);
  for (const button of await dialog.getByRole("button").all()) {
    if (!(await button.isVisible())) continue;
    await button.scrollIntoViewIfNeeded();
    await expect(button).toBeInViewport({ ratio: 0.99 });
  }
}

/** The focus is in the dialog, and the Tab key does not take it out, in neither direction. */
export async function expectTrapped(page: Page, dialog: Locator): Promise<void> {
  const inside = () => dialog.evaluate((element) => element.contains(document.activeElement));
  await expect.poll(inside, "the focus is in the dialog").toBe(true);
  const stops = await dialog.locator("a, button, input, select, textarea, summary, [tabindex]").count();
  for (const key of ["Tab", "Shift+Tab"])
    for (let pressed = 0; pressed <= Math.min(stops + 1, 25); pressed++) {
      await page.keyboard.press(key);
      expect(await inside(), `after ${key}, ${pressed + 1} times`).toBe(true);
    }
}

/** Escape closes the dialog, after the tooltip of what has the focus. */
export async function expectEscapes(page: Page, dialog: Locator): Promise<void> {
  if ((await page.getByRole("tooltip").count()) > 0) await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  await expect(dialog).toHaveCount(0);
}
