package store

import (
	"maps"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/list"
)

// The fields by which clients filter and sort actions and runs: the names of the contract, with the synonyms that
// clients use. The tables are never written to.
var (
	actionFields = list.Schema{
		Fields:  commonFields(),
		ID:      "id",
		Prefix:  "request.",
		Default: []list.Order{{Field: "created_at"}},
	}
	runFields = list.Schema{
		Fields:  rootFields(),
		Labels:  "a.labels",
		ID:      "id",
		Prefix:  "request.",
		Default: []list.Order{{Field: "created_at", Desc: true}},
	}
)

const durationMs = "floor(extract(epoch FROM a.ended_at - a.created_at) * 1000)::bigint"

func commonFields() map[string]list.Field {
	text := func(column string) list.Field { return list.Field{Expr: "a." + column, Type: list.Text} }
	return map[string]list.Field{
		"id":           {Expr: "a.id", Type: list.BigInt},
		"project":      text("project"),
		"domain":       text("domain"),
		"run_name":     text("run_name"),
		"name":         text("name"),
		"parent_name":  {Expr: "a.parent_name", Type: list.Text, Nullable: true},
		"group":        text("action_group"),
		"action_group": text("action_group"),
		"phase": {
			Expr: "a.phase", Type: list.Small,
			Names: list.EnumNames(common.ActionPhase_value, "ACTION_PHASE_"),
		},
		"action_type": {
			Expr: "a.action_type", Type: list.Small,
			Names: list.EnumNames(workflow.ActionType_value, "ACTION_TYPE_"),
		},
		"attempts":           {Expr: "a.attempt", Type: list.Int},
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
		"created_at":         {Expr: "a.created_at", Type: list.Time},
		"updated_at":         {Expr: "a.updated_at", Type: list.Time},
		"started_at":         {Expr: "a.started_at", Type: list.Time, Nullable: true},
		"ended_at":           {Expr: "a.ended_at", Type: list.Time, Nullable: true},
		"duration_ms":        {Expr: durationMs, Type: list.BigInt, Nullable: true},
	}
}

func rootFields() map[string]list.Field {
	fields := commonFields()
	// The name of a run is that of the run, not a0.
	fields["name"] = list.Field{Expr: "a.run_name", Type: list.Text}
	source := list.Field{
		Expr: "a.source", Type: list.Small,
		Names: list.EnumNames(workflow.RunSource_value, "RUN_SOURCE_"),
	}
	maps.Copy(fields, map[string]list.Field{
		"source":            source,
		"run_source":        source,
		"trigger_name":      {Expr: "a.trigger_name", Type: list.Text},
		"trigger_task_name": {Expr: "a.trigger_task_name", Type: list.Text},
		"trigger_revision":  {Expr: "a.trigger_revision", Type: list.BigInt},
		// The runs made from a run: its name here, in its own project and domain.
		"related_to": {Expr: "a.relation_run", Type: list.Text},
		"relation_type": {
			Expr: "a.relation_type", Type: list.Small,
			Names: list.EnumNames(common.RelationType_value, "RELATION_TYPE_"),
		},
	})
	return fields
}
