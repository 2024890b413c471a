/** Permissions that belong together, each with what its holder may do, in words. */
export interface PermissionGroup {
  readonly title: string;
  readonly permissions: Readonly<Record<string, string>>;
}

/** The permissions that people and keys can have, in words. Those for the parts of the installation are not here. */
export const permissionGroups: readonly PermissionGroup[] = [
  {
    title: "Runs and actions",
    permissions: {
      "run.view": "See runs",
      "run.create": "Start, rerun and recover runs",
      "run.abort": "Abort runs",
      "action.view": "See the actions of runs, their phases and errors",
      "action.abort": "Abort single actions of a run",
      "action.signal": "Answer the conditions that a run waits for",
      "action.enqueue": "Add actions to a run, as programs that run on their own do",
      "action.update": "Change the state of a run's actions, as programs that run on their own do",
      "action.report": "Report actions of tracked runs",
      "view.update": "Share views of runs with a project",
      "view.delete": "Delete views that are shared with a project",
    },
  },
  {
    title: "Data, logs and artifacts",
    permissions: {
      "data.view": "Read inputs, outputs, reports and files",
      "data.upload": "Upload inputs and code",
      "log.view": "Read logs",
      "artifact.view": "See artifacts and their lineage",
      "artifact.create": "Create artifacts",
      "artifact.delete": "Delete artifacts",
    },
  },
  {
    title: "Tasks and triggers",
    permissions: {
      "task.view": "See tasks, their versions and code",
      "task.deploy": "Deploy tasks",
      "cache.evict": "Evict entries of the cache of outputs",
      "trigger.view": "See triggers and their history",
      "trigger.deploy": "Deploy triggers",
      "trigger.update": "Enable and disable triggers",
      "trigger.delete": "Delete triggers",
      "trigger.backfill": "Start and cancel backfills",
      "image.view": "See whether an image exists",
      "translator.use": "Convert inputs between forms and values",
      "cluster.select": "Ask which cluster serves a request",
    },
  },
  {
    title: "Apps",
    permissions: {
      "app.view": "See apps, their revisions and replicas",
      "app.call": "Use apps that require sign-in",
      "app.create": "Deploy apps",
      "app.update": "Change, stop and roll back apps",
      "app.delete": "Delete apps",
    },
  },
  {
    title: "Secrets",
    permissions: {
      "secret.view": "See the names of secrets",
      "secret.create": "Create secrets",
      "secret.update": "Replace the values of secrets",
      "secret.delete": "Delete secrets",
    },
  },
  {
    title: "Projects and settings",
    permissions: {
      "project.view": "See projects",
      "project.create": "Create projects",
      "project.update": "Change and archive projects",
      "domain.view": "See domains",
      "domain.create": "Create domains",
      "domain.update": "Change domains",
      "domain.delete": "Delete domains",
      "settings.view": "See settings of projects and domains",
      "settings.create": "Create settings of projects and domains",
      "settings.update": "Change settings of projects and domains",
    },
  },
  {
    title: "Access and audit",
    permissions: {
      "identity.view": "See who they are themselves",
      "identity.update": "Replace their own password, and save views of their own",
      "role.view": "See roles",
      "role.update": "Create and change roles",
      "role.delete": "Delete roles",
      "binding.view": "See who has which role",
      "binding.create": "Give roles to others, as far as they have them",
      "binding.delete": "Take roles from others",
      "access.explain": "Ask why others may or may not do something",
      "key.view": "See their own API keys",
      "key.create": "Create API keys of their own",
      "key.revoke": "Revoke their own API keys",
      "key.administer": "See and revoke the API keys of everyone",
      "cluster.view": "See clusters and the credentials of their controllers",
      "cluster.create": "Add clusters",
      "cluster.update": "Issue and revoke the credentials of clusters",
      "cluster.delete": "Remove clusters",
      "account.view": "See local accounts",
      "account.create": "Create local accounts",
      "account.update": "Replace passwords, unlock accounts and end their sessions",
      "account.delete": "Remove local accounts",
      "audit.view": "Read what was done and refused",
      "audit.verify": "Check that no audit event was changed or removed",
    },
  },
  {
    title: "Installation",
    permissions: {
      "system.view": "See the health and the configuration of the installation",
      "metrics.view": "Read metrics",
      "queue.view": "See queues and how full they are",
      "pool.view": "See worker pools",
      "notification.view": "See which notifications were delivered",
      "notification.retry": "Send notifications again",
      "retention.view": "See what retention would delete",
      "loglevel.view": "See the log level",
      "loglevel.change": "Change the log level",
      "profile.view": "Take profiles of the server",
    },
  },
];

const words = new Map(permissionGroups.flatMap(({ permissions }) => Object.entries(permissions)));

/** What a permission allows, in words; the permission itself if it has none. */
export const permissionWords = (permission: string): string => words.get(permission) ?? permission;

/** Whether a permission is one that people can have. */
export const isForPeople = (permission: string): boolean => words.has(permission);
