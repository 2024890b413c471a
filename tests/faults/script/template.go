package script

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

// Domain is the domain of every storm.
const Domain = "development"

// Environment variables that every process of a storm has.
const (
	// LedgerEnv is the directory of the ledger.
	LedgerEnv = "FAULTS_LEDGER"
	// ProgramEnv is the task program.
	ProgramEnv = "FAULTS_PROGRAM"
	// TenantEnv tells whose work it is.
	TenantEnv = "STORM_TENANT"
)

// Spec is the task of a node: the program with the node's retries and caching.
func (n Node) Spec(program, ledger string) *task.TaskSpec {
	template := &core.TaskTemplate{
		Id: &core.Identifier{
			ResourceType: core.ResourceType_TASK, Project: n.Tenant.Project(), Domain: Domain, Name: n.Tenant.TaskName(string(n.Kind)), Version: "1",
		},
		Type: "python",
		Interface: &core.TypedInterface{
			Inputs: variable(InputName), Outputs: variable(OutputName),
		},
		Metadata: &core.TaskMetadata{
			Retries: &core.RetryStrategy{
				Retries: uint32(n.Retries),
				Backoff: &core.Backoff{Base: durationpb.New(0)},
			},
			Discoverable: n.Cache != "", DiscoveryVersion: n.Cache, CacheSerializable: n.Serialized,
			ProducesArtifacts: n.Artifact != "",
		},
		Target: &core.TaskTemplate_Container{Container: &core.Container{
			Image:   "storm",
			Command: []string{program},
			Args:    []string{"{{.input}}", "{{.outputPrefix}}"},
			Env: []*core.KeyValuePair{
				{Key: LedgerEnv, Value: ledger}, {Key: ProgramEnv, Value: program}, {Key: "GOMAXPROCS", Value: "1"},
				{Key: TenantEnv, Value: n.Tenant.Content},
			},
		}},
	}
	if n.Reads {
		template.Interface.Inputs.Variables = append(template.Interface.Inputs.Variables, &core.VariableEntry{Key: dataName, Value: &core.Variable{Type: DataType()}})
	}
	if n.Timeout > 0 {
		template.Metadata.Timeout = millis(n.Timeout)
	}
	if n.Deadline > 0 {
		template.Metadata.Timeouts = &core.TimeoutStrategy{Deadline: millis(n.Deadline)}
	}
	if n.Secret != "" {
		template.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{
			Key: n.Secret, EnvVar: SecretEnv, MountRequirement: core.Secret_ENV_VAR,
		}}}
	}
	if n.Kind == Sleep {
		template.Type, template.Target, template.Interface = "core-sleep", nil, &core.TypedInterface{}
	}
	via(template, n.Via)
	environment := "storm"
	if n.Pool != "" {
		environment, template.Type, template.ReusePolicy = n.Pool, tasktype.Actor, Reuse(n.Pool)
	}
	return &task.TaskSpec{ShortName: string(n.Kind), Environment: &task.Environment{Name: environment}, TaskTemplate: template}
}

func millis(n int) *durationpb.Duration { return durationpb.New(time.Duration(n) * time.Millisecond) }

// DataType is the type of Data.
func DataType() *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{}}}
}

func variable(name string) *core.VariableMap {
	return &core.VariableMap{Variables: []*core.VariableEntry{{Key: name, Value: &core.Variable{
		Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
	}}}}
}

// ConditionSpec is what a node asks a person.
func (n Node) ConditionSpec() *workflow.ConditionAction {
	spec := &workflow.ConditionAction{
		Name: n.Name, Prompt: "continue with " + n.Tenant.Content + "?",
		Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
	}
	if n.Answer == AnswerTimeout {
		spec.Timeout = durationpb.New(ConditionTimeout)
	}
	return spec
}
