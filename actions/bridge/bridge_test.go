package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/bridge"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
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
func TestWhatTheExecutorEndedIsLeftToIt(t *testing.T) {
	f := newFixture(t)
	f.config.SealGrace = time.Hour
	f.engine.phases = map[string]common.ActionPhase{
		"aborted": common.ActionPhase_ACTION_PHASE_ABORTED,
		"ended":   common.ActionPhase_ACTION_PHASE_SUCCEEDED,
		"failed":  common.ActionPhase_ACTION_PHASE_FAILED,
	}
	all := []*enginev1.Assignment{assignment(1, "aborted"), assignment(2, "ended"), assignment(3, "failed"), assignment(4, "unknown")}
	for _, a := range all {
		f.engine.assign(a, true)
	}
	f.start()
	f.eventually("aborted ended failed unknown")
	for _, a := range all {
		f.engine.release(a, true)
	}
	f.eventually("ended failed")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "ended failed" }, 200*time.Millisecond, 10*time.Millisecond)
}

func TestWhatTheExecutorForgotIsDeletedInTheEnd(t *testing.T) {
	f := newFixture(t)
	f.config.SealGrace = 50 * time.Millisecond
	f.engine.phases = map[string]common.ActionPhase{"ended": common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	f.engine.assign(assignment(1, "ended"), true)
	f.start()
	f.eventually("ended")
	f.engine.release(assignment(1, "ended"), true)
	f.eventually("")
}

func TestOnConnectingTheWholeSetIsCompared(t *testing.T) {
	f := newFixture(t)
	kept, orphan := assignment(1, "kept"), assignment(2, "orphan")
	for _, a := range []*v1.TaskAction{v1.FromAssignment(kept, f.cluster.Namespace), v1.FromAssignment(orphan, f.cluster.Namespace)} {
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

// Story R14: a failed enqueue was swallowed: the run was acknowledged and stayed queued for ever.
func TestWhileTheStateMachineIsAwayNothingIsLost(t *testing.T) {
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

func TestAnObjectThatVanishedIsMadeAgainOnlyWhileItIsWanted(t *testing.T) {
	f := newFixture(t)
	a := assignment(1, "a0")
	f.engine.assign(a, true)
	f.start()
	f.eventually("a0")
	remove := func() {
		require.NoError(t, f.cluster.Client.Delete(context.Background(), v1.FromAssignment(a, f.cluster.Namespace)))
	}
	remove()
	f.eventually("a0")

	f.engine.release(a, false) // the executor deletes the object of a finished action before the release arrives
	remove()
	require.Eventually(t, func() bool { f.engine.mu.Lock(); defer f.engine.mu.Unlock(); return len(f.engine.asked) >= 3 }, 20*time.Second, time.Millisecond)
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 100*time.Millisecond, 10*time.Millisecond)
}

func TestRefusedActionsFailWithWords(t *testing.T) {
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
	t.Run("the namespace is Kubernetes' own", func(t *testing.T) {
		f := newFixture(t)
		f.config.Namespace = "{{project}}"
		a := assignment(1, "a0")
		a.Ref.Id.Run.Project = "kube-system"
		f.engine.assign(a, true)
		f.start()
		require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
		require.Equal(t, "BadNamespace", f.events.all()[0].GetError().GetCode())
	})
}

func TestNamespacesAreMadeOnDemand(t *testing.T) {
	f := newFixture(t)
	f.config.Namespace = "{{project}}-{{domain}}-" + f.cluster.Namespace
	counted, counter := countRequests(f.kube)
	f.kube = counted
	// Ids of their own: in all namespaces, the objects of other tests are seen too.
	f.engine.assign(assignment(2001, "a0"), true)
	f.engine.assign(assignment(2002, "b"), true)
	f.start()
	require.Eventually(t, func() bool { return f.actions("proj-dev-"+f.cluster.Namespace) == "a0 b" }, 20*time.Second, 5*time.Millisecond)
	asked := counter.Load()
	f.engine.assign(assignment(2003, "c"), true)
	require.Eventually(t, func() bool { return f.actions("proj-dev-"+f.cluster.Namespace) == "a0 b c" }, 20*time.Second, 5*time.Millisecond)
	require.Equal(t, asked+1, counter.Load(), "a known namespace costs nothing: one request creates the object")
}

// countRequests counts what is not a watch.
func countRequests(config *rest.Config) (*rest.Config, *atomic.Int64) {
	counted, counter := rest.CopyConfig(config), &atomic.Int64{}
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if !r.URL.Query().Has("watch") {
				counter.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	return counted, counter
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAnAPIServerThatIsAwayOrThrottles(t *testing.T) {
	for name, fail := range map[string]func(*http.Request) (*http.Response, error){
		"away": func(*http.Request) (*http.Response, error) { return nil, errors.New("connection refused") },
		"throttles": func(r *http.Request) (*http.Response, error) {
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"TooManyRequests","code":429}`
			return &http.Response{
				StatusCode: http.StatusTooManyRequests, Request: r, Body: io.NopCloser(bytes.NewBufferString(body)),
				Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"0"}},
			}, nil
		},
		"breaks": func(r *http.Request) (*http.Response, error) {
			body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"InternalError","code":500}`
			return &http.Response{
				StatusCode: http.StatusInternalServerError, Request: r, Body: io.NopCloser(bytes.NewBufferString(body)),
				Header: http.Header{"Content-Type": {"application/json"}},
			}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			var lists, others atomic.Int64
			f.kube = rest.CopyConfig(f.kube)
			f.kube.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					// The informer's own pauses are long, so that lists fail only once.
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
			require.Empty(t, f.events.all(), "no action fails for that")
		})
	}
}

// What is aborted while the API server is away is deleted when it is back, and nothing is made that was never wanted.
func TestAbortsDuringAnOutageAreDoneWhenItEnds(t *testing.T) {
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
	require.Empty(t, f.events.all(), "no action fails for that")
}

// Story R27: aborts lived in the memory of one process, and a second replica did all work twice.
func TestOneBridgeIsActiveAtATime(t *testing.T) {
	f := newFixture(t)
	f.config.Election = bridge.ElectionConfig{Enabled: true, Namespace: f.cluster.Namespace, Name: "bridge", Duration: 3 * time.Second}
	f.engine.assign(assignment(1, "a0"), true)
	first := f.start()
	f.eventually("a0")
	f.start()
	require.Never(t, func() bool { return f.engine.subscriptions() > 1 }, time.Second, 10*time.Millisecond)
	require.NoError(t, first.Stop(t.Context()))
	require.Eventually(t, func() bool { return f.engine.subscriptions() == 2 }, 20*time.Second, 10*time.Millisecond)
	f.engine.assign(assignment(2, "b"), true)
	f.eventually("a0 b")
}

// Story R1: a run that no page showed was reconciled for 17 days and made its pod again each time somebody deleted it.
func TestThePeriodicComparisonMends(t *testing.T) {
	f := newFixture(t)
	f.config.Resync = 50 * time.Millisecond
	f.start()
	require.Eventually(t, func() bool { return f.engine.subscriptions() > 0 }, 20*time.Second, time.Millisecond)
	f.engine.assign(assignment(1, "a0"), false) // as if the message was lost
	f.eventually("a0")
}

func TestManyMoreThanFitInMemory(t *testing.T) {
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

func TestMetrics(t *testing.T) {
	f := newFixture(t)
	reader := metric.NewManualReader()
	f.meter = metric.NewMeterProvider(metric.WithReader(reader))
	require.NoError(t, f.cluster.Client.Create(t.Context(), v1.FromAssignment(assignment(7, "orphan"), f.cluster.Namespace)))
	f.engine.assign(assignment(1, "a0"), false)
	f.start()
	f.eventually("a0")
	want := map[string]int64{"flyte.bridge.created": 1, "flyte.bridge.deleted": 1, "flyte.mended": 2}
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
	foreign := v1.FromAssignment(assignment(9, "foreign"), f.cluster.Namespace)
	delete(foreign.Labels, v1.LabelManaged)
	require.NoError(t, f.cluster.Client.Create(t.Context(), foreign))
	nameless := v1.FromAssignment(assignment(10, "nameless"), f.cluster.Namespace)
	nameless.Labels[v1.LabelUID] = "x"
	require.NoError(t, f.cluster.Client.Create(t.Context(), nameless))
	f.engine.assign(assignment(1, "a0"), true)
	f.start()
	require.Eventually(t, func() bool { return strings.Contains(f.actions(f.cluster.Namespace), "a0") }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(foreign), &v1.TaskAction{}))
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(nameless), &v1.TaskAction{}))
}

func TestConfig(t *testing.T) {
	require.NoError(t, bridge.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*bridge.Config){
		"namespace":          func(c *bridge.Config) { c.Namespace = "" },
		"namespace: ":        func(c *bridge.Config) { c.Namespace = "{{run}}" },
		"workers":            func(c *bridge.Config) { c.Workers = 0 },
		"resync":             func(c *bridge.Config) { c.Resync = 0 },
		"maxSilence":         func(c *bridge.Config) { c.MaxSilence = 0 },
		"releaseGrace":       func(c *bridge.Config) { c.ReleaseGrace = -1 },
		"sealGrace":          func(c *bridge.Config) { c.SealGrace = -1 },
		"recreateDelay":      func(c *bridge.Config) { c.RecreateDelay = -1 },
		"maxPending":         func(c *bridge.Config) { c.MaxPending = 0 },
		"callTimeout":        func(c *bridge.Config) { c.CallTimeout = 0 },
		"firstBackoff":       func(c *bridge.Config) { c.FirstBackoff = 0 },
		"maxBackoff":         func(c *bridge.Config) { c.MaxBackoff = 0 },
		"election.namespace": func(c *bridge.Config) { c.Election.Enabled, c.Election.Namespace = true, "" },
		"election.name":      func(c *bridge.Config) { c.Election.Enabled, c.Election.Name = true, "" },
		"election.duration":  func(c *bridge.Config) { c.Election.Enabled, c.Election.Duration = true, time.Second },
	} {
		config := bridge.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
	_, err := bridge.New(bridge.DefaultConfig(), bridge.Deps{})
	require.Error(t, err)
}
