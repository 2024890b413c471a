package connectors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/connectors"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// stormsVariable has how many storms there are; one without it.
const stormsVariable = "CONNECTORS_STORMS"

// stormJobs is how many runs a storm has.
const stormJobs = 30

// plannedJob is the outcome of the jobs of a run.
type plannedJob struct {
	looks   int                      // after how many looks it ends
	ends    core.TaskExecution_Phase // how its jobs end; RUNNING is never
	fails   int                      // how many attempts fail before, so that another follows
	aborted bool                     // the run is aborted
	limit   time.Duration            // of an attempt
	seen    map[string]int           // looks so far, by key
}

// TestStorms: connectors hang, go away, lose answers, answer with errors, forget jobs and refuse to delete, while processes stop and
// connections to the database break. Every attempt has one job, and when all is well again every run has ended as its jobs did and no job is
// left that was not deleted.
func TestStorms(t *testing.T) {
	storms := 1
	if text := os.Getenv(stormsVariable); text != "" {
		var err error
		storms, err = strconv.Atoi(text)
		require.NoError(t, err, stormsVariable)
	}
	for seed := range storms {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { storm(t, uint64(seed)) })
	}
}

func storm(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0xc0))
	fake := newFake(t, "batch_job")
	fake.begins(&connectorv2.Resource{Phase: core.TaskExecution_RUNNING})
	fake.logs = map[string][]string{"": {"one"}, "+": {"two"}}
	plans := map[string]*plannedJob{}
	for i := range stormJobs {
		p := &plannedJob{looks: 1 + r.IntN(12), ends: core.TaskExecution_SUCCEEDED, seen: map[string]int{}}
		switch kind := r.IntN(8); kind {
		case 0:
			p.ends = core.TaskExecution_FAILED
		case 1, 2:
			p.fails = 1
		case 3:
			p.ends, p.aborted = core.TaskExecution_RUNNING, true
		case 4:
			p.aborted = true // it may end before
		case 5:
			p.ends, p.limit = core.TaskExecution_RUNNING, time.Duration(100+r.IntN(1000))*time.Millisecond
		}
		plans[fmt.Sprint("r", i)] = p
	}
	weather := &weather{r: r, fake: fake, plans: plans, forgotten: map[string]bool{}}
	fake.create, fake.get, fake.remove = weather.create, weather.get, weather.remove

	f := newFixtureWith(t, func(c *connectors.Config) {
		c.Endpoints, c.CallTimeout, c.MaxErrors = []connectors.Endpoint{fake.endpoint("batch")}, time.Second, 8
		c.MaxBackoff = 200 * time.Millisecond
	})
	f.serves("batch_job")
	strikes := 3 + r.IntN(4)
	weather.storms(true) // from here on, the fake rolls too
	for name, p := range plans {
		f.run(name, job(func(template *core.TaskTemplate) {
			template.Metadata = &core.TaskMetadata{Retries: &core.RetryStrategy{Retries: 2}}
			if p.limit > 0 {
				template.Metadata.Timeout = durationpb.New(p.limit)
				template.Metadata.Retries = nil
			}
		}))
	}
	for name, p := range plans {
		if p.aborted {
			_, err := f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: actionID(name).GetRun()})
			require.NoError(t, err)
		}
	}
	for range strikes {
		weather.strikes(f)
	}
	weather.storms(false)
	f.eventually("all runs have ended", func() bool {
		var live int
		err := f.db.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE phase < $1`, int(succeeded)).Scan(&live)
		return err == nil && live == 0
	})
	f.forgotten()
	f.eventually("all logs are stored", func() bool {
		var n int
		return f.db.QueryRow(t.Context(), `SELECT count(*) FROM connector_logs`).Scan(&n) == nil && n == 0
	})
	weather.check(f)
}

// weather is what a fake does to its callers.
type weather struct {
	r         *rand.Rand
	fake      *fake
	plans     map[string]*plannedJob
	storming  bool // the rest is read and changed under the lock of the fake
	forgotten map[string]bool
	attempts  map[string]map[string]bool // keys by run and attempt
}

func (w *weather) storms(on bool) { w.fake.with(func() { w.storming = on }) }

// rolls reports true in some of a hundred cases while it storms.
func (w *weather) rolls(percent int) bool { return w.storming && w.r.IntN(100) < percent }

// create notes the key, and loses answers.
func (w *weather) create(j *fakeJob) error {
	last := w.fake.creates[len(w.fake.creates)-1].GetTaskExecutionMetadata()
	of := last.GetLabels()["flyte.org/run"] + " " + last.GetLabels()["flyte.org/attempt"]
	if w.attempts == nil {
		w.attempts = map[string]map[string]bool{}
	}
	if w.attempts[of] == nil {
		w.attempts[of] = map[string]bool{}
	}
	w.attempts[of][j.Key] = true
	j.run = last.GetLabels()["flyte.org/run"]
	j.attempt, _ = strconv.Atoi(last.GetLabels()["flyte.org/attempt"])
	if w.rolls(25) {
		return connect.NewError(connect.CodeUnavailable, errors.New("the answer is lost"))
	}
	return nil
}

// get lets a job proceed, answers with errors, and forgets jobs.
func (w *weather) get(j *fakeJob) error {
	switch {
	case w.forgotten[j.Key]:
		return connect.NewError(connect.CodeNotFound, errors.New("there is no such job"))
	case w.rolls(2):
		w.forgotten[j.Key] = true
		return connect.NewError(connect.CodeNotFound, errors.New("there is no such job"))
	case w.rolls(10):
		return connect.NewError(connect.CodeInternal, errors.New("the system is confused"))
	case w.rolls(10):
		return connect.NewError(connect.CodeUnavailable, errors.New("the system is busy"))
	}
	p := w.plans[j.run]
	if p.seen[j.Key]++; p.seen[j.Key] < p.looks || j.deleted {
		return nil
	}
	switch {
	case j.attempt <= p.fails:
		j.state = &connectorv2.Resource{Phase: core.TaskExecution_RETRYABLE_FAILED, Message: "as planned"}
	case p.ends == core.TaskExecution_SUCCEEDED:
		j.state = success()
	default:
		j.state = &connectorv2.Resource{Phase: p.ends, Message: "as planned"}
	}
	return nil
}

// remove loses deletions, and answers of deletions.
func (w *weather) remove(int) error {
	if w.rolls(30) {
		return connect.NewError(connect.CodeUnavailable, errors.New("it was not deleted"))
	}
	return nil
}

// strikes has one fault, and waits until it was felt.
func (w *weather) strikes(f *fixture) {
	felt := func(what string, is func() bool) {
		f.eventually(what, func() bool {
			var live int
			err := f.db.QueryRow(f.t.Context(), `SELECT count(*) FROM connector_jobs`).Scan(&live)
			return err == nil && live == 0 || is()
		})
	}
	var kind int
	w.fake.with(func() { kind = w.r.IntN(5) })
	switch kind {
	case 0:
		w.fake.down()
		felt("a call fails", func() bool {
			var n int
			err := f.db.QueryRow(f.t.Context(), `SELECT count(*) FROM connector_jobs WHERE failures < 0`).Scan(&n)
			return err == nil && n > 2
		})
		w.fake.up()
	case 1:
		hang, before := make(chan struct{}), 0
		w.fake.with(func() { w.fake.hang, before = hang, w.fake.hanging })
		felt("calls hang", func() bool {
			w.fake.mu.Lock()
			defer w.fake.mu.Unlock()
			return w.fake.hanging > before+2
		})
		w.fake.with(func() { w.fake.hang = nil })
		close(hang)
	case 2:
		f.stop()
		f.stop = f.replica()
	case 3: // two at once, one of which ends
		before := f.stop
		f.stop = f.replica()
		before()
	default:
		w.fake.with(func() { w.fake.logsHang = !w.fake.logsHang })
		_, err := f.db.Exec(f.t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		require.NoError(f.t, err)
		w.fake.with(func() { w.fake.logsHang = false })
	}
}

// check compares what the fake has with what the server says.
func (w *weather) check(f *fixture) {
	f.t.Helper()
	w.fake.mu.Lock()
	defer w.fake.mu.Unlock()
	for of, keys := range w.attempts {
		require.Len(f.t, keys, 1, "the attempt %s has one key", of)
	}
	succeededJobs := map[string]int{}
	for _, j := range w.fake.jobs {
		phase := j.state.GetPhase()
		ended := phase == core.TaskExecution_SUCCEEDED || phase == core.TaskExecution_FAILED || phase == core.TaskExecution_RETRYABLE_FAILED
		require.True(f.t, ended || j.deleted || w.forgotten[j.Key], "the job of attempt %d of %s is left", j.attempt, j.run)
		if phase == core.TaskExecution_SUCCEEDED {
			succeededJobs[j.run]++
		}
	}
	for name, p := range w.plans {
		details, err := f.runs.GetActionDetails(context.WithoutCancel(f.t.Context()), &workflow.GetActionDetailsRequest{ActionId: actionID(name)})
		require.NoError(f.t, err)
		phase := details.GetDetails().GetStatus().GetPhase()
		switch {
		case phase == succeeded:
			require.Equal(f.t, 1, succeededJobs[name], "%s succeeds by one job", name)
		case phase == aborted:
			require.True(f.t, p.aborted, name)
		case p.ends == core.TaskExecution_SUCCEEDED && !p.aborted:
			forgot := 0
			for _, j := range w.fake.jobs {
				if j.run == name && w.forgotten[j.Key] {
					forgot++
				}
			}
			require.NotZero(f.t, forgot, "%s fails, although its jobs succeed: %s", name, details.GetDetails().GetErrorInfo().GetMessage())
		}
	}
}
