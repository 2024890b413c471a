package queries

import (
	"encoding/json"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Condition is the query as SQL on actions a, with parameters of b, for lists that others read. It does not say in which place.
func (a *Ask) Condition(b *listquery.Builder) string { return condition(b, a.Query, a) }

// condition is a query as SQL on actions a. It is never NULL, so that its negation is right. What a query says of inputs is
// left to who reads them.
func condition(b *listquery.Builder, node *query.Node, ask *Ask) string {
	switch node.Kind {
	case query.Leaf:
		return termCondition(b, node.Term, ask)
	case query.Not:
		if inner := node.Nodes[0]; inner.Kind != query.Leaf || inner.Term.Key != query.Input {
			return "NOT " + condition(b, inner, ask)
		}
		return "true"
	default:
		if len(node.Nodes) == 0 {
			return "true"
		}
		parts := make([]string, 0, len(node.Nodes))
		for _, part := range node.Nodes {
			parts = append(parts, condition(b, part, ask))
		}
		joint := " AND "
		if node.Kind == query.Or {
			joint = " OR "
		}
		return "(" + strings.Join(parts, joint) + ")"
	}
}

var columns = map[query.Key]string{
	query.Name: "a.run_name", query.Task: "a.task_name", query.Text: "(a.run_name || ' ' || a.task_name)", query.Version: "a.task_version",
	query.Trigger: "a.trigger_name", query.Owner: "a.created_by_subject", query.Cluster: "a.cluster", query.Queue: "a.queue",
	query.Created: "a.created_at", query.Started: "a.started_at", query.Ended: "a.ended_at", query.Updated: "a.updated_at",
}

// errorBytes is how much of an error is searched.
const errorBytes = "4096"

func termCondition(b *listquery.Builder, term *query.Term, ask *Ask) string {
	switch term.Key {
	case query.Text, query.Name, query.Task:
		if term.Op == query.Equal {
			return columns[term.Key] + " = " + b.Arg(term.Text, "text")
		}
		return columns[term.Key] + " ILIKE " + b.Arg("%"+escapes.Replace(term.Text)+"%", "text")
	case query.Phase:
		return "a.phase = ANY(" + b.Arg(phasesOf(term), "smallint[]") + ")"
	case query.Source:
		return "a.source = ANY(" + b.Arg(sourcesOf(term), "smallint[]") + ")"
	case query.Is:
		return isCondition(b, term)
	case query.Error:
		// Of the encoded error, since it is not stored as text: other bytes than those of ASCII text are escaped on both sides. So the
		// collation C is right, which takes half the time of others.
		return "coalesce(a.phase IN " + sqltext.FailedPhases + " AND strpos(lower(encode(substring(a.error FOR " + errorBytes +
			"), 'escape') COLLATE \"C\"), lower(encode(convert_to(" + b.Arg(term.Text, "text") + ", 'UTF8'), 'escape') COLLATE \"C\")) > 0, false)"
	case query.Label:
		if term.Op == query.Exists {
			return "a.labels ? " + b.Arg(term.Name, "text")
		}
		pair, err := json.Marshal(map[string]string{term.Name: term.Text})
		if err != nil {
			panic(err) // texts always have a JSON form
		}
		return "a.labels @> " + b.Arg(string(pair), "jsonb")
	case query.Duration:
		return "coalesce(a.ended_at, " + b.Arg(ask.Now, "timestamptz") + ") - a.created_at " + string(term.Op) + " " + b.Arg(term.Length, "interval")
	case query.Created, query.Started, query.Ended, query.Updated:
		compared := columns[term.Key] + " " + string(term.Op) + " " + b.Arg(term.Moment.In(ask.Now), "timestamptz")
		if term.Key == query.Created || term.Key == query.Updated {
			return compared
		}
		return "coalesce(" + compared + ", false)"
	case query.Input:
		return "true"
	default:
		return columns[term.Key] + " = ANY(" + b.Arg(ownersOf(term, ask), "text[]") + ")"
	}
}

var escapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func isCondition(b *listquery.Builder, term *query.Term) string {
	parts := make([]string, 0, len(term.Values))
	for _, state := range term.Values {
		parts = append(parts, map[string]string{
			query.IsPaused: "a.paused_count > 0", query.IsActive: "a.ended_at IS NULL", query.IsEnded: "a.ended_at IS NOT NULL",
		}[state])
	}
	return "(" + strings.Join(parts, " OR ") + ")"
}

// ownersOf are the values of a term, with the caller's subject for me.
func ownersOf(term *query.Term, ask *Ask) []string {
	values := make([]string, 0, len(term.Values))
	for _, value := range term.Values {
		if term.Key == query.Owner && value == query.Me {
			value = ask.Me
		}
		values = append(values, value)
	}
	return values
}

var phases = map[string]common.ActionPhase{
	"queued": common.ActionPhase_ACTION_PHASE_QUEUED, "waiting": common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
	"initializing": common.ActionPhase_ACTION_PHASE_INITIALIZING, "running": common.ActionPhase_ACTION_PHASE_RUNNING,
	"paused": common.ActionPhase_ACTION_PHASE_PAUSED, "succeeded": common.ActionPhase_ACTION_PHASE_SUCCEEDED,
	"recovered": common.ActionPhase_ACTION_PHASE_RECOVERED, "failed": common.ActionPhase_ACTION_PHASE_FAILED,
	"timed-out": common.ActionPhase_ACTION_PHASE_TIMED_OUT, "aborted": common.ActionPhase_ACTION_PHASE_ABORTED,
}

func phasesOf(term *query.Term) []int16 {
	out := make([]int16, 0, len(term.Values))
	for _, value := range term.Values {
		out = append(out, int16(phases[value])) //nolint:gosec // an enum of few values
	}
	return out
}

var sources = map[string]workflow.RunSource{
	"web": workflow.RunSource_RUN_SOURCE_WEB, "cli": workflow.RunSource_RUN_SOURCE_CLI,
	"schedule": workflow.RunSource_RUN_SOURCE_SCHEDULE_TRIGGER, "artifact": workflow.RunSource_RUN_SOURCE_ARTIFACT_TRIGGER,
	"tracked": workflow.RunSource_RUN_SOURCE_TRACKED,
}

func sourcesOf(term *query.Term) []int16 {
	out := make([]int16, 0, len(term.Values))
	for _, value := range term.Values {
		out = append(out, int16(sources[value])) //nolint:gosec // an enum of few values
	}
	return out
}
