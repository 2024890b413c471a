package authz

import "fmt"

// Resource is what a request is about. Authorization happens before validation, so every field is as the client sent
// it, well formed or not. An empty field means that the request names none: a resource without a project is the whole
// organization, and a limited caller must be refused it, or be allowed it within a Scope where the rule lists.
type Resource struct {
	// Kind is what Name names, such as run, task or trigger; empty when the request names no more than a place.
	Kind string
	// Org is the organization, which clients of a single installation leave empty.
	Org string
	// Project and Domain are the place.
	Project, Domain string
	// Name is the name of the resource in its place.
	Name string
	// Action is the name of an action in the run that Name names.
	Action string
	// Permission is the permission that the request takes on this resource if it is not that of its rule; empty otherwise.
	Permission string
}

// String is the resource for messages, such as run p/d/r1 action a0.
func (r Resource) String() string {
	text := r.Kind
	if text == "" {
		text = "place"
	}
	switch {
	case r.Project == "" && r.Domain == "" && r.Name == "":
		return text + " of every project"
	case r.Project == "" && r.Domain == "":
		text += " " + r.Name
	case r.Name == "":
		text += fmt.Sprintf(" %s/%s", r.Project, r.Domain)
	default:
		text += fmt.Sprintf(" %s/%s/%s", r.Project, r.Domain, r.Name)
	}
	if r.Action != "" {
		text += " action " + r.Action
	}
	return text
}
