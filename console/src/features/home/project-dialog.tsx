import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ProjectService, type Project } from "@gen/flyteidl2/project/project_service_pb.js";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input, TextArea } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useNotify } from "@/design/toast";
import { t } from "@/texts/texts";
import { idOf, wrongProjectId } from "./project-id";
import css from "./home.module.css";

/** Creates a project, or edits its name and description. */
export function ProjectDialog({ project, open, onClose }: { readonly project?: Project; readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title={project ? t("Edit {id}", { id: project.id }) : t("Create project")}>
      <Form {...(project && { project })} onClose={onClose} />
    </Dialog>
  );
}

function Form({ project, onClose }: { readonly project?: Project; readonly onClose: () => void }) {
  const [name, setName] = useState(project?.name ?? "");
  const [ownId, setOwnId] = useState<string>();
  const [description, setDescription] = useState(project?.description ?? "");
  const [tried, setTried] = useState(false);
  const id = project?.id ?? ownId ?? idOf(name);
  const notify = useNotify();
  const queries = useQueryClient();
  const done = {
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["projects"] });
      notify("good", project ? t("Project {id} changed", { id }) : t("Project {id} created", { id }));
      onClose();
    },
  };
  const create = useMutation(ProjectService.method.createProject, done);
  const update = useMutation(ProjectService.method.updateProject, done);
  const wrong = project ? "" : wrongProjectId(id);
  const pending = create.isPending || update.isPending;
  const error = create.error ?? update.error;
  return (
    <form
      className={css["form"]}
      data-testid="project-form"
      onSubmit={(event) => {
        event.preventDefault();
        setTried(true);
        if (wrong !== "" || pending) return;
        // An update replaces the whole project: send the other fields as well.
        if (project) update.mutate({ project: { ...project, name: name.trim(), description: description.trim() } });
        else create.mutate({ project: { id, name: name.trim(), description: description.trim() } });
      }}
    >
      <Field label={t("Name")}>
        {(control) => <Input {...control} autoComplete="off" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}
      </Field>
      {!project && (
        <Field label={t("ID")} hint={t("Used in URLs and commands. It cannot be changed later.")} error={tried || ownId !== undefined ? wrong : ""}>
          {(control) => <Input {...control} autoComplete="off" maxLength={63} value={id} onChange={(event) => setOwnId(event.target.value)} />}
        </Field>
      )}
      <Field label={t("Description")}>
        {(control) => <TextArea {...control} rows={3} maxLength={1000} value={description} onChange={(event) => setDescription(event.target.value)} />}
      </Field>
      {error && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>{t("Cancel")}</Button>
        <Button kind="primary" type="submit" disabled={pending}>
          {project ? t("Save") : t("Create")}
        </Button>
      </DialogActions>
    </form>
  );
}
