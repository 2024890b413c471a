package authz

import "google.golang.org/protobuf/reflect/protoreflect"

// shape says where a message that names something has its parts: paths of fields, separated by dots. Empty parts are
// not named by it. A name of several parts has their paths, separated by spaces.
type shape struct{ kind, org, project, domain, name, action string }

// The shapes that several messages share.
var (
	// named has the fields org, project, domain and name.
	named = func(kind string) shape { return shape{kind, "org", "project", "domain", "name", ""} }
	// inside is named below a field.
	inside = func(kind, field string) shape {
		return shape{kind, field + ".org", field + ".project", field + ".domain", field + ".name", ""}
	}
)

// shapes are the messages that name something: identifiers, and requests that name it by fields of their own.
var shapes = map[protoreflect.FullName]shape{
	"flyteidl2.common.ActionAttemptIdentifier": {
		"run", "action_id.run.org", "action_id.run.project", "action_id.run.domain", "action_id.run.name", "action_id.name",
	},
	"flyteidl2.common.ActionIdentifier":      {"run", "run.org", "run.project", "run.domain", "run.name", "name"},
	"flyteidl2.common.ClusterIdentifier":     {kind: "cluster", org: "organization", name: "name"},
	"flyteidl2.common.ClusterPoolIdentifier": {kind: "cluster", org: "organization", name: "name"},
	"flyteidl2.common.DomainIdentifier":      {kind: "domain", org: "organization", name: "name"},
	"flyteidl2.common.OrgIdentifier":         {org: "name"},
	"flyteidl2.common.ProjectIdentifier":     {org: "organization", project: "name", domain: "domain"},
	"flyteidl2.common.QueueIdentifier":       {"queue", "organization", "project", "domain", "name", ""},
	"flyteidl2.common.RunIdentifier":         named("run"),
	"flyteidl2.common.TriggerIdentifier":     inside("trigger", "name"),
	"flyteidl2.common.TriggerName":           named("trigger"),

	"flyteidl2.app.Identifier":              named("app"),
	"flyteidl2.app.ReplicaIdentifier":       inside("app", "app_id"),
	"flyteidl2.artifact.ArtifactIdentifier": inside("artifact", "name"),
	"flyteidl2.artifact.ArtifactName":       named("artifact"),
	"flyteidl2.cacheservice.v2.Identifier":  {kind: "cache", org: "org", project: "project", domain: "domain"},
	"flyteidl2.core.Identifier":             named("task"),
	"flyteidl2.project.Project":             {kind: "project", org: "org", project: "id"},
	"flyteidl2.secret.SecretIdentifier":     {"secret", "organization", "project", "domain", "name", ""},
	"flyteidl2.settings.SettingsKey":        {kind: "settings", org: "org", project: "project", domain: "domain"},
	"flyteidl2.task.TaskIdentifier":         named("task"),
	"flyteidl2.task.TaskName":               named("task"),

	"flytebinary.access.v1.CreateAccountRequest": {kind: "account", name: "account.name"},
	"flytebinary.access.v1.CreateBindingRequest": {kind: "binding", project: "scope.project", domain: "scope.domain", name: "role member.name"},
	"flytebinary.access.v1.CreateKeyRequest":     {kind: "key", name: "name"},
	"flytebinary.access.v1.DeleteBindingRequest": {kind: "binding", project: "scope.project", domain: "scope.domain", name: "id"},
	"flytebinary.access.v1.DeleteRoleRequest":    {kind: "role", name: "name"},
	"flytebinary.access.v1.EndSessionsRequest":   {kind: "person", name: "subject"},
	"flytebinary.access.v1.GetLimitsRequest":     {kind: "project", project: "project"},
	"flytebinary.access.v1.PutRoleRequest":       {kind: "role", name: "role.name"},
	"flytebinary.access.v1.RemoveAccountRequest": {kind: "account", name: "name"},
	"flytebinary.access.v1.RevokeKeyRequest":     {kind: "key", name: "id"},
	"flytebinary.access.v1.SetPasswordRequest":   {kind: "account", name: "name"},
	"flytebinary.access.v1.UnlockAccountRequest": {kind: "account", name: "name"},
	"flytebinary.access.v1.UpdateAccountRequest": {kind: "account", name: "account.name"},

	"flytebinary.clusters.v1.AddClusterRequest":        {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.CordonClusterRequest":     {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.GetClusterRequest":        {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.ListClusterEventsRequest": {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.DrainClusterRequest":      {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.IssueCredentialRequest":   {kind: "cluster", name: "cluster"},
	"flytebinary.clusters.v1.RemoveClusterRequest":     {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.RevokeCredentialRequest":  {kind: "credential", name: "id"},
	"flytebinary.clusters.v1.UncordonClusterRequest":   {kind: "cluster", name: "name"},
	"flytebinary.clusters.v1.UpdateClusterRequest":     {kind: "cluster", name: "name"},

	"flytebinary.access.v1.Scope":                     {project: "project", domain: "domain"},
	"flytebinary.engine.v1.GetSecretValuesRequest":    {kind: "secret", project: "project", domain: "domain"},
	"flytebinary.insight.v1.GetTaskHistoryRequest":    {"task", "", "project", "domain", "name", ""},
	"flytebinary.insight.v1.ListPausedActionsRequest": {project: "project", domain: "domain"},
	"flytebinary.insight.v1.ListWaitsRequest":         {project: "project", domain: "domain"},
	"flytebinary.insight.v1.SuggestResourcesRequest":  {"task", "", "project", "domain", "name", ""},
	"flyteidl2.dataproxy.CreateUploadLocationRequest": {kind: "data", org: "org", project: "project", domain: "domain"},
	"flyteidl2.org.CreateDomainRequest":               {kind: "domain", org: "org", name: "id"},
	"flyteidl2.org.DeleteDomainRequest":               {kind: "domain", org: "org", name: "id"},
	"flyteidl2.org.GetDomainRequest":                  {kind: "domain", org: "org", name: "id"},
	"flyteidl2.org.UpdateDomainRequest":               {kind: "domain", org: "org", name: "id"},
	"flyteidl2.project.GetProjectRequest":             {kind: "project", org: "org", project: "id"},
	"flyteidl2.secret.ListSecretsRequest":             {kind: "secret", org: "organization", project: "project", domain: "domain"},
}
