// Package ident has the identifiers of runs and actions as comparable values without protobuf. Services use them as map
// keys and in stores; handlers convert them at the edge.
package ident

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// RootAction is the name of every run's first action.
const RootAction = "a0"

// Run names a run. The organization of the wire contract is not part of any name: clients send any or none.
type Run struct {
	Project, Domain, Name string
}

// Action names an action of a run.
type Action struct {
	Run  Run
	Name string
}

// RunOf converts from the wire.
func RunOf(id *common.RunIdentifier) Run {
	return Run{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}
}

// ActionOf converts from the wire.
func ActionOf(id *common.ActionIdentifier) Action {
	return Action{Run: RunOf(id.GetRun()), Name: id.GetName()}
}

// Proto converts to the wire.
func (r Run) Proto() *common.RunIdentifier {
	return &common.RunIdentifier{Project: r.Project, Domain: r.Domain, Name: r.Name}
}

// Root is the run's root action.
func (r Run) Root() Action { return Action{Run: r, Name: RootAction} }

// String is for logs.
func (r Run) String() string { return r.Project + "/" + r.Domain + "/" + r.Name }

// Proto converts to the wire.
func (a Action) Proto() *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: a.Run.Proto(), Name: a.Name}
}

// String is for logs.
func (a Action) String() string { return a.Run.String() + "/" + a.Name }
