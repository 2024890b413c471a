package placement_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// TestPoliciesOfPods: a cluster whose policy refuses the pod is not chosen while another may run it, and people read why.
func TestPoliciesOfPods(t *testing.T) {
	refuses := func(policy string) string {
		if policy == "wide" {
			return ""
		}
		return "privileged"
	}
	of := func(c placement.Cluster, policy string) placement.Cluster {
		return with(c, func(c *placement.Cluster) { c.PodPolicy = policy })
	}
	east, west := of(machine("east", 10, 8, 0, 0), "narrow"), of(machine("west", 10, 1, 0, 0), "wide")
	closed := with(west, func(c *placement.Cluster) { c.Closed = "is cordoned" })
	full := with(west, func(c *placement.Cluster) { c.Free = placement.Amounts{} })
	south := of(machine("south", 10, 8, 0, 0), "narrow")
	only := with(west, func(c *placement.Cluster) { c.TaskTypes = []string{} })
	for name, test := range map[string]struct {
		request  placement.Request
		clusters []placement.Cluster
		want     placement.Choice
	}{
		"the one that allows it": {
			clusters: []placement.Cluster{east, west},
			want:     placement.Choice{Cluster: "west", Words: "1 of 2 clusters could take it; cluster east does not allow its pod: privileged"},
		},
		"it waits for the one that allows it": {
			clusters: []placement.Cluster{east, closed},
			want:     placement.Choice{Words: "no cluster takes it; cluster east does not allow its pod: privileged; cluster west is cordoned"},
		},
		"it waits there for room": {
			clusters: []placement.Cluster{east, full},
			want: placement.Choice{
				Cluster: "west", Beyond: true, Words: "no other cluster can hold it; it waits there for cpu; cluster east does not allow its pod: privileged",
			},
		},
		"none allows it, so that it fails with the reason": {
			clusters: []placement.Cluster{east, south},
			want:     placement.Choice{Cluster: "east", Words: "2 of 2 clusters could take it; east had the most free cpu"},
		},
		"who cannot run it does not count": {
			request:  placement.Request{Type: "ray"},
			clusters: []placement.Cluster{east, only},
			want:     placement.Choice{Cluster: "east", Words: "1 of 2 clusters could take it"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.request.Resources, test.request.Refuses = cores(1), refuses
			require.Equal(t, test.want, placement.New(placement.DefaultConfig()).Choose(&test.request, seats(test.clusters...)))
		})
	}

	book := placement.NewBook(placement.New(placement.DefaultConfig()))
	book.Report(noon, []placement.Cluster{east, closed}, nil)
	request := &placement.Request{Resources: cores(1), Refuses: refuses}
	require.False(t, book.Prospect(request, "east").Possible)
	require.True(t, book.Prospect(request, "west").Possible)

	long := &placement.Request{Resources: cores(1), Refuses: func(policy string) string {
		return strings.Repeat("é", 1000*len(refuses(policy)))
	}}
	words := placement.New(placement.DefaultConfig()).Choose(long, seats(east, west)).Words
	require.Less(t, len(words), 400)
	require.True(t, strings.HasSuffix(words, "é…"), "it is cut between characters")
}

func TestCandidates(t *testing.T) {
	east, west := machine("east", 10, 0, 0, 0), machine("west", 10, 0, 0, 0)
	east.Pools, west.TaskTypes = []string{"gpu"}, []string{}
	names := func(r placement.Request) (names []string) {
		r.Refuses = func(string) string { return "no" }
		for _, c := range placement.New(placement.DefaultConfig()).Candidates(&r, []placement.Cluster{east, west}) {
			names = append(names, c.Name)
		}
		return names
	}
	require.Equal(t, []string{"east", "west"}, names(placement.Request{Resources: cores(100), Accelerator: "nvidia-l4"}))
	require.Equal(t, []string{"east"}, names(placement.Request{Pool: "gpu"}))
	require.Equal(t, []string{"east"}, names(placement.Request{Type: "ray"}))
	require.Equal(t, []string{"west"}, names(placement.Request{Pin: "west"}))
	require.Empty(t, names(placement.Request{Pin: "north"}))
}
