package notifications

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// leaseName is the lease of the expander.
const leaseName = "outbox"

const (
	// expandBatch is how many entries of the outbox are read at once.
	expandBatch = 200
	// collectBatch is how many rows one statement deletes, and collectEvery how often old rows are deleted.
	collectBatch = 1000
	collectEvery = time.Minute
	// maxError bounds what notifications say of an error, in bytes.
	maxError = 16 << 10
	// maxShown bounds what is stored of a reason for a failure.
	maxShown = 1000
)

// Occurrence is an entry of the outbox: the end of a run, or an action that began to wait.
type Occurrence struct {
	ID, RunID int64
	// Action is the root action for the end of a run.
	Action ident.Action
	Phase  common.ActionPhase
	// Gone says that the run was deleted; nothing else is known then.
	Gone bool
	// Error is the encoded core.ExecutionError of a run that failed.
	Error []byte
	// AbortReason is that of a run that was aborted.
	AbortReason string
	// RunSpec is the encoded task.RunSpec.
	RunSpec []byte
	// Condition is the encoded workflow.ConditionAction of an action that waits.
	Condition []byte
}

// Outbox is what the runs service writes in the transactions that change runs.
type Outbox interface {
	// Pending reads the oldest entries.
	Pending(ctx context.Context, limit int) ([]Occurrence, error)
	// Remove deletes entries whose deliveries are stored.
	Remove(ctx context.Context, ids []int64) error
	// Oldest is when the oldest entry was written; the zero time when there is none.
	Oldest(ctx context.Context) (time.Time, error)
}

// expander turns entries of the outbox into deliveries, on one replica. What it stores twice is stored once.
type expander struct {
	config Config
	book   *book
	outbox Outbox
	store  *store.Store
	clock  clock.Clock
	logger zerolog.Logger
	wake   func()        // tells the deliverer of this process
	fresh  chan struct{} // of capacity one: there are new entries
}

// heard handles a notification of the outbox.
func (e *expander) heard(pgdb.Notification) {
	select {
	case e.fresh <- struct{}{}:
	default: // a token is there already
	}
}

// work expands until the lease or the process ends. It logs errors and retries: the outbox is in the database.
func (e *expander) work(ctx context.Context) error {
	var collected time.Time
	for {
		n, err := e.expand(ctx)
		if err != nil && ctx.Err() == nil {
			e.logger.Warn().Err(err).Msg("reading the outbox of notifications failed; retrying")
		}
		if now := e.clock.Now(); now.Sub(collected).Abs() >= collectEvery {
			collected = now
			e.collect(ctx, now)
		}
		if n == expandBatch && err == nil {
			continue
		}
		if clock.Await(ctx, e.clock, e.config.Poll, e.fresh) != nil {
			return nil //nolint:nilerr // an error of a pass is logged, and its entries are read again
		}
	}
}

// expand stores the deliveries of some entries, and then removes the entries. If the process dies between the two, the
// entries are read again, and their deliveries are there already.
func (e *expander) expand(ctx context.Context) (int, error) {
	found, err := e.outbox.Pending(ctx, expandBatch)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	var list []store.Delivery
	ids := make([]int64, len(found))
	for i := range found {
		ids[i] = found[i].ID
		deliveries, err := e.deliveries(&found[i])
		if err != nil { // it would fail again
			e.logger.Error().Err(err).Str("run", found[i].Action.Run.Name).Msg("notifications of a run dropped: they cannot be built")
		}
		list = append(list, deliveries...)
	}
	if err := e.store.Add(ctx, list); err != nil {
		return 0, err
	}
	failpoint.Here("notifications.after-expand")
	if err := e.outbox.Remove(ctx, ids); err != nil {
		return 0, err
	}
	if len(list) > 0 {
		e.wake()
	}
	return len(found), nil
}

// deliveries are those of one entry.
func (e *expander) deliveries(o *Occurrence) ([]store.Delivery, error) {
	if o.Gone {
		return nil, nil
	}
	spec := &task.RunSpec{}
	if err := proto.Unmarshal(o.RunSpec, spec); err != nil {
		return nil, fmt.Errorf("the stored run spec cannot be read: %w", err)
	}
	data, err := dataOf(o)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(data)
	if err != nil {
		return nil, err
	}
	var list []store.Delivery
	for _, one := range e.book.match(spec, o.Action.Run.Project, o.Action.Run.Domain, o.Phase) {
		base := store.Delivery{
			Source: o.ID, RunID: o.RunID, Run: o.Action.Run, Action: o.Action.Name, Phase: int16(o.Phase), //nolint:gosec // an enum of few values
			Rule: one.rule, Delivery: one.delivery, Data: body, CreatedAt: e.clock.Now(),
		}
		parts, err := e.book.split(base, one)
		if err != nil {
			return nil, err
		}
		list = append(list, parts...)
	}
	for i := range list {
		list[i].Part, list[i].Key = int32(i), rand.Text()
	}
	return list, nil
}

// split makes a delivery for each receiver: a webhook, and each address of an e-mail, so that one that is refused does
// not hold up the others.
func (b *book) split(base store.Delivery, one wanted) ([]store.Delivery, error) {
	template := one.template
	if one.delivery != "" {
		template = b.deliveries[one.delivery]
	} else if template != nil {
		var err error
		if base.Template, err = proto.Marshal(template); err != nil {
			return nil, err
		}
	}
	if template == nil { // a name that is not configured, perhaps not yet
		base.Lane, base.Target = "unknown", "unknown"
		return []store.Delivery{base}, nil
	}
	var list []store.Delivery
	if hook := template.GetWebhook(); hook != nil {
		d := base
		d.Kind = int16(insightv1.DeliveryKind_DELIVERY_KIND_WEBHOOK)
		d.Target = outbound.Host(placeholder.ReplaceAllString(hook.GetUrl(), "x"))
		d.Lane = d.Target
		list = append(list, d)
	}
	seen := map[string]bool{}
	for _, receiver := range receiversOf(template.GetEmail()) {
		address, err := addressOf(receiver)
		if err != nil || seen[address.Address] {
			continue // checked when the run was created
		}
		seen[address.Address] = true
		d := base
		d.Kind = int16(insightv1.DeliveryKind_DELIVERY_KIND_EMAIL)
		d.Target, d.Recipient, d.Lane = address.Address, address.Address, "mail"
		list = append(list, d)
	}
	return list, nil
}

func receiversOf(email *notification.EmailDeliveryTemplate) []*notification.EmailRecipient {
	var all []*notification.EmailRecipient
	all = append(all, email.GetTo()...)
	all = append(all, email.GetCc()...)
	return append(all, email.GetBcc()...)
}

// dataOf is what templates can say about an entry.
func dataOf(o *Occurrence) (*Data, error) {
	data := &Data{
		Project: o.Action.Run.Project, Domain: o.Action.Run.Domain, Run: o.Action.Run.Name,
		Phase: phase.Name(o.Phase),
	}
	if o.Phase == common.ActionPhase_ACTION_PHASE_PAUSED {
		data.Action = o.Action.Name
		condition := &workflow.ConditionAction{}
		if err := proto.Unmarshal(o.Condition, condition); err != nil {
			return nil, fmt.Errorf("the stored condition cannot be read: %w", err)
		}
		data.Prompt, data.Description = clip.Ellipsis(condition.GetPrompt(), maxError), clip.Ellipsis(condition.GetDescription(), maxError)
		data.PromptType = strings.ToLower(strings.TrimPrefix(condition.GetPromptType().String(), "PROMPT_TYPE_"))
		return data, nil
	}
	failure := &core.ExecutionError{}
	if err := proto.Unmarshal(o.Error, failure); err != nil {
		return nil, fmt.Errorf("the stored error cannot be read: %w", err)
	}
	data.Error = failure.GetMessage()
	if data.Error == "" {
		data.Error = o.AbortReason
	}
	data.Error = clip.Ellipsis(data.Error, maxError)
	return data, nil
}

// collect deletes what was listed for long enough. What could not be deleted now is deleted the next time.
func (e *expander) collect(ctx context.Context, now time.Time) {
	for state, keep := range map[int16]time.Duration{store.Delivered: e.config.Keep, store.Dead: e.config.KeepDead} {
		for {
			n, err := e.store.Collect(ctx, state, now.Add(-keep), collectBatch)
			if err != nil && ctx.Err() == nil {
				e.logger.Warn().Err(err).Msg("deleting old notifications failed; retrying")
			}
			if err != nil || n < collectBatch {
				break
			}
		}
	}
}
