import type { Catalogue } from "./texts";

/** The languages of the console, each under its own name. */
export const languages = { en: "English", de: "Deutsch" } as const;

export type Language = keyof typeof languages;

/** English needs no catalogue: its texts are in the code. The others are loaded by those who read them. */
const catalogues: Record<Exclude<Language, "en">, () => Promise<{ readonly default: Catalogue }>> = {
  de: () => import("./de.json"),
};

const key = "flyte-console:language";

const isLanguage = (value: string): value is Language => Object.hasOwn(languages, value);

function chosen(): Language | undefined {
  try {
    const value = localStorage.getItem(key) ?? "";
    return isLanguage(value) ? value : undefined;
  } catch {
    return undefined; // no storage: a worker, a test, or a browser that forbids it
  }
}

/** The first language of the browser that the console has. */
function preferred(): Language | undefined {
  if (typeof document === "undefined") return undefined; // workers and tests without a page write nothing for people
  return navigator.languages.map((tag) => tag.split("-")[0] ?? "").find(isLanguage);
}

/** The language that the person chose; undefined means that of the browser. */
export const choice = chosen();

async function load(): Promise<readonly [Language, Catalogue | undefined]> {
  const wanted = choice ?? preferred() ?? "en";
  if (wanted === "en") return ["en", undefined];
  try {
    return [wanted, (await catalogues[wanted]()).default];
  } catch {
    return ["en", undefined]; // better a page in English than none
  }
}

/** The language of this page, for as long as it is loaded, and its texts. All modules that have texts are evaluated afterwards. */
export const [language, catalogue] = await load();

if (typeof document !== "undefined") document.documentElement.lang = language;

/** Changes the language; undefined means that of the browser. The page is loaded again, so that no text of the old one is left. */
export function chooseLanguage(next: Language | undefined): void {
  try {
    if (next === undefined) localStorage.removeItem(key);
    else localStorage.setItem(key, next);
  } catch {
    return; // forbidden: the language stays
  }
  location.reload();
}
