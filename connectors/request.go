package connectors

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	connectorv2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// AnnotationKey has the idempotency key of an attempt: a connector that gets one twice must not start a second job.
const AnnotationKey = ident.ReservedKeys + "idempotency-key"

// organizationVariable is the one without which the SDK's program does not start.
const organizationVariable = "_U_ORG_NAME"

// Labels that say whose job it is.
const (
	labelProject = ident.ReservedKeys + "project"
	labelDomain  = ident.ReservedKeys + "domain"
	labelRun     = ident.ReservedKeys + "run"
	labelAction  = ident.ReservedKeys + "action"
	labelAttempt = ident.ReservedKeys + "attempt"
)

// keyOf is the idempotency key of an attempt: a DNS label that no other attempt has, also one of a run that gets the name again.
func keyOf(j *store.Job) string {
	return ident.ObjectName(j.Action, j.UID) + "-" + strconv.Itoa(int(j.Attempt)-1)
}

// attemptOf is the attempt of a job. It has the name of its idempotency key.
func attemptOf(j *store.Job, assigned *enginev1.Assignment) *attempts.Attempt {
	about := attempts.Of(assigned, j.Attempt)
	about.Object = keyOf(j)
	return about
}

// request is the order to start a job, without secrets. The token is that of the attempt, for the job; empty for none. A *failure.Failure in the error's chain means that it cannot run as
// it is specified.
func (w *worker) request(ctx context.Context, j *store.Job, assigned *enginev1.Assignment, token string) (*connectorv2.CreateTaskRequest, error) {
	about := attemptOf(j, assigned)
	inputs, err := about.Inputs(ctx, w.deps.Store)
	if err != nil {
		return nil, err
	}
	template, err := w.rendered(ctx, about, assigned.GetTask().GetSpec().GetTaskTemplate())
	if err != nil {
		return nil, err
	}
	metadata := w.metadata(about, j, assigned)
	w.addServer(metadata.GetEnvironmentVariables(), token)
	if container := template.GetContainer(); len(container.GetCommand())+len(container.GetArgs()) > 0 {
		// A connector such as that of Databricks starts the program of the task with the variables that the container has.
		container.Env = pairs(metadata.GetEnvironmentVariables())
	}
	return &connectorv2.CreateTaskRequest{
		Inputs: inputs, Template: template, OutputPrefix: about.Dir(), TaskExecutionMetadata: metadata,
	}, nil
}

// pairs are variables in the order of their names.
func pairs(env map[string]string) []*core.KeyValuePair {
	all := make([]*core.KeyValuePair, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		all = append(all, &core.KeyValuePair{Key: name, Value: env[name]})
	}
	return all
}

// rendered is the template with the values of the attempt in its command, its arguments and its statement.
func (w *worker) rendered(ctx context.Context, about *attempts.Attempt, declared *core.TaskTemplate) (*core.TaskTemplate, error) {
	template, _ := proto.Clone(declared).(*core.TaskTemplate)
	var texts []*string
	for _, list := range [][]string{template.GetContainer().GetCommand(), template.GetContainer().GetArgs()} {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	if sql := template.GetSql(); sql != nil {
		texts = append(texts, &sql.Statement)
	}
	given := make([]string, len(texts))
	for i, text := range texts {
		given[i] = *text
	}
	values, err := about.Arguments(ctx, w.deps.Store, given...)
	if err != nil {
		return nil, err
	}
	for _, text := range texts {
		*text = values.Render(*text)
	}
	return template, nil
}

// metadata says whose job it is, in the words of the contract.
func (w *worker) metadata(about *attempts.Attempt, j *store.Job, assigned *enginev1.Assignment) *connectorv2.TaskExecutionMetadata {
	template, run := assigned.GetTask().GetSpec().GetTaskTemplate(), assigned.GetRunSpec()
	labels, annotations, env := map[string]string{}, map[string]string{}, map[string]string{}
	for _, of := range []*core.K8SObjectMetadata{template.GetMetadata().GetMetadata()} {
		maps.Copy(labels, of.GetLabels())
		maps.Copy(annotations, of.GetAnnotations())
	}
	maps.Copy(labels, run.GetLabels().GetValues())
	maps.Copy(annotations, run.GetAnnotations().GetValues())
	maps.Copy(labels, map[string]string{
		labelProject: j.Action.Run.Project, labelDomain: j.Action.Run.Domain, labelRun: j.Action.Run.Name, labelAction: j.Action.Name,
		labelAttempt: strconv.Itoa(int(j.Attempt)),
	})
	annotations[AnnotationKey] = about.Object
	for _, pair := range template.GetContainer().GetEnv() {
		env[pair.GetKey()] = pair.GetValue()
	}
	for _, variable := range append(about.RunEnvironment(), about.Environment(w.deps.LegacyEnv)...) {
		env[variable.Name] = variable.Value
	}
	if w.deps.Organization != "" {
		env[organizationVariable] = w.deps.Organization
	}
	account := template.GetSecurityContext().GetRunAs().GetK8SServiceAccount()
	if account == "" {
		account = run.GetSecurityContext().GetRunAs().GetK8SServiceAccount()
	}
	interruptible := template.GetMetadata().GetInterruptible()
	if run.GetInterruptible() != nil {
		interruptible = run.GetInterruptible().GetValue()
	}
	return &connectorv2.TaskExecutionMetadata{
		TaskExecutionId: &core.TaskExecutionIdentifier{
			TaskId: template.GetId(),
			NodeExecutionId: &core.NodeExecutionIdentifier{NodeId: j.Action.Name, ExecutionId: &core.WorkflowExecutionIdentifier{
				Project: j.Action.Run.Project, Domain: j.Action.Run.Domain, Name: j.Action.Run.Name,
			}},
			RetryAttempt: uint32(j.Attempt - 1), //nolint:gosec // from 1
		},
		Labels: labels, Annotations: annotations, K8SServiceAccount: account, EnvironmentVariables: env,
		MaxAttempts: int32(min(template.GetMetadata().GetRetries().GetRetries(), 1<<30)) + 1, Interruptible: interruptible,
		Identity: run.GetSecurityContext().GetRunAs(),
	}
}

// category is how a connector is asked about a job.
func category(j *store.Job) *connectorv2.TaskCategory {
	return &connectorv2.TaskCategory{Name: j.TaskType, Version: j.TypeVersion}
}
