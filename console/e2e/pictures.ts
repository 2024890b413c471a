import { join } from "node:path";
import { screens, sizes, themes } from "./screens";
import { drawn, test } from "./test";

// Takes pictures, which people look at; no test compares them.
const folder = process.env["PICTURES"] ?? join(import.meta.dirname, "../screenshots");

for (const { name, open, absent } of screens) {
  test(name, async ({ page, runs, complaints }) => {
    for (const [size, viewport] of Object.entries(sizes)) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: "light" });
      await open(page, runs);
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme });
        await drawn(page);
        await page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), animations: "disabled" });
      }
    }
    if (absent) complaints.length = 0;
  });
}
