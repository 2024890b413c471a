package triggers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// BenchmarkVersions measures 10,000 triggers that wait for artifacts, 100 of them for the same: how long it takes from a new
// version until the fires of all of them are recorded, and until all have their runs.
func BenchmarkVersions(b *testing.B) {
	const total, same = 10_000, 100
	for b.Loop() {
		f := newFixture(b, nil)
		f.deploy("v1", triggered("t", onArtifact("m")))
		for _, statement := range []string{
			`INSERT INTO triggers (project, domain, task_name, name, revision, active, with_task, automation_type, automation, spec, task_version,
					description, deployed_by, updated_by, deployed_at, updated_at, anchor)
				SELECT project, domain, task_name, 't' || i, revision, active, with_task, automation_type, automation, spec, task_version,
					description, deployed_by, updated_by, deployed_at, updated_at, anchor FROM triggers, generate_series(2, $1) i WHERE $2 > 0`,
			`INSERT INTO trigger_revisions SELECT t.id, r.revision, r.action, r.active, r.automation, r.spec, r.task_version, r.description, r.deployed_by,
					r.updated_by, r.deployed_at, r.updated_at, r.triggered_at, r.deleted_at, r.created_at
				FROM trigger_revisions r, triggers t WHERE t.id <> r.trigger_id AND $1 > 0 AND $2 > 0`,
			`INSERT INTO trigger_watches (trigger_id, revision, project, domain, artifact, after_seq)
				SELECT id, revision, project, domain, CASE WHEN row_number() OVER (ORDER BY id) <= $2 THEN 'm' ELSE 'm' || id END, 0
				FROM triggers WHERE name <> 't' AND $1 > 0`,
		} {
			_, err := f.pool.Exec(b.Context(), statement, total, same-1)
			require.NoError(b, err)
		}
		_, err := f.pool.Exec(b.Context(), `ANALYZE`)
		require.NoError(b, err)
		f.start(f.replica(nil))
		count := func(query string) int {
			var n int
			require.NoError(b, f.pool.QueryRow(b.Context(), query).Scan(&n))
			return n
		}
		for i, version := range []string{"warm", "measured"} {
			begin := time.Now()
			f.publish("m", version, 1)
			require.Eventually(b, func() bool { return count(`SELECT count(*) FROM trigger_fires`) == (i+1)*same }, time.Minute, time.Millisecond)
			recorded := time.Since(begin)
			require.Eventually(b, func() bool { return count(`SELECT count(*) FROM trigger_fires WHERE state = 2`) == (i+1)*same }, time.Minute, time.Millisecond)
			if version == "measured" {
				b.ReportMetric(float64(recorded.Milliseconds()), "ms-to-fires")
				b.ReportMetric(float64(time.Since(begin).Milliseconds()), "ms-to-runs")
			}
		}
	}
}
