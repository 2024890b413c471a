import { ChevronDown } from "lucide-react";
import type { LiteralType } from "@gen/flyteidl2/core/types_pb.js";
import { Button } from "@/design/button";
import { copyText } from "@/design/clipboard";
import { Menu, MenuItem } from "@/design/menu";
import { useNotify } from "@/design/toast";
import { valueOf } from "@/entities/value/value";
import { t } from "@/texts/texts";
import { asCall, asCommand, asProgram, type Wanted } from "./copy";
import type { Input } from "./form/inputs";
import type { Options } from "./options";
import type { Source } from "./source";
import type { Launch } from "./submit";

export interface CopyMenuProps {
  /** Builds the request of the form. */
  readonly build: () => Promise<Launch>;
  readonly inputs: readonly Input[];
  readonly options: Options;
  /** The run to rerun. */
  readonly source: Source | undefined;
}

const hasEnum = (type: LiteralType | undefined): boolean =>
  type?.type.case === "enumType" || (type?.type.case === "unionType" && type.type.value.variants.some(hasEnum));

/** Copies the request of the form as a command or a program. */
export function CopyMenu({ build, inputs, options, source }: CopyMenuProps) {
  const notify = useNotify();
  const enums = new Set(inputs.filter(({ variable }) => hasEnum(variable.value?.type)).map(({ name }) => name));
  const copy = (what: string, write: (launch: Launch, wanted: Wanted) => string) => () =>
    void build()
      .then((launch) => {
        const values = launch.inputs.literals.map(({ name, value }) => [name, valueOf(value)] as const);
        return copyText(write(launch, { place: launch.place, task: launch.task, values, options, source, enums }));
      })
      .then(
        (done) => (done ? notify("good", t("Copied: {what}", { what })) : notify("danger", t("The browser blocked copying"))),
        (error: unknown) => notify("danger", error instanceof Error ? error.message : t("Copying failed")),
      );
  return (
    <Menu
      trigger={
        <Button>
          {t("Copy as")}
          <ChevronDown size={14} aria-hidden />
        </Button>
      }
    >
      <MenuItem onSelect={copy("command", (_, wanted) => asCommand(wanted))}>{t("Command")}</MenuItem>
      <MenuItem onSelect={copy(t("Python program"), (_, wanted) => asProgram(wanted))}>{t("Python")}</MenuItem>
      <MenuItem onSelect={copy("curl command", ({ place, task, inputs: given, runSpec, name }) => asCall(place, task, given, runSpec, name, location.origin))}>
        {t("curl")}
      </MenuItem>
    </Menu>
  );
}
