package policy

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
)

// TestEveryPermissionOfTasksIsDecided: a procedure that is opened to tasks needs a row here.
func TestEveryPermissionOfTasksIsDecided(t *testing.T) {
	asked := map[string]bool{"app.call": true, "trigger.view": true} // of a route, and of a second resource
	for _, method := range contracttest.Methods() {
		name := contracttest.ProcedureOf(method)
		row, _ := authz.RowOf(name)
		rule := row.Rule()
		if !rule.By.Has(authz.Task) || !rule.Asks(authz.Task) || rule.Members {
			continue
		}
		asked[rule.Action] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(asked)), slices.Sorted(maps.Keys(tasksMay)))
}

func TestWhatTasksMay(t *testing.T) {
	task := authz.Identity{Kind: authz.Task, Subject: "task:p/d/r/a0", Attempt: &authz.Attempt{Project: "p", Domain: "d", Run: "r", Action: "a0", Number: 1}}
	app := authz.Identity{Kind: authz.Task, Subject: "app:p/d/web", App: &authz.App{Project: "p", Domain: "d", Name: "web"}}
	run := func(project, domain, name string) authz.Resource {
		return authz.Resource{Kind: "run", Project: project, Domain: domain, Name: name, Action: "a0"}
	}
	own, sibling, otherDomain, otherProject := run("p", "d", "r"), run("p", "d", "r2"), run("p", "e", "r"), run("q", "d", "r")
	type answer string
	const yes, hidden, denied answer = "yes", "not found", "denied"
	for _, c := range []struct {
		permission                            string
		own, sibling, otherDomain, otherPlace answer
		app                                   answer // for the sibling
	}{
		{"action.abort", yes, denied, hidden, hidden, denied},
		{"action.enqueue", yes, denied, hidden, hidden, denied},
		{"action.signal", yes, denied, hidden, hidden, denied},
		{"action.update", yes, denied, hidden, hidden, denied},
		{"run.abort", yes, denied, hidden, hidden, denied},
		{"action.view", yes, yes, hidden, hidden, yes},
		{"data.view", yes, yes, hidden, hidden, yes},
		{"log.view", yes, yes, hidden, hidden, yes},
		{"run.create", yes, yes, hidden, hidden, yes},
		{"data.upload", yes, yes, hidden, hidden, yes},
		{"secret.view", denied, denied, denied, denied, denied},
		{"secret.create", denied, denied, denied, denied, denied},
		{"settings.update", denied, denied, denied, denied, denied},
		{"binding.create", denied, denied, denied, denied, denied},
		{"key.create", denied, denied, denied, denied, denied},
		{"task.deploy", denied, denied, denied, denied, denied},
		{"artifact.delete", denied, denied, denied, denied, denied},
	} {
		for _, one := range []struct {
			who      authz.Identity
			resource authz.Resource
			want     answer
		}{
			{task, own, c.own}, {task, sibling, c.sibling}, {task, otherDomain, c.otherDomain}, {task, otherProject, c.otherPlace}, {app, sibling, c.app},
			{task, authz.Resource{}, c.otherPlace}, {app, otherProject, c.otherPlace}, {authz.Identity{Kind: authz.Task}, own, denied},
		} {
			scope, err := decideTask(one.who, authz.Rule{Action: c.permission}, one.resource)
			got := yes
			var denial *authz.DenialError
			if errors.As(err, &denial) {
				if got = denied; denial.Hidden {
					got = hidden
				}
			} else {
				require.NoError(t, err)
				require.True(t, scope.All)
			}
			require.Equal(t, one.want, got, "%s on %s by %q", c.permission, one.resource, one.who.Subject)
		}
	}
}

func TestListsOfTasksAreThoseOfTheirPlace(t *testing.T) {
	task := authz.Identity{Kind: authz.Task, Attempt: &authz.Attempt{Project: "p", Domain: "d", Run: "r", Action: "a0"}}
	want := authz.Scope{Places: []authz.Place{{Project: "p", Domain: "d"}}}
	for _, over := range []authz.Resource{{}, {Project: "p"}, {Domain: "d"}, {Project: "p", Domain: "d"}} {
		scope, err := decideTask(task, authz.Rule{Action: "run.view", Lists: true}, over)
		require.NoError(t, err)
		require.Equal(t, want, scope)
	}
	for _, over := range []authz.Resource{{Project: "q"}, {Domain: "e"}, {Project: "p", Domain: "e"}} {
		_, err := decideTask(task, authz.Rule{Action: "run.view", Lists: true}, over)
		require.Error(t, err)
	}
	_, err := decideTask(task, authz.Rule{Action: "run.create", Lists: false}, authz.Resource{})
	require.Error(t, err)
	scope, err := decideTask(task, authz.Rule{Action: "cluster.select", Members: true}, authz.Resource{Project: "q"})
	require.NoError(t, err)
	require.True(t, scope.All)
}
