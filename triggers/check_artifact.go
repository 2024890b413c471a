package triggers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// The limits of the artifact service, repeated here: a partition that no version can have would never match.
const (
	maxPartitionKey   = 64
	maxPartitionValue = 512
)

// checkArtifact checks what a trigger waits for, as far as the trigger alone says it.
func (d *deployment) checkArtifact() error {
	const field = "automation_spec.artifact"
	wanted := d.automation.GetArtifact()
	switch version := wanted.GetVersion(); {
	case wanted == nil:
		return d.invalid(field, "is required for TYPE_ARTIFACT")
	case !ident.IsArtifact(wanted.GetArtifactName()):
		return d.invalid(field+".artifact_name", "%s, got %q", ident.ArtifactRule, wanted.GetArtifactName())
	case version == "latest":
		return d.invalid(field+".version", "no version is called latest; leave it empty to wait for each new version")
	case len(version) > 255 || strings.ContainsRune(version, 0):
		return d.invalid(field+".version", "has at most 255 bytes without the character NUL")
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.GetPartitions())) {
		value := wanted.GetPartitions()[key]
		if key == "" || len(key) > maxPartitionKey || len(value) > maxPartitionValue || strings.ContainsRune(key+value, 0) {
			return d.invalid(field+".partitions", "a key has 1 to %d bytes, its value at most %d, and none has the character NUL; got %q",
				maxPartitionKey, maxPartitionValue, key)
		}
	}
	return d.checkScheduleOptions()
}

// checkScheduleOptions refuses options that only schedules have: versions are never missed, and fire at once.
func (d *deployment) checkScheduleOptions() error {
	for _, key := range []string{annotationCatchUp, annotationCatchUpLimit, annotationJitter} {
		if _, ok := d.spec.GetRunSpec().GetAnnotations().GetValues()[key]; ok {
			return d.invalid("spec.run_spec.annotations", "%s is for schedules, and trigger %s waits for an artifact", key, d.name)
		}
	}
	return nil
}

// checkBindings checks the inputs that come from the version. It adds them to those that are given.
func (d *deployment) checkBindings(variables map[string]*core.Variable, given map[string]bool) error {
	const field = "automation_spec.artifact"
	wanted := d.automation.GetArtifact()
	if input := wanted.GetInputArg(); input != "" {
		if _, ok := variables[input]; !ok {
			return d.invalid(field+".input_arg", "task %s has no input %q", d.task.Name, input)
		}
		given[input] = true
	}
	for _, input := range slices.Sorted(maps.Keys(wanted.GetPartitionInputArgs())) {
		key := wanted.GetPartitionInputArgs()[input]
		variable, ok := variables[input]
		switch kind := variable.GetType().GetSimple(); {
		case !ok:
			return d.invalid(field+".partition_input_args", "task %s has no input %q", d.task.Name, input)
		case input == wanted.GetInputArg():
			return d.invalid(field+".partition_input_args", "input %q is to be the artifact itself", input)
		case key == "" || len(key) > maxPartitionKey:
			return d.invalid(field+".partition_input_args", "input %q names a partition of 1 to %d bytes, got %q", input, maxPartitionKey, key)
		case kind != core.SimpleType_DATETIME && kind != core.SimpleType_STRING:
			return d.invalid(field+".partition_input_args", "input %q of task %s is neither a datetime nor a string, as partitions are", input, d.task.Name)
		}
		given[input] = true
	}
	return nil
}

// checkPartitions compares the partitions with what was declared for the artifact. Without a declaration, versions may
// have any.
func (h *handler) checkPartitions(ctx context.Context, d *deployment) error {
	wanted := d.automation.GetArtifact()
	if len(wanted.GetPartitions()) == 0 && len(wanted.GetPartitionInputArgs()) == 0 {
		return nil
	}
	answer, err := h.artifacts.GetArtifactSchema(ctx, &artifact.GetArtifactSchemaRequest{
		Name: &artifact.ArtifactName{Project: d.task.Project, Domain: d.task.Domain, Name: wanted.GetArtifactName()},
	})
	if rpc.IsNotFound(err) || err == nil && !answer.GetDeclared() {
		return nil
	}
	if err != nil {
		return err
	}
	const field = "automation_spec.artifact"
	keys, at := answer.GetPartitionSchema().GetPartitionKeys(), answer.GetPartitionSchema().GetTimePartition().GetKey()
	known := fmt.Sprintf("artifact %s was declared with %s", wanted.GetArtifactName(), schemaWords(keys, at))
	for _, key := range slices.Sorted(maps.Keys(wanted.GetPartitions())) {
		switch {
		case at != "" && key == at:
			return d.invalid(field+".partitions", "%q is a time, and triggers wait for partitions that are texts; %s", key, known)
		case !slices.Contains(keys, key):
			return d.invalid(field+".partitions", "there is no partition %q: %s", key, known)
		}
	}
	for _, input := range slices.Sorted(maps.Keys(wanted.GetPartitionInputArgs())) {
		key := wanted.GetPartitionInputArgs()[input]
		kind := d.variable(input).GetType().GetSimple()
		switch {
		case at != "" && key == at && kind != core.SimpleType_DATETIME:
			return d.invalid(field+".partition_input_args", "partition %q is a time, and input %q is a string; %s", key, input, known)
		case key != at && !slices.Contains(keys, key):
			return d.invalid(field+".partition_input_args", "there is no partition %q: %s", key, known)
		case key != at && kind != core.SimpleType_STRING:
			return d.invalid(field+".partition_input_args", "partition %q is a text, and input %q is a datetime; %s", key, input, known)
		}
	}
	return nil
}

// variable is an input of the task; nil if it has none of this name.
func (d *deployment) variable(input string) *core.Variable {
	for _, entry := range d.taskSpec.GetTaskTemplate().GetInterface().GetInputs().GetVariables() {
		if entry.GetKey() == input {
			return entry.GetValue()
		}
	}
	return nil
}

// schemaWords are the partitions of an artifact for people.
func schemaWords(keys []string, at string) string {
	var parts []string
	if at != "" {
		parts = append(parts, fmt.Sprintf("the time %q", at))
	}
	for _, key := range keys {
		parts = append(parts, fmt.Sprintf("%q", key))
	}
	if len(parts) == 0 {
		return "no partitions"
	}
	return strings.Join(parts, ", ")
}
