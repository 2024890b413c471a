package placement_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

func TestRulesInOneLine(t *testing.T) {
	var rule placement.Rule
	require.NoError(t, rule.UnmarshalText([]byte("projects=ml;research/production queues=night labels=a=b where=region=eu;tier=1 pool=gpu")))
	require.Equal(t, placement.Rule{
		Projects: []string{"ml", "research/production"}, Queues: []string{"night"}, Labels: []string{"a=b"},
		Where: []string{"region=eu", "tier=1"}, Pool: "gpu",
	}, rule)
	require.NoError(t, rule.Validate())
	require.EqualError(t, rule.UnmarshalText([]byte("project=ml pool=gpu")), `a rule has no field "project"`)
}

func TestConfigIsChecked(t *testing.T) {
	err := placement.Config{Pending: -1, Rules: []placement.Rule{
		{}, {Cluster: "east", Pool: "gpu"}, {Cluster: "No"}, {Pool: "gpu", Projects: []string{""}, Labels: []string{"x"}},
	}}.Validate()
	for _, words := range []string{
		"pending: must not be negative, got -1", "rules[0].pool: a rule requires pool, cluster or where",
		"rules[1].cluster: cannot be combined with pool or where", "rules[2].cluster: ", "rules[3].projects[0]: must not be empty",
		`rules[3].labels[0]: must be key=value, got "x"`,
	} {
		require.ErrorContains(t, err, words)
	}
	require.NoError(t, placement.DefaultConfig().Validate())
}
