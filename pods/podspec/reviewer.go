package podspec

import (
	"cmp"
	"maps"

	corev1 "k8s.io/api/core/v1"

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
	return r.judge(declared(template), run)
}

// wish is what a task asks of its pod, without what no policy judges. It is read only.
type wish struct {
	spec        *corev1.PodSpec
	annotations map[string]string
	// account is the service account that the task names.
	account string
	// plain says that every policy allows it: a container without annotations or an account.
	plain bool
}

// declared reads what a task asks of its pod. It is nil for a task that cannot be run for other reasons, or without a pod.
func declared(template *core.TaskTemplate) *wish {
	spec, err := specOf(template, PrimaryName(template))
	if err != nil {
		return nil // It fails for that reason when it runs.
	}
	eachContainer(spec, func(container *corev1.Container) {
		container.Command, container.Args = nil, nil // may be long, and wishes are kept
	})
	asked := askedBy(Config{}, template, spec)
	account := cmp.Or(template.GetSecurityContext().GetRunAs().GetK8SServiceAccount(), asked.ServiceAccount)
	return &wish{
		spec: spec, annotations: asked.Annotations, account: account,
		plain: template.GetContainer() != nil && len(asked.Annotations) == 0 && account == "",
	}
}

// judge applies the policy to a wish, as a run with a spec has it.
func (r *Reviewer) judge(of *wish, run *task.RunSpec) (field, words string) {
	if of == nil {
		return "", ""
	}
	ofRun := run.GetSecurityContext().GetRunAs().GetK8SServiceAccount()
	annotations := run.GetAnnotations().GetValues()
	if of.plain && ofRun == "" && len(annotations) == 0 {
		return "", ""
	}
	asked := podpolicy.Asked{Spec: of.spec, Annotations: map[string]string{}, GrantedAccounts: grantedBy(r.config)}
	maps.Copy(asked.Annotations, of.annotations)
	maps.Copy(asked.Annotations, annotations)
	if run != nil {
		asked.ServiceAccount = cmp.Or(ofRun, of.account)
		asked.GrantedAccounts = append(asked.GrantedAccounts, annotations[ident.AnnotationServiceAccount])
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
