package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// TestAFewStorms is the short form of `make faults`: each of its seeds is a storm over the whole product, one over
// reusable environments and the last one over all plugins. The message of a failure says how to reproduce it.
func TestAFewStorms(t *testing.T) {
	if testing.Short() {
		t.Skip("storms take a minute")
	}
	// Of all three seeds in a row below 60, these have the most kinds of faults: 15.
	o, err := parseOptions([]string{"-seeds", "3", "-first", "32", "-minutes", "4"}, os.Stderr)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	out := &bytes.Buffer{}
	s, err := newSuite(ctx, o, out)
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer s.close()
	failed, err := s.storms(ctx)
	if err == nil {
		s.options.pools, s.options.first, s.options.seeds = true, poolSeed, 1
		var more []uint64
		more, err = s.storms(ctx)
		failed = append(failed, more...)
	}
	if err == nil {
		s.options.pools, s.options.mixed, s.options.first = false, true, mixedSeed
		var more []uint64
		more, err = s.storms(ctx)
		failed = append(failed, more...)
	}
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Empty(t, failed, "seeds")
}

// poolSeed is a storm with both kinds of faults of workers, streams that hang, deleted pods and a killed server.
const poolSeed = 1371

// mixedSeed is a storm over all plugins with a connector that loses answers, two deaths of a server at steps of its jobs, a killed server and
// deleted pods.
const mixedSeed = 2378

func TestPoolsChangeOnlyWhereTasksRun(t *testing.T) {
	for seed := range uint64(20) {
		plain, pooled := newPlan(seed, allKinds()), newPoolPlan(seed, allKinds())
		require.Equal(t, plain.faults, pooled.faults)
		in := map[string]int{}
		for i, run := range pooled.runs {
			for j, node := range run.root.All() {
				in[node.Pool]++
				require.Equal(t, plain.runs[i].root.All()[j].Kind, node.Kind)
				if node.Pool == script.FlatPool {
					require.Empty(t, node.Children)
				}
			}
		}
		require.Greater(t, in[script.FlatPool], 5)
		require.Greater(t, in[script.NestedPool], 5)
	}
}

func TestMixedPlansChangeOnlyWhereTasksRun(t *testing.T) {
	for seed := range uint64(20) {
		plain, mixed := newPlan(seed, allKinds()), newMixedPlan(seed, allKinds())
		require.Equal(t, plain.faults, mixed.faults)
		via := map[string]int{}
		require.Len(t, mixed.runs, len(plain.runs)+len(script.Tenants()))
		for _, run := range mixed.runs[len(plain.runs):] {
			require.Equal(t, script.ViaConnector, run.root.Via)
		}
		for i, run := range mixed.runs[:len(plain.runs)] {
			for j, node := range run.root.All() {
				via[node.Via]++
				original := plain.runs[i].root.All()[j]
				require.Equal(t, original.Kind, node.Kind)
				require.False(t, node.Via == script.ViaConnector && len(node.Children) > 0, "%+v", node)
				require.False(t, node.Via != "" && (node.Pool != "" || node.Kind != script.Task), "%+v", node)
			}
		}
		for _, one := range append(script.Vias(), script.ViaConnector) {
			require.Positive(t, via[one], "%s in seed %d", one, seed)
		}
	}
}

func TestASeedIsAlwaysTheSamePlan(t *testing.T) {
	for seed := range uint64(50) {
		one, again := newPlan(seed, allKinds()), newPlan(seed, allKinds())
		require.Equal(t, one, again)
		require.NotEmpty(t, one.faults)
		require.Greater(t, one.actions(), 40)
		require.Less(t, one.actions(), 160)
		names := map[string]bool{}
		for _, run := range one.runs {
			require.False(t, names[run.name])
			names[run.name] = true
			inner := map[string]bool{}
			for _, node := range run.root.All() {
				require.False(t, inner[node.Name], "%s/%s", run.name, node.Name)
				inner[node.Name] = true
			}
		}
	}
}

func TestEveryKindOfFaultComes(t *testing.T) {
	kinds, places := map[string]bool{}, map[string]bool{}
	for seed := range uint64(400) {
		for _, f := range newPlan(seed, allKinds()).faults {
			kinds[f.kind] = true
			if f.point != "" {
				places[f.point] = true
			}
		}
	}
	for _, kind := range allKinds() {
		require.True(t, kinds[kind], kind)
	}
	for _, point := range points() {
		require.True(t, places[point], point)
	}
}

func TestPointsAreThoseInTheCode(t *testing.T) {
	found := map[string]bool{}
	call := regexp.MustCompile(`failpoint\.Here\("([^"]+)"\)`)
	for _, dir := range []string{
		"access", "actions", "apps", "artifacts", "cache_service", "connectors", "dataproxy", "events", "executor", "internal/pg", "manager", "notifications", "pods", "pools", "runs", "secret",
		"triggers",
	} {
		require.NoError(t, filepath.WalkDir(filepath.Join("../..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			body, err := os.ReadFile(path)
			for _, match := range call.FindAllStringSubmatch(string(body), -1) {
				found[match[1]] = true
			}
			return err
		}))
	}
	// No storm passes these: they take a limit of stored bytes, a second cluster that is away, and a test of their own.
	elsewhere := []string{
		"stored.page", "stored.before-finish", "reclaim.after-batch", "rollups.before-commit", "rollups.after-commit",
		"assign.before-commit", "assign.after-commit",
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(found)), slices.Concat(points(), jobPoints(), elsewhere))
}

func TestOptionsNameWhatIsWrong(t *testing.T) {
	_, err := parseOptions([]string{"-kinds", "earthquake"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "earthquake")
	_, err = parseOptions([]string{"-seeds", "0"}, &bytes.Buffer{})
	require.ErrorContains(t, err, "-seeds")
	o, err := parseOptions([]string{"-seed", "17", "-kinds", kindKill}, &bytes.Buffer{})
	require.NoError(t, err)
	require.Equal(t, uint64(17), o.first)
	require.Equal(t, 1, o.seeds)
	require.Equal(t, []string{kindKill}, o.chosen)
}

func TestSeedsAreANumberOrARange(t *testing.T) {
	for given, want := range map[string][2]uint64{"7": {1, 7}, "1-50": {1, 50}, "51-51": {51, 1}} {
		o, err := parseOptions([]string{"-seeds", given}, io.Discard)
		require.NoError(t, err)
		require.Equal(t, want, [2]uint64{o.first, uint64(o.seeds)}, given)
	}
	for given, problem := range map[string]string{
		"0": "must be a positive number", "x": "must be a positive number", "a-5": "the first seed is not a number", "5-4": "not below the first", "5-": "not below the first",
	} {
		_, err := parseOptions([]string{"-seeds", given}, io.Discard)
		require.ErrorContains(t, err, problem, given)
	}
}
