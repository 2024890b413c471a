package lists

import (
	"maps"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
)

// The fields by which clients filter and sort actions and runs: the names of the contract, with the synonyms that
// clients use. The tables are read-only.
var (
	actionFields = listquery.Schema{
		Fields:  commonFields(),
		ID:      "id",
		Prefix:  "request.",
		Default: []listquery.Order{{Field: "created_at"}},
	}
	RunFields = listquery.Schema{
		Fields:  rootFields(),
		Labels:  "a.labels",
		ID:      "id",
		Prefix:  "request.",
		Default: []listquery.Order{{Field: "created_at", Desc: true}},
	}
)

const durationMs = "floor(extract(epoch FROM a.ended_at - a.created_at) * 1000)::bigint"

func commonFields() map[string]listquery.Field {
	text := func(column string) listquery.Field { return listquery.Field{Expr: "a." + column, Type: listquery.Text} }
	return map[string]listquery.Field{
		"id":           {Expr: "a.id", Type: listquery.BigInt},
		"project":      text("project"),
		"domain":       text("domain"),
		"run_name":     text("run_name"),
		"name":         text("name"),
		"parent_name":  {Expr: "a.parent_name", Type: listquery.Text, Nullable: true},
		"group":        text("action_group"),
		"action_group": text("action_group"),
		"phase": {
			Expr: "a.phase", Type: listquery.Small,
			Names: listquery.EnumNames(common.ActionPhase_value, "ACTION_PHASE_"),
		},
		"action_type": {
			Expr: "a.action_type", Type: listquery.Small,
			Names: listquery.EnumNames(workflow.ActionType_value, "ACTION_TYPE_"),
		},
		"attempts":           {Expr: "a.attempt", Type: listquery.Int},
		"created_by":         text("created_by_subject"),
		"created_by_subject": text("created_by_subject"),
		"task_project":       text("task_project"),
		"task_domain":        text("task_domain"),
		"task_name":          text("task_name"),
		"task_version":       text("task_version"),
		"task_type":          text("task_type"),
		"short_name":         text("short_name"),
		"task_short_name":    text("short_name"),
		"function_name":      text("function_name"),
		"environment_name":   text("environment_name"),
		"created_at":         {Expr: "a.created_at", Type: listquery.Time},
		"updated_at":         {Expr: "a.updated_at", Type: listquery.Time},
		"started_at":         {Expr: "a.started_at", Type: listquery.Time, Nullable: true},
		"ended_at":           {Expr: "a.ended_at", Type: listquery.Time, Nullable: true},
		"duration_ms":        {Expr: durationMs, Type: listquery.BigInt, Nullable: true},
	}
}

func rootFields() map[string]listquery.Field {
	fields := commonFields()
	// The indexes of roots that begin with one of these have the runs in the order of creation after it.
	for _, name := range []string{"phase", "created_by", "created_by_subject", "task_name", "task_version"} {
		field := fields[name]
		field.Then = "created_at"
		fields[name] = field
	}
	// A run is listed under the name of the run, not a0.
	fields["name"] = listquery.Field{Expr: "a.run_name", Type: listquery.Text}
	source := listquery.Field{
		Expr: "a.source", Type: listquery.Small,
		Names: listquery.EnumNames(workflow.RunSource_value, "RUN_SOURCE_"),
	}
	maps.Copy(fields, map[string]listquery.Field{
		// What people type who look for a run.
		"name_or_task":      {Expr: "(a.run_name || ' ' || a.task_name)", Type: listquery.Text},
		clusterField:        {Expr: "a.cluster", Type: listquery.Text},
		"source":            source,
		"run_source":        source,
		"trigger_name":      {Expr: "a.trigger_name", Type: listquery.Text},
		"trigger_task_name": {Expr: "a.trigger_task_name", Type: listquery.Text},
		"trigger_revision":  {Expr: "a.trigger_revision", Type: listquery.BigInt},
		// The runs created from a run: its name here, in its own project and domain.
		"related_to": {Expr: "a.relation_run", Type: listquery.Text},
		"relation_type": {
			Expr: "a.relation_type", Type: listquery.Small,
			Names: listquery.EnumNames(common.RelationType_value, "RELATION_TYPE_"),
		},
	})
	return fields
}
