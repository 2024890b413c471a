package notifications

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

const (
	// claimSlack is how much longer than its timeout a try is claimed; then another process may try again.
	claimSlack = 30 * time.Second
	// clockSlack is how much the clocks of replicas may differ, and how old a time may be when a statement uses it, before
	// a claim of another replica looks like one from before the clock was set back.
	clockSlack = time.Minute
	// stopGrace is how long tries in flight continue after SIGTERM.
	stopGrace = 2 * time.Second
)

// permanentError is a failure that no further try can change.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

// permanent marks an error as one that no further try can change.
func permanent(err error) error { return permanentError{err} }

// sender makes one try of one delivery.
type sender interface {
	send(ctx context.Context, d *store.Delivery, template *notification.DeliveryConfigTemplate, data *Data) error
}

// deliverer makes the tries. It runs on every replica.
type deliverer struct {
	config  Config
	book    *book
	store   *store.Store
	clock   clock.Clock
	logger  zerolog.Logger
	webhook sender
	email   sender
	metrics *metrics
	places  *outbound.Places
}

// launch starts due tries as long as there are free places, in total and per lane. Lanes without a free place are not
// read, so that a slow receiver with many deliveries holds up no other.
func (l *deliverer) launch(ctx context.Context, start func(do func())) error {
	longest := backoff.Longest(l.config.Backoff.Max) + l.config.Timeout + claimSlack + clockSlack
	for {
		free := l.places.Free()
		if free == 0 {
			return nil
		}
		now := l.clock.Now()
		due, err := l.store.Due(ctx, now, longest, l.places.Full(), free)
		if err != nil || len(due) == 0 {
			return err
		}
		var boarded []int64
		for _, one := range due {
			if l.places.Board(one.ID, one.Lane) {
				boarded = append(boarded, one.ID)
			}
		}
		if len(boarded) == 0 {
			return nil
		}
		claimed, err := l.store.Claim(ctx, boarded, now, longest, now.Add(l.config.Timeout+claimSlack))
		ours := map[int64]bool{}
		for _, d := range claimed {
			ours[d.ID] = true
			start(func() {
				defer l.places.Land(d.ID)
				calling, cancel := l.outlive(ctx)
				defer cancel()
				l.deliver(calling, &d)
			})
		}
		for _, id := range boarded {
			if !ours[id] {
				l.places.Land(id) // another replica has it
			}
		}
		if err != nil || len(claimed) == 0 {
			return err
		}
	}
}

// outlive returns a context that ends stopGrace after ctx.
func (l *deliverer) outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = clock.Sleep(late, l.clock, stopGrace) // it ends with the call
		cancel()
	})
	return late, func() { stop(); cancel() }
}

// deliver makes one try and records its result. If that cannot be recorded, the try is made again later, with the same
// id.
func (l *deliverer) deliver(ctx context.Context, d *store.Delivery) {
	trying, cancel := context.WithTimeout(ctx, l.config.Timeout)
	err := l.try(trying, d)
	cancel()
	failpoint.Here("notifications.after-send")
	log := l.logger.With().Str("run", d.Run.Name).Str("delivery", d.Key).Str("target", d.Target).Logger()
	interrupted := ctx.Err() != nil
	recording, done := context.WithTimeout(context.WithoutCancel(ctx), claimSlack/2)
	defer done()
	result := l.judge(d, err, interrupted)
	l.metrics.count(recording, result, d.Kind)
	if err != nil {
		log.Info().Err(err).Int("tries", d.Tries).Str("result", result).Msg("delivering a notification failed")
	}
	retries := backoff.New(50*time.Millisecond, time.Second)
	for {
		err := l.record(recording, d, result)
		if err == nil {
			return
		}
		if ctx.Err() != nil || retries.Failures() >= 5 || retries.Wait(recording, l.clock) != nil {
			log.Warn().Err(err).Msg("recording the result of a notification failed; it will be sent again")
			return
		}
	}
}

// The results of a try.
const (
	resultDelivered   = "delivered"
	resultRetry       = "retry"
	resultDead        = "dead"
	resultInterrupted = "interrupted"
)

// judge decides what follows from the result of a try, and puts it into the delivery.
func (l *deliverer) judge(d *store.Delivery, err error, interrupted bool) string {
	now := l.clock.Now()
	if err != nil && interrupted {
		d.NextAt = now
		return resultInterrupted
	}
	d.Tries++
	if err == nil {
		return resultDelivered
	}
	d.LastError = clip.Ellipsis(err.Error(), maxShown)
	var final permanentError
	if errors.As(err, &final) || d.Tries >= l.config.MaxTries {
		return resultDead
	}
	pause := backoff.After(l.config.Backoff.First, l.config.Backoff.Max, d.Tries)
	var status *outbound.StatusError
	if errors.As(err, &status) && status.After > pause {
		pause = min(status.After, l.config.Backoff.Max)
	}
	d.NextAt = now.Add(pause)
	return resultRetry
}

func (l *deliverer) record(ctx context.Context, d *store.Delivery, result string) error {
	switch result {
	case resultDelivered:
		return l.store.Succeed(ctx, d, l.clock.Now())
	case resultDead:
		return l.store.GiveUp(ctx, d, l.clock.Now())
	default:
		return l.store.Postpone(ctx, d, d.NextAt)
	}
}

func (l *deliverer) try(ctx context.Context, d *store.Delivery) error {
	data := &Data{}
	if err := json.Unmarshal(d.Data, data); err != nil {
		return permanent(errors.New("its stored data cannot be read"))
	}
	var template *notification.DeliveryConfigTemplate
	switch {
	case d.Delivery != "":
		if template = l.book.deliveries[d.Delivery]; template == nil {
			return permanent(fmt.Errorf("there is no delivery %q in notifications.deliveries", d.Delivery))
		}
	case len(d.Template) > 0:
		template = &notification.DeliveryConfigTemplate{}
		if err := proto.Unmarshal(d.Template, template); err != nil {
			return permanent(errors.New("its stored template cannot be read"))
		}
	default:
		return l.again(ctx, d)
	}
	if d.Kind == int16(insightv1.DeliveryKind_DELIVERY_KIND_UNSPECIFIED) {
		return l.spread(ctx, d, []wanted{{rule: d.Rule, delivery: d.Delivery}})
	}
	if d.Kind == int16(insightv1.DeliveryKind_DELIVERY_KIND_EMAIL) {
		return l.email.send(ctx, d, template, data)
	}
	return l.webhook.send(ctx, d, template, data)
}

// again looks up a rule that was not configured when its run ended.
func (l *deliverer) again(ctx context.Context, d *store.Delivery) error {
	known, ok := l.book.rules[d.Rule]
	if !ok {
		return permanent(fmt.Errorf("there is no rule %q in notifications.rules", d.Rule))
	}
	var found []wanted
	if known.phases&(1<<d.Phase) != 0 && known.applies(d.Run.Project, d.Run.Domain) {
		for _, name := range known.Deliveries {
			found = append(found, wanted{rule: d.Rule, delivery: name})
		}
	}
	return l.spread(ctx, d, found)
}

// spread stores the deliveries of a name that was not configured when its run ended. The parts of one delivery do not
// meet those of another.
func (l *deliverer) spread(ctx context.Context, d *store.Delivery, found []wanted) error {
	const parts = 1 << 16
	var list []store.Delivery
	for _, one := range found {
		base := store.Delivery{
			Source: d.Source, RunID: d.RunID, Run: d.Run, Action: d.Action, Phase: d.Phase, Rule: one.rule, Delivery: one.delivery,
			Data: d.Data, CreatedAt: l.clock.Now(),
		}
		split, err := l.book.split(base, one)
		if err != nil {
			return err
		}
		list = append(list, split...)
	}
	for i := range list {
		list[i].Part, list[i].Key = (d.Part+1)*parts+int32(i), fmt.Sprintf("%s-%d", d.Key, i)
	}
	return l.store.Add(ctx, list)
}
