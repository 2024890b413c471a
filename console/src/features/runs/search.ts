/** What the address of the runs says beside their place: nothing yet that is kept. */
export function RunsSearch(): Record<string, never> {
  return {};
}
