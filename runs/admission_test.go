package runs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs"
)

func limitedRun(name string, limit uint32) *workflow.CreateRunRequest {
	request := namedRun(name)
	request.RunSpec = &task.RunSpec{MaxActionConcurrency: limit}
	return request
}

// live lists the live actions as run/name.
func (c *writeFixture) live() []string {
	c.t.Helper()
	rows, err := c.pool.Query(c.t.Context(),
		`SELECT run_name || '/' || name FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL ORDER BY id`)
	require.NoError(c.t, err)
	var names []string
	for rows.Next() {
		var name string
		require.NoError(c.t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(c.t, rows.Err())
	return names
}

func (c *writeFixture) eventuallyLive(names ...string) {
	c.t.Helper()
	var live []string
	if !eventually(func() bool {
		live = c.live()
		return slices.Equal(names, live)
	}) {
		require.Equal(c.t, names, live)
	}
}

// eventually polls until it holds, or a minute is over: the machine may be busy.
func eventually(holds func() bool) bool {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if holds() {
			return true
		}
	}
	return false
}

// Story R11: queues and limits of concurrency were accepted and never enforced.
func TestConcurrencyLimitOfARun(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(limitedRun("r", 2))
	c.eventuallyLive("r/a0")
	for i := range 4 {
		c.child("r", "a0", fmt.Sprint("c", i))
	}
	// The root waits for children and takes no place.
	c.eventuallyLive("r/a0", "r/c0", "r/c1")
	c.report(transition("r", "c0", 1, succeeded))
	c.eventuallyLive("r/a0", "r/c1", "r/c2")
	c.report(transition("r", "c1", 1, failed), transition("r", "c1", 2, queued))
	c.eventuallyLive("r/a0", "r/c1", "r/c2") // a retry keeps its place
	c.report(transition("r", "c1", 2, succeeded), transition("r", "c2", 1, succeeded))
	c.eventuallyLive("r/a0", "r/c3")
	c.create(namedRun("free"))
	c.eventuallyLive("r/a0", "r/c3", "free/a0")
}

func TestNestedParentsDoNotDeadlock(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(limitedRun("r", 2))
	c.eventuallyLive("r/a0")
	for _, parent := range []string{"p0", "p1", "p2"} {
		c.child("r", "a0", parent)
	}
	c.eventuallyLive("r/a0", "r/p0", "r/p1")
	// Both places are taken by parents; each wants a child before it continues.
	c.child("r", "p0", "p0c")
	c.child("r", "p1", "p1c")
	require.Eventually(t, func() bool {
		live := c.live()
		// Their places are free while they wait: first for the oldest action, p2, then for the children.
		return slices.Contains(live, "r/p2") && slices.Contains(live, "r/p0c")
	}, 5*time.Second, 5*time.Millisecond, "%v", c.live())
	c.report(transition("r", "p2", 1, succeeded))
	c.eventuallyLive("r/a0", "r/p0", "r/p1", "r/p0c", "r/p1c")
	for _, name := range []string{"p0c", "p1c", "p0", "p1"} {
		c.report(transition("r", name, 1, succeeded))
	}
	c.eventuallyLive("r/a0")
}

func TestLimitOfTheInstallationIsFairBetweenRuns(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Admission.MaxLive, config.Admission.Batch, config.Admission.Poll = 4, 2, 20*time.Millisecond
	})
	c.create(namedRun("wide"))
	c.eventuallyLive("wide/a0")
	for i := range 10 {
		c.child("wide", "a0", fmt.Sprint("c", i))
	}
	// Four start. A count that began before a child was recorded may let a later child start first, so any four may be live.
	wide := func() []string {
		return slices.DeleteFunc(c.live(), func(name string) bool { return !strings.HasPrefix(name, "wide/c") })
	}
	require.Eventually(t, func() bool { return len(wide()) == 4 }, time.Minute, 5*time.Millisecond, "the limit is used")
	c.create(namedRun("late"))
	require.NotContains(t, c.live(), "late/a0", "the limit is reached")
	end := func() {
		name := wide()[0]
		c.report(transition("wide", strings.TrimPrefix(name, "wide/"), 1, succeeded))
		require.Eventually(t, func() bool { return len(c.live()) == 5 && !slices.Contains(c.live(), name) }, time.Minute, 5*time.Millisecond, "%s", name)
	}
	// The place goes to the run that has fewer, unless a pass that began before the run was created gives it to a child. Then
	// the next place does.
	end()
	end()
	require.Contains(t, c.live(), "late/a0")
	for left := 8; left > 0; left-- {
		require.Eventually(t, func() bool { return len(wide()) > 0 }, time.Minute, 5*time.Millisecond, "%d wait", left)
		c.report(transition("wide", strings.TrimPrefix(wide()[0], "wide/"), 1, succeeded))
	}
}

func TestIdleSystemAdmitsAtOnce(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("warm"))
	require.Equal(t, []string{"warm/a0"}, c.live())
	for i := range 20 {
		c.child("warm", "a0", fmt.Sprint("c", i))
		require.Contains(t, c.live(), fmt.Sprint("warm/c", i), "admitted by the transaction that recorded it")
	}
}
