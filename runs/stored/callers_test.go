package stored_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/stored"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// run stores a run of a creator, and returns its directory below the root.
func (f *fixture) run(t require.TestingT, id int64, project, name, creator string) (dir string) {
	name = fmt.Sprintf("%s%d", name, id)
	dir = blobpath.RunBase("", project, "development", blobpath.RunDir(name, []byte{byte(id)}))[1:]
	root := schema.Root{RunOutputBase: f.blobs.Root() + "/" + dir}
	dir = strings.TrimSuffix(dir, "/")
	root.ID, root.RunID, root.Project, root.Domain, root.RunName, root.Name = id, id, project, "development", name, "a0"
	root.ActionType, root.Phase, root.CreatedBySubject, root.CreatedAt, root.UpdatedAt = 1, 5, creator, start, start
	require.NoError(t, storetest.Insert(f.Context(), f.pool, root))
	return dir
}

// of is what each caller of a project has, by the database.
func (f *fixture) of(t require.TestingT, project string) map[string]int64 {
	rows, err := f.pool.Query(f.Context(), `SELECT caller, bytes + added FROM stored_callers WHERE project = $1 AND bytes + added > 0`, project)
	require.NoError(t, err)
	defer rows.Close()
	all := map[string]int64{}
	for rows.Next() {
		var caller string
		var bytes int64
		require.NoError(t, rows.Scan(&caller, &bytes))
		all[caller] = bytes
	}
	return all
}

func ofCallers(bytes int64) stored.Config {
	config := stored.DefaultConfig()
	config.CallerBytes = bytes
	return config
}

func TestWhatCountsForACaller(t *testing.T) {
	f := newFixture(t, ofCallers(1000), "p", "q")
	f.write(f.run(t, 1, "p", "r", "ada"), 3)
	f.write(f.run(t, 2, "p", "r", "bob"), 7) // more than a page
	f.write(f.run(t, 3, "p", "r", "task:p/development/r1/a0"), 1)
	f.write(f.run(t, 4, "p", "r", "anonymous"), 1)
	f.write(f.run(t, 5, "q", "r", "ada"), 2)
	f.write("p/development/_apps/x", 2)
	f.write("p/development/r1.aaaaaaaaaaaaaaaa", 1) // of a run that had the name before
	upload := func(caller, uri string) {
		t.Helper()
		_, err := f.guard().EnterUpload(t.Context(), stored.Upload{Project: "p", Caller: caller, URI: uri})
		require.NoError(t, err)
		require.NoError(t, f.blobs.WriteAll(t.Context(), uri, []byte("12")))
	}
	upload("ada", f.blobs.Root()+"/uploads/p/development/x/code.tgz")
	upload("bob", f.blobs.Root()+"/uploads/p/development/x/code.tgz") // the same content: the first keeps it
	upload("bob", f.blobs.Root()+"/uploads/p/development/y/code.tgz")
	upload("ada", f.blobs.Root()+"/p/development/offloaded-inputs/d/inputs.pb")
	f.write("uploads/p/development/z", 1) // from before uploads had owners
	f.pass()
	require.Equal(t, map[string]int64{"ada": 6 + 2 + 2, "bob": 14 + 2, "": 2 + 2 + 4 + 2 + 2}, f.of(t, "p"))
	require.EqualValues(t, 38, f.row("p").Bytes)

	use, measured, err := f.guard().OfCaller(t.Context(), "ada")
	require.NoError(t, err)
	require.True(t, measured)
	require.EqualValues(t, 14, use.Used, "in both projects")
	require.Equal(t, "p", use.Largest)
	for _, other := range []string{"", "anonymous", "eve"} {
		use, _, err = f.guard().OfCaller(t.Context(), other)
		require.NoError(t, err)
		require.Zero(t, use.Used)
	}
}

func TestACallerWithTooMuchGetsNoRunsAndNoUploads(t *testing.T) {
	f := newFixture(t, ofCallers(10), "p", "q")
	guard := f.guard()
	mine := f.run(t, 1, "p", "r", "ada")
	f.write(mine, 4)
	f.write(f.run(t, 2, "q", "r", "ada"), 1)
	require.NoError(t, guard.EnterRun(t.Context(), "p", "ada"), "what was not measured limits nothing")
	f.pass()
	f.clock.Step(5 * time.Minute)
	words := []string{
		"the runs and uploads of ada have 10 bytes in the object store, measured at 2026-07-01T00:00:0", "and may have 10 (runs.stored.callerBytes)",
		"8 of them are in project p; delete some of them, or let runs.retention delete old runs, and try again after the next measurement, in 10m0s",
	}
	for _, project := range []string{"p", "q"} {
		require.Equal(t, 10*time.Minute, requireFull(t, guard.EnterRun(t.Context(), project, "ada"), words...))
		_, err := guard.EnterUpload(t.Context(), stored.Upload{Project: project, Caller: "ada", URI: f.blobs.Root() + "/uploads/p/development/x"})
		requireFull(t, err, words...)
	}
	for _, other := range []string{"bob", "", "anonymous", "task:p/development/r1/a0"} {
		require.NoError(t, guard.EnterRun(t.Context(), "p", other))
	}

	require.NoError(t, f.blobs.DeletePrefix(t.Context(), f.blobs.Root()+"/"+mine+"/"))
	f.clock.Step(15 * time.Minute)
	f.pass() // both projects are measured sooner, since ada is at her limit
	f.clock.Step(2 * time.Second)
	require.NoError(t, guard.EnterRun(t.Context(), "p", "ada"))
	_, err := guard.EnterUpload(t.Context(), stored.Upload{Project: "p", Caller: "ada", Size: 9})
	requireFull(t, err, "the file has 9 bytes, and the runs and uploads of ada have 2 of at most 10 bytes in the object store", "2 of them in project q")
	_, err = guard.EnterUpload(t.Context(), stored.Upload{Project: "p", Caller: "bob", Size: 11})
	require.Zero(t, requireFull(t, err, "the file has 11 bytes, and the runs and uploads of bob may have at most 10 bytes"), "later it is as large")
	_, err = guard.EnterUpload(t.Context(), stored.Upload{Project: "p", Arrived: map[string]int64{"ada": 8, "bob": 1}})
	require.NoError(t, err)
	requireFull(t, f.guard().EnterRun(t.Context(), "q", "ada"), "the runs and uploads of ada have 10 bytes") // another process
	f.clock.Step(f.config.NearInterval)
	f.pass()
	require.NoError(t, f.guard().EnterRun(t.Context(), "q", "ada"), "the measurement did not find them")

	f.write(mine, 4)
	f.clock.Step(f.config.Interval)
	f.pass()
	requireFull(t, f.guard().EnterRun(t.Context(), "p", "ada"))
	f.clock.Step(5 * f.config.Interval)
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", "ada"), "an old measurement limits nothing")
}

// TestCallersAddUpToTheirProject: whatever is stored, of any caller, and wherever a listing is interrupted, each caller has what a sum
// over the objects says, and all callers and what has no caller together are what the project has.
func TestCallersAddUpToTheirProject(t *testing.T) {
	f := newFixture(t, ofCallers(1_000_000))
	var ids int64
	proptest.Check(t, func(t *rapid.T) {
		ids++
		project := fmt.Sprintf("p%d", ids)
		_, err := f.pool.Exec(f.Context(), `INSERT INTO projects (id, name, created_at, updated_at) VALUES ($1, $1, $2, $2)`, project, start)
		require.NoError(t, err)
		who := rapid.SampledFrom([]string{"ada", "bob", "eve", "anonymous", "task:p/d/r/a0"})
		want, total := map[string]int64{}, int64(0)
		put := func(uri, creator string) {
			size := rapid.IntRange(0, 9).Draw(t, "size")
			require.NoError(t, f.blobs.WriteAll(f.Context(), uri, make([]byte, size)))
			want[stored.Owner(creator)] += int64(size)
			total += int64(size)
		}
		for range rapid.IntRange(0, 4).Draw(t, "runs") {
			creator := who.Draw(t, "creator")
			ids++
			dir := f.run(t, ids, project, "r", creator)
			for i := range rapid.IntRange(0, 7).Draw(t, "objects") {
				put(fmt.Sprintf("%s/%s/%d", f.blobs.Root(), dir, i), creator)
			}
		}
		for i := range rapid.IntRange(0, 7).Draw(t, "uploads") {
			uri := fmt.Sprintf("%s/uploads/%s/development/%d/x", f.blobs.Root(), project, i)
			creator := who.Draw(t, "uploader")
			_, err := f.guard().EnterUpload(f.Context(), stored.Upload{Project: project, Caller: stored.Owner(creator), URI: uri})
			require.NoError(t, err)
			put(uri, creator)
		}
		f.blobs.after, f.blobs.err = rapid.IntRange(-1, 6).Draw(t, "fails after pages"), errGone
		if err := f.measurer().Pass(f.Context()); err != nil {
			require.ErrorIs(t, err, errGone)
		}
		f.blobs.after = -1
		f.clock.Step(f.config.NearInterval)
		require.NoError(t, f.measurer().Pass(f.Context()))
		added := map[string]int64{}
		for range rapid.IntRange(0, 3).Draw(t, "arrivals") {
			added[stored.Owner(who.Draw(t, "arrived of"))] += int64(rapid.IntRange(1, 9).Draw(t, "arrived"))
		}
		_, err = f.guard().EnterUpload(f.Context(), stored.Upload{Project: project, Arrived: added})
		require.NoError(t, err)
		for caller, bytes := range added {
			want[caller] += bytes
			total += bytes
		}
		for caller, bytes := range want {
			if bytes == 0 {
				delete(want, caller)
			}
		}
		require.Equal(t, want, f.of(t, project))
		row, err := f.rows.Get(f.Context(), project)
		require.NoError(t, err)
		require.Equal(t, total, row.Bytes+row.Added)
		_, err = f.pool.Exec(f.Context(), `DELETE FROM projects`)
		require.NoError(t, err)
	})
}

// TestUploadsThatAreGoneAreForgotten: who uploaded an object is remembered while the object is there, and for eight days before it is.
func TestUploadsThatAreGoneAreForgotten(t *testing.T) {
	f := newFixture(t, ofCallers(1000), "p")
	there, gone := f.blobs.Root()+"/uploads/p/development/a/x", f.blobs.Root()+"/uploads/p/development/b/x"
	for _, uri := range []string{there, gone} {
		_, err := f.guard().EnterUpload(t.Context(), stored.Upload{Project: "p", Caller: "ada", URI: uri})
		require.NoError(t, err)
		require.NoError(t, f.blobs.WriteAll(t.Context(), uri, []byte("12")))
	}
	f.pass()
	require.NoError(t, f.blobs.Delete(t.Context(), gone))
	remembered := func() (n int) {
		require.NoError(t, f.pool.QueryRow(t.Context(), `SELECT count(*) FROM stored_uploads`).Scan(&n))
		return n
	}
	for range 7 {
		f.clock.Step(24 * time.Hour)
		f.pass()
		require.Equal(t, 2, remembered())
	}
	for range 3 {
		f.clock.Step(24 * time.Hour)
		f.pass()
	}
	require.Equal(t, 1, remembered())
	require.Equal(t, map[string]int64{"ada": 2}, f.of(t, "p"))
}

func TestALimitOfCallersIsNotNegative(t *testing.T) {
	require.ErrorContains(t, stored.Config{CallerBytes: -1}.Validate(), "callerBytes: must not be negative, got -1")
}
