package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/phasecounts"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const (
	insertSpecs = `
		INSERT INTO specs (digest, kind, body) SELECT * FROM unnest($1::bytea[], $2::smallint[], $3::bytea[])
		ON CONFLICT DO NOTHING`

	updateRows = `
		UPDATE actions a SET
			phase = u.phase, attempt = u.attempt, version = u.version, cache_status = u.cache_status, admitted_at = u.admitted_at,
			last_seq = u.last_seq, output_uri = u.output_uri, report_uri = u.report_uri, error = u.error,
			abort_reason = u.abort_reason, aborted_by = u.aborted_by, signal = u.signal, started_at = u.started_at,
			ended_at = u.ended_at, updated_at = u.updated_at, paused_count = u.paused_count,
			hold = u.hold, wake_at = u.wake_at, due = u.due, cache_reason = u.cache_reason, cluster = u.cluster,
			avoid_cluster = u.avoid_cluster, placement = u.placement,
			phase_counts = u.phase_counts::integer[], counted_seq = u.counted_seq
		FROM unnest($1::bigint[], $2::smallint[], $3::integer[], $4::integer[], $5::smallint[], $6::timestamptz[], $7::bigint[],
			$8::text[], $9::text[], $10::bytea[], $11::text[], $12::bytea[], $13::bytea[], $14::timestamptz[], $15::timestamptz[],
			$16::timestamptz[], $17::integer[], $18::smallint[], $19::timestamptz[], $20::text[], $21::smallint[], $22::text[], $23::text[], $24::integer[],
			$25::text[], $26::bigint[])
			AS u (id, phase, attempt, version, cache_status, admitted_at, last_seq, output_uri, report_uri, error, abort_reason,
				aborted_by, signal, started_at, ended_at, updated_at, paused_count, hold, wake_at, cache_reason, due, cluster, avoid_cluster,
				placement, phase_counts, counted_seq)
		WHERE a.id = u.id`

	insertEvents = `
		INSERT INTO action_events (run_id, seq, action_id, attempt, phase, version, recorded_at, event, error)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::integer[], $5::smallint[], $6::integer[],
			$7::timestamptz[], $8::bytea[], $9::bytea[])`

	insertWebhooks = `INSERT INTO webhooks (action_id, run_id, next_at) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[])`
)

// count brings the counts of the runs that changed up to date. Those of a run that a version without counts has written since, or that
// is older than the counts, are read from its rows once: as they were before the batch, since nothing is written yet.
func (b *batch) count(ctx context.Context, tx sender) error {
	var stale []int64
	for _, run := range b.order {
		root := run.root
		switch {
		case root.isNew:
			root.PhaseCounts = make([]int32, schema.Phases)
		case root.CountedSeq == nil || *root.CountedSeq != root.loadedSeq || len(root.PhaseCounts) != schema.Phases:
			stale = append(stale, root.ID)
		}
	}
	if len(stale) > 0 {
		counts, err := phasecounts.Read(ctx, tx, stale)
		if err != nil {
			return err
		}
		for id, counted := range counts {
			b.byID[id].root.PhaseCounts = counted
		}
	}
	for _, run := range b.order {
		for phase, more := range run.tally {
			run.root.PhaseCounts[phase] += more
		}
		seq := run.root.LastSeq
		run.root.CountedSeq = &seq
	}
	return nil
}

// save writes everything that the operations changed and commits it, in one round trip.
func (w *Writer) save(ctx context.Context, tx sender, b *batch) error {
	var created, changed []*row
	var events []schema.Event
	for _, run := range b.order {
		for _, r := range run.changed {
			if r.isNew {
				created = append(created, r)
			} else {
				changed = append(changed, r)
			}
		}
		events = append(events, run.events...)
	}
	if len(b.newSpecs) > 0 {
		w.specs.begin(b.specs)
		b.newSpecs = w.unknownSpecs(b.newSpecs)
	}

	var statements pgx.Batch
	if len(b.newSpecs) > 0 {
		statements.Queue(insertSpecs,
			sqltext.Column(b.newSpecs, func(s spec) []byte { return s.digest }),
			sqltext.Column(b.newSpecs, func(s spec) int16 { return int16(s.kind) }),
			sqltext.Column(b.newSpecs, func(s spec) []byte { return s.body }))
	}
	if len(created) > 0 {
		arguments, err := insertArguments(created)
		if err != nil {
			return err
		}
		statements.Queue(insertRows, arguments...)
	}
	if len(changed) > 0 {
		statements.Queue(updateRows, updateArguments(changed)...)
	}
	if len(events) > 0 {
		statements.Queue(insertEvents, eventArguments(events)...)
		if len(w.deps.EventSinks) > 0 {
			statements.Queue(insertBacklog, b.backlogArguments(w.deps.EventSinks)...)
		}
	}
	if len(b.webhooks) > 0 {
		statements.Queue(insertWebhooks,
			sqltext.Column(b.webhooks, func(r *row) int64 { return r.ID }),
			sqltext.Column(b.webhooks, func(r *row) int64 { return r.RunID }),
			sqltext.Column(b.webhooks, func(*row) *time.Time { return atOnce() }))
		statements.Queue(notices.Notify, notices.ChannelLists, notices.ListWebhooks)
	}
	b.savePlacements(&statements)
	b.saveArtifacts(&statements)
	if w.deps.Counts {
		b.saveFailures(&statements)
		b.saveEnds(&statements)
	}
	if found := b.occurrences(w.deps.Notify); len(found) > 0 {
		statements.Queue(insertOccurrences, occurrenceArguments(found)...)
		statements.Queue(notices.Notify, notices.ChannelLists, notices.ListOutbox)
	}
	for _, payload := range notices.Payloads(w.deps.Replica+" ", b.changedRuns()) {
		statements.Queue(notices.Notify, w.deps.Channels.Runs, payload)
	}
	if w.deps.Channels.Live != "" {
		for _, payload := range notices.Payloads(w.deps.Replica+" ", b.liveRuns()) {
			statements.Queue(notices.Notify, w.deps.Channels.Live, payload)
		}
	}
	if w.deps.Records != nil {
		if err := w.deps.Records.Queue(&statements, b.changing); err != nil {
			return err
		}
	}
	statements.Queue(commit)
	if err := tx.SendBatch(ctx, &statements).Close(); err != nil {
		return fmt.Errorf("save changes: %w", err)
	}
	return nil
}

// unknownSpecs leaves out specs that are already stored, and duplicates. The result is sorted, so that two writers
// that store the same specs cannot deadlock.
func (w *Writer) unknownSpecs(specs []spec) []spec {
	specs = slices.DeleteFunc(specs, func(s spec) bool { return w.specs.has(s.digest) })
	slices.SortFunc(specs, func(a, b spec) int { return slices.Compare(a.digest, b.digest) })
	return slices.CompactFunc(specs, func(a, b spec) bool { return slices.Equal(a.digest, b.digest) })
}

func updateArguments(rows []*row) []any {
	return []any{
		sqltext.Column(rows, func(r *row) int64 { return r.ID }),
		sqltext.Column(rows, func(r *row) int16 { return r.Phase }),
		sqltext.Column(rows, func(r *row) int32 { return r.Attempt }),
		sqltext.Column(rows, func(r *row) int32 { return r.Version }),
		sqltext.Column(rows, func(r *row) int16 { return r.CacheStatus }),
		sqltext.Column(rows, func(r *row) *time.Time { return r.AdmittedAt }),
		sqltext.Column(rows, func(r *row) int64 { return r.LastSeq }),
		sqltext.Column(rows, func(r *row) string { return r.OutputURI }),
		sqltext.Column(rows, func(r *row) string { return r.ReportURI }),
		sqltext.Column(rows, func(r *row) []byte { return r.Error }),
		sqltext.Column(rows, func(r *row) string { return r.AbortReason }),
		sqltext.Column(rows, func(r *row) []byte { return r.AbortedBy }),
		sqltext.Column(rows, func(r *row) []byte { return r.Signal }),
		sqltext.Column(rows, func(r *row) *time.Time { return r.StartedAt }),
		sqltext.Column(rows, func(r *row) *time.Time { return r.EndedAt }),
		sqltext.Column(rows, func(r *row) time.Time { return r.UpdatedAt }),
		sqltext.Column(rows, func(r *row) int32 { return r.PausedCount }),
		sqltext.Column(rows, func(r *row) int16 { return int16(r.Hold) }),
		sqltext.Column(rows, func(r *row) *time.Time { return r.WakeAt }),
		sqltext.Column(rows, func(r *row) string { return r.CacheReason }),
		sqltext.Column(rows, func(r *row) int16 { return int16(r.Due) }),
		sqltext.Column(rows, func(r *row) string { return r.Cluster }),
		sqltext.Column(rows, func(r *row) string { return r.AvoidCluster }),
		sqltext.Column(rows, func(r *row) int32 { return r.Placement }),
		sqltext.Column(rows, func(r *row) *string { return phasecounts.Text(r.PhaseCounts) }),
		sqltext.Column(rows, func(r *row) *int64 { return r.CountedSeq }),
	}
}

func eventArguments(events []schema.Event) []any {
	return []any{
		sqltext.Column(events, func(e schema.Event) int64 { return e.RunID }),
		sqltext.Column(events, func(e schema.Event) int64 { return e.Seq }),
		sqltext.Column(events, func(e schema.Event) int64 { return e.ActionID }),
		sqltext.Column(events, func(e schema.Event) int32 { return e.Attempt }),
		sqltext.Column(events, func(e schema.Event) int16 { return e.Phase }),
		sqltext.Column(events, func(e schema.Event) int32 { return e.Version }),
		sqltext.Column(events, func(e schema.Event) time.Time { return e.RecordedAt }),
		sqltext.Column(events, func(e schema.Event) []byte { return e.Event }),
		sqltext.Column(events, func(e schema.Event) []byte { return e.Error }),
	}
}

// liveRuns are the runs whose live or waiting actions changed, or in which something is due at another time than before.
func (b *batch) liveRuns() []int64 {
	change := b.liveChange()
	ids := slices.Concat(change.Queued, change.Held)
	for _, run := range b.order {
		if slices.ContainsFunc(run.changed, (*row).dueAnew) {
			ids = append(ids, run.root.ID)
		}
	}
	for _, ref := range slices.Concat(change.Admitted, change.Ended) {
		ids = append(ids, ref.RunID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// labelsJSON encodes labels for a jsonb column.
func labelsJSON(labels map[string]string) (string, error) {
	if len(labels) == 0 {
		return "{}", nil
	}
	body, err := json.Marshal(labels)
	if err != nil {
		return "", fmt.Errorf("encode labels: %w", err)
	}
	return string(body), nil
}
