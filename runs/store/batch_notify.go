package store

import (
	"time"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// NotifyNone in Root.Notify means that the run wants no notifications, whatever the installation's rules say. The other bits
// are 1<<phase.
const NotifyNone int32 = 1

const insertOccurrences = `
	INSERT INTO notification_outbox (run_id, action_id, phase, at)
	SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::smallint[], $4::timestamptz[])`

// occurrence is the end of a run, or an action that began to wait, which a rule asks about.
type occurrence struct {
	row *row
	at  time.Time
}

// occurrences are those of the batch. always are the phases that the rules of the installation name. Runs without rules
// cost one comparison.
func (b *batch) occurrences(always int32) []occurrence {
	var found []occurrence
	for _, run := range b.order {
		wanted := run.root.Notify | always
		if wanted == 0 || wanted&NotifyNone != 0 {
			continue
		}
		for _, r := range run.changed {
			if wanted&(1<<r.Phase) == 0 || r.Phase == r.wasPhase {
				continue
			}
			ended := r == run.root && state.Terminal(r.Phase) && !state.Terminal(r.wasPhase)
			if !ended && r.Phase != state.Paused {
				continue
			}
			at := b.now
			if ended && r.EndedAt != nil {
				at = *r.EndedAt
			}
			found = append(found, occurrence{row: r, at: at})
		}
	}
	return found
}

func occurrenceArguments(found []occurrence) []any {
	return []any{
		sqltext.Column(found, func(o occurrence) int64 { return o.row.RunID }),
		sqltext.Column(found, func(o occurrence) int64 { return o.row.ID }),
		sqltext.Column(found, func(o occurrence) int16 { return o.row.Phase }),
		sqltext.Column(found, func(o occurrence) time.Time { return o.at }),
	}
}

const insertBacklog = `
	INSERT INTO event_backlog (sink, run_id, first_seq, last_seq, at)
	SELECT sink, u.run_id, u.first_seq, u.last_seq, $5
	FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (run_id, first_seq, last_seq), unnest($4::text[]) AS sink`

// backlogArguments are those of insertBacklog: for each run that changed the range of its new events.
func (b *batch) backlogArguments(sinks []string) []any {
	var ids, first, last []int64
	for _, run := range b.order {
		if n := len(run.events); n > 0 {
			ids, first, last = append(ids, run.root.ID), append(first, run.events[0].Seq), append(last, run.events[n-1].Seq)
		}
	}
	return []any{ids, first, last, sinks, b.now.Truncate(time.Microsecond)}
}

const insertEnds = `INSERT INTO uncounted_ends (action_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING`

// saveEnds lists the tasks that ended, to be counted. One that is reopened and ends again is listed again.
func (b *batch) saveEnds(statements *pgx.Batch) {
	var ended []*row
	for _, run := range b.order {
		for _, r := range run.changed {
			if state.Terminal(r.Phase) && !state.Terminal(r.wasPhase) && r.ActionType == schema.ActionTask {
				ended = append(ended, r)
			}
		}
	}
	if len(ended) > 0 {
		statements.Queue(insertEnds, sqltext.Column(ended, func(r *row) int64 { return r.ID }))
	}
}

const insertFailures = `INSERT INTO uncounted_failures (action_id) SELECT unnest($1::bigint[]) ON CONFLICT DO NOTHING`

// saveFailures lists the tasks that failed, to be counted. It costs nothing where none did.
func (b *batch) saveFailures(statements *pgx.Batch) {
	var failed []*row
	for _, run := range b.order {
		for _, r := range run.changed {
			if (r.Phase == state.Failed || r.Phase == state.TimedOut) && r.wasPhase != r.Phase && r.ActionType == schema.ActionTask {
				failed = append(failed, r)
			}
		}
	}
	if len(failed) > 0 {
		statements.Queue(insertFailures, sqltext.Column(failed, func(r *row) int64 { return r.ID }))
	}
}

// ConditionEnd is the end of a condition that waited.
type ConditionEnd struct {
	Phase     state.Phase
	Waited    time.Duration
	Commented bool
}

// ConditionObserver is notified after each commit of the conditions that it ended. It must not block.
type ConditionObserver interface {
	ConditionsEnded(ended []ConditionEnd)
}

// conditionsEnded are the conditions that the batch ended.
func (b *batch) conditionsEnded() (all []ConditionEnd) {
	for _, run := range b.order {
		for _, r := range run.ended {
			if r.ActionType != schema.ActionCondition || r.wasPhase != state.Paused || !state.Terminal(r.Phase) {
				continue
			}
			end := ConditionEnd{Phase: r.Phase, Waited: max(0, b.now.Sub(r.CreatedAt))}
			var answer enginev1.StoredSignal
			end.Commented = proto.Unmarshal(r.Signal, &answer) == nil && answer.GetComment() != ""
			all = append(all, end)
		}
	}
	return all
}
