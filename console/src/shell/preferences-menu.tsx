import { SunMoon } from "lucide-react";
import { useState } from "react";
import { IconButton, Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Select } from "@/design/field";
import { usePreferences, zones, type Theme } from "@/app/preferences";

export function PreferencesMenu() {
  const [open, setOpen] = useState(false);
  const { theme, zone, setTheme, setZone } = usePreferences();
  return (
    <>
      <IconButton label="Theme and time zone" onClick={() => setOpen(true)}>
        <SunMoon size={16} aria-hidden />
      </IconButton>
      <Dialog open={open} onClose={() => setOpen(false)} title="Theme and time zone" description="Saved in this browser.">
        <Field label="Theme">
          {(control) => (
            <Select {...control} value={theme} onChange={(event) => setTheme(event.target.value as Theme)}>
              <option value="system">System</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </Select>
          )}
        </Field>
        <Field label="Time zone" hint={`The browser uses ${Intl.DateTimeFormat().resolvedOptions().timeZone}.`}>
          {(control) => (
            <Select {...control} value={zone ?? ""} onChange={(event) => setZone(event.target.value || undefined)}>
              <option value="">Browser time zone</option>
              {zones().map((name) => (
                <option key={name}>{name}</option>
              ))}
            </Select>
          )}
        </Field>
        <DialogActions>
          <Button kind="primary" onClick={() => setOpen(false)}>
            Done
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}
