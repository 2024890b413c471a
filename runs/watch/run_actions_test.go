package watch_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// pictureStream is a stream of a run's picture.
type pictureStream struct {
	*stream[*insightv1.WatchRunActionsResponse]
}

func pictures(t testing.TB, streams *watch.Streams, from watch.Picture) pictureStream {
	t.Helper()
	return pictureStream{follow(t, func(ctx context.Context, send func(*insightv1.WatchRunActionsResponse) error) error {
		return streams.RunActions(ctx, from, send)
	})}
}

// place is where the last message says that the picture is complete; 0 when it is of another kind.
func place(all []*insightv1.WatchRunActionsResponse) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].GetCaughtUp().GetCursor()
}

func (f *fixture) picture(run ident.Run) pictureStream {
	f.t.Helper()
	return pictures(f.t, f.streams, watch.Picture{Run: run})
}

// drawing is what a client makes of the messages. It fails when a child comes before its parent, when columns differ in
// length, or when an index means nothing.
type drawing struct {
	names    map[uint32]string
	rows     map[string]string // phase, attempt, parent, group and title, by name
	strings  []string
	cursor   int64
	resumed  bool
	complete bool
	total    uint32
}

func (d *drawing) take(t require.TestingT, messages []*insightv1.WatchRunActionsResponse) *drawing {
	for _, message := range messages {
		switch part := message.GetPart().(type) {
		case *insightv1.WatchRunActionsResponse_Start:
			d.resumed, d.total = part.Start.GetResumed(), part.Start.GetTotalActions()
			if !d.resumed {
				*d = drawing{names: map[uint32]string{}, rows: map[string]string{}, total: d.total}
			}
		case *insightv1.WatchRunActionsResponse_CaughtUp:
			require.GreaterOrEqual(t, part.CaughtUp.GetCursor(), d.cursor, "a place in the log never goes back")
			d.cursor, d.complete = part.CaughtUp.GetCursor(), true
		case *insightv1.WatchRunActionsResponse_Actions:
			d.actions(t, part.Actions)
		}
	}
	return d
}

func (d *drawing) actions(t require.TestingT, c *insightv1.ActionColumns) {
	d.strings = append(d.strings, c.GetStrings()...)
	require.Empty(t, d.strings[0])
	n := len(c.GetNumbers())
	for _, column := range [][]uint32{
		c.GetParents(), c.GetGroups(), c.GetTitles(), c.GetTypes(), c.GetPhases(), c.GetAttempts(),
		c.GetCreated(), c.GetStarted(), c.GetEnded(), c.GetFlags(),
	} {
		require.Len(t, column, n)
	}
	if len(c.GetClusters()) > 0 {
		require.Len(t, c.GetClusters(), n)
	}
	for i, number := range c.GetNumbers() {
		name := c.GetNames()[i]
		if known, again := d.names[number]; again {
			require.Equal(t, known, name, "a number never changes")
		}
		d.names[number] = name
		parent, has := d.names[c.GetParents()[i]]
		require.True(t, has, "%s comes before its parent", name)
		d.rows[name] = fmt.Sprintf("%d/%d %s %s %s", c.GetPhases()[i], c.GetAttempts()[i], parent,
			d.strings[c.GetGroups()[i]], d.strings[c.GetTitles()[i]])
	}
}

func drawn(t require.TestingT, messages []*insightv1.WatchRunActionsResponse) *drawing {
	return (&drawing{}).take(t, messages)
}

// shows waits until a stream has drawn what is wanted and says that it is complete.
func (s pictureStream) shows(want map[string]string) *drawing {
	s.t.Helper()
	all := s.until(func(all []*insightv1.WatchRunActionsResponse) bool {
		d := drawn(s.t, all)
		return d.complete && maps.Equal(d.rows, want) && place(all) > 0
	}, fmt.Sprint(want))
	return drawn(s.t, all)
}

func TestPictureOfARun(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	r.apply(change{name: "y", parent: "x", phase: running, task: "env.fetch"})
	f.exec(`UPDATE actions SET action_group = 'pairs', cache_status = 2 WHERE name = 'y'`)
	s := f.picture(r.Run)
	d := s.shows(map[string]string{"a0": "1/1 a0  main", "x": "1/1 a0  ", "y": "4/1 x pairs fetch"})
	start := s.all()[0].GetStart()
	require.False(t, start.GetResumed())
	require.EqualValues(t, 3, start.GetTotalActions())
	require.Len(t, start.GetPhases(), 2)
	require.Equal(t, [4]uint32{1, 2, 4, 1}, [4]uint32{
		start.GetPhases()[0].GetPhase(), start.GetPhases()[0].GetCount(), start.GetPhases()[1].GetPhase(), start.GetPhases()[1].GetCount(),
	})
	require.EqualValues(t, 3, d.cursor)
	columns := s.all()[1].GetActions()
	require.Equal(t, uint32(0), columns.GetNumbers()[0], "the root's number is 0")
	require.Equal(t, []uint32{0, 0, 1}, columns.GetFlags())
	require.Zero(t, columns.GetStarted()[0])
	require.Equal(t, columns.GetCreated()[2]+1, columns.GetStarted()[2])
	require.Zero(t, columns.GetEnded()[2])

	r.apply(change{name: "z", parent: "y", phase: queued, task: "env.fetch"}, change{name: "y", phase: succeeded})
	d = s.shows(map[string]string{"a0": "1/1 a0  main", "x": "1/1 a0  ", "y": "5/1 x pairs fetch", "z": "1/1 y  fetch"})
	require.EqualValues(t, 5, d.cursor)
	require.Equal(t, []string{"", "main", "pairs", "fetch"}, d.strings, "texts come once")

	require.True(t, rpc.IsNotFound(f.picture(ident.Run{Project: "p", Domain: "production", Name: "r1"}).end()))
}

// TestPictureOfARunInTwoClusters: only clusters other than the one that is usually alone are named.
func TestPictureOfARunInTwoClusters(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	r.child("y")
	s := f.picture(r.Run)
	s.shows(map[string]string{"a0": "1/1 a0  main", "x": "1/1 a0  ", "y": "1/1 a0  "})
	require.Empty(t, s.all()[1].GetActions().GetClusters())
	f.exec(`UPDATE actions SET cluster = 'east' WHERE name = 'y'`)
	before := len(s.all())
	r.apply(change{name: "x", phase: running}, change{name: "y", phase: running})
	d := s.shows(map[string]string{"a0": "1/1 a0  main", "x": "4/1 a0  ", "y": "4/1 a0  "})
	clusters := map[string]string{}
	for _, message := range s.all()[before:] {
		for i, at := range message.GetActions().GetClusters() {
			clusters[message.GetActions().GetNames()[i]] = d.strings[at]
		}
	}
	require.Equal(t, "east", clusters["y"])
	require.Empty(t, clusters["x"])
	second := f.picture(r.Run)
	d = second.shows(map[string]string{"a0": "1/1 a0  main", "x": "4/1 a0  ", "y": "4/1 a0  "})
	columns := second.all()[1].GetActions()
	require.Equal(t, []string{"a0", "x", "y"}, columns.GetNames())
	require.Equal(t, []string{"", "", "east"}, []string{d.strings[columns.GetClusters()[0]], d.strings[columns.GetClusters()[1]], d.strings[columns.GetClusters()[2]]})
}

func TestPictureResumes(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	r.child("same")
	first := f.picture(r.Run)
	d := first.shows(map[string]string{"a0": "1/1 a0  main", "x": "1/1 a0  ", "same": "1/1 a0  "})
	first.cancel()
	require.ErrorIs(t, first.end(), context.Canceled)
	r.apply(change{name: "late", parent: "x", phase: queued, task: "env.late"})
	r.move("x", running)

	second := pictures(t, f.streams, watch.Picture{Run: r.Run, Cursor: d.cursor, Strings: uint32(len(d.strings))})
	second.count(3)
	r.move("late", succeeded)
	all := second.until(func(all []*insightv1.WatchRunActionsResponse) bool { return place(all) == 6 }, "the change")
	require.True(t, all[0].GetStart().GetResumed())
	require.EqualValues(t, 4, all[0].GetStart().GetTotalActions())
	require.Equal(t, []string{"x", "late"}, all[1].GetActions().GetNames(), "what did not change is not repeated")
	require.Equal(t, []string{"late"}, all[1].GetActions().GetStrings())
	require.Equal(t, map[string]string{"a0": "1/1 a0  main", "x": "4/1 a0  ", "same": "1/1 a0  ", "late": "5/1 x  late"}, d.take(t, all).rows)

	for name, from := range map[string]watch.Picture{
		"beyond the log":   {Cursor: 1000, Strings: 2},
		"without any text": {Cursor: 3},
	} {
		t.Run(name, func(t *testing.T) {
			from.Run = r.Run
			d := drawn(t, pictures(t, f.streams, from).count(3))
			require.False(t, d.resumed)
			require.Len(t, d.rows, 4)
			require.EqualValues(t, 6, d.cursor)
		})
	}
}

func TestPictureOfAWideRunComesInParts(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	const n = 5000
	r.fill(n)
	s := f.picture(r.Run)
	all := s.until(func(all []*insightv1.WatchRunActionsResponse) bool { return place(all) > 0 }, "all of it")
	var parts []int
	for _, message := range all[1 : len(all)-1] {
		parts = append(parts, len(message.GetActions().GetNumbers()))
	}
	require.Equal(t, []int{250, 2000, 2000, 751}, parts)
	require.Equal(t, f.database(r.id), drawn(t, all).rows)
}

// A parent that the walk through the run has missed is sent before its child.
func TestPictureChildListedBeforeItsParent(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Page = 1 }))
	r := f.run("p", "development", "r1")
	r.child("x")
	r.apply(change{name: "deep", parent: "x", phase: queued})
	r.apply(change{
		name: "early", parent: "deep", kind: workflow.ActionType_ACTION_TYPE_TRACE, phase: succeeded, created: f.clock.Now().Add(-time.Hour),
	})
	f.picture(r.Run).shows(map[string]string{"a0": "1/1 a0  main", "x": "1/1 a0  ", "deep": "1/1 x  ", "early": "5/1 deep  "})
}

func TestPictureHeartbeatAndAge(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	f := newFixture(t, withClock(fake), withConfig(func(c *watch.Config) { c.Heartbeat, c.MaxAge = time.Minute, time.Hour }))
	r := f.run("p", "development", "r1")
	s := f.picture(r.Run)
	s.count(3)
	for s.waiting() && len(s.all()) < 5 {
		fake.Step(10 * time.Second)
	}
	all := s.all()
	require.NotNil(t, all[3].GetCaughtUp(), "silence is broken by the place in the log")
	require.True(t, all[4].GetCaughtUp().GetNow().AsTime().After(all[3].GetCaughtUp().GetNow().AsTime()))
	for s.waiting() {
		fake.Step(time.Minute)
	}
	require.NoError(t, s.end(), "a stream ends cleanly")
}

// waiting gives a stream a moment and reports whether it is still open.
func (s pictureStream) waiting() bool {
	select {
	case <-s.done:
		return false
	case <-time.After(time.Millisecond):
		return true
	}
}

// Random writers change a run while clients come, break off and resume, with a ring so small that they fall behind.
// Each drawing finally matches the database, and what a resumed stream sends is enough for that.
func TestPictureMissesNothing(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page, c.Poll, c.Window = 8, 2, 20*time.Millisecond, time.Millisecond }))
	names := 0
	proptest.Check(t, func(rt *rapid.T) {
		names++
		r := f.run("p", "development", fmt.Sprintf("r%d", names))
		writers := rapid.IntRange(1, 3).Draw(rt, "writers")
		perWriter := rapid.IntRange(1, 3).Draw(rt, "children")
		breaks := rapid.SliceOfN(rapid.IntRange(1, 3), 1, 3).Draw(rt, "breaks")
		f.wake.Store(rapid.IntRange(0, 3).Draw(rt, "wake") > 0) // sometimes every wake-up is lost

		var work sync.WaitGroup
		for w := range writers {
			work.Go(func() {
				parent := "a0"
				for i := range perWriter {
					name := fmt.Sprintf("w%dc%d", w, i)
					r.apply(change{name: name, parent: parent, phase: queued, task: fmt.Sprintf("env.t%d", i%3)})
					for _, phase := range []common.ActionPhase{running, succeeded} {
						r.move(name, phase)
					}
					if i%2 == 0 {
						parent = name
					}
				}
			})
		}
		d := &drawing{}
		for _, messages := range breaks {
			s := pictures(t, f.streams, watch.Picture{Run: r.Run, Cursor: d.cursor, Strings: uint32(len(d.strings))})
			d.take(t, s.count(messages))
			s.cancel()
			<-s.done
			if !d.complete {
				d = &drawing{}
			}
		}
		work.Wait()
		want := f.database(r.id)
		s := pictures(t, f.streams, watch.Picture{Run: r.Run, Cursor: d.cursor, Strings: uint32(len(d.strings))})
		all := s.until(func(all []*insightv1.WatchRunActionsResponse) bool { return place(all) > 0 }, "a picture")
		require.Equal(t, want, d.take(t, all).rows)
		s.cancel()
		<-s.done
	})
}

// database is the drawing of what is stored.
func (f *fixture) database(runID int64) map[string]string {
	f.t.Helper()
	rows, err := f.pool.Query(f.t.Context(), `SELECT name, concat(phase, '/', attempt, ' ', coalesce(parent_name, name), ' ', action_group, ' ', split_part(task_name, '.', 2))
		FROM actions WHERE run_id = $1`, runID)
	require.NoError(f.t, err)
	defer rows.Close()
	out := map[string]string{}
	for rows.Next() {
		var name, text string
		require.NoError(f.t, rows.Scan(&name, &text))
		out[name] = text
	}
	require.NoError(f.t, rows.Err())
	return out
}

// Two replicas write with the real writer while one client stays, one is slow, and one comes and goes.
func TestPictureWithTheRealWriter(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page = 16, 5 }))
	replicas := []*replica{f.replica("left"), f.replica("right")}
	run := ident.Run{Project: "p", Domain: "development", Name: "r1"}
	replicas[0].create(run)
	const perWriter = 25
	stays, slow := pictures(t, replicas[0].streams, watch.Picture{Run: run}), pictures(t, replicas[1].streams, watch.Picture{Run: run})
	release := slow.hold()
	var work sync.WaitGroup
	for w, r := range replicas {
		for half := range 2 {
			work.Go(func() { r.work(run, fmt.Sprintf("w%dh%d", w, half), perWriter) })
		}
	}
	d := &drawing{}
	for range 5 {
		s := pictures(t, replicas[1].streams, watch.Picture{Run: run, Cursor: d.cursor, Strings: uint32(len(d.strings))})
		d.take(t, s.until(func(all []*insightv1.WatchRunActionsResponse) bool { return place(all) > 0 && len(all) > 3 }, "some changes"))
		s.cancel()
		<-s.done
	}
	work.Wait()
	release()
	require.NoError(t, replicas[1].report(run, ident.RootAction, state.Position{Attempt: 1, Phase: state.Succeeded}))
	var runID int64
	require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT run_id FROM actions LIMIT 1`).Scan(&runID))
	want := f.database(runID)
	require.Len(t, slices.Collect(maps.Keys(want)), 4*perWriter+1)
	stays.shows(want)
	slow.shows(want)
	s := pictures(t, replicas[1].streams, watch.Picture{Run: run, Cursor: d.cursor, Strings: uint32(len(d.strings))})
	require.Equal(t, want, d.take(t, s.until(func(all []*insightv1.WatchRunActionsResponse) bool { return place(all) > 0 }, "the rest")).rows)
}
