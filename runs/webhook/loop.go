// Package webhook calls the webhooks of conditions that wait for a signal, and serves the callback addresses through
// which the called services answer. Calls are queued in the database, in the transaction that records the condition;
// one replica, the holder of a lease, makes them. A call is made at least once, and a failing call does not block
// others.
package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop.
const LeaseName = "webhooks"

// List is the list of calls; worklists.Webhooks is one.
type List interface {
	Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]worklists.PendingWebhook, error)
	Postpone(ctx context.Context, id int64, tries int, next time.Time) error
	Drop(ctx context.Context, id int64) error
}

// Writer records the result of a call among the events of its condition; store.Writer is one.
type Writer interface {
	RecordTransitions(ctx context.Context, transitions []store.Transition) ([]store.Outcome, error)
}

// Deps are the dependencies of the loop.
type Deps struct {
	List   List
	Writer Writer
	Tokens *Tokens
	Leases leased.Leases
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loop makes the calls.
type Loop struct {
	lifecycle.Background
	config Config
	deps   Deps
	client *http.Client

	places *outbound.Places
	queue  *leased.Queue
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns the loop; it does nothing before Start.
func New(config Config, deps Deps) (*Loop, error) {
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	l := &Loop{config: config, deps: deps, client: client, places: outbound.NewPlaces(config.Parallel)}
	l.queue = &leased.Queue{Clock: deps.Clock, Poll: config.Poll, Launch: l.launch}
	return l, nil
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.deps.Logger.WithContext(ctx), leased.While(l.deps.Leases, LeaseName, l.config.Lease, l.work))
}

// work calls until the lease or the process ends.
func (l *Loop) work(ctx context.Context) error {
	defer l.client.CloseIdleConnections()
	return l.queue.Work(ctx)
}

// launch starts due calls as long as there are free places, in total and per host.
func (l *Loop) launch(ctx context.Context, start func(do func())) error {
	flying := l.places.InFlight()
	// More are read than can start: calls to a host that has its share of the places are passed over.
	pending, err := l.deps.List.Pending(ctx, l.deps.Clock.Now(), backoff.Longest(l.config.Backoff.Max), 4*l.config.Parallel)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	for _, call := range pending {
		if flying[call.ID] {
			continue // It may have ended since the list was read. Then it has woken us, and the next list says what is left to do.
		}
		condition := &workflow.ConditionAction{}
		if err := proto.Unmarshal(call.Spec, condition); err != nil || condition.GetWebhook() == nil || call.Phase != state.Paused {
			// It was answered, or ended otherwise: no call is required.
			if err := l.deps.List.Drop(ctx, call.ID); err != nil {
				return err
			}
			continue
		}
		if l.places.Board(call.ID, outbound.Host(condition.GetWebhook().GetUrl())) {
			start(func() {
				defer l.places.Land(call.ID)
				l.call(ctx, &call, condition.GetWebhook())
			})
		}
	}
	return nil
}

// Wake makes the loop read its list at once.
func (l *Loop) Wake() { l.queue.Wake() }

// call makes one try, and records its result before the call is removed from the list.
func (l *Loop) call(ctx context.Context, call *worklists.PendingWebhook, hook *workflow.ConditionWebhook) {
	try := call.Tries + 1
	err := l.try(ctx, call, hook)
	host := outbound.Host(hook.GetUrl())
	log := l.deps.Logger.With().Str("run", call.Action.Run.Name).Str("action", call.Action.Name).Str("host", host).Int("try", try).Logger()
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		err = l.done(ctx, call, note{try: try, reason: "WebhookDelivered", message: sentence.Say("the webhook at %s was called", host), good: true})
	case try >= l.config.MaxTries:
		log.Warn().Err(err).Msg("dropped a webhook after its last try")
		err = l.done(ctx, call, note{
			try: try, reason: "WebhookGivenUp",
			message: sentence.Say("the webhook at %s is given up after %d tries; the last time: %v. The condition waits on and can be signalled", host, try, err),
		})
	default:
		log.Info().Err(err).Msg("webhook call failed; retrying")
		err = l.again(ctx, call, host, try, err)
	}
	if err != nil && ctx.Err() == nil {
		log.Warn().Err(err).Msg("recording the result of a webhook failed; it will be called again")
	}
}

func (l *Loop) try(ctx context.Context, call *worklists.PendingWebhook, hook *workflow.ConditionWebhook) error {
	until := l.deps.Clock.Now().Add(l.config.CallbackTTL)
	if call.DeadlineAt != nil {
		until = *call.DeadlineAt
	}
	token, err := l.deps.Tokens.Make(ctx, call.ID, until.Add(time.Second)) // tokens have whole seconds
	if err != nil {
		return err
	}
	body, err := payload(hook.GetPayload(), strings.TrimSuffix(l.config.PublicURL, "/")+Path+token)
	if err != nil {
		return fmt.Errorf("its payload cannot be encoded: %w", err)
	}
	return post(ctx, l.client, hook.GetUrl(), call.ID, body)
}

func (l *Loop) done(ctx context.Context, call *worklists.PendingWebhook, n note) error {
	if err := l.note(ctx, call, n); err != nil {
		return err
	}
	return l.deps.List.Drop(ctx, call.ID)
}

// again postpones a call. The first failure is recorded as an event, so that people see it before the last try.
func (l *Loop) again(ctx context.Context, call *worklists.PendingWebhook, host string, try int, failure error) error {
	pause := backoff.After(l.config.Backoff.First, l.config.Backoff.Max, try)
	if try == 1 {
		n := note{try: try, reason: "WebhookFailed", message: sentence.Say(
			"calling the webhook at %s failed: %v; retrying in %s, at most %d calls", host, failure, pause.Round(time.Millisecond), l.config.MaxTries)}
		if err := l.note(ctx, call, n); err != nil {
			return err
		}
	}
	return l.deps.List.Postpone(ctx, call.ID, try, l.deps.Clock.Now().Add(pause))
}

// note is a line among the cluster events of a condition. The number of the try is its version, so that it is written
// once.
type note struct {
	try             int
	reason, message string
	good            bool
}

func (l *Loop) note(ctx context.Context, call *worklists.PendingWebhook, n note) error {
	now := timestamppb.New(l.deps.Clock.Now())
	kind := workflow.ClusterEvent_TYPE_WARNING
	if n.good {
		kind = workflow.ClusterEvent_TYPE_NORMAL
	}
	event, err := proto.Marshal(&workflow.ActionEvent{
		Id: call.Action.Proto(), Attempt: 1, Phase: common.ActionPhase(state.Paused), Version: uint32(n.try), //nolint:gosec // small
		UpdatedTime: now, ReportedTime: now,
		ClusterEvents: []*workflow.ClusterEvent{{
			OccurredAt: now, Reason: n.reason, Message: strings.ToValidUTF8(n.message, "?"), Type: kind, SourceComponent: "webhooks", Count: 1,
		}},
	})
	if err != nil {
		return err
	}
	_, err = l.deps.Writer.RecordTransitions(ctx, []store.Transition{{
		Action: call.Action, To: state.Position{Attempt: 1, Phase: state.Paused, Version: int32(n.try)}, Event: event, //nolint:gosec // small
	}})
	return err
}
