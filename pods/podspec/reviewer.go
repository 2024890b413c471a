package podspec

import (
	"cmp"
	"maps"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
)

// Reviewer says whether the policy allows the pods of a task, before the task is deployed or run. It knows no pod
// templates: a Builder has the last word.
type Reviewer struct {
	config Config
	policy *podpolicy.Policy
}

// NewReviewer returns a reviewer with the policy of a valid configuration.
func NewReviewer(config Config) *Reviewer {
	return &Reviewer{config: config, policy: podpolicy.New(config.Policy)}
}

// Review returns the field of the first thing that the policy does not allow, below a task spec (task_template.…) or with
// the prefix run_spec, and all of them in words; both are empty for an allowed task. The run spec is the effective one, with
// settings. Without a run, accounts are not judged, since settings of the run may allow them. Tasks that cannot be run for
// other reasons, or without a pod, are not judged.
func (r *Reviewer) Review(template *core.TaskTemplate, run *task.RunSpec) (field, words string) {
	declared, err := specOf(template, PrimaryName(template))
	if err != nil {
		return "", "" // It fails for that reason when it runs.
	}
	asked := askedBy(r.config, template, declared)
	maps.Copy(asked.Annotations, run.GetAnnotations().GetValues())
	ofRun := run.GetSecurityContext().GetRunAs().GetK8SServiceAccount()
	asked.ServiceAccount = cmp.Or(ofRun, template.GetSecurityContext().GetRunAs().GetK8SServiceAccount(), asked.ServiceAccount)
	asked.GrantedAccounts = append(asked.GrantedAccounts, run.GetAnnotations().GetValues()[ident.AnnotationServiceAccount])
	if run == nil {
		asked.ServiceAccount = ""
	}
	violations := r.policy.Check(asked)
	if len(violations) == 0 {
		return "", ""
	}
	switch violations[0].Area {
	case podpolicy.Annotations:
		field = "task_template.metadata.metadata.annotations"
	case podpolicy.ServiceAccount:
		field = "task_template.security_context.run_as.k8s_service_account"
		if ofRun != "" {
			field = "run_spec.security_context.run_as.k8s_service_account"
		}
	default:
		field = "task_template.k8s_pod.pod_spec"
	}
	return field, podpolicy.Words(violations)
}
