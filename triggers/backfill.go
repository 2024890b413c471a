package triggers

import (
	"cmp"
	"context"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

const (
	// maxBackfill is how many slots one backfill has at most: each becomes a row and a run.
	maxBackfill = 10_000
	// maxBackfills is how many backfills of a trigger work at once. Each has a bound of its own on parallel runs, so
	// this bounds their sum.
	maxBackfills = 3
	// workingBackfills is how many backfills are looked at in each pass.
	workingBackfills = 50
)

// Backfill implements insightv1connect.TriggerInsightServiceHandler. The trigger may be inactive. The slots are run in their
// order by the newest revision; one that fired before is left as it is, one that failed or was skipped runs.
func (h *handler) Backfill(ctx context.Context, r *insightv1.BackfillRequest) (*insightv1.BackfillResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), false)
	if err != nil {
		return nil, err
	}
	from, err := moment("from", r.GetFrom())
	if err != nil {
		return nil, err
	}
	until, err := moment("until", r.GetUntil())
	if err != nil {
		return nil, err
	}
	d, err := h.planner.decode(t)
	if err != nil {
		return nil, rpc.DataLoss(err, "trigger %s cannot be read", t.Name)
	}
	switch {
	case d.schedule == nil:
		return nil, rpc.FailedPrecondition("trigger %s has no schedule", t.Name)
	case !from.Before(*until):
		return nil, rpc.InvalidArgument("until", "must be after from")
	case until.After(h.clock.Now()):
		return nil, rpc.InvalidArgument("until", "must not be in the future")
	}
	// The slots are counted now, not stored: they follow from the schedule and are computed again as the backfill
	// advances.
	switch slots := len(d.schedule.Between(*from, *until, maxBackfill+1)); {
	case slots == 0:
		return nil, rpc.InvalidArgument("from", "the schedule has no slot in this range")
	case slots > maxBackfill:
		return nil, rpc.InvalidArgument("from", "the range has more than %d slots; choose a shorter one", maxBackfill)
	}
	b, err := h.store.AddBackfill(ctx, &store.Backfill{
		TriggerID: t.ID, From: *from, Until: *until, Parallel: int32(cmp.Or(r.GetParallel(), 1)), //nolint:gosec // validated
	}, maxBackfills)
	if err != nil {
		return nil, err
	}
	return &insightv1.BackfillResponse{Backfill: backfillMessage(b)}, nil
}

// ListBackfills implements insightv1connect.TriggerInsightServiceHandler.
func (h *handler) ListBackfills(ctx context.Context, r *insightv1.ListBackfillsRequest) (*insightv1.ListBackfillsResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), true)
	if err != nil {
		return nil, err
	}
	found, err := h.store.Backfills(ctx, t.ID, 20)
	if err != nil {
		return nil, err
	}
	answer := &insightv1.ListBackfillsResponse{}
	for i := range found {
		answer.Backfills = append(answer.Backfills, backfillMessage(&found[i]))
	}
	return answer, nil
}

// CancelBackfill implements insightv1connect.TriggerInsightServiceHandler.
func (h *handler) CancelBackfill(ctx context.Context, r *insightv1.CancelBackfillRequest) (*insightv1.CancelBackfillResponse, error) {
	t, err := h.store.Get(ctx, taskOf(r.GetName()), r.GetName().GetName(), true)
	if err != nil {
		return nil, err
	}
	if r.GetId() > math.MaxInt64 {
		return nil, rpc.NotFound("the trigger has no backfill %d", r.GetId())
	}
	return &insightv1.CancelBackfillResponse{}, h.store.CancelBackfill(ctx, t.ID, int64(r.GetId())) //nolint:gosec // checked
}

// moment reads a time of a request.
func moment(field string, at *timestamppb.Timestamp) (*time.Time, error) {
	if err := at.CheckValid(); err != nil {
		return nil, rpc.InvalidArgument(field, "is not a valid timestamp")
	}
	t := at.AsTime().Truncate(time.Microsecond)
	if y := t.Year(); y < 1900 || y > 2200 {
		return nil, rpc.InvalidArgument(field, "must be between the years 1900 and 2200")
	}
	return &t, nil
}

func backfillMessage(b *store.Backfill) *insightv1.BackfillStatus {
	count := func(n int64) uint32 { return uint32(n) } //nolint:gosec // counts of rows
	return &insightv1.BackfillStatus{
		Id: uint64(b.ID), From: timestamppb.New(b.From), Until: timestamppb.New(b.Until), Parallel: uint32(b.Parallel), //nolint:gosec // positive
		Cursor: timestamppb.New(b.Cursor), CreatedAt: timestamppb.New(b.CreatedAt), EndedAt: timestamp(b.EndedAt), Canceled: b.Canceled,
		Started: count(b.Started), Failed: count(b.Failed), Present: count(int64(b.Present)), Unfinished: count(b.Unfinished),
	}
}

// advanceBackfills picks up slots of backfills, as many as their unfinished runs leave room for. It returns how
// many backfills there are.
func (s *scheduler) advanceBackfills(ctx context.Context, now time.Time) (int, error) {
	working, err := s.store.WorkingBackfills(ctx, workingBackfills)
	if err != nil {
		return 0, err
	}
	for i := range working {
		if err := s.advance(ctx, &working[i], now); err != nil {
			return 0, err
		}
	}
	return len(working), nil
}

// advance picks up the next slots of one backfill. It reads the trigger again in every step, so a deployment takes
// effect in the middle of a backfill, and a deletion ends it.
func (s *scheduler) advance(ctx context.Context, b *store.Backfill, now time.Time) error {
	t, err := s.store.ByID(ctx, b.TriggerID)
	if err != nil || t == nil {
		return err
	}
	d, err := s.planner.decode(t)
	if err != nil || d.DeletedAt != nil || d.schedule == nil {
		return s.store.CancelBackfill(ctx, b.TriggerID, b.ID) // it was deleted, or deployed without a schedule
	}
	live, err := s.store.BackfillLive(ctx, b.ID)
	if err != nil {
		return err
	}
	unfinished := b.Unfinished
	for i := range live {
		going, err := s.starter.unfinished(ctx, t, &live[i])
		if err != nil {
			return err
		}
		if !going {
			unfinished--
		}
	}
	free := int(int64(b.Parallel) - unfinished)
	slots := d.schedule.Between(b.Cursor, b.Until, max(0, free))
	done := unfinished == 0 && len(slots) == 0
	// No room yet, or all slots were picked up and some runs are unfinished.
	if !done && len(slots) == 0 {
		return nil
	}
	var fires []store.Fire
	cursor := b.Cursor
	for _, slot := range slots {
		f := d.fire(slot, now)
		f.BackfillID = &b.ID
		fires = append(fires, f)
		// The cursor is inclusive, and a microsecond is the resolution of times in the database.
		cursor = slot.Add(time.Microsecond)
	}
	if done {
		cursor = b.Until
	}
	if err := s.store.AdvanceBackfill(ctx, b, fires, cursor, done); err != nil {
		return err
	}
	failpoint.Here("trigger.backfill")
	return nil
}
