import { Command } from "cmdk";

/** The entries of the palette. */
export function MenuList({ go }: { readonly go: (to: "/" | "/inbox" | "/system") => void }) {
  return (
    <Command label="Search or jump to">
      <Command.Input placeholder="Type a name or a command" />
      <Command.List>
        <Command.Empty>Nothing found.</Command.Empty>
        <Command.Item onSelect={() => go("/")}>All projects</Command.Item>
        <Command.Item onSelect={() => go("/inbox")}>Inbox</Command.Item>
        <Command.Item onSelect={() => go("/system")}>System</Command.Item>
      </Command.List>
    </Command>
  );
}
