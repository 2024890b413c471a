package rollup

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

var noon = time.Date(2026, time.July, 1, 12, 0, 0, 0, time.UTC)

// TestQuantilesAreNearlyThoseOfTheDurations: within half a bucket, whatever was merged and stored in between.
func TestQuantilesAreNearlyThoseOfTheDurations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]float64, 0, 2000)
	stored := []byte{}
	for range 10 {
		part := durations{}
		for range 200 {
			one := time.Duration(math.Exp(r.NormFloat64()*2+8)) * time.Millisecond
			all = append(all, float64(one.Milliseconds()))
			part.add(one)
		}
		var err error
		stored, err = (&sums{}).Merge(stored, part.encode())
		require.NoError(t, err)
	}
	slices.Sort(all)
	merged, err := decodeDurations(stored)
	require.NoError(t, err)
	require.EqualValues(t, len(all), merged.total())
	for _, share := range []float64{0.01, 0.5, 0.9, 1} {
		got, ok := merged.quantile(share)
		require.True(t, ok)
		require.InEpsilon(t, all[int(math.Ceil(share*float64(len(all))))-1], got, 0.05, "the quantile %g", share)
	}
}

func TestDurationsThatAreShortOrMissing(t *testing.T) {
	_, ok := durations{}.quantile(0.5)
	require.False(t, ok)
	d := durations{}
	d.add(0)
	d.add(999 * time.Microsecond)
	got, ok := d.quantile(0.9)
	require.True(t, ok)
	require.Zero(t, got)
	for _, cut := range [][]byte{{0x80}, {1}, {1, 0x80}} {
		_, err := decodeDurations(cut)
		require.ErrorIs(t, err, errDurations)
	}
}

// TestTheLastOutcomesAreKept has more of them than are kept, in several parts.
func TestTheLastOutcomesAreKept(t *testing.T) {
	stored := []byte{}
	for i := range 7 {
		more := make([]rollups.Outcome, 5)
		for k := range more {
			n := i*5 + k
			more[k] = rollups.Outcome{Phase: state.Succeeded, Hit: n%3 == 0, Ran: time.Duration(n) * 150 * time.Millisecond, At: noon}
		}
		stored = appendOutcomes(stored, more)
	}
	kept := Outcomes(stored)
	require.Len(t, kept, 30)
	for i, one := range kept {
		n := i + 5
		require.Equal(t, rollups.Outcome{Phase: state.Succeeded, Hit: n%3 == 0, Ran: time.Duration(n) * 150 * time.Millisecond}, one)
	}
	require.Len(t, Outcomes(stored[:len(stored)-1]), 29, "what is cut off is left out")
}

// TestUseCountsOncePerSum: the place, the task, the owner, each label and the run have the same use, at the rate of where it ran.
func TestUseCountsOncePerSum(t *testing.T) {
	ended := noon.Add(time.Hour)
	c := &counting{uses: map[useKey]*rollups.UseDay{}, runs: map[int64]*rollups.RunUse{}}
	used := rollups.Priced{Rate: rollups.Rate{Cluster: "east", Queue: "gpu"}, Use: rollups.Use{CPU: 1000, Memory: 2}}
	measured := rollups.Measured{CPU: rollups.Share{Used: 3, Of: 4}, Memory: rollups.Share{Used: 1, Of: 2}}
	for run := range int64(2) {
		c.use(&rollups.Ended{
			Action: schema.Action{RunID: run, Project: "p", Domain: "d", TaskName: "env.t", EndedAt: &ended},
			Owner:  "ada", Labels: map[string]string{"team": "ml", "tier": ""},
		}, used, measured)
	}
	counts := c.counts()
	names := map[string]rollups.UseDay{}
	for _, use := range counts.Uses {
		names[use.Name] = use
	}
	require.Len(t, names, 5)
	for _, name := range []string{"", "env.t", "ada", "team=ml", "tier="} {
		require.EqualValues(t, 2, names[name].Actions, name)
		require.Equal(t, used.Use.Plus(used.Use), names[name].Use, name)
		require.Equal(t, used.Rate, names[name].Rate, name)
		require.Equal(t, measured.Plus(measured), names[name].Measured, name)
	}
	require.Len(t, counts.Runs, 2)
	require.Equal(t, measured, counts.Runs[0].Measured)
}

// TestLabelsAreBounded: those with the first keys count, and none that is very long.
func TestLabelsAreBounded(t *testing.T) {
	labels := map[string]string{"aaa": string(make([]byte, maxName))}
	for i := range 50 {
		labels["k"+string(rune('A'+i))] = "v"
	}
	got := labelsOf(labels)
	require.Len(t, got, maxLabels)
	require.Equal(t, "kA=v", got[0])
}

// TestNoRequestIsNoUse: an action of which nothing is known counts, and uses nothing.
func TestNoRequestIsNoUse(t *testing.T) {
	ended := noon
	got := usedBy(&rollups.Ended{Action: schema.Action{EndedAt: &ended, Cluster: "east"}}, asks.Size{})
	require.Equal(t, rollups.Priced{Rate: rollups.Rate{Cluster: "east", Queue: "default"}}, got)
	got = usedBy(&rollups.Ended{Action: schema.Action{EndedAt: &ended, Queue: "q"}}, asks.Size{GPUs: 1})
	require.Equal(t, rollups.Rate{Queue: "q", Accelerator: "gpu"}, got.Rate)
}

// TestWhatWasMeasured: the attempts that were measured, of what they requested for that time.
func TestWhatWasMeasured(t *testing.T) {
	size := asks.Size{CPUMilli: 2000, Memory: 1 << 30}
	attempts := func(all ...rollups.MeasuredAttempt) *rollups.Ended { return &rollups.Ended{Measured: all} }
	minute := rollups.MeasuredAttempt{For: time.Minute, CPUMs: 30_000, PeakMemory: 256 << 20}
	want := rollups.Measured{CPU: rollups.Share{Used: 30_000, Of: 120_000}, Memory: rollups.Share{Used: 256 * 60, Of: 1024 * 60}}
	require.Equal(t, want.Plus(want), measuredBy(attempts(minute, minute), size))
	require.Zero(t, measuredBy(attempts(), size))
	require.Zero(t, measuredBy(attempts(minute), asks.Size{}), "nothing was requested")
	require.Equal(t, rollups.Measured{CPU: want.CPU}, measuredBy(attempts(minute), asks.Size{CPUMilli: 2000}))
	require.Equal(t, rollups.Measured{CPU: want.CPU}, measuredBy(attempts(rollups.MeasuredAttempt{For: time.Minute, CPUMs: 30_000}), size), "memory was not measured")
	absurd := rollups.MeasuredAttempt{For: time.Minute, CPUMs: math.MaxInt64, PeakMemory: 1 << 62}
	require.Equal(t, rollups.Measured{
		CPU: rollups.Share{Used: 1000 * 120_000, Of: 120_000}, Memory: rollups.Share{Used: 1000 * 1024 * 60, Of: 1024 * 60},
	}, measuredBy(attempts(absurd), size))
}
