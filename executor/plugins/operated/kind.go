package operated

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Kind describes an operator's kind of object to this package. All fields up to Primary are required.
type Kind struct {
	// Name is the name of the plugin, which selects it in the configuration and in tasks.
	Name string
	// Types are the task types that the plugin runs.
	Types []string
	// Object is the kind of object that the operator reads.
	Object schema.GroupVersionKind
	// Resource is the name of the kind in URLs, such as jobsets.
	Resource string
	// Install says what an administrator has to install where the cluster lacks the kind, such as "the JobSet controller".
	Install string
	// MaxName is how many characters a name may have, so that the names which the operator derives from it are valid.
	MaxName int
	// Spec returns the specification of an attempt's object. A *failure.Failure in the error's chain means that the
	// attempt is lost.
	Spec func(context.Context, *Draft) (map[string]any, error)
	// Read says what the status of an object means.
	Read func(*unstructured.Unstructured) Reading
	// Primary reports whether the end of a pod is the end of the attempt: the pod writes the outputs, or shows what the
	// process that does prints.
	Primary func(*corev1.Pod) bool
	// Container is the name that the operator requires of the container of the task; empty for any.
	Container string
	// Followers are roles whose pods only follow the others, such as one that submits the program. They are blamed if no
	// other pod failed.
	Followers []string
	// Ranked means that the pods of the primary one's role run the same program, and that only the primary one writes outputs and
	// error document. Pods that have a directory of their own do not count.
	Ranked bool
	// KeepsPods means that the operator deletes no pod that it does not start again: a pod without restarts that is being deleted, or
	// missing, was deleted by the system.
	KeepsPods bool
	// KeepsPrimary means that the operator deletes no primary pod: one that is missing when the program has failed was deleted by
	// someone else.
	KeepsPrimary bool
	// Companion is the kind of object that an attempt's object refers to, with the same name: Spec gives its specification to
	// the Draft. It is created before the attempt's object and removed after it. Nil for none.
	Companion *Companion
}

// Companion is the kind of a second object of attempts.
type Companion struct {
	Object schema.GroupVersionKind
	// Resource is the name of the kind in URLs.
	Resource string
}

// Reading is what an operator says of an attempt.
type Reading struct {
	// Phase is QUEUED or unspecified while the operator has not acted, then INITIALIZING or RUNNING; SUCCEEDED or FAILED
	// when it has settled the object, which then gets no more pods.
	Phase common.ActionPhase
	// Reason is the operator's keyword for Message.
	Reason string
	// Message is the operator's explanation in one line; may be empty.
	Message string
	// ByUser means that a failure for which no pod is to blame comes from the task.
	ByUser bool
	// Pods is how many pods the operator had when it settled the object; 0 if it does not say.
	Pods int
	// NotStarted means that the program of the task never started, as far as the operator knows: the failure of a follower is not the
	// task's.
	NotStarted bool
	// Program means that the operator has seen the program itself fail: pods that are stopped afterwards are not the cause.
	Program bool
	// Unseen means that the operator gave up because it did not see in time how the program had ended. Outputs say it, if no pod failed.
	Unseen bool
	// Begun means that the operator has had the primary pod and creates no other: one that is missing was deleted by someone else, and
	// the operator waits for it without a limit.
	Begun bool
	// Suspended means that the operator keeps the object without pods until a queue admits it.
	Suspended bool
}

// Blank returns an empty object of the kind.
func (k Kind) Blank() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(k.Object)
	return object
}

// strip reduces a cached object to what its state is read from.
func strip(object any) (any, error) {
	found, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	found.SetManagedFields(nil)
	found.SetAnnotations(nil)
	if spec, ok := found.Object["spec"].(map[string]any); ok {
		kept := map[string]any{}
		for _, name := range []string{"suspend", "runPolicy"} { // what Suspended is asked for
			if value, has := spec[name]; has {
				kept[name] = value
			}
		}
		found.Object["spec"] = kept
	}
	return found, nil
}

// HasRole returns a function that tells the pods of a role.
func HasRole(name string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return pod.Labels[podspec.LabelRole] == name }
}
