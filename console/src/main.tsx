import { loadLanguage } from "@/texts/language";

// The rest of the console is imported afterwards, because its constants have texts.
void loadLanguage().then(async () => (await import("./page")).draw());
