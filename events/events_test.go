package events_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/events"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const applied = enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED

// engine is a fake engine API that records its calls. arrived gets each call before answer decides on it.
type engine struct {
	arrived chan []*enginev1.Transition
	answer  func(ctx context.Context, transitions []*enginev1.Transition) error

	mu    sync.Mutex
	calls [][]*enginev1.Transition // GUARDED_BY(mu)
}

func (e *engine) RecordTransitions(ctx context.Context, r *enginev1.RecordTransitionsRequest) (*enginev1.RecordTransitionsResponse, error) {
	e.mu.Lock()
	e.calls = append(e.calls, r.GetTransitions())
	e.mu.Unlock()
	if e.arrived != nil {
		e.arrived <- r.GetTransitions()
	}
	if e.answer != nil {
		if err := e.answer(ctx, r.GetTransitions()); err != nil {
			return nil, err
		}
	}
	response := &enginev1.RecordTransitionsResponse{}
	for _, t := range r.GetTransitions() {
		outcome := applied
		if t.GetEvent().GetId().GetName() == "gone" {
			outcome = enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION
		}
		response.Outcomes = append(response.Outcomes, outcome)
	}
	return response, nil
}

func (e *engine) recorded() [][]*enginev1.Transition {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.calls
}

func transition(action string, version uint32) *enginev1.Transition {
	id := ident.Action{Run: ident.Run{Project: "p", Domain: "d", Name: "r"}, Name: action}
	return &enginev1.Transition{Event: &workflow.ActionEvent{
		Id: id.Proto(), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Version: version,
	}}
}

// begins says which transitions of a call begin a report.
func begins(call []*enginev1.Transition) []bool {
	marks := make([]bool, len(call))
	for i, t := range call {
		marks[i] = t.GetBeginsReport()
	}
	return marks
}

func newService(t *testing.T, config events.Config, e events.Engine, c clock.Clock) *events.Service {
	t.Helper()
	service, err := events.New(config, events.Deps{Engine: e, Clock: c, Logger: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	return service
}

// Story R8: each change of a status was one row inserted by one call that a reconciler waited for, so pods of a
// fan-out were made half an hour late.
func TestCallersShareCallsWhileOneIsInFlight(t *testing.T) {
	proceed := make(chan struct{})
	e := &engine{
		arrived: make(chan []*enginev1.Transition),
		answer:  func(context.Context, []*enginev1.Transition) error { <-proceed; return nil },
	}
	config := events.DefaultConfig()
	config.MaxBatch = 4
	sink := newService(t, config, e, nil).Sink()

	var callers sync.WaitGroup
	record := func(transitions ...*enginev1.Transition) {
		callers.Go(func() {
			outcomes, err := sink.Record(t.Context(), transitions)
			require.NoError(t, err)
			require.Len(t, outcomes, len(transitions))
		})
	}
	record(transition("first", 0))
	require.Len(t, <-e.arrived, 1, "a lone caller waits for nobody")

	waiting := func(n int) func() bool { return func() bool { return sink.Waiting() == n } }
	record(transition("a", 1), transition("a", 2), transition("a", 3))
	require.Eventually(t, waiting(1), time.Minute, time.Millisecond)
	record(transition("b", 1), transition("b", 2))
	require.Eventually(t, waiting(2), time.Minute, time.Millisecond)
	record(transition("gone", 1))
	require.Eventually(t, waiting(3), time.Minute, time.Millisecond)

	proceed <- struct{}{}
	require.Equal(t, []bool{true, false, false}, begins(<-e.arrived), "what one caller reports is not split, and the limit holds")
	proceed <- struct{}{}
	require.Equal(t, []bool{true, false, true}, begins(<-e.arrived), "the rest shares a call, and its reports stay apart")
	proceed <- struct{}{}
	callers.Wait()
	require.Len(t, e.recorded(), 3)
}

func TestEachCallerGetsItsOwnOutcomes(t *testing.T) {
	sink := newService(t, events.DefaultConfig(), &engine{}, nil).Sink()
	outcomes, err := sink.Record(t.Context(), []*enginev1.Transition{transition("a", 1), transition("gone", 1)})
	require.NoError(t, err)
	require.Equal(t, []enginev1.TransitionOutcome{applied, enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION}, outcomes)

	outcomes, err = sink.Record(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, outcomes)
}

func TestOrderOfAnActionIsKept(t *testing.T) {
	e := &engine{}
	sink := newService(t, events.DefaultConfig(), e, nil).Sink()
	var callers sync.WaitGroup
	for action := range 20 {
		callers.Go(func() {
			for version := range uint32(50) {
				_, err := sink.Record(t.Context(), []*enginev1.Transition{transition(fmt.Sprint("a", action), version)})
				require.NoError(t, err)
			}
		})
	}
	callers.Wait()
	next, total := map[string]uint32{}, 0
	for _, call := range e.recorded() {
		for _, tr := range call {
			name := tr.GetEvent().GetId().GetName()
			require.Equal(t, next[name], tr.GetEvent().GetVersion(), name)
			next[name]++
			total++
		}
	}
	require.Equal(t, 1000, total)
}

func TestOutagesAreWaitedOut(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	var failures atomic.Int32
	failures.Store(3)
	e := &engine{answer: func(context.Context, []*enginev1.Transition) error {
		if failures.Add(-1) >= 0 {
			return rpc.Unavailable(nil, "away")
		}
		return nil
	}}
	sink := newService(t, events.DefaultConfig(), e, fake).Sink()
	done := make(chan error, 1)
	go func() {
		_, err := sink.Record(t.Context(), []*enginev1.Transition{transition("a", 1)})
		done <- err
	}()
	for pause := events.DefaultConfig().Backoff.First; failures.Load() > 0; pause *= 2 {
		require.Eventually(t, func() bool { return fake.Timers() == 1 }, time.Minute, time.Millisecond)
		fake.Step(pause)
	}
	require.Eventually(t, func() bool {
		fake.Step(events.DefaultConfig().Backoff.Max)
		select {
		case err := <-done:
			require.NoError(t, err)
			return true
		default:
			return false
		}
	}, time.Minute, time.Millisecond)
	require.Len(t, e.recorded(), 4)
}

func TestACanceledCallerReturnsAtOnce(t *testing.T) {
	e := &engine{
		arrived: make(chan []*enginev1.Transition, 2),
		answer: func(ctx context.Context, transitions []*enginev1.Transition) error {
			if transitions[0].GetEvent().GetId().GetName() == "b" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		},
	}
	sink := newService(t, events.DefaultConfig(), e, nil).Sink()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := sink.Record(ctx, []*enginev1.Transition{transition("a", 1)})
		done <- err
	}()
	<-e.arrived
	cancel()
	require.ErrorIs(t, <-done, context.Canceled, "and the call it waited for ends, or the next caller would hang")

	_, err := sink.Record(t.Context(), []*enginev1.Transition{transition("b", 1)})
	require.NoError(t, err)
}

func TestAnInvalidTransitionFailsAlone(t *testing.T) {
	first := make(chan struct{})
	e := &engine{answer: func(_ context.Context, transitions []*enginev1.Transition) error {
		for _, tr := range transitions {
			switch tr.GetEvent().GetId().GetName() {
			case "first":
				<-first
			case "wrong":
				return rpc.InvalidArgument("transitions", "phase is not known")
			}
		}
		return nil
	}}
	sink := newService(t, events.DefaultConfig(), e, nil).Sink()
	results := make([]error, 3)
	var callers sync.WaitGroup
	callers.Go(func() { _, results[0] = sink.Record(t.Context(), []*enginev1.Transition{transition("first", 1)}) })
	require.Eventually(t, func() bool { return len(e.recorded()) == 1 }, time.Minute, time.Millisecond)
	callers.Go(func() { _, results[1] = sink.Record(t.Context(), []*enginev1.Transition{transition("wrong", 1)}) })
	callers.Go(func() { _, results[2] = sink.Record(t.Context(), []*enginev1.Transition{transition("right", 1)}) })
	require.Eventually(t, func() bool { return sink.Waiting() == 2 }, time.Minute, time.Millisecond)
	close(first)
	callers.Wait()
	require.NoError(t, results[0])
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(results[1]))
	require.NoError(t, results[2])
}

func TestEventsProxy(t *testing.T) {
	e := &engine{}
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	newService(t, events.DefaultConfig(), e, nil).Mount(mux)
	client := workflowconnect.NewEventsProxyServiceClient(rpc.InProcess(mux), rpc.InProcessURL)

	failed := transition("a", 2).GetEvent()
	failed.Phase = common.ActionPhase_ACTION_PHASE_FAILED
	failed.ErrorInfo = &workflow.ErrorInfo{Message: "it broke", Kind: workflow.ErrorInfo_KIND_USER}
	_, err := client.Record(t.Context(), &workflow.RecordRequest{Events: []*workflow.ActionEvent{transition("a", 1).GetEvent(), failed}})
	require.NoError(t, err)
	recorded := e.recorded()[0]
	require.Nil(t, recorded[0].GetError())
	require.Equal(t, "it broke", recorded[1].GetEvent().GetErrorInfo().GetMessage(), "its error is derived where it is stored")

	for field, request := range map[string]*workflow.RecordRequest{
		"events":            {},
		"events[0].id":      {Events: []*workflow.ActionEvent{{Attempt: 1}}},
		"events[0].attempt": {Events: []*workflow.ActionEvent{{Id: failed.GetId()}}},
	} {
		_, err := client.Record(t.Context(), request)
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), field)
		require.ErrorContains(t, err, field)
	}
}

func TestConfig(t *testing.T) {
	require.NoError(t, events.DefaultConfig().Validate())
	for field, spoil := range map[string]func(*events.Config){
		"maxBatch":      func(c *events.Config) { c.MaxBatch = 0 },
		"callTimeout":   func(c *events.Config) { c.CallTimeout = 0 },
		"backoff.first": func(c *events.Config) { c.Backoff.First = -1 },
		"backoff.max":   func(c *events.Config) { c.Backoff.Max = 0 },
	} {
		config := events.DefaultConfig()
		spoil(&config)
		require.ErrorContains(t, config.Validate(), field)
		_, err := events.New(config, events.Deps{Engine: &engine{}})
		require.ErrorContains(t, err, "events: "+field)
	}
	_, err := events.New(events.DefaultConfig(), events.Deps{})
	require.Error(t, err)
}
