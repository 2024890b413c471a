package placement_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/runs/placement"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// seenAt says that clusters reported at a time.
func seenAt(at time.Time, clusters ...placement.Cluster) map[string]time.Time {
	seen := map[string]time.Time{}
	for i := range clusters {
		seen[clusters[i].Name] = at
	}
	return seen
}

func TestBookCountsWhatWasAdmittedSinceTheReport(t *testing.T) {
	clusters := []placement.Cluster{machine("east", 10, 2, 0, 0), machine("west", 10, 2, 0, 0)}
	book := placement.NewBook(placement.New(placement.Config{}))
	book.Report(noon, clusters, seenAt(noon, clusters...))
	request := &placement.Request{Resources: cores(1)}

	round := book.Begin()
	var got []string
	for id := range int64(5) {
		got = append(got, round.Choose(id, request).Cluster)
	}
	require.Equal(t, []string{"east", "west", "east", "west", ""}, got, "the fifth has no room")
	require.NotEmpty(t, book.Explain(request).Cluster, "nothing is booked before the commit")
	round.Commit(noon.Add(time.Second))
	require.Equal(t, "it asks for 1 cpu; free are 0 in east, 0 in west", book.Explain(request).Words)

	book.Ended(1)
	require.Equal(t, "west", book.Explain(request).Cluster, "an action that ended gives its place back")
	book.Ended(1)
	round = book.Begin()
	require.Equal(t, "west", round.Choose(9, request).Cluster)
	require.Empty(t, round.Choose(10, request).Cluster, "it ended once")

	book.Report(noon.Add(4*time.Second), clusters, seenAt(noon.Add(4*time.Second), clusters...))
	require.NotEqual(t, "east", book.Explain(request).Cluster, "a report may be too early to include them")
	book.Report(noon.Add(9*time.Second), clusters, seenAt(noon.Add(9*time.Second), clusters...))
	require.Equal(t, "east", book.Explain(request).Cluster, "the report includes them")
}

func TestBookLimitsWhatWaitsInAFullCluster(t *testing.T) {
	clusters := []placement.Cluster{machine("east", 10, 0, 0, 0), machine("west", 10, 0, 0, 0)}
	book := placement.NewBook(placement.New(placement.Config{Pending: 2}))
	book.Report(noon, clusters, seenAt(noon, clusters...))
	request := &placement.Request{Resources: cores(1)}
	round := book.Begin()
	for id := range int64(4) {
		require.True(t, round.Choose(id, request).Beyond)
	}
	require.Empty(t, round.Choose(5, request).Cluster)
	round.Commit(noon)
	book.Report(noon.Add(time.Minute), clusters, seenAt(noon.Add(time.Minute), clusters...))
	require.Empty(t, book.Explain(request).Cluster, "they still wait there")
	book.Ended(0)
	require.NotEmpty(t, book.Explain(request).Cluster)
}

func TestOneClusterIsNoChoice(t *testing.T) {
	book := placement.NewBook(placement.New(placement.Config{}))
	for _, test := range []struct {
		clusters []placement.Cluster
		name     string
		sole     bool
	}{
		{nil, "", true},
		{[]placement.Cluster{{Name: "east"}}, "east", true},
		{[]placement.Cluster{{Name: "east", Closed: "is cordoned"}}, "", false},
		{[]placement.Cluster{{Name: "east", Closed: "is away", Away: true}}, "east", true},
		{[]placement.Cluster{{Name: "east"}, {Name: "west", Closed: "is away"}}, "", false},
	} {
		book.Report(noon, test.clusters, nil)
		name, sole := book.Sole()
		require.Equal(t, test.name, name)
		require.Equal(t, test.sole, sole)
	}
}

// TestBeforeAClusterHasConnected, only what asks for certain clusters waits for them. Nothing waits where there is one cluster.
func TestBeforeAClusterHasConnected(t *testing.T) {
	book := placement.NewBook(placement.New(placement.Config{Rules: []placement.Rule{
		{Labels: []string{"data=eu"}, Where: []string{"region=eu"}}, {Projects: []string{"near"}, Cluster: "default"}, {Projects: []string{"any"}, Pool: "default"},
	}}))
	eu := &placement.Request{Labels: map[string]string{"data": "eu"}}
	plain := []*placement.Request{{}, {Pool: "default"}, {Project: "any"}}
	choose := func(r *placement.Request) string {
		require.Equal(t, book.Explain(r).Cluster, book.Begin().Choose(1, r).Cluster)
		return book.Explain(r).Cluster
	}
	_, sole := book.Sole()
	require.True(t, sole, "without a registry, nothing is to be read")

	book.Unread()
	_, sole = book.Sole()
	require.False(t, sole)
	for _, r := range plain {
		require.Equal(t, "default", choose(r))
	}
	require.Equal(t, "east", choose(&placement.Request{Pin: "east", Pool: "default"}), "its queue has decided")
	for _, r := range []*placement.Request{{Pool: "gpu"}, {Pin: "east", Pool: "gpu"}, eu, {Project: "near"}} {
		require.Equal(t, placement.Choice{Words: "the clusters could not be read yet"}, book.Explain(r))
	}

	registered := placement.Cluster{Name: "east", Weight: 1, Unseen: true, Pools: []string{"gpu"}, Labels: map[string]string{"region": "eu"}}
	book.Report(noon, []placement.Cluster{registered}, nil)
	for _, r := range plain {
		require.Empty(t, choose(r), "no cluster is called default")
		require.Contains(t, book.Explain(r).Words, "east has not connected yet")
	}
	book.Report(noon, []placement.Cluster{{Name: "default", Weight: 1, Unseen: true}, registered}, nil)
	for _, r := range plain {
		require.Equal(t, "default", choose(r))
	}
	require.Equal(t, "no cluster of pool gpu takes it; cluster east has not connected yet", book.Explain(&placement.Request{Pool: "gpu"}).Words)
	require.Equal(t, "no cluster with region=eu takes it; cluster east has not connected yet", book.Explain(eu).Words)

	connected := placement.Cluster{Name: "default", Weight: 1}
	book.Report(noon, []placement.Cluster{connected, registered}, nil)
	require.Empty(t, choose(&placement.Request{Pool: "gpu"}), "the first that connects is not theirs")
	registered.Unseen = false
	book.Report(noon, []placement.Cluster{connected, registered}, nil)
	require.Equal(t, "east", choose(&placement.Request{Pool: "gpu"}))
	require.Equal(t, "east", choose(eu))

	book.Report(noon, nil, nil)
	_, sole = book.Sole()
	require.True(t, sole)
}

// Workers of a reusable environment are in one cluster, and adding a cluster moves few environments.
func TestGroupsStayTogether(t *testing.T) {
	policy := placement.New(placement.Config{})
	two, three := []placement.Cluster{{Name: "a", Weight: 1}, {Name: "b", Weight: 3}}, []placement.Cluster{{Name: "a", Weight: 1}, {Name: "b", Weight: 3}, {Name: "c", Weight: 1}}
	counts, moved := map[string]int{}, 0
	for i := range 4000 {
		r := &placement.Request{Group: fmt.Sprint("environment ", i), Parent: "a", Resources: cores(1)}
		before := policy.Choose(r, seats(two...)).Cluster
		after := policy.Choose(r, seats(three...)).Cluster
		require.Equal(t, before, policy.Choose(r, seats(two...)).Cluster)
		counts[before]++
		if after != before {
			moved++
			require.Equal(t, "c", after, "it moves to the new cluster only")
		}
	}
	require.InDelta(t, 1000, counts["a"], 150, "in proportion to the weights")
	require.InDelta(t, 800, moved, 150)
}

// What a policy chooses can run the action, has room if any has, and is one with the best share; one cluster is never passed by.
func TestChooseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var clusters []placement.Cluster
		for i := range rapid.IntRange(1, 6).Draw(t, "clusters") {
			all := rapid.Int64Range(0, 8).Draw(t, "all")
			c := machine(fmt.Sprint("c", i), all, rapid.Int64Range(0, all).Draw(t, "free"), 0, 0)
			c.Weight = rapid.IntRange(1, 3).Draw(t, "weight")
			if rapid.Bool().Draw(t, "closed") {
				c.Closed = "is away"
			}
			if rapid.Bool().Draw(t, "typed") {
				c.TaskTypes = []string{rapid.SampledFrom([]string{"python", "ray"}).Draw(t, "type")}
			}
			clusters = append(clusters, c)
		}
		config := placement.Config{Pending: rapid.IntRange(0, 1).Draw(t, "pending")}
		r := &placement.Request{
			Type: "ray", Resources: cores(rapid.Int64Range(0, 9).Draw(t, "asked")),
			Parent: rapid.SampledFrom([]string{"", "c0", "c1"}).Draw(t, "parent"),
		}
		choice := placement.New(config).Choose(r, seats(clusters...))
		able, holds, room := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for i := range clusters {
			c := &clusters[i]
			if c.Closed != "" || c.TaskTypes != nil && c.TaskTypes[0] != "ray" {
				continue
			}
			able[c.Name] = true
			holds[c.Name] = c.Capacity[placement.CPU] >= r.Resources[placement.CPU]
			room[c.Name] = holds[c.Name] && c.Free[placement.CPU] >= r.Resources[placement.CPU]
			if !holds[c.Name] {
				delete(holds, c.Name)
			}
			if !room[c.Name] {
				delete(room, c.Name)
			}
		}
		if choice.Words == "" && choice.Cluster == "" || len(choice.Words) > 300 {
			t.Fatalf("it is not explained: %+v", choice)
		}
		switch {
		case len(able) == 0:
			if choice.Cluster != "" {
				t.Fatalf("%s cannot run it", choice.Cluster)
			}
		case len(room) > 0:
			if !room[choice.Cluster] {
				t.Fatalf("%q has no room, of %v", choice.Cluster, room)
			}
			if room[r.Parent] && choice.Cluster != r.Parent {
				t.Fatal("it left the cluster of its parent")
			}
		case choice.Cluster == "":
			if len(holds) == 1 || len(holds) == 0 && len(able) == 1 || config.Pending > 0 || choice.Resource == "" {
				t.Fatalf("it waits without need: %+v", choice)
			}
		case !choice.Beyond || len(holds) > 0 && !holds[choice.Cluster] || !able[choice.Cluster]:
			t.Fatalf("it is pending where it never runs: %+v", choice)
		}
	})
}

// BenchmarkFiftyClusters is the cost of one decision with its booking, in batches as large as the writer's.
func BenchmarkFiftyClusters(b *testing.B) {
	var clusters []placement.Cluster
	for i := range 50 {
		clusters = append(clusters, machine(fmt.Sprintf("c%02d", i), 1<<40, 1<<40, 0, 0))
	}
	book := placement.NewBook(placement.New(placement.DefaultConfig()))
	book.Report(noon, clusters, seenAt(noon, clusters...))
	request := &placement.Request{Resources: cores(1)}
	for id := int64(0); b.Loop(); {
		round := book.Begin()
		for range 250 {
			if round.Choose(id, request).Cluster == "" {
				b.Fatal("no cluster has room")
			}
			id++
		}
		round.Commit(noon)
		if id%5000 == 0 {
			book.Report(noon.Add(time.Minute), clusters, seenAt(noon.Add(time.Minute), clusters...))
		}
	}
}
