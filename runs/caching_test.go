package runs_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs"
)

const (
	statusMiss      = core.CatalogCacheStatus_CACHE_MISS
	statusPopulated = core.CatalogCacheStatus_CACHE_POPULATED
	statusSkipped   = core.CatalogCacheStatus_CACHE_SKIPPED
)

func (c *cacheFixture) success(run, name string) *enginev1.Transition {
	s := transition(run, name, 1, phaseSucceeded)
	s.Event.Outputs = &task.OutputReferences{OutputUri: c.attemptDir(run, name) + "/outputs.pb"}
	return s
}

func TestHitRunsNothing(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "first", "k")
	s := c.admitted("r1", "first")
	require.Equal(t, statusMiss, s.Status)
	require.Equal(t, "the cache has no entry for this key", s.Reason)
	c.finish("r1", "first")
	s = c.state("r1", "first")
	require.Equal(t, statusPopulated, s.Status)
	require.Equal(t, "the cache has no entry for this key", s.Reason, "why it had to run is still known")
	require.Equal(t, statusPopulated, c.details("r1", "first").GetAttempts()[0].GetCacheStatus())

	c.run("r2", nil)
	c.cacheable("r2", "second", "k")
	s = c.hit("r2", "second")
	require.Equal(t, c.attemptDir("r1", "first"), s.Output)
	require.Equal(t, "computed by action first of run r1 in flytesnacks/development", s.Reason)
	details := c.details("r2", "second")
	require.Equal(t, core.CatalogCacheStatus_CACHE_HIT, details.GetStatus().GetCacheStatus())
	attempt := details.GetAttempts()[0]
	require.Equal(t, "first", attempt.GetCacheMetadata().GetSourceActionAttempt().GetActionId().GetName())
	require.EqualValues(t, 1, attempt.GetCacheMetadata().GetSourceActionAttempt().GetAttempt())
	require.Equal(t, c.attemptDir("r1", "first")+"/outputs.pb", attempt.GetOutputs().GetOutputUri())
	list, err := c.runs.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: runID("r2"), Request: &common.ListRequest{Limit: 10}})
	require.NoError(t, err)
	require.Equal(t, core.CatalogCacheStatus_CACHE_HIT, list.GetActions()[1].GetStatus().GetCacheStatus())
	require.Equal(t, 1, c.count(`SELECT count(*) FROM action_events e JOIN actions a ON a.id = e.action_id WHERE a.name = 'second' AND e.phase = 5`))
}

func TestWhatIsNotCached(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "plain", "k", func(m *core.TaskMetadata) { m.Discoverable = false })
	s := c.admitted("r1", "plain")
	require.Equal(t, core.CatalogCacheStatus_CACHE_DISABLED, s.Status)
	c.finish("r1", "plain")
	require.Equal(t, core.CatalogCacheStatus_CACHE_DISABLED, c.state("r1", "plain").Status)

	c.cacheable("r1", "failing", "k")
	c.admitted("r1", "failing")
	c.report(transition("r1", "failing", 1, phaseFailed))
	require.Zero(t, c.count(`SELECT count(*) FROM cache_outputs`), "neither an uncached task nor a failure")
}

func TestCacheOff(t *testing.T) {
	c := newCacheFixture(t, func(config *runs.Config) { config.Cache.Enabled = false })
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	s := c.admitted("r1", "a")
	require.Equal(t, statusSkipped, s.Status)
	require.Contains(t, s.Reason, "cache off")
	c.finish("r1", "a")
	require.Zero(t, c.count(`SELECT count(*) FROM cache_outputs`))
}

// Story: upstream accepted overwrite_cache and the lookup scope, and ignored both.
//
// Story R19: timeouts, backoff, queues, overwriting of the cache, recovery and webhooks were accepted and ignored.
func TestOverwrite(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	c.admitted("r1", "a")
	c.finish("r1", "a")
	for i, spec := range []*task.RunSpec{{OverwriteCache: true}, {CacheConfig: &task.CacheConfig{OverwriteCache: true}}} {
		run := fmt.Sprintf("over%d", i)
		c.run(run, spec)
		c.cacheable(run, "a", "k")
		s := c.admitted(run, "a")
		require.Equal(t, statusSkipped, s.Status)
		require.Contains(t, s.Reason, "overwritten by request")
		c.finish(run, "a")
		require.Equal(t, statusPopulated, c.state(run, "a").Status)
		after := fmt.Sprintf("after%d", i)
		c.run(after, nil)
		c.cacheable(after, "a", "k")
		require.Equal(t, c.attemptDir(run, "a"), c.hit(after, "a").Output, "the new outputs count from now on")
	}
	c.run("over9", &task.RunSpec{CacheConfig: &task.CacheConfig{OverwriteCache: true}})
	c.cacheable("over9", "a", "k", serialized)
	require.Contains(t, c.admitted("over9", "a").Reason, "overwritten by request")
	c.finish("over9", "a")
	c.cacheable("after1", "b", "k")
	require.Equal(t, c.attemptDir("over9", "a"), c.hit("after1", "b").Output)
}

func TestScope(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.scopes(true)
}

// TestScopeOfTenants: where people sign in, no project sees or replaces what another has computed, whatever the run asks for, unless the
// configuration allows it.
func TestScopeOfTenants(t *testing.T) {
	for name, shared := range map[string]bool{"apart": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			config := cacheConfig()
			config.Cache.Shared = shared
			startCacheFixture(t, config, true).scopes(shared)
		})
	}
}

// scopes computes one key in several domains, for the domain alone and for everyone.
func (c *cacheFixture) scopes(shared bool) {
	t := c.t
	everywhere := &task.RunSpec{CacheConfig: &task.CacheConfig{CacheLookupScope: task.CacheLookupScope_CACHE_LOOKUP_SCOPE_GLOBAL}}
	in := func(run, domain string, spec *task.RunSpec) {
		request := namedRun(run)
		request.GetRunId().Domain = domain
		request.RunSpec = spec
		request.GetTaskSpec().TaskTemplate.Metadata = &core.TaskMetadata{Discoverable: true, DiscoveryVersion: "1"}
		c.create(request)
	}
	succeed := func(run, domain string) {
		require.NoError(t, c.blobs.WriteAll(t.Context(), c.blobs.Root()+"/flytesnacks/"+domain+"/"+run+"/a0/1/outputs.pb", nil))
		s := transition(run, "a0", 1, phaseSucceeded)
		s.Event.Id.Run.Domain = domain
		c.report(s)
	}
	in("here", "development", nil)
	require.Equal(t, statusMiss, c.admitted("here", "a0").Status)
	succeed("here", "development")
	in("there", "staging", nil)
	require.Equal(t, statusMiss, c.admitted("there", "a0").Status, "another domain")
	in("world", "staging", everywhere)
	require.Equal(t, statusMiss, c.admitted("world", "a0").Status, "another scope")
	succeed("world", "staging")
	in("also", "production", everywhere)
	if shared {
		c.eventually("a hit of the global scope", func() bool { return c.state("also", "a0").Status == core.CatalogCacheStatus_CACHE_HIT })
	} else {
		require.Equal(t, statusMiss, c.admitted("also", "a0").Status, "what another domain has computed")
		succeed("also", "production")
		in("more", "production", everywhere)
		c.eventually("a hit of the domain", func() bool { return c.state("more", "a0").Status == core.CatalogCacheStatus_CACHE_HIT })
	}
	in("again", "development", nil)
	c.eventually("a hit of the project's scope", func() bool { return c.state("again", "a0").Status == core.CatalogCacheStatus_CACHE_HIT })
}

func TestMaxAge(t *testing.T) {
	c := newCacheFixture(t, func(config *runs.Config) { config.Cache.MaxAge = time.Hour })
	aged := func(d time.Duration) wish { return func(m *core.TaskMetadata) { m.CacheMaxAge = durationpb.New(d) } }
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	c.admitted("r1", "a")
	c.finish("r1", "a")
	c.execute(`UPDATE cache_outputs SET updated_at = updated_at - interval '30 minutes'`)
	c.cacheable("r1", "young", "k")
	c.hit("r1", "young")
	c.cacheable("r1", "strict", "k", aged(time.Minute))
	require.Contains(t, c.admitted("r1", "strict").Reason, "expired by max age: the entry is 30m")
	c.finish("r1", "strict")
	c.cacheable("r1", "next", "k", aged(time.Minute))
	require.Equal(t, c.attemptDir("r1", "strict"), c.hit("r1", "next").Output, "the expired entry was replaced")
	c.execute(`UPDATE cache_outputs SET updated_at = updated_at - interval '2 hours'`)
	c.cacheable("r1", "forever", "k", aged(0))
	c.hit("r1", "forever")
	c.cacheable("r1", "default", "k")
	require.Contains(t, c.admitted("r1", "default").Reason, "1h0m0s is allowed")
}

// I8: the cache never serves outputs whose blob is gone.
func TestI8MissingOutputsAreRecomputed(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	c.admitted("r1", "a")
	c.finish("r1", "a")
	require.NoError(t, c.blobs.Delete(t.Context(), c.attemptDir("r1", "a")+"/outputs.pb"))
	c.cacheable("r1", "b", "k")
	s := c.admitted("r1", "b")
	require.Equal(t, statusMiss, s.Status)
	require.Contains(t, s.Reason, "no longer exist")
	c.finish("r1", "b")
	require.Equal(t, statusPopulated, c.state("r1", "b").Status)
	c.cacheable("r1", "c", "k")
	require.Equal(t, c.attemptDir("r1", "b"), c.hit("r1", "c").Output)
}

// I8: one writer per key. Of twenty actions that want the same key at the same time one runs and the others take its
// outputs; when it fails, the next one runs.
func TestI8OneWriterPerKey(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	var names []string
	var work sync.WaitGroup
	for i := range 20 {
		name := fmt.Sprintf("c%d", i)
		names = append(names, name)
		work.Go(func() { c.cacheable("r1", name, "k", serialized) })
	}
	work.Wait()
	admitted := func() (live []string) {
		require.LessOrEqual(t, c.count(`SELECT count(*) FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL AND cache_key = 'k'`), 1)
		for _, name := range names {
			if s := c.state("r1", name); s.Admitted && s.Phase == common.ActionPhase_ACTION_PHASE_QUEUED {
				live = append(live, name)
			}
		}
		return live
	}
	for range 3 { // two fail
		c.eventually("one runs", func() bool { return len(admitted()) == 1 })
		owner := admitted()[0]
		c.eventually("the others say whom they wait for", func() bool {
			return c.count(`SELECT count(*) FROM actions WHERE hold = 2 AND cache_reason LIKE '%' || $1 || ', which computes the same key'`, "/"+owner) ==
				c.count(`SELECT count(*) FROM actions WHERE cache_key = 'k' AND phase = 1`)-1
		})
		if c.count(`SELECT count(*) FROM actions WHERE phase = 6`) < 2 {
			c.report(transition("r1", owner, 1, phaseFailed))
			continue
		}
		c.finish("r1", owner)
	}
	c.eventually("all others have hits", func() bool {
		return c.count(`SELECT count(*) FROM actions WHERE cache_key = 'k' AND cache_status = 2 AND phase = 5 AND admitted_at IS NULL`) == 17
	})
	require.Equal(t, 1, c.count(`SELECT count(*) FROM actions WHERE cache_status = 3`))
	c.eventually("nothing stays reserved", func() bool {
		return c.count(`SELECT count(*) FROM reserved_keys`)+c.count(`SELECT count(*) FROM cache_reservations`) == 0
	})
}

// A reservation belongs to a live action, not to a process: after a restart the owner still has it, even if it has
// expired.
func TestReservationOutlivesTheProcess(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "owner", "k", serialized)
	c.admitted("r1", "owner")
	c.restart(func() { c.execute(`UPDATE cache_reservations SET expires_at = now() - interval '1 minute'`) })
	c.cacheable("r1", "other", "k", serialized)
	c.eventually("the reservation is extended", func() bool {
		return c.count(`SELECT count(*) FROM cache_reservations WHERE expires_at > now() AND owner LIKE '%/owner#%'`) == 1
	})
	c.eventually("the other waits for it", func() bool { return c.state("r1", "other").Hold == 2 })
	require.False(t, c.state("r1", "other").Admitted)
	c.finish("r1", "owner")
	c.hit("r1", "other")
}

// A holder that is lost frees the key when its reservation expires.
func TestLostHolderFreesTheKey(t *testing.T) {
	c := newCacheFixture(t, nil)
	_, err := c.scoped.GetOrExtendReservation(t.Context(), &cachev2.GetOrExtendReservationRequest{
		Identifier:  &cachev2.Identifier{Org: "flyte", Project: "flytesnacks", Domain: "development"},
		BaseRequest: &cachev1.GetOrExtendReservationRequest{Key: "k", OwnerId: "somebody else"},
	})
	require.NoError(t, err)
	c.run("r1", nil)
	c.cacheable("r1", "a", "k", serialized)
	c.eventually("it waits", func() bool {
		return c.state("r1", "a").Hold == 2 && c.state("r1", "a").Reason != "the cache has no entry for this key"
	})
	require.Contains(t, c.state("r1", "a").Reason, "somebody else")
	// The intention to reserve is stored before the request and deleted after the refusal.
	c.eventually("it claims nothing", func() bool { return c.count(`SELECT count(*) FROM reserved_keys`) == 0 })
	c.execute(`UPDATE cache_reservations SET expires_at = now()`)
	c.admitted("r1", "a")
}

func TestHeldActionsCanBeAbortedAndTimeOut(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "owner", "k", serialized)
	c.admitted("r1", "owner")
	c.cacheable("r1", "aborted", "k", serialized)
	c.cacheable("r1", "late", "k", serialized, func(m *core.TaskMetadata) {
		m.Timeouts = &core.TimeoutStrategy{QueuedTimeout: durationpb.New(200 * time.Millisecond)}
	})
	c.eventually("it waits", func() bool { return c.state("r1", "aborted").Hold == 2 })
	_, err := c.runs.AbortAction(t.Context(), &workflow.AbortActionRequest{ActionId: actionID("r1", "aborted"), Reason: "enough"})
	require.NoError(t, err)
	c.await("r1", "aborted", common.ActionPhase_ACTION_PHASE_ABORTED)
	c.await("r1", "late", phaseTimedOut)
	c.finish("r1", "owner")
	require.Zero(t, c.state("r1", "aborted").Hold)
	require.Equal(t, phaseTimedOut, c.phase("r1", "late"))
	_, err = c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("r1")})
	require.NoError(t, err)
	c.eventually("nothing stays reserved", func() bool { return c.count(`SELECT count(*) FROM cache_reservations`) == 0 })
}

func TestCacheServiceAway(t *testing.T) {
	c := newCacheFixture(t, func(config *runs.Config) { config.Cache.Tries = 2 })
	c.run("r1", nil)
	c.away.Store(true)
	c.cacheable("r1", "a", "k")
	s := c.admitted("r1", "a")
	require.Equal(t, core.CatalogCacheStatus_CACHE_LOOKUP_FAILURE, s.Status)
	require.Contains(t, s.Reason, "lookup failed: ")
	c.finish("r1", "a")
	s = c.state("r1", "a")
	require.Equal(t, phaseSucceeded, s.Phase, "the outputs are valid all the same")
	require.Equal(t, core.CatalogCacheStatus_CACHE_PUT_FAILURE, s.Status)
	require.Contains(t, s.Reason, "publishing failed: ")

	c.cacheable("r1", "one", "k2", serialized)
	c.eventually("a serialized task still waits", func() bool { return c.state("r1", "one").Hold == 2 })
	c.away.Store(false)
	require.Equal(t, statusMiss, c.admitted("r1", "one").Status)
}

// The process dies after the outputs are published and before the success is recorded. The success is reported again.
func TestDeathBetweenPublishAndRecord(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	c.admitted("r1", "a")
	require.NoError(t, c.blobs.WriteAll(t.Context(), c.attemptDir("r1", "a")+"/outputs.pb", nil))
	_, err := c.scoped.Put(t.Context(), &cachev2.PutCacheRequest{
		Identifier: &cachev2.Identifier{Org: "flyte", Project: "flytesnacks", Domain: "development"},
		BaseRequest: &cachev1.PutCacheRequest{Key: "k", Output: &cachev1.CachedOutput{
			Output: &cachev1.CachedOutput_OutputUri{OutputUri: c.attemptDir("r1", "a")},
		}},
	})
	require.NoError(t, err)
	c.restart(func() {})
	c.cacheable("r1", "early", "k")
	c.hit("r1", "early")
	for range 2 {
		c.report(c.success("r1", "a"))
		require.Equal(t, statusPopulated, c.state("r1", "a").Status)
	}
	require.Equal(t, 1, c.count(`SELECT count(*) FROM cache_outputs`))
}

// Two actions that compute the same key at once both succeed; the outputs of the first one stay.
func TestSecondOfTwoWriters(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.cacheable("r1", "a", "k")
	c.cacheable("r1", "b", "k")
	c.admitted("r1", "a")
	c.admitted("r1", "b")
	c.finish("r1", "b")
	c.finish("r1", "a")
	require.Contains(t, c.state("r1", "a").Reason, "another action had published its outputs first")
	c.cacheable("r1", "c", "k")
	require.Equal(t, c.attemptDir("r1", "b"), c.hit("r1", "c").Output)
}

// Actions that another replica left held are settled, too, and so are those that were held when the process died.
func TestHoldsOutliveTheProcess(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	c.away.Store(true)
	c.cacheable("r1", "one", "k", serialized)
	c.restart(func() {
		c.execute(`UPDATE actions SET hold = 1, admitted_at = NULL WHERE name = 'one'`)
		c.away.Store(false)
	})
	c.admitted("r1", "one")
}

func TestEngineTasksAreCached(t *testing.T) {
	c := newCacheFixture(t, nil)
	c.run("r1", nil)
	for _, name := range []string{"first", "second"} {
		request := childTask("r1", "a0", name)
		request.GetTask().CacheKey = key("nap")
		template := request.GetTask().GetSpec().GetTaskTemplate()
		template.Type, template.Metadata = "core-sleep", &core.TaskMetadata{Discoverable: true}
		c.inputs("r1", request, lasting(10*time.Millisecond))
		require.Zero(t, c.record(request))
		c.await("r1", name, phaseSucceeded)
	}
	require.Equal(t, statusPopulated, c.state("r1", "first").Status)
	require.Equal(t, core.CatalogCacheStatus_CACHE_HIT, c.state("r1", "second").Status)
}

// One replica hands out reservations, whichever recorded the actions and whichever sees them end.
func TestReservationsOfTwoReplicas(t *testing.T) {
	c := newCacheFixture(t, func(config *runs.Config) { config.Cache.Poll = time.Minute }) // only what replicas tell each other wakes them
	c.run("r1", nil)
	c.eventually("the first has the lease", func() bool { return c.count(`SELECT count(*) FROM leases WHERE name = 'cache reservations'`) == 1 })
	first := c.halt
	c.start(c.pool)
	second := c.halt
	c.halt = func() { second(); first() }
	for i := range 6 {
		c.cacheable("r1", fmt.Sprintf("c%d", i), "k", serialized)
	}
	c.eventually("one runs", func() bool {
		return c.count(`SELECT count(*) FROM actions WHERE cache_key = 'k' AND admitted_at IS NOT NULL`) == 1
	})
	var owner string
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT name FROM actions WHERE cache_key = 'k' AND admitted_at IS NOT NULL`).Scan(&owner))
	c.finish("r1", owner)
	c.eventually("the others have hits", func() bool {
		return c.count(`SELECT count(*) FROM actions WHERE cache_key = 'k' AND cache_status = 2`) == 5
	})
}
