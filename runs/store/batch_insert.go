package store

import (
	"time"

	"github.com/flyte-binary/flyte-binary/runs/store/phasecounts"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// insertRows has the columns in the order of insertArguments.
const insertRows = `
	INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, action_group, phase, attempt,
		version, cache_status, admitted_at, last_seq, task_project, task_domain, task_name, task_version, task_type, short_name,
		function_name, environment_name, spec_digest, input_uri, output_uri, report_uri, cache_key, queue, error, abort_reason,
		aborted_by, signal, recovered_from, created_by, created_by_subject, created_at, started_at, ended_at, updated_at, source,
		run_spec_digest, request_digest, run_output_base, run_start_time, labels, max_concurrency, relation, trigger_name,
		trigger_task_name, trigger_revision, paused_count, priority, runner, hold, queued_until,
		deadline_at, wake_at, cache_reason, relation_type, relation_run, due, cluster, notify, produces, trigger_automation,
		phase_counts, counted_seq)
	SELECT id, run_id, project, domain, run_name, name, parent_name, action_type, action_group, phase, attempt,
		version, cache_status, admitted_at, last_seq, task_project, task_domain, task_name, task_version, task_type, short_name,
		function_name, environment_name, spec_digest, input_uri, output_uri, report_uri, cache_key, queue, error, abort_reason,
		aborted_by, signal, recovered_from, created_by, created_by_subject, created_at, started_at, ended_at, updated_at, source,
		run_spec_digest, request_digest, run_output_base, run_start_time, labels::jsonb, max_concurrency, relation, trigger_name,
		trigger_task_name, trigger_revision, paused_count, priority, runner, hold, queued_until,
		deadline_at, wake_at, cache_reason, relation_type, relation_run, due, cluster, notify, produces, trigger_automation,
		phase_counts::integer[], counted_seq
	FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::smallint[], $9::text[],
		$10::smallint[], $11::integer[], $12::integer[], $13::smallint[], $14::timestamptz[], $15::bigint[], $16::text[],
		$17::text[], $18::text[], $19::text[], $20::text[], $21::text[], $22::text[], $23::text[], $24::bytea[], $25::text[],
		$26::text[], $27::text[], $28::text[], $29::text[], $30::bytea[], $31::text[], $32::bytea[], $33::bytea[], $34::bytea[],
		$35::bytea[], $36::text[], $37::timestamptz[], $38::timestamptz[], $39::timestamptz[], $40::timestamptz[],
		$41::smallint[], $42::bytea[], $43::bytea[], $44::text[], $45::timestamptz[], $46::text[], $47::integer[], $48::bytea[],
		$49::text[], $50::text[], $51::bigint[], $52::integer[], $53::integer[], $54::smallint[], $55::smallint[], $56::timestamptz[],
		$57::timestamptz[], $58::timestamptz[], $59::text[], $60::smallint[], $61::text[], $62::smallint[], $63::text[], $64::integer[], $65::boolean[], $66::bytea[],
		$67::text[], $68::bigint[])
		AS u (id, run_id, project, domain, run_name, name, parent_name, action_type, action_group, phase, attempt,
		version, cache_status, admitted_at, last_seq, task_project, task_domain, task_name, task_version, task_type, short_name,
		function_name, environment_name, spec_digest, input_uri, output_uri, report_uri, cache_key, queue, error, abort_reason,
		aborted_by, signal, recovered_from, created_by, created_by_subject, created_at, started_at, ended_at, updated_at, source,
		run_spec_digest, request_digest, run_output_base, run_start_time, labels, max_concurrency, relation, trigger_name,
		trigger_task_name, trigger_revision, paused_count, priority, runner, hold, queued_until,
		deadline_at, wake_at, cache_reason, relation_type, relation_run, due, cluster, notify, produces, trigger_automation,
		phase_counts, counted_seq)`

func insertArguments(rows []*row) ([]any, error) {
	labels := make([]string, len(rows))
	for i, r := range rows {
		text, err := labelsJSON(r.Labels)
		if err != nil {
			return nil, err
		}
		labels[i] = text
	}
	text := func(value func(*row) string) []string { return sqltext.Column(rows, value) }
	blob := func(value func(*row) []byte) [][]byte { return sqltext.Column(rows, value) }
	when := func(value func(*row) *time.Time) []*time.Time { return sqltext.Column(rows, value) }
	big := func(value func(*row) int64) []int64 { return sqltext.Column(rows, value) }
	whole := func(value func(*row) int32) []int32 { return sqltext.Column(rows, value) }
	small := func(value func(*row) int16) []int16 { return sqltext.Column(rows, value) }
	return []any{
		big(func(r *row) int64 { return r.ID }),
		big(func(r *row) int64 { return r.RunID }),
		text(func(r *row) string { return r.Project }),
		text(func(r *row) string { return r.Domain }),
		text(func(r *row) string { return r.RunName }),
		text(func(r *row) string { return r.Name }),
		sqltext.Column(rows, func(r *row) *string { return r.ParentName }),
		small(func(r *row) int16 { return r.ActionType }),
		text(func(r *row) string { return r.ActionGroup }),
		small(func(r *row) int16 { return r.Phase }),
		whole(func(r *row) int32 { return r.Attempt }),
		whole(func(r *row) int32 { return r.Version }),
		small(func(r *row) int16 { return r.CacheStatus }),
		when(func(r *row) *time.Time { return r.AdmittedAt }),
		big(func(r *row) int64 { return r.LastSeq }),
		text(func(r *row) string { return r.TaskProject }),
		text(func(r *row) string { return r.TaskDomain }),
		text(func(r *row) string { return r.TaskName }),
		text(func(r *row) string { return r.TaskVersion }),
		text(func(r *row) string { return r.TaskType }),
		text(func(r *row) string { return r.ShortName }),
		text(func(r *row) string { return r.FunctionName }),
		text(func(r *row) string { return r.EnvironmentName }),
		blob(func(r *row) []byte { return r.SpecDigest }),
		text(func(r *row) string { return r.InputURI }),
		text(func(r *row) string { return r.OutputURI }),
		text(func(r *row) string { return r.ReportURI }),
		text(func(r *row) string { return r.CacheKey }),
		text(func(r *row) string { return r.Queue }),
		blob(func(r *row) []byte { return r.Error }),
		text(func(r *row) string { return r.AbortReason }),
		blob(func(r *row) []byte { return r.AbortedBy }),
		blob(func(r *row) []byte { return r.Signal }),
		blob(func(r *row) []byte { return r.RecoveredFrom }),
		blob(func(r *row) []byte { return r.CreatedBy }),
		text(func(r *row) string { return r.CreatedBySubject }),
		sqltext.Column(rows, func(r *row) time.Time { return r.CreatedAt }),
		when(func(r *row) *time.Time { return r.StartedAt }),
		when(func(r *row) *time.Time { return r.EndedAt }),
		sqltext.Column(rows, func(r *row) time.Time { return r.UpdatedAt }),
		small(func(r *row) int16 { return r.Source }),
		blob(func(r *row) []byte { return r.RunSpecDigest }),
		blob(func(r *row) []byte { return r.RequestDigest }),
		text(func(r *row) string { return r.RunOutputBase }),
		when(func(r *row) *time.Time { return r.RunStartTime }),
		labels,
		whole(func(r *row) int32 { return r.MaxConcurrency }),
		blob(func(r *row) []byte { return r.Relation }),
		text(func(r *row) string { return r.TriggerName }),
		text(func(r *row) string { return r.TriggerTaskName }),
		big(func(r *row) int64 { return r.TriggerRevision }),
		whole(func(r *row) int32 { return r.PausedCount }),
		whole(func(r *row) int32 { return r.Priority }),
		small(func(r *row) int16 { return int16(r.Runner) }),
		small(func(r *row) int16 { return int16(r.Hold) }),
		when(func(r *row) *time.Time { return r.QueuedUntil }),
		when(func(r *row) *time.Time { return r.DeadlineAt }),
		when(func(r *row) *time.Time { return r.WakeAt }),
		text(func(r *row) string { return r.CacheReason }),
		small(func(r *row) int16 { return r.RelationType }),
		text(func(r *row) string { return r.RelationRun }),
		small(func(r *row) int16 { return int16(r.Due) }),
		text(func(r *row) string { return r.Cluster }),
		whole(func(r *row) int32 { return r.Notify }),
		sqltext.Column(rows, func(r *row) bool { return r.Produces }),
		blob(func(r *row) []byte { return r.TriggerAutomation }),
		sqltext.Column(rows, func(r *row) *string { return phasecounts.Text(r.PhaseCounts) }),
		sqltext.Column(rows, func(r *row) *int64 { return r.CountedSeq }),
	}, nil
}
