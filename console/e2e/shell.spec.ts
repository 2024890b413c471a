import { sizes } from "./screens";
import { expect, expectAccessible, panel, place, test } from "./test";

test("the root redirects to the console", async ({ page }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/v2\//);
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
});

test("an unknown URL shows an error", async ({ page }) => {
  await page.goto("/v2/no/such/page");
  await expect(page.getByText("Page not found")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "All projects", exact: true }).click();
  await expect(page).toHaveURL(/\/v2\/?$/);
});

test("the theme can be selected and is remembered", async ({ page }) => {
  await page.goto(place + "/runs");
  const html = page.locator("html");
  for (const theme of ["dark", "light"] as const) {
    await page.getByRole("button", { name: "Theme, language and time zone" }).click();
    await page.getByLabel("Theme", { exact: true }).selectOption(theme);
    await expectAccessible(page);
    await page.getByRole("button", { name: "Done" }).click();
    await expect(html).toHaveAttribute("data-theme", theme);
    await page.reload();
    await expect(html).toHaveAttribute("data-theme", theme);
  }
});

test("the palette opens by shortcut and navigates", async ({ page }) => {
  await page.goto(place + "/runs");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog");
  await expect(palette).toBeVisible();
  await expectAccessible(page);
  await palette.getByRole("combobox").fill("staging");
  await palette.getByRole("option", { name: "flytesnacks / staging" }).click();
  await expect(page).toHaveURL(/\/v2\/domain\/staging\/project\/flytesnacks\/runs/);
  await expect(palette).toBeHidden();
});

test("the skip link moves the focus to the content", async ({ page }) => {
  await page.goto(place + "/runs");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("link", { name: "Skip to content" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
});

test("the selected link and tab are visible on a phone", async ({ page, runs }) => {
  await page.setViewportSize(sizes.narrow);
  await page.goto(`${place}/runs/${runs.squares}?action=a0&tab=pod`);
  await expect(panel(page).getByRole("tab", { name: "Pod" })).toBeInViewport({ ratio: 0.9 });
  await page.goto(place + "/artifacts");
  const link = page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Artifacts" });
  await expect(link).toBeInViewport({ ratio: 0.9 });
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" }).click();
  await expect(page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" })).toBeInViewport({ ratio: 0.9 });
});

for (const [name, path, heading, later] of [
  // What needs the reader's attention and what has a star load while the heading is drawn, sooner or later.
  ["home", "/v2/", "Projects", /\/(attention|starred)-/],
  ["runs", place + "/runs", "Runs", /\/page-/],
] as const) {
  test(`the first load of ${name} stays within its budget`, async ({ page }) => {
    const sizes = new Map<string, number>();
    page.on("response", (response) => {
      const { pathname } = new URL(response.url());
      if (pathname.startsWith("/v2/")) sizes.set(pathname, Number(response.headers()["content-length"] ?? 0));
    });
    await page.goto(path);
    await expect(page.getByRole("heading", { name: heading, exact: true })).toBeVisible();
    await expect.poll(() => [...sizes.keys()].filter((file) => later.test(file)).length).toBe(2);
    // What opens with a shortcut is loaded when the page has been there for a while.
    const first = [...sizes].filter(([file]) => !file.includes("/palette-list-"));
    expect(first.some(([file]) => file.endsWith(".js"))).toBe(true);
    const bytes = first.reduce((sum, [, size]) => sum + size, 0);
    expect(bytes, first.map(([file, size]) => `${file} ${size}`).join("\n")).toBeLessThan(300_000);
  });
}

test("injected scripts do not run", async ({ page, request, complaints }) => {
  const policy = (await request.get("/v2/")).headers()["content-security-policy"] ?? "";
  expect(policy).toContain("script-src 'self'");
  expect(policy).not.toMatch(/script-src[^;]*(unsafe|\*|data:|blob:)/);
  await page.goto("/v2/");
  await expect(page.getByRole("heading", { name: "Projects" })).toBeVisible();
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "window.inlineRan = true";
    document.head.append(script);
    return "inlineRan" in window;
  });
  expect(ran).toBe(false);
  await expect(() => expect(complaints).toEqual([expect.stringContaining("inline script")])).toPass();
  complaints.length = 0;
});
