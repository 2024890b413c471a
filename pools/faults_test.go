package pools_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pools"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// TestAServerThatDiesBetweenClaimAndAssignment leaves an attempt that its worker has never received. The next session gives it.
func TestAServerThatDiesBetweenClaimAndAssignment(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	id := f.desiredReach(1)[0]
	f.eventually("the action waits", func() bool { return f.count(`SELECT count(*) FROM pool_actions`) == 1 })
	w := f.start(id)
	a := w.next().GetAssignment()
	w.cut() // the assignment was lost on the way: to the worker that is the same
	w.connect()
	again := w.take()
	require.Equal(t, a.GetId().GetUid(), again.GetId().GetUid())
	require.EqualValues(t, 1, again.GetId().GetAttempt(), "it is the same attempt")
	w.succeed(again)
	require.Equal(t, succeeded, f.phase("r", "c"))
	require.Len(t, f.details("r", "c").GetAttempts(), 1)
}

// TestTheDatabaseIsAwayWhileALeaseIsHeld cuts all connections again and again; what ended meanwhile is recorded once.
func TestTheDatabaseIsAwayWhileALeaseIsHeld(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 1)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	a := w.take()
	f.outputs(a)
	cut := func() {
		_, err := f.db.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		if err != nil { // its own connection was cut before
			t.Log(err)
		}
		f.db.Reset() // connections that are cut and idle would fail the test, not the service
	}
	for range 5 {
		cut()
	}
	uid := a.GetId().GetUid()
	delete(w.running, uid)
	w.ended[uid] = &workerv1.Ended{Id: a.GetId(), End: workerv1.End_END_EXITED}
	_ = w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: w.state()}})
	cut()
	// The session continues, or the worker opens another one, as it does after each break.
	second := w.persist(a, true)
	require.Equal(t, succeeded, f.phase("r", "c1"))
	require.Len(t, f.details("r", "c1").GetAttempts(), 1)
	f.outputs(second)
	delete(w.running, second.GetId().GetUid())
	w.ended[second.GetId().GetUid()] = &workerv1.Ended{Id: second.GetId(), End: workerv1.End_END_EXITED}
	_ = w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: w.state()}})
	w.persist(second, false)
	require.Equal(t, succeeded, f.phase("r", "c2"))
}

// persist reconnects until the end of an attempt is acknowledged and, if that is asked for, another one has come.
func (w *fake) persist(a *workerv1.Assignment, another bool) (next *workerv1.Assignment) {
	w.f.t.Helper()
	deadline := time.After(wait)
	for another && next == nil || w.ended[a.GetId().GetUid()] != nil {
		select {
		case m := <-w.messages:
			for _, id := range m.GetAcknowledged().GetIds() { // of an earlier attempt again, too, after a break
				delete(w.ended, id.GetUid())
			}
			// What could not be recorded is sent again.
			if assignment := m.GetAssignment(); assignment != nil && assignment.GetId().GetUid() != a.GetId().GetUid() {
				next = assignment
				w.running[next.GetId().GetUid()] = &workerv1.Running{Id: next.GetId()}
			}
		case <-w.failure: //nolint:errcheck // the stream is broken on purpose
			w.connect()
		case <-deadline:
			w.f.t.Fatal("the worker gets nothing more")
		}
	}
	return next
}

// TestAFrozenWorkerComesBack: its attempt has gone to another worker, and what it reports of it is refused.
func TestAFrozenWorkerComesBack(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.Lease = 2 * time.Second })
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	frozen := w.take() // the stream stays open, and nothing is heard on it
	var other *fake
	f.eventually("another worker is wanted", func() bool {
		ids := f.desired()
		return len(ids) == 1 && ids[0] != w.id
	})
	other = f.start(f.desired()[0])
	again := other.take()
	require.EqualValues(t, 2, again.GetId().GetAttempt())
	require.Zero(t, f.count(`SELECT count(*) FROM pool_actions WHERE worker_id = $1`, w.id), "an attempt has one worker")

	f.outputs(frozen)
	uid := frozen.GetId().GetUid()
	delete(w.running, uid)
	w.ended[uid] = &workerv1.Ended{Id: frozen.GetId(), End: workerv1.End_END_EXITED}
	_ = w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: w.state()}})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(<-w.failure))
	w.connect()
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(<-w.failure), "nor does it get another session")
	require.NotEqual(t, succeeded, f.phase("r", "c"), "the late report counts for nothing")
	other.succeed(again)
	require.Equal(t, succeeded, f.phase("r", "c"))
	require.Len(t, f.details("r", "c").GetAttempts(), 2)
}

// TestTheClockOfTheServerJumps: leases are those of the database, whatever time it is here.
func TestTheClockOfTheServerJumps(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.Lease = 5 * time.Second })
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	id := f.desiredReach(1)[0]
	jumping := &jumpingClock{}
	mux, _ := f.replicaAt(jumping)
	f.connect(mux)
	w := f.start(id)
	a := w.take()
	for _, by := range []time.Duration{-time.Hour, 2 * time.Hour} {
		before := f.leaseUntil(w.id)
		jumping.jump(by)
		w.beat()
		f.eventually("the lease is renewed at once", func() bool { return f.leaseUntil(w.id).After(before) })
	}
	require.Len(t, f.desired(), 1)
	w.succeed(a)
	require.Equal(t, succeeded, f.phase("r", "c"))
}

func (f *fixture) leaseUntil(id string) (until time.Time) {
	f.t.Helper()
	require.NoError(f.t, f.db.QueryRow(f.t.Context(), `SELECT lease_until FROM pool_workers WHERE id = $1`, id).Scan(&until))
	return until
}

// TestTwoReplicasShareAPool: each has a session of one of its workers, and no attempt is given to both.
func TestTwoReplicasShareAPool(t *testing.T) {
	const actions = 60
	f := newFixture(t, nil)
	f.run("r")
	for i := range 10 {
		f.child("r", "a0", fmt.Sprint("c", i), reusable(policy(2, 2, 3)))
	}
	ids := f.desiredReach(2)
	mux, _ := f.replica()
	other := *f
	other.connect(mux)
	results := make(chan []string)
	for i, on := range []*fixture{f, &other} {
		w := on.start(ids[i])
		w.slots = 3
		w.beat()
		go func() { results <- w.serve() }()
	}
	for i := 10; i < actions; i++ {
		f.child("r", "a0", fmt.Sprint("c", i), reusable(policy(2, 2, 3)))
	}
	for i := range actions {
		f.reaches("r", fmt.Sprint("c", i), succeeded)
	}
	f.eventually("nothing is left", func() bool { return f.count(`SELECT count(*) FROM pool_actions`) == 0 })
	_, err := f.db.Exec(t.Context(), `UPDATE worker_pools SET worked_at = clock_timestamp() - interval '1 hour'`)
	require.NoError(t, err)
	_, err = f.db.Exec(t.Context(), `SELECT pg_notify($1, $2)`, store.Channel, store.Change{To: store.ForKeeper, Pool: 1}.String())
	require.NoError(t, err)
	seen := map[string]bool{}
	for range 2 {
		served := <-results
		require.NotEmpty(t, served, "both have work")
		for _, name := range served {
			require.False(t, seen[name], "%s ran twice", name)
			seen[name] = true
		}
	}
	require.Len(t, seen, actions)
}

// serve runs what comes until the worker is drained, and returns the names of the actions.
func (w *fake) serve() (names []string) {
	for m := range w.messages {
		switch {
		case m.GetAssignment() != nil:
			a := m.GetAssignment()
			names = append(names, a.GetAction().GetName())
			if err := w.f.blobs.WriteAll(w.f.t.Context(), w.f.dir(a)+"/outputs.pb", []byte{}); err != nil {
				return nil
			}
			w.ended[a.GetId().GetUid()] = &workerv1.Ended{Id: a.GetId(), End: workerv1.End_END_EXITED}
		case m.GetDrain() != nil:
			return names
		case m.GetAcknowledged() != nil:
			for _, id := range m.GetAcknowledged().GetIds() {
				delete(w.ended, id.GetUid())
			}
			continue
		default:
			continue
		}
		_ = w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: w.state()}})
	}
	return names
}

// TestAKillBetweenTheRecordAndTheRowIsCompleted: the runs service knows the end, the row of the attempt is still there.
func TestAKillBetweenTheRecordAndTheRowIsCompleted(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	a := w.take()
	f.reaches("r", "c", running)
	w.cut()
	f.stop()
	// What the server did before it died.
	_, err := f.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{f.success(a)}})
	require.NoError(t, err)
	require.Equal(t, succeeded, f.phase("r", "c"))
	mux, _ := f.replica()
	f.connect(mux)
	f.outputs(a)
	uid := a.GetId().GetUid()
	delete(w.running, uid)
	w.ended[uid] = &workerv1.Ended{Id: a.GetId(), End: workerv1.End_END_EXITED}
	w.connect()
	for m := w.next(); m.GetAcknowledged() == nil; m = w.next() {
		require.NotNil(t, m.GetStop(), "%v", m) // the new server may have learned first that the action has ended
	}
	f.eventually("nothing is left", func() bool { return f.count(`SELECT count(*) FROM pool_actions`) == 0 })
	require.Len(t, f.details("r", "c").GetAttempts(), 1)
}

// TestALossThatIsRecordedAlreadyCountsAsItIsRecorded: a server recorded that the task failed and died before it changed the row;
// then the worker was lost as well, which the next server would count as a failure of the system.
func TestALossThatIsRecordedAlreadyCountsAsItIsRecorded(t *testing.T) {
	for _, losses := range []uint32{1, 2} { // the row is one attempt behind, or two
		t.Run(fmt.Sprint(losses), func(t *testing.T) {
			f := newFixture(t, func(c *pools.Config) { c.Lease = time.Second })
			f.run("r")
			f.child("r", "a0", "c", reusable(policy(1, 1, 1), retries(losses)))
			w := f.start(f.desiredReach(1)[0])
			a := w.take()
			f.reaches("r", "c", running)
			w.cut()
			f.stop()
			for attempt := range losses {
				_, err := f.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: retried(a, attempt+1)})
				require.NoError(t, err)
			}
			mux, _ := f.replica()
			f.connect(mux)

			f.eventually("the next attempt waits", func() bool {
				return f.count(`SELECT count(*) FROM pool_actions WHERE attempt = $1`, losses+1) == 1
			})
			f.eventually("another worker is wanted", func() bool { ids := f.desired(); return len(ids) == 1 && ids[0] != w.id })
			other := f.start(f.desired()[0])
			next := other.take()
			require.Equal(t, losses+1, next.GetId().GetAttempt())
			f.raise(next, core.ContainerError_RECOVERABLE)
			other.end(next, workerv1.End_END_EXITED, 1)
			require.Equal(t, failed, f.phase("r", "c"), "all failures were the task's, which has no more retries")
			require.Len(t, f.details("r", "c").GetAttempts(), int(losses)+1)
		})
	}
}
