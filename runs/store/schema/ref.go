package schema

import "github.com/flyte-binary/flyte-binary/internal/names/ident"

// Ref names an action by id and name.
type Ref struct {
	ID, RunID                      int64
	Project, Domain, RunName, Name string
	Runner                         Runner `db:"-"` // in changes only
	Cluster                        string `db:"-"` // in changes and in lists of what is live
	Placement                      int32  `db:"-"` // in lists of what is live: how often an attempt was taken back from a cluster
}

// Ident is the public name of the action.
func (r Ref) Ident() ident.Action {
	return ident.Action{Run: ident.Run{Project: r.Project, Domain: r.Domain, Name: r.RunName}, Name: r.Name}
}
