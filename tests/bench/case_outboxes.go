package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// counter is an HTTP server on this machine that counts what it is sent.
type counter struct {
	*httptest.Server
	taken atomic.Int64
}

// newCounter starts a receiver that answers at once, so that its speed does not limit the sender's.
func newCounter() *counter {
	c := &counter{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		c.taken.Add(1)
		w.WriteHeader(http.StatusNoContent)
	}))
	return c
}

// measureEvents runs n built-in children of one parent without a sink of events and with one, which takes them meanwhile.
func measureEvents(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		sink := newCounter()
		defer sink.Close()
		for _, with := range []bool{false, true} {
			words := "without a sink"
			s.Env = nil
			if with {
				words = "with a sink"
				s.Env = []string{fmt.Sprintf(`FLYTE_EVENTSTREAM_SINKS=[{"name": "bench", "type": "http", "url": %q}]`, sink.URL)}
			}
			if err := s.RestartServer(ctx, &figures.Result{}); err != nil {
				return err
			}
			if err := measureOutbox(ctx, s, r, sink, words, n, `SELECT count(*) FROM event_backlog`, func(n int) error {
				return fanOutOfSleeps(ctx, s, n, concurrency)
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

// fanOutOfSleeps has built-in children, since pods would cost more than what is compared.
func fanOutOfSleeps(ctx context.Context, s *stack.Stack, n, concurrency int) error {
	if err := s.WriteSleepInputs(); err != nil {
		return err
	}
	p, err := stack.StartFakeParent(ctx, s)
	if err != nil {
		return err
	}
	if _, err := stack.Each(n, concurrency, childName, func(name string) error { return s.Enqueue(ctx, p.Action, name, stack.InEngine) }); err != nil {
		return fmt.Errorf("enqueue: %w", err)
	}
	if _, err := p.AwaitAll(ctx, n); err != nil {
		return err
	}
	return p.Finish(ctx)
}

// measureNotifications creates n runs of a built-in task without a rule, and with one that reports their end.
func measureNotifications(n, concurrency int) func(context.Context, *stack.Stack, *figures.Result) error {
	return func(ctx context.Context, s *stack.Stack, r *figures.Result) error {
		sink := newCounter()
		defer sink.Close()
		s.Env = []string{"FLYTE_NOTIFICATIONS_ALLOW=127.0.0.0/8"}
		rule := &task.RunSpec{NotificationSettings: &task.RunSpec_NotificationRules{NotificationRules: &task.InlineRuleList{Rules: []*task.InlineRule{{
			OnPhases: []common.ActionPhase{common.ActionPhase_ACTION_PHASE_SUCCEEDED},
			Delivery: &task.InlineRule_DeliveryTemplate{DeliveryTemplate: &notification.DeliveryConfigTemplate{
				Webhook: &notification.WebhookDeliveryTemplate{
					Url: sink.URL, Method: notification.HttpMethod_HTTP_METHOD_POST, BodyTemplate: `{"run": "{{.Run.Name}}"}`,
				},
			}},
		}}}}}
		for _, spec := range []*task.RunSpec{nil, rule} {
			words := "without a rule"
			if spec != nil {
				words = "with a rule"
			}
			if err := s.RestartServer(ctx, &figures.Result{}); err != nil {
				return err
			}
			if err := measureOutbox(ctx, s, r, sink, words, n, unsentNotifications, func(n int) error {
				_, err := stack.Each(n, concurrency, namer(s, "sleep"), func(run ident.Run) error {
					return createSleep(ctx, s, run.Name, spec)
				})
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

// unsentNotifications also counts the runs that have not ended.
const unsentNotifications = `
	SELECT (SELECT count(*) FROM notification_outbox) + (SELECT count(*) FROM notification_deliveries WHERE ended_at IS NULL)
		+ (SELECT count(*) FROM actions WHERE run_name LIKE 'sleep-%' AND ended_at IS NULL)`

// createSleep creates a run of a built-in task that ends at once.
func createSleep(ctx context.Context, s *stack.Stack, name string, spec *task.RunSpec) error {
	_, err := s.API.CreateRun(ctx, &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: stack.Project, Domain: stack.Domain, Name: name}},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: stack.SleepTask()}, RunSpec: spec,
		InputWrapper: &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{
			Literals: []*task.NamedLiteral{{Name: "duration", Value: stack.DurationLiteral(0)}},
		}},
	})
	return err
}

// measureOutbox measures work on n actions and what is then left to be sent, after some work that is not measured.
func measureOutbox(ctx context.Context, s *stack.Stack, r *figures.Result, sink *counter, words string, n int, left string, work func(n int) error) error {
	pool, err := pgxpool.New(ctx, s.Postgres.DSN())
	if err != nil {
		return err
	}
	defer pool.Close()
	empty := func() error {
		for waiting := 1; waiting > 0; {
			if err := pool.QueryRow(ctx, left).Scan(&waiting); err != nil {
				return err
			}
			if err := stack.Pause(ctx, 20*time.Millisecond); err != nil {
				return fmt.Errorf("%d are not sent: %w", waiting, err)
			}
		}
		return nil
	}
	// The first work after a start grows tables and pools, and is not measured.
	if err := errors.Join(work(1+n/10), empty()); err != nil {
		return err
	}
	taken := sink.taken.Load()
	before, err := s.Usage()
	if err != nil {
		return err
	}
	if err := work(n); err != nil {
		return err
	}
	done := time.Now()
	if err := empty(); err != nil {
		return err
	}
	after, err := s.Usage()
	if err != nil {
		return err
	}
	used := after.Since(before)
	r.Add("actions "+words, float64(n)/done.Sub(before.At).Seconds(), "/s")
	for _, name := range []string{stack.ServerName, stack.PostgresName} {
		r.Add("CPU per action "+words+", "+name, figures.Milliseconds(used.CPU[name])/float64(n), "ms")
	}
	if taken = sink.taken.Load() - taken; taken > 0 {
		r.Add("sent", float64(taken)/used.Elapsed.Seconds(), "/s")
		r.Add("sent for each action", float64(taken)/float64(n), "")
		r.Add("all sent after the last end", after.At.Sub(done).Seconds(), "s")
	}
	r.Add("others meanwhile, "+words, used.Others, "cores")
	return nil
}
