/** Translations by the English text. Texts that count something have a form for each plural of the language. */
export type Catalogue = Readonly<Record<string, string | Partial<Readonly<Record<Intl.LDMLPluralRule, string>>>>>;

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
  return navigator.languages.map((tag) => tag.split("-")[0] ?? "").find(isLanguage);
}

/** The language that the person chose; undefined means that of the browser. */
export const choice = chosen();

/** The language of this page, for as long as it is loaded, and its texts. */
export let language: Language = "en";
export let catalogue: Catalogue | undefined;

/** The sentences of the server that come without parts, so that they are known by their words. */
export let recognised: readonly string[] = [];

/** Loads the language of the page. All modules that have texts are evaluated afterwards. */
export async function loadLanguage(): Promise<void> {
  const wanted = choice ?? preferred() ?? "en";
  try {
    if (wanted !== "en") {
      const [texts, server] = await Promise.all([catalogues[wanted](), import("./server.json")]);
      recognised = server.default.flatMap(({ text, said }: { text: string; said?: boolean }) => (said ? [text] : []));
      [language, catalogue] = [wanted, texts.default];
    }
  } catch {
    // Better a page in English than none.
  }
  document.documentElement.lang = language;
}

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
