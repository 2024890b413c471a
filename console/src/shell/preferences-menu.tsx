import { SunMoon } from "lucide-react";
import { useState } from "react";
import { IconButton, Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Select } from "@/design/field";
import { usePreferences, zones, type Theme } from "@/app/preferences";
import { t } from "@/texts/texts";
import { choice, chooseLanguage, languages, type Language } from "@/texts/language";

export function PreferencesMenu() {
  const [open, setOpen] = useState(false);
  const { theme, zone, setTheme, setZone } = usePreferences();
  return (
    <>
      <IconButton label={t("Theme, language and time zone")} onClick={() => setOpen(true)}>
        <SunMoon size={16} aria-hidden />
      </IconButton>
      <Dialog open={open} onClose={() => setOpen(false)} title={t("Theme, language and time zone")} description={t("Saved in this browser.")}>
        <Field label={t("Theme")}>
          {(control) => (
            <Select {...control} value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
              <option value="system">{t("System")}</option>
              <option value="light">{t("Light")}</option>
              <option value="dark">{t("Dark")}</option>
            </Select>
          )}
        </Field>
        <Field label={t("Language")} hint={t("The page is loaded again.")}>
          {(control) => (
            <Select {...control} value={choice ?? ""} onChange={(event) => chooseLanguage((event.target.value || undefined) as Language | undefined)}>
              <option value="">{t("Browser language")}</option>
              {Object.entries(languages).map(([code, name]) => (
                <option key={code} value={code} lang={code}>
                  {name}
                </option>
              ))}
            </Select>
          )}
        </Field>
        <Field label={t("Time zone")} hint={t("The browser uses {timeZone}.", { timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone })}>
          {(control) => (
            <Select {...control} value={zone ?? ""} onChange={(event) => setZone(event.target.value || undefined)}>
              <option value="">{t("Browser time zone")}</option>
              {zones().map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          )}
        </Field>
        <DialogActions>
          <Button kind="primary" onClick={() => setOpen(false)}>
            {t("Done")}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
