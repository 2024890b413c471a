package script

import "slices"

// Tenant is one of those who share the server of a storm, each with a project of its own. Neither may learn anything of the other.
type Tenant struct {
	// Mark is part of each of its names: of its project, runs, tasks, triggers and artifacts.
	Mark string `json:"mark"`
	// Content is in what has no name: inputs, outputs, labels, variables, secrets, logs and errors. Who asks for a name does not say it.
	Content string `json:"content"`
}

// Tenants are those of every storm. No other text has their marks by chance.
func Tenants() []Tenant {
	return []Tenant{{Mark: "qz7x4kv", Content: "nwm3tq8yrd"}, {Mark: "j9d2hpw", Content: "xk5vb7ulfe"}}
}

// Project is the project of the tenant.
func (t Tenant) Project() string { return "storm-" + t.Mark }

// TaskName is the name of a task of the tenant.
func (t Tenant) TaskName(name string) string { return "storm." + t.Mark + "." + name }

// Of makes the node and everything below it work of a tenant.
func (n Node) Of(t Tenant) Node {
	n.Tenant = t
	n.Children = slices.Clone(n.Children)
	for i := range n.Children {
		n.Children[i] = n.Children[i].Of(t)
	}
	return n
}
