package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

func endsWith(word string) func([]*enginev1.WatchChildrenResponse) bool {
	return func(all []*enginev1.WatchChildrenResponse) bool {
		words := told(all)
		return len(words) > 0 && words[len(words)-1] == word
	}
}

// Story R15: watches silently dropped what did not fit into a buffer.
func TestLostWakeupIsHealedByThePoll(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Poll = 20 * time.Millisecond }))
	f.wake.Store(false) // and no one notifies
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	r.child("x")
	s.until(endsWith("x:1"), "a change without a notification")
	r.move("x", succeeded)
	s.until(endsWith("x:5"), "a change without a notification")
}

func TestNotificationsOfOtherReplicas(t *testing.T) {
	f := newFixture(t, withListener())
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	r.child("x")
	s.until(endsWith("x:1"), "a notified change")

	// The listening connection is cut. What is committed while it is away is not notified to anybody.
	f.notify.Store(false)
	f.exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'`)
	r.move("x", running)
	s.until(endsWith("x:4"), "a change while nobody listened")
	f.notify.Store(true)
	r.move("x", succeeded)
	s.until(endsWith("x:5"), "a change after the connection came back")
}

func TestInvalidPayloadWakesAllFeeds(t *testing.T) {
	f := newFixture(t, withListener())
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	f.notify.Store(false)
	r.child("x")
	f.exec(`SELECT pg_notify('flyte_runs', 'resync')`)
	s.until(endsWith("x:1"), "an unnamed change")
}

func TestRestart(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	s := f.children(r.Root())
	s.count(2)
	require.NoError(t, f.hub.Stop(t.Context()))
	require.True(t, rpc.IsUnavailable(s.end()))
	r.move("x", succeeded) // while no one watches
	hub, streams := f.newHub(watch.HubDeps{Log: f.reader, Clock: clock.System{}, Logger: zerolog.Nop()})
	s = f.childrenOf(streams, r.Root())
	require.Equal(t, []string{"x:5", "|"}, told(s.count(2)))
	r.child("y")
	hub.Wake(r.id)
	require.Equal(t, "y:1", told(s.count(3))[2])
}

func TestManySubscribersShareReads(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Heartbeat = time.Hour })) // a heartbeat would count as a message
	r := f.run("p", "development", "r1")
	const subscribers, commits = 1000, 20
	streams := make([]*childrenStream, subscribers)
	for i := range streams {
		streams[i] = f.children(r.Root())
	}
	for _, s := range streams {
		s.count(1)
	}
	require.Equal(t, 1, f.hub.Feeds())
	before, snapshots := f.reader.changes.Load(), f.reader.children.Load()
	require.EqualValues(t, subscribers, snapshots)
	for i := range commits {
		r.child(fmt.Sprintf("c%d", i))
	}
	for _, s := range streams {
		s.count(1 + commits)
	}
	require.LessOrEqual(t, f.reader.changes.Load()-before, int64(commits), "one read for each commit at most")
	require.Equal(t, snapshots, f.reader.children.Load())
	for _, s := range streams {
		s.cancel()
	}
	for _, s := range streams {
		require.ErrorIs(t, s.end(), context.Canceled)
	}
	require.Zero(t, f.hub.Feeds())
}

func TestManyParentsOfOneRun(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Heartbeat = time.Hour })) // a heartbeat would count as a message
	r := f.run("p", "development", "r1")
	const parents = 300
	streams := make([]*childrenStream, parents)
	for i := range streams {
		name := fmt.Sprintf("p%d", i)
		r.child(name)
		id := r.Root()
		id.Name = name
		streams[i] = f.children(id)
	}
	for _, s := range streams {
		s.count(1)
	}
	before := f.reader.changes.Load()
	r.apply(change{name: "c", parent: "p7", phase: queued})
	require.Equal(t, []string{"|", "c:1"}, told(streams[7].count(2)))
	require.LessOrEqual(t, f.reader.changes.Load()-before, int64(3), "one read, and perhaps a poll, but not one for each parent")
	for i, s := range streams {
		require.Len(t, s.all(), map[bool]int{true: 2, false: 1}[i == 7])
	}
}

func TestDatabaseOutageIsADelay(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	f.exec(`ALTER TABLE action_events RENAME TO away`)
	f.hub.Wake(r.id)
	require.Eventually(t, func() bool { return f.reader.changes.Load() >= 3 }, 10*time.Second, time.Millisecond, "it keeps trying")
	f.exec(`ALTER TABLE away RENAME TO action_events`)
	r.child("x")
	s.until(endsWith("x:1"), "the change after the outage")
}

// Latency is printed, not asserted: commit to message, through the hub.
func BenchmarkCommitToMessage(b *testing.B) {
	f := newFixture(b)
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	names := make([]string, b.N)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	var waited time.Duration
	b.ResetTimer()
	for i, name := range names {
		r.child(name)
		committed := time.Now()
		for len(s.all()) < i+2 {
		}
		waited += time.Since(committed)
	}
	b.ReportMetric(float64(waited.Microseconds())/float64(b.N), "µs/message")
}
