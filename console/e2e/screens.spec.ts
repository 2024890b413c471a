import { screens, sizes } from "./screens";
import { expect, expectAccessible, test } from "./test";

// Looked at in the other theme and in the other width than elsewhere, too.
for (const { name, open, absent } of screens) {
  test(`${name} is accessible in every theme and width`, async ({ page, runs, complaints }) => {
    for (const [size, viewport] of Object.entries(sizes)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: "light" });
      await open(page, runs);
      await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
      await expectAccessible(page);
      // What is dark differs in nothing but its colors.
      await page.emulateMedia({ colorScheme: "dark" });
      await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
      await expectAccessible(page, ["color-contrast"]);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(over, `what hangs over the ${size} window`).toBeLessThanOrEqual(0);
    }
    if (absent) complaints.length = 0;
  });
}
