package audit

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/access/store"
)

// elsewhere is what the record of a place has for the error of a call that was about another place too.
const elsewhere = "the error is in the record of the whole installation: the call was about another place too"

// narrow is an event as the record of a place shows it: without the names of what is in other places, which the call was about too. The hash,
// by which names could be guessed, goes with them.
func narrow(event store.AuditEvent, project, domain string) store.AuditEvent {
	resources, hidden := make([]string, len(event.Resources)), false
	for i, resource := range event.Resources {
		if resources[i] = resource; !inPlace(resource, project, domain) {
			kind, _, _ := strings.Cut(resource, " ")
			resources[i], hidden = kind+" of another place", true
		}
	}
	if !hidden {
		return event
	}
	event.Resources, event.Hash = resources, nil
	if event.Error != "" {
		event.Error = elsewhere
	}
	return event
}

// inPlace reports whether a resource, in words, is in a place, or in none. An empty project or domain is every one.
func inPlace(resource, project, domain string) bool {
	if strings.HasSuffix(resource, " of every project") || strings.HasPrefix(resource, "and ") && strings.HasSuffix(resource, " more") {
		return true
	}
	_, name, _ := strings.Cut(resource, " ")
	in, rest, placed := strings.Cut(name, "/")
	at, _, _ := strings.Cut(rest, "/")
	at, _, _ = strings.Cut(at, " ")
	return placed && (project == "" || in == project) && (domain == "" || at == "" || at == domain)
}
