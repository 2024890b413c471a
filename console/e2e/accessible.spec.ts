import { addressOf, routes } from "./pages";
import { sizes } from "./screens";
import { expect, expectAccessible, test } from "./test";

const widths = { tablet: { width: 900, height: 800 }, wide: sizes.wide };

// Every page of the console; what it looks like on a phone, and its dialogs and menus, are among the screens.
for (const route of routes) {
  test(`the page ${route} is accessible in both themes, at 900 px and wide`, async ({ page, runs, complaints }) => {
    await page.setViewportSize(widths.tablet);
    await page.emulateMedia({ colorScheme: "light" });
    await page.goto(addressOf(route, runs));
    await expect(page.locator("body")).toContainText(/\w/);
    await expect(page.getByText(/^Loading /)).toHaveCount(0);
    for (const [name, size] of Object.entries(widths)) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme: "light" });
      await expectAccessible(page);
      await expectAccessible(page, ["target-size"]); // axe leaves it out otherwise
      // What is dark differs in nothing but its colors.
      await page.emulateMedia({ colorScheme: "dark" });
      await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
      await expectAccessible(page, ["color-contrast"]);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(over, `what hangs over the window, ${name}`).toBeLessThanOrEqual(0);
    }
    complaints.length = 0; // local accounts are not enabled
  });
}
