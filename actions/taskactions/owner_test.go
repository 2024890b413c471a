package taskactions_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

func TestAssignmentsBecomeObjectsUntilTheyAreReleased(t *testing.T) {
	f := newFixture(t)
	first, second := assignment(1, "a0"), assignment(2, "b")
	f.engine.assign(first, false)
	f.start()
	f.eventually("a0")
	f.engine.assign(second, true)
	f.eventually("a0 b")
	f.engine.release(first, true)
	f.eventually("b")
	f.engine.release(second, true)
	f.eventually("")
	require.Empty(t, f.events.all())
}

// Story R26: garbage collection wrote ABORTED over successes and killed children that still ran.
func TestAnObjectStaysWhileTheExecutorNeedsIt(t *testing.T) {
	f := newFixture(t)
	aborted, sealing := assignment(1, "aborted"), assignment(2, "sealing")
	f.executor.retain(sealing)
	f.engine.assign(aborted, true)
	f.engine.assign(sealing, true)
	f.start()
	f.eventually("aborted sealing")
	f.engine.release(aborted, true)
	f.engine.release(sealing, true)
	f.eventually("sealing")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "sealing" }, 200*time.Millisecond, 10*time.Millisecond)
	require.Positive(t, f.executor.asked(sealing))
	f.finish(sealing)
	f.eventually("")
}

func TestAFinishedObjectIsDeletedOnceThoughTheReleaseIsLate(t *testing.T) {
	f := newFixture(t)
	f.config.RecreateDelay = time.Hour
	counted, deletions := countRequests(f.kube, http.MethodDelete)
	f.kube = counted
	a := assignment(1, "a0")
	f.engine.assign(a, true)
	f.start()
	f.eventually("a0")
	f.finish(a)
	f.eventually("")
	f.engine.release(a, true)
	f.engine.assign(assignment(2, "b"), true) // once it exists, all that came before it on the stream has been handled
	f.eventually("b")
	require.EqualValues(t, 1, deletions.Load())
}

// The executor is done with an object that was created from an outdated assignment; the next one is up to date.
func TestAFinishedObjectOfALiveActionIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.engine.assign(assignment(1, "a0"), true)
	f.start()
	f.eventually("a0")
	current := assignment(1, "a0")
	current.Attempt, current.UserFailures = 2, 1
	f.engine.assign(current, false)
	f.finish(current)
	require.Eventually(t, func() bool {
		object := &v1.TaskAction{}
		key := client.ObjectKeyFromObject(taskactions.FromAssignment(current, f.cluster.Namespace))
		return f.cluster.Client.Get(t.Context(), key, object) == nil && object.Spec.Attempt == 2 && object.Spec.UserFailures == 1
	}, 20*time.Second, time.Millisecond)
}

// A long fan-out leaves no more ended objects than the executor allows: new ones wait for their deletion.
func TestNewObjectsWaitForTheDeletionOfOthers(t *testing.T) {
	f := newFixture(t)
	ended, next := assignment(1, "ended"), assignment(2, "next")
	f.engine.assign(ended, true)
	f.start()
	f.eventually("ended")
	room := f.executor.fill()
	f.engine.assign(next, true)
	f.engine.release(ended, true)
	f.eventually("")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 200*time.Millisecond, 10*time.Millisecond)
	room()
	f.eventually("next")
}

// The executor may have finished an object in a process that died before the deletion: the next owner asks again.
func TestAnObjectIsDeletedWithoutANotice(t *testing.T) {
	f := newFixture(t)
	a := assignment(1, "ended")
	f.executor.retain(a)
	f.engine.assign(a, true)
	f.start()
	f.eventually("ended")
	f.engine.release(a, true)
	require.Eventually(t, func() bool { return f.executor.asked(a) > 1 }, 20*time.Second, time.Millisecond)
	f.executor.drop(a)
	f.eventually("")
}

func TestOnConnectingTheWholeSetIsCompared(t *testing.T) {
	f := newFixture(t)
	kept, orphan := assignment(1, "kept"), assignment(2, "orphan")
	for _, a := range []*v1.TaskAction{taskactions.FromAssignment(kept, f.cluster.Namespace), taskactions.FromAssignment(orphan, f.cluster.Namespace)} {
		require.NoError(t, f.cluster.Client.Create(t.Context(), a))
	}
	f.engine.assign(kept, false)
	for uid := range int64(50) {
		f.engine.assign(assignment(100+uid, "m"+strings.Repeat("x", int(uid%5))), false)
	}
	f.start()
	require.Eventually(t, func() bool {
		names := strings.Fields(f.actions(f.cluster.Namespace))
		return len(names) == 51 && !strings.Contains(strings.Join(names, " "), "orphan")
	}, 20*time.Second, 5*time.Millisecond)
	require.Len(t, f.engine.asked, 1, "missing assignments are read together")

	f.engine.mu.Lock()
	clear(f.engine.live)
	f.engine.mu.Unlock()
	f.engine.breakStreams(false)
	f.eventually("")
}

// Story R14: a failed enqueue was swallowed: the run was acknowledged and stayed queued forever.
func TestNothingIsLostWhileTheRunsServiceIsUnavailable(t *testing.T) {
	f := newFixture(t)
	first, second, third := assignment(1, "a0"), assignment(2, "b"), assignment(3, "c")
	f.engine.assign(first, false)
	f.engine.assign(second, false)
	f.start()
	f.eventually("a0 b")
	f.engine.breakStreams(true)
	f.engine.release(first, false)
	f.engine.assign(third, false)
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "a0 b" }, 100*time.Millisecond, 10*time.Millisecond)
	f.engine.breakStreams(false)
	f.eventually("b c")
}

func TestAVanishedObjectIsRecreatedOnlyWhileItsActionIsLive(t *testing.T) {
	f := newFixture(t)
	a := assignment(1, "a0")
	f.engine.assign(a, true)
	f.start()
	f.eventually("a0")
	remove := func() {
		require.NoError(t, f.cluster.Client.Delete(context.Background(), taskactions.FromAssignment(a, f.cluster.Namespace)))
	}
	remove()
	f.eventually("a0")

	f.engine.release(a, false) // the executor deletes the object of a finished action before the release arrives
	remove()
	require.Eventually(t, func() bool { f.engine.mu.Lock(); defer f.engine.mu.Unlock(); return len(f.engine.asked) >= 3 }, 20*time.Second, time.Millisecond)
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 100*time.Millisecond, 10*time.Millisecond)
}

func TestRefusedActionsFailWithAMessage(t *testing.T) {
	t.Run("too large", func(t *testing.T) {
		f := newFixture(t)
		a := assignment(1, "a0")
		a.Attempt = 2
		a.Task.Spec.TaskTemplate.Config = map[string]string{"x": strings.Repeat("x", 4<<20)}
		f.engine.assign(a, true)
		f.start()
		require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
		got := f.events.all()[0]
		require.Equal(t, common.ActionPhase_ACTION_PHASE_FAILED, got.GetEvent().GetPhase())
		require.Equal(t, uint32(2), got.GetEvent().GetAttempt())
		require.Equal(t, "TaskTooLarge", got.GetError().GetCode())
		require.Contains(t, got.GetError().GetMessage(), "too large")
		require.Equal(t, core.ExecutionError_USER, got.GetError().GetKind())
	})
	t.Run("a namespace of Kubernetes", func(t *testing.T) {
		f := newFixture(t)
		f.config.Namespace = "{{project}}"
		a := assignment(2101, "a0") // a unique id: an owner of all namespaces also sees the objects of other tests
		a.Ref.Id.Run.Project = "kube-system"
		f.engine.assign(a, true)
		f.start()
		require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
		require.Equal(t, "BadNamespace", f.events.all()[0].GetError().GetCode())
	})
}

func TestNamespacesAreCreatedOnDemand(t *testing.T) {
	f := newFixture(t)
	f.config.Namespace = "{{project}}-{{domain}}-" + f.cluster.Namespace
	counted, counter := countRequests(f.kube, http.MethodGet, http.MethodPost) // deletions clean up after other tests
	f.kube = counted
	// Unique ids: an owner of all namespaces also sees the objects of other tests.
	f.engine.assign(assignment(2001, "a0"), true)
	f.engine.assign(assignment(2002, "b"), true)
	f.start()
	require.Eventually(t, func() bool { return f.actions("proj-dev-"+f.cluster.Namespace) == "a0 b" }, 20*time.Second, 5*time.Millisecond)
	asked := counter.Load()
	f.engine.assign(assignment(2003, "c"), true)
	require.Eventually(t, func() bool { return f.actions("proj-dev-"+f.cluster.Namespace) == "a0 b c" }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, asked+1, counter.Load(), "a known namespace costs nothing: one request creates the object")
}

// countRequests counts requests other than watches, of the given methods or of all.
func countRequests(config *rest.Config, methods ...string) (*rest.Config, *atomic.Int64) {
	counted, counter := rest.CopyConfig(config), &atomic.Int64{}
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !r.URL.Query().Has("watch") && (len(methods) == 0 || slices.Contains(methods, r.Method)) {
				counter.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return counted, counter
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAPIServerThatIsUnavailableOrThrottles(t *testing.T) {
	for name, fail := range map[string]func(*http.Request) (*http.Response, error){
		"unavailable": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"throttles": func(r *http.Request) (*http.Response, error) {
			return refusedWith(r, http.StatusTooManyRequests, "TooManyRequests"), nil
		},
		"breaks": func(r *http.Request) (*http.Response, error) {
			return refusedWith(r, http.StatusInternalServerError, "InternalError"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var lists, others atomic.Int64
			f.kube = rest.CopyConfig(f.kube)
			f.kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					// The informer's own backoff is long, so that lists fail only once.
					if strings.HasSuffix(r.URL.Path, "/taskactions") && r.Method == http.MethodGet {
						if lists.Add(1) == 1 {
							return fail(r)
						}
					} else if others.Add(1) <= 15 {
						return fail(r)
					}
					return next.RoundTrip(r)
				})
			})
			f.engine.assign(assignment(1, "a0"), true)
			f.engine.assign(assignment(2, "b"), true)
			f.start()
			f.eventually("a0 b")
			require.Empty(t, f.events.all(), "no action fails because of it")
		})
	}
}

// A 409 does not prove that another object has the name by now, so the deletion must be retried.
func TestDeletionThatConflictsIsRetried(t *testing.T) {
	f := newFixture(t)
	var conflicts atomic.Int64
	f.kube = rest.CopyConfig(f.kube)
	f.kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete && conflicts.Add(1) <= 3 {
				return refusedWith(r, http.StatusConflict, "Conflict"), nil
			}
			return next.RoundTrip(r)
		})
	})
	f.engine.phases = map[string]common.ActionPhase{"a0": common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	root := assignment(1, "a0")
	f.engine.assign(root, true)
	f.start()
	f.eventually("a0")
	f.engine.release(root, true)
	f.eventually("")
	require.EqualValues(t, 4, conflicts.Load())
}

// refusedWith is a response of the API server that refuses a request.
func refusedWith(r *http.Request, status int, reason string) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, status)
	header := http.Header{"Content-Type": {"application/json"}}
	if status == http.StatusTooManyRequests {
		header.Set("Retry-After", "0")
	}
	return &http.Response{StatusCode: status, Request: r, Body: io.NopCloser(strings.NewReader(body)), Header: header}
}

// An action that is aborted while the API server is unavailable is deleted when the outage ends; one that is admitted
// and aborted meanwhile is never created.
func TestAbortsDuringAnOutageTakeEffectWhenItEnds(t *testing.T) {
	f := newFixture(t)
	var away atomic.Bool
	var refused atomic.Int64
	f.kube = rest.CopyConfig(f.kube)
	f.kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if away.Load() {
				refused.Add(1)
				return nil, errors.New("connection refused")
			}
			return next.RoundTrip(r)
		})
	})
	f.engine.phases = map[string]common.ActionPhase{
		"child": common.ActionPhase_ACTION_PHASE_ABORTED, "late": common.ActionPhase_ACTION_PHASE_ABORTED,
	}
	root, child, late := assignment(1, "a0"), assignment(2, "child"), assignment(3, "late")
	f.engine.assign(root, true)
	f.engine.assign(child, true)
	f.start()
	f.eventually("a0 child")
	away.Store(true)
	f.engine.release(child, true)
	f.engine.assign(late, true)
	f.engine.release(late, true)
	require.Eventually(t, func() bool { return refused.Load() > 3 }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, "a0 child", f.actions(f.cluster.Namespace))
	away.Store(false)
	f.eventually("a0")
	require.Empty(t, f.events.all(), "no action fails because of it")
}

// Story R1: a run that no page showed was reconciled for 17 days, and its pod was recreated each time someone
// deleted it.
func TestThePeriodicComparisonRepairs(t *testing.T) {
	f := newFixture(t)
	f.config.Resync = 50 * time.Millisecond
	f.start()
	require.Eventually(t, func() bool { return f.engine.subscriptions() > 0 }, 20*time.Second, time.Millisecond)
	f.engine.assign(assignment(1, "a0"), false) // as if the message were lost
	f.eventually("a0")
}

func TestManyMoreThanMaxPending(t *testing.T) {
	f := newFixture(t)
	f.config.MaxPending = 3
	for uid := range int64(60) {
		f.engine.assign(assignment(uid+1, "a"), uid%2 == 0)
	}
	f.start()
	require.Eventually(t, func() bool { return len(strings.Fields(f.actions(f.cluster.Namespace))) == 60 }, 20*time.Second, 10*time.Millisecond)
	for uid := range int64(60) {
		f.engine.release(assignment(uid+1, "a"), true)
	}
	f.eventually("")
}

func TestAssignmentsAreFetchedInPages(t *testing.T) {
	f := newFixture(t)
	f.config.MaxPending = 50
	f.start()
	require.Eventually(t, func() bool { return f.engine.subscriptions() > 0 }, 20*time.Second, time.Millisecond)
	for uid := range int64(500) {
		f.engine.assign(assignment(uid+1, "a"), true)
	}
	require.Eventually(t, func() bool { return len(strings.Fields(f.actions(f.cluster.Namespace))) == 500 }, 20*time.Second, 10*time.Millisecond)
	f.engine.mu.Lock()
	calls := f.engine.asked
	f.engine.mu.Unlock()
	require.Less(t, len(calls), 100, "not one for each")
	for _, uids := range calls {
		require.LessOrEqual(t, len(uids), 50, "no more than may be kept")
	}
}

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	reader := metric.NewManualReader()
	f.meter = metric.NewMeterProvider(metric.WithReader(reader))
	require.NoError(t, f.cluster.Client.Create(t.Context(), taskactions.FromAssignment(assignment(7, "orphan"), f.cluster.Namespace)))
	f.engine.assign(assignment(1, "a0"), false)
	f.start()
	f.eventually("a0")
	want := map[string]int64{"flyte.task_actions.created": 1, "flyte.task_actions.deleted": 1, "flyte.drift.repaired": 2}
	require.Eventually(t, func() bool {
		var data metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &data))
		got := map[string]int64{}
		for _, scope := range data.ScopeMetrics {
			for _, m := range scope.Metrics {
				if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
					for _, point := range sum.DataPoints {
						got[m.Name] += point.Value
					}
				}
			}
		}
		for name, n := range want {
			if got[name] != n {
				return false
			}
		}
		return true
	}, 20*time.Second, 10*time.Millisecond)
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	f := newFixture(t)
	foreign := taskactions.FromAssignment(assignment(9, "foreign"), f.cluster.Namespace)
	delete(foreign.Labels, v1.LabelManaged)
	require.NoError(t, f.cluster.Client.Create(t.Context(), foreign))
	nameless := taskactions.FromAssignment(assignment(10, "nameless"), f.cluster.Namespace)
	nameless.Labels[v1.LabelUID] = "x"
	require.NoError(t, f.cluster.Client.Create(t.Context(), nameless))
	f.engine.assign(assignment(1, "a0"), true)
	f.start()
	require.Eventually(t, func() bool { return strings.Contains(f.actions(f.cluster.Namespace), "a0") }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), &v1.TaskAction{}))
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(nameless), &v1.TaskAction{}))
}

func TestConfig(t *testing.T) {
	require.NoError(t, taskactions.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*taskactions.Config){
		"namespace":     func(c *taskactions.Config) { c.Namespace = "" },
		"namespace: ":   func(c *taskactions.Config) { c.Namespace = "{{run}}" },
		"workers":       func(c *taskactions.Config) { c.Workers = 0 },
		"resync":        func(c *taskactions.Config) { c.Resync = 0 },
		"maxSilence":    func(c *taskactions.Config) { c.MaxSilence = 0 },
		"recreateDelay": func(c *taskactions.Config) { c.RecreateDelay = -1 },
		"maxPending":    func(c *taskactions.Config) { c.MaxPending = 0 },
		"callTimeout":   func(c *taskactions.Config) { c.CallTimeout = 0 },
		"backoff.first": func(c *taskactions.Config) { c.Backoff.First = 0 },
		"backoff.max":   func(c *taskactions.Config) { c.Backoff.Max = 0 },
	} {
		config := taskactions.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
	_, err := taskactions.New(taskactions.DefaultConfig(), taskactions.Deps{})
	require.Error(t, err)
}
