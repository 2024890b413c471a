package audit

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// manner is how a call is recorded.
type manner int

const (
	// never: what only reads, and what the history of a run tells.
	never manner = iota
	// after the call, off its path.
	after
	// around the call: durable before it is handled, so that no change that was acknowledged lacks its event.
	around
	// within the transaction of the change.
	within
)

// carrying are procedures that make their change by one transaction, which carries the record: that of the writer of runs, or
// one of pgdb.Change.
var carrying = []string{
	"/flytebinary.access.v1.AccessService/CreateBinding", "/flytebinary.access.v1.AccessService/DeleteBinding",
	"/flytebinary.access.v1.AccessService/DeleteRole", "/flytebinary.access.v1.AccessService/PutRole",
	"/flytebinary.access.v1.KeyService/CreateKey", "/flytebinary.access.v1.KeyService/RevokeKey",
	"/flyteidl2.artifact.ArtifactService/CreateArtifact", "/flyteidl2.artifact.ArtifactService/DeleteArtifact",
	"/flyteidl2.project.ProjectService/CreateProject", "/flyteidl2.project.ProjectService/UpdateProject",
	"/flyteidl2.settings.SettingsService/CreateSettings", "/flyteidl2.settings.SettingsService/UpdateSettings",
	"/flyteidl2.trigger.TriggerService/DeleteTriggers", "/flyteidl2.trigger.TriggerService/DeployTrigger", "/flyteidl2.trigger.TriggerService/UpdateTriggers",
	"/flyteidl2.workflow.RunService/AbortAction", "/flyteidl2.workflow.RunService/AbortRun",
	"/flyteidl2.workflow.RunService/CreateRun", "/flyteidl2.workflow.RunService/SignalEvent",
}

// InTransaction are the procedures whose record is committed with their change. All others that change something are recorded
// around it.
func InTransaction() []string { return slices.Clone(carrying) }

// reading are the verbs that change nothing.
var reading = []string{"view", "use", "call", "select", "discover", "verify"}

// noted are permissions and procedures of which those who look for what leaked want to know, though they change nothing, or which
// are too many to wait for.
var (
	notedPermissions = []string{"secret.view", "data.upload", "action.report", "loglevel.change"}
	notedProcedures  = []string{"/flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", "/flytebinary.insight.v1.FileService/CreateFileLink"}
)

// ofTasks are permissions that processes of tasks use all the time. Where access is open they are anonymous, as everyone is,
// and the history of their run has what they did.
var ofTasks = []string{"action.enqueue", "action.report", "action.update", "data.upload"}

// mannerOf is how an allowed call of a caller is recorded. Calls of tasks and of parts of the installation are in the history
// of their runs.
func (r *Recorder) mannerOf(kind authz.Kind, entry authz.Entry) manner {
	_, verb, _ := strings.Cut(entry.Rule.Action, ".")
	switch {
	case kind == authz.Anonymous && r.open:
		if slices.Contains(reading, verb) || slices.Contains(ofTasks, entry.Rule.Action) {
			return never
		}
		return after // there is no one to hold to account, so no call waits for its record
	case kind != authz.User && kind != authz.Key:
		return never
	case slices.Contains(notedPermissions, entry.Rule.Action) || slices.Contains(notedProcedures, entry.Request.Procedure):
		return after
	case entry.Rule.Action == reads:
		return around
	case slices.Contains(reading, verb):
		return never
	case slices.Contains(carrying, entry.Request.Procedure):
		return within
	default:
		return around
	}
}

// reads is the permission to read the record. That someone reads it is recorded before the first row is sent: a copy of the
// record has left even if the process dies then.
const reads = "audit.view"

// outside reports whether a call changes what is not in the database of its record, or sends the record itself, so that its
// record must be on disk first.
func outside(permission string) bool {
	return strings.HasPrefix(permission, "secret.") || permission == reads
}

const (
	// longest bounds a text of an event.
	longest = 512
	// most bounds the resources of an event.
	most = 50
)

// eventOf is the event of a call.
func eventOf(ctx context.Context, entry authz.Entry) store.AuditEvent {
	identity := authz.IdentityFrom(ctx)
	e := store.AuditEvent{
		Kind: identity.Kind.String(), Subject: clean(identity.Subject), Credential: clean(identity.Credential), Peer: clean(host(entry.Request.Peer)),
		Procedure: clean(entry.Request.Procedure), Permission: entry.Rule.Action, RequestID: clean(entry.Request.Header.Get("X-Request-Id")),
		UserAgent: clean(entry.Request.Header.Get("User-Agent")),
		Resources: []string{}, Outcome: entry.Outcome.String(), Error: errorText(entry.Err),
	}
	for i, resource := range entry.Resources {
		if i == most {
			e.Resources = append(e.Resources, fmt.Sprintf("and %d more", len(entry.Resources)-most))
			break
		}
		if resource != (authz.Resource{}) {
			e.Resources = append(e.Resources, clean(resource.String()))
		}
	}
	if len(entry.Resources) > 0 {
		e.Project, e.Domain = clean(entry.Resources[0].Project), clean(entry.Resources[0].Domain)
	}
	return e
}

// errorText is the error that the client gets.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	return clean(err.Error())
}

// clean makes a text of a client fit for the database.
func clean(text string) string {
	return clip.Head(text, longest)
}

// host is the address of a peer without its port.
func host(peer string) string {
	if name, _, err := net.SplitHostPort(peer); err == nil {
		return name
	}
	return peer
}
