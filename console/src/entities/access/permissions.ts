import { t } from "@/texts/texts";

/** Permissions that belong together, each with what its holder may do, in words. */
export interface PermissionGroup {
  readonly title: string;
  readonly permissions: Readonly<Record<string, string>>;
}

/** The permissions that people and keys can have, in words. Those for the parts of the installation are not here. */
export const permissionGroups: readonly PermissionGroup[] = [
  {
    title: t("Runs and actions"),
    permissions: {
      "run.view": t("See runs"),
      "run.create": t("Start, rerun and recover runs"),
      "run.abort": t("Abort runs"),
      "action.view": t("See the actions of runs, their phases and errors"),
      "action.abort": t("Abort single actions of a run"),
      "action.signal": t("Answer the conditions that a run waits for"),
      "action.enqueue": t("Add actions to a run, as programs that run on their own do"),
      "action.update": t("Change the state of a run's actions, as programs that run on their own do"),
      "action.report": t("Report actions of tracked runs"),
      "view.update": t("Share views of runs with a project"),
      "view.delete": t("Delete views that are shared with a project"),
    },
  },
  {
    title: t("Data, logs and artifacts"),
    permissions: {
      "data.view": t("Read inputs, outputs, reports and files"),
      "data.upload": t("Upload inputs and code"),
      "log.view": t("Read logs"),
      "artifact.view": t("See artifacts and their lineage"),
      "artifact.create": t("Create artifacts"),
      "artifact.delete": t("Delete artifacts"),
    },
  },
  {
    title: t("Tasks and triggers"),
    permissions: {
      "task.view": t("See tasks, their versions and code"),
      "task.deploy": t("Deploy tasks"),
      "cache.evict": t("Evict entries of the cache of outputs"),
      "trigger.view": t("See triggers and their history"),
      "trigger.deploy": t("Deploy triggers"),
      "trigger.update": t("Enable and disable triggers"),
      "trigger.delete": t("Delete triggers"),
      "trigger.backfill": t("Start and cancel backfills"),
      "image.view": t("See whether an image exists"),
      "translator.use": t("Convert inputs between forms and values"),
      "cluster.select": t("Ask which cluster serves a request"),
    },
  },
  {
    title: t("Apps"),
    permissions: {
      "app.view": t("See apps, their revisions and replicas"),
      "app.call": t("Use apps that require sign-in"),
      "app.create": t("Deploy apps"),
      "app.update": t("Change, stop and roll back apps"),
      "app.delete": t("Delete apps"),
    },
  },
  {
    title: t("Secrets"),
    permissions: {
      "secret.view": t("See the names of secrets"),
      "secret.create": t("Create secrets"),
      "secret.update": t("Replace the values of secrets"),
      "secret.delete": t("Delete secrets"),
    },
  },
  {
    title: t("Projects and settings"),
    permissions: {
      "project.view": t("See projects"),
      "project.create": t("Create projects"),
      "project.update": t("Change and archive projects"),
      "domain.view": t("See domains"),
      "domain.create": t("Create domains"),
      "domain.update": t("Change domains"),
      "domain.delete": t("Delete domains"),
      "settings.view": t("See settings of projects and domains"),
      "settings.create": t("Create settings of projects and domains"),
      "settings.update": t("Change settings of projects and domains"),
    },
  },
  {
    title: t("Access and audit"),
    permissions: {
      "identity.view": t("See who they are themselves"),
      "identity.update": t("Replace their own password, and save views of their own"),
      "role.view": t("See roles"),
      "role.update": t("Create and change roles"),
      "role.delete": t("Delete roles"),
      "binding.view": t("See who has which role"),
      "binding.create": t("Give roles to others, as far as they have them"),
      "binding.delete": t("Take roles from others"),
      "access.explain": t("Ask why others may or may not do something"),
      "key.view": t("See their own API keys"),
      "key.create": t("Create API keys of their own"),
      "key.revoke": t("Revoke their own API keys"),
      "key.administer": t("See and revoke the API keys of everyone"),
      "cluster.view": t("See clusters and the credentials of their controllers"),
      "cluster.create": t("Add clusters"),
      "cluster.update": t("Issue and revoke the credentials of clusters"),
      "cluster.delete": t("Remove clusters"),
      "account.view": t("See local accounts"),
      "account.create": t("Create local accounts"),
      "account.update": t("Replace passwords, unlock accounts and end their sessions"),
      "account.delete": t("Remove local accounts"),
      "audit.view": t("Read what was done and refused"),
      "audit.verify": t("Check that no audit event was changed or removed"),
    },
  },
  {
    title: t("Installation"),
    permissions: {
      "system.view": t("See the health and the configuration of the installation"),
      "metrics.view": t("Read metrics"),
      "queue.view": t("See queues and how full they are"),
      "pool.view": t("See worker pools"),
      "notification.view": t("See which notifications were delivered"),
      "notification.retry": t("Send notifications again"),
      "retention.view": t("See what retention would delete"),
      "loglevel.view": t("See the log level"),
      "loglevel.change": t("Change the log level"),
      "profile.view": t("Take profiles of the server"),
    },
  },
];

const words = new Map(permissionGroups.flatMap(({ permissions }) => Object.entries(permissions)));

/** What a permission allows, in words; the permission itself if it has none. */
export const permissionWords = (permission: string): string => words.get(permission) ?? permission;

/** Whether a permission is one that people can have. */
export const isForPeople = (permission: string): boolean => words.has(permission);
