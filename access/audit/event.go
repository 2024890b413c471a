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
	// around the call: durable before it is handled, so that nothing that was acknowledged lacks its event.
	around
	// within the transaction of the change: it is there if and only if the change is.
	within
)

// outside are the procedures whose change is not in Postgres, so that no transaction could store the record with it, and what they
// change. All others that change something are recorded within the transaction of their change.
var outside = map[string]string{
	"/flytebinary.insight.v1.CacheInsightService/EvictCacheEntries": "entries of the cache service, which has a database connection of its own",

	"/flytebinary.insight.v1.NotificationService/SendTest": "what receivers of notifications get",

	"/flyteidl2.secret.SecretService/CreateSecret":       inSecretStore,
	"/flyteidl2.secret.SecretService/DeleteSecret":       inSecretStore,
	"/flyteidl2.secret.SecretService/UpdateSecret":       inSecretStore,
	"/flyteidl2.dataproxy.DataProxyService/UploadInputs": "an object of the object store",
}

const inSecretStore = "a secret in Kubernetes, in Vault, in a cloud or in a file"

// Outside is what a procedure changes outside Postgres; empty if it changes nothing there. Such a procedure is recorded around its
// change.
func Outside(procedure string) string { return outside[procedure] }

// reading are the verbs that change nothing.
var reading = []string{"view", "use", "call", "select", "discover", "verify"}

// noted are permissions and procedures of which those who look for what leaked want to know, though they change nothing themselves:
// they sign addresses, or read that a secret exists. The level of the log is in the memory of the process that loses the record.
var (
	notedPermissions = []string{"secret.view", "loglevel.change"}
	notedProcedures  = []string{
		"/flyteidl2.dataproxy.DataProxyService/CreateDownloadLink", "/flyteidl2.dataproxy.DataProxyService/CreateUploadLocation",
		"/flytebinary.insight.v1.FileService/CreateFileLink",
	}
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
	default:
		return mannerFor(entry.Request.Procedure, entry.Rule.Action)
	}
}

// mannerFor is how an allowed call of a person or a program is recorded.
func mannerFor(procedure, permission string) manner {
	_, verb, _ := strings.Cut(permission, ".")
	switch {
	case slices.Contains(notedPermissions, permission) || slices.Contains(notedProcedures, procedure):
		return after
	case permission == reads || Outside(procedure) != "":
		return around
	case slices.Contains(reading, verb):
		return never
	default:
		return within
	}
}

// Manner is how calls of people to a procedure are recorded, in one word: never, after, around or within.
func Manner(procedure string) string {
	rule, _ := authz.RuleOf(procedure)
	return [...]string{"never", "after", "around", "within"}[mannerFor(procedure, rule.Action)]
}

// reads is the permission to read the record. That someone reads it is recorded before the first row is sent: a copy of the
// record has left even if the process dies then.
const reads = "audit.view"

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
