package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// trail records what modules do.
type trail struct{ steps []string }

func (t *trail) add(format string, args ...any) {
	t.steps = append(t.steps, fmt.Sprintf(format, args...))
}

type tracedPart struct {
	name  string
	trail *trail
}

func (p tracedPart) Start(context.Context) error { p.trail.add("start %s", p.name); return nil }
func (p tracedPart) Stop(context.Context) error  { p.trail.add("stop %s", p.name); return nil }

func traced(name string, needs ...string) lifecycle.Module[*trail] {
	return lifecycle.Module[*trail]{Name: name, Needs: needs, Build: func(_ context.Context, t *trail) (lifecycle.Part, error) {
		t.add("build %s", name)
		return tracedPart{name, t}, nil
	}}
}

func TestModulesAreBuiltAndStartedInTheOrderOfTheirNeeds(t *testing.T) {
	console := traced("console")
	console.After = []string{"api", "controller"}
	table := lifecycle.Modules[*trail]{
		console, traced("api", "database"), traced("controller", "cluster"), traced("cluster"),
		{Name: "database", Build: func(_ context.Context, t *trail) (lifecycle.Part, error) {
			t.add("build database")
			return lifecycle.Idle{}, nil
		}},
	}
	selected, err := table.Select("console", "api")
	require.NoError(t, err)
	require.Equal(t, []string{"database", "api", "console"}, selected.Names(), "the controller is not part of the target")

	var steps trail
	group, err := selected.Build(t.Context(), &steps)
	require.NoError(t, err)
	require.NoError(t, group.Start(t.Context()))
	require.NoError(t, group.Stop(t.Context()))
	require.Equal(t, "build database, build api, build console, start api, start console, stop console, stop api",
		strings.Join(steps.steps, ", "))
}

func TestModulesRejectABadTable(t *testing.T) {
	for name, test := range map[string]struct {
		table lifecycle.Modules[*trail]
		err   string
	}{
		"unknown need": {lifecycle.Modules[*trail]{traced("a", "b")}, `module "b", needed by a, does not exist`},
		"twice":        {lifecycle.Modules[*trail]{traced("a"), traced("a")}, `module "a" is listed twice`},
		"cycle":        {lifecycle.Modules[*trail]{traced("a", "b"), traced("b", "a"), traced("c")}, "modules need each other in a cycle: a, b"},
		"target":       {lifecycle.Modules[*trail]{traced("b")}, `module "a", needed by the target, does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := test.table.Select("a")
			require.EqualError(t, err, test.err)
		})
	}
}

func TestModulesStopAtTheFirstError(t *testing.T) {
	failing := traced("b", "a")
	failing.Build = func(context.Context, *trail) (lifecycle.Part, error) { return nil, errors.New("no such host") }
	selected, err := lifecycle.Modules[*trail]{traced("a"), failing, traced("c", "b")}.Select("c")
	require.NoError(t, err)
	var steps trail
	_, err = selected.Build(t.Context(), &steps)
	require.EqualError(t, err, "b: no such host")
	require.Equal(t, []string{"build a"}, steps.steps)
}
