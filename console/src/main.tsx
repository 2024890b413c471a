import { loadLanguage } from "@/texts/language";

/** The address of a run. */
const run = /\/(?:tracked-)?runs\/[^/]+\/?$/;

// The rest of the console is imported afterwards, because its constants have texts.
void loadLanguage().then(async () => {
  const page = import("./page");
  // Its files load while the frame around it is evaluated, and not after that.
  if (run.test(location.pathname)) void import("@/features/run/page").catch(() => undefined); // the router says so
  (await page).draw();
});
