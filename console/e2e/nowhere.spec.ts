import { expect, expectAccessible, panel, place, test } from "./test";

/** Addresses of what does not exist, what their pages say, and the link that leads on. */
const nowhere: readonly (readonly [address: string, words: string, on: string])[] = [
  ["/v2/no/such/page", "The console has no page /no/such/page", "All projects"],
  ["/v2/domain/development/project/nope/runs", "There is no project nope", "all projects"],
  ["/v2/domain/development/project/nope/costs", "There is no project nope", "all projects"],
  ["/v2/domain/nope/project/flytesnacks/tasks", "Project flytesnacks has no domain nope", "all projects"],
  [`${place}/nope`, "The console has no page /domain/development/project/flytesnacks/nope", "All projects"],
  [`${place}/runs/nope`, "run flytesnacks/development/nope does not exist", "All runs of flytesnacks / development"],
  [`${place}/tracked-runs/nope`, "run flytesnacks/development/nope does not exist", "All runs of flytesnacks / development"],
  [`${place}/tasks/nope`, "There is no task nope", "Tasks of flytesnacks / development"],
  [`${place}/tasks/shown.squares/nope`, "Task shown.squares has no version nope", "Deployed versions of this task"],
  [`${place}/launch?task=nope`, "There is no deployed task nope", "Tasks of flytesnacks / development"],
  [`${place}/apps/nope`, "app nope does not exist", "Apps of flytesnacks / development"],
  [`${place}/artifacts/nope`, "artifact nope does not exist", "Artifacts of flytesnacks / development"],
  [`${place}/artifacts/shown-figures?version=99`, "artifact shown-figures has no version 99", "Artifacts of flytesnacks / development"],
  [`${place}/problems/999999`, "no problem 999999", "All problems"],
  [`${place}/problems/nope`, "There is no problem nope", "All problems"],
  [`${place}/triggers/triggered.read/nope`, "trigger nope of task triggered.read does not exist", "Triggers of flytesnacks / development"],
  ["/v2/clusters/nope", "cluster nope does not exist", "All clusters"],
];

for (const [address, words, on] of nowhere) {
  test(`${address} says what does not exist and leads on`, async ({ page, complaints }) => {
    await page.goto(address);
    const main = page.getByRole("main");
    await expect(main).toContainText(words);
    await expect(main).not.toContainText("Loading");
    await expect(main.getByRole("button", { name: "Retry" })).toHaveCount(0);
    await expectAccessible(page);
    const link = main.getByRole("link", { name: on, exact: true });
    await link.click();
    await expect(page).not.toHaveURL((url) => url.pathname + url.search === address);
    await expect(main).not.toContainText(words);
    complaints.length = 0; // the browser notes what was not found
  });
}

test("an action that the run does not have leads to the root action", async ({ page, runs, complaints }) => {
  await page.goto(`${place}/runs/${runs.squares}?action=nope`);
  await expect(panel(page)).toContainText(`Run ${runs.squares} has no action “nope”`);
  await panel(page).getByRole("button", { name: "Show the root action" }).click();
  await expect(page).toHaveURL(/action=a0/);
  await expect(panel(page)).toContainText("Phases");
  complaints.length = 0;
});

test("a comparison names the run that does not exist, once", async ({ page, runs, complaints }) => {
  await page.goto(`${place}/compare?a=${runs.squares}&b=nope`);
  const absent = page.getByRole("main").getByRole("alert");
  await expect(absent).toContainText("run flytesnacks/development/nope does not exist");
  await expect(absent).toHaveCount(1);
  await expect(page.getByTestId("side-a")).toContainText("squares");
  complaints.length = 0;
});
