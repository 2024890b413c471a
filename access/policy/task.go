package policy

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
)

// reachOfTasks says how far a permission reaches for tasks.
type reachOfTasks uint8

const (
	// never is for what tasks have no part in.
	never reachOfTasks = iota
	// inRun is for the actions of the run that the task belongs to.
	inRun
	// inPlace is for everything in the project and domain of the task. Runs share their data there, and a task may start runs and
	// wait for them.
	inPlace
)

// tasksMay says what the processes of tasks may do, whatever bindings say, for each permission of a procedure or a route that
// their kind may call. A task that could change other runs, or what will run tomorrow, would be worth more than its run.
var tasksMay = map[string]reachOfTasks{ //nolint:gochecknoglobals // a table
	"action.abort":   inRun,
	"action.enqueue": inRun,
	"action.signal":  inRun,
	"action.update":  inRun,
	"run.abort":      inRun,

	"action.view":     inPlace,
	"app.call":        inPlace,
	"artifact.create": inPlace,
	"artifact.view":   inPlace,
	"data.upload":     inPlace,
	"data.view":       inPlace,
	"image.view":      inPlace,
	"log.view":        inPlace,
	"run.create":      inPlace,
	"run.view":        inPlace,
	"task.view":       inPlace,
	"trigger.view":    inPlace,

	"action.report":   never, // of tracked runs: what clients execute
	"artifact.delete": never,
	"task.deploy":     never,
}

// decideTask decides about the process of an attempt, or about a replica of an app. It needs no bindings.
func decideTask(identity authz.Identity, rule authz.Rule, resource authz.Resource) (authz.Scope, error) {
	own, run, ok := placeOfTask(identity)
	reach := tasksMay[rule.Action]
	switch place := (authz.Place{Project: resource.Project, Domain: resource.Domain}); {
	case !ok:
		return authz.Scope{}, authz.Denied("%s is not allowed to a task of no run", rule.Action)
	case rule.Members:
		return authz.Everything(), nil // the procedure says that it is for everybody here
	case onBehalf(rule) && place.Project == own.Project && within(own, place):
		return authz.Everything(), nil
	case onBehalf(rule):
		return authz.Scope{}, authz.Hidden("%s does not exist, or tasks of %s/%s may not see it", resource, own.Project, own.Domain)
	case reach == inPlace && rule.Lists && within(own, place):
		return authz.Scope{Places: []authz.Place{own}}, nil
	case reach == inPlace && place == own:
		return authz.Everything(), nil
	case reach == inRun && place == own && run != "" && resource.Kind == "run" && resource.Name == run:
		return authz.Everything(), nil
	case place != own && reach != never:
		return authz.Scope{}, authz.Hidden("%s does not exist, or tasks of %s/%s may not see it", resource, own.Project, own.Domain)
	case reach == inRun:
		return authz.Scope{}, authz.Denied("%s is not allowed on %s to %s: a task may do so in its own run alone", rule.Action, resource, identity.Subject)
	default:
		return authz.Scope{}, authz.Denied("%s is not allowed to tasks, such as %s; a program that must do so needs an API key", rule.Action, identity.Subject)
	}
}

// onBehalf reports whether a service asks for something that the task itself cannot call, such as whether a project exists and what
// its settings are. The table refuses such calls from the network before anything is decided here.
func onBehalf(rule authz.Rule) bool {
	return rule.By != 0 && !rule.By.Has(authz.Task) && strings.HasSuffix(rule.Action, ".view")
}

// placeOfTask is where a task runs, and its run; ok is false if the identity has neither an attempt nor an app.
func placeOfTask(identity authz.Identity) (own authz.Place, run string, ok bool) {
	switch {
	case identity.Attempt != nil:
		own, run = authz.Place{Project: identity.Attempt.Project, Domain: identity.Attempt.Domain}, identity.Attempt.Run
	case identity.App != nil:
		own = authz.Place{Project: identity.App.Project, Domain: identity.App.Domain}
	}
	return own, run, own.Project != "" && own.Domain != ""
}

// within reports whether a place has the own one in it, as what a list asks about does.
func within(own, place authz.Place) bool {
	return (place.Project == "" || place.Project == own.Project) && (place.Domain == "" || place.Domain == own.Domain)
}
