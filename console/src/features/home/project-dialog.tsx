import { useMutation } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ProjectService, type Project } from "@gen/flyteidl2/project/project_service_pb.js";
import { Button } from "@/design/button";
import { Dialog, DialogActions } from "@/design/dialog";
import { Field, Input, TextArea } from "@/design/field";
import { ProblemNotice } from "@/design/notice";
import { useTell } from "@/design/toast";
import { idOf, wrongProjectId } from "./project-id";
import css from "./home.module.css";

/** Makes a project, or changes the name and the description of one. */
export function ProjectDialog({ project, open, onClose }: { readonly project?: Project; readonly open: boolean; readonly onClose: () => void }) {
  return (
    <Dialog open={open} onClose={onClose} title={project ? `Change ${project.id}` : "Create a project"}>
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
  const tell = useTell();
  const queries = useQueryClient();
  const done = {
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["projects"] });
      tell("good", project ? `The project ${id} is changed` : `The project ${id} is there`);
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
        // An update replaces everything, what is not changed here too.
        if (project) update.mutate({ project: { ...project, name: name.trim(), description: description.trim() } });
        else create.mutate({ project: { id, name: name.trim(), description: description.trim() } });
      }}
    >
      <Field label="Name">{(control) => <Input {...control} autoComplete="off" maxLength={100} value={name} onChange={(event) => setName(event.target.value)} />}</Field>
      {!project && (
        <Field label="Id" hint="It is in every address and command, and never changes." error={tried || ownId !== undefined ? wrong : ""}>
          {(control) => <Input {...control} autoComplete="off" maxLength={63} value={id} onChange={(event) => setOwnId(event.target.value)} />}
        </Field>
      )}
      <Field label="Description">{(control) => <TextArea {...control} rows={3} maxLength={1000} value={description} onChange={(event) => setDescription(event.target.value)} />}</Field>
      {error && <ProblemNotice error={error} />}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={pending}>
          {project ? "Change it" : "Create it"}
        </Button>
      </DialogActions>
    </form>
  );
}
