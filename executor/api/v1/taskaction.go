package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"strconv"
)

// TaskAction is the intent to run one admitted action.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ta,categories=flyte
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.spec.run`
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Task",type=string,JSONPath=`.spec.shortName`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.attempt`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TaskAction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TaskActionSpec   `json:"spec"`
	Status TaskActionStatus `json:"status,omitempty"`
}

// TaskActionList is a list of TaskActions.
//
// +kubebuilder:object:root=true
type TaskActionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TaskAction `json:"items"`
}

// TaskActionSpec is everything needed to run the action. It never changes. It has one owner, so the API server need not track who owns
// each field.
//
// +structType=atomic
type TaskActionSpec struct {
	// UID is the database id of the action; it tells a repeated name from its predecessor.
	UID int64 `json:"uid"`
	// Project of the run.
	Project string `json:"project"`
	// Domain of the run.
	Domain string `json:"domain"`
	// Run is the name of the run.
	Run string `json:"run"`
	// Action is the name of the action.
	Action string `json:"action"`
	// Parent is the name of the parent action; empty for the root action.
	Parent string `json:"parent,omitempty"`
	// Group is the display group.
	Group string `json:"group,omitempty"`

	// TaskType selects the plugin.
	TaskType string `json:"taskType"`
	// ShortName is the task's name for people.
	ShortName string `json:"shortName,omitempty"`
	// TaskTemplate is an encoded flyteidl2.core.TaskTemplate.
	TaskTemplate []byte `json:"taskTemplate"`

	// Env are the environment variables of the run, in order.
	Env []EnvVar `json:"env,omitempty"`
	// Interruptible, where set, overrides what the task says about preemptible nodes.
	Interruptible *bool `json:"interruptible,omitempty"`
	// ServiceAccount the pods run as; empty means the configured one.
	ServiceAccount string `json:"serviceAccount,omitempty"`

	// Defaults hold where the task says nothing, and its bounds always; absent when the run has none.
	Defaults *Defaults `json:"defaults,omitempty"`

	// InputURI is where the inputs lie: a directory, or a path that ends in inputs.pb.
	InputURI string `json:"inputUri,omitempty"`
	// RunOutputBase is the run's base in the object store, with a trailing slash.
	RunOutputBase string `json:"runOutputBase"`
	// RawDataPrefix, where set, is where tasks put files and frames instead of the attempt's directory.
	RawDataPrefix string `json:"rawDataPrefix,omitempty"`
	// CacheKey is the key that the client computed, if the task is cacheable.
	CacheKey string `json:"cacheKey,omitempty"`

	// Attempt is the attempt to start with, from 1.
	//
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`
	// Begun means that the attempt began under an earlier TaskAction, which was deleted from outside: the attempt is lost.
	Begun bool `json:"begun,omitempty"`
	// UserFailures counts the attempts that the task itself lost before this object was made.
	UserFailures int32 `json:"userFailures,omitempty"`
	// SystemFailures counts those that the system lost.
	SystemFailures int32 `json:"systemFailures,omitempty"`
	// RunStartTime is the start of the run as tasks see it, the same for every attempt.
	RunStartTime *metav1.MicroTime `json:"runStartTime,omitempty"`
	// QueuedAt is when the action was queued.
	QueuedAt *metav1.MicroTime `json:"queuedAt,omitempty"`
}

// Defaults are what a run says about the pods of its tasks, mostly from settings. Resources are named cpu, memory, gpu and
// ephemeral-storage.
type Defaults struct {
	// PodTemplate is the name of the PodTemplate of tasks that name none.
	PodTemplate string `json:"podTemplate,omitempty"`
	// ServiceAccount is the one that settings name, which pods may always run as.
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Requests are for containers that name neither a request nor a limit of the resource.
	Requests map[string]string `json:"requests,omitempty"`
	// Max are the largest requests and limits that a container may have.
	Max map[string]string `json:"max,omitempty"`
	// MirrorLimits makes limits equal to requests.
	MirrorLimits bool `json:"mirrorLimits,omitempty"`
	// Accelerator is an encoded flyteidl2.core.GPUAccelerator, for tasks that request devices but name none.
	Accelerator []byte `json:"accelerator,omitempty"`
}

// EnvVar is an environment variable.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// TaskActionStatus is what the reconciler must not forget over a restart, and a line for people. It is bounded, and
// written rarely: whenever an attempt was lost, and once for an action that takes its time.
//
// +structType=atomic
type TaskActionStatus struct {
	// Attempt is the current attempt, from 1; 0 means that of the spec.
	Attempt int32 `json:"attempt,omitempty"`
	// UserFailures counts the attempts that the task itself lost; they consume the task's retries.
	UserFailures int32 `json:"userFailures,omitempty"`
	// SystemFailures counts the attempts that the system lost; they have a budget of their own.
	SystemFailures int32 `json:"systemFailures,omitempty"`
	// NotBefore is when the current attempt may start, after a lost one.
	NotBefore *metav1.MicroTime `json:"notBefore,omitempty"`
	// ObjectUID is the object of the current attempt, such as its pod or its Job, once it is known. Its key is from the time when
	// each attempt was a pod.
	ObjectUID types.UID `json:"podUid,omitempty"`
	// Phase is the last phase seen, for people.
	Phase string `json:"phase,omitempty"`
	// Message explains the phase, for people.
	//
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
	// Plugin is the word of the plugin that runs the current attempt: what it must not forget over a restart, such as the
	// id of a job elsewhere. It has at most MaxPluginWord bytes, which are more characters here.
	//
	// +kubebuilder:validation:MaxLength=5464
	Plugin []byte `json:"plugin,omitempty"`
}

// MaxPluginWord is how many bytes the word of a plugin has at most.
const MaxPluginWord = 4096

// Placement is how often an attempt of the action was taken back from a cluster before it came to this one.
func (t *TaskAction) Placement() uint32 {
	placement, err := strconv.ParseUint(t.Labels[LabelPlacement], 10, 32)
	if err != nil {
		return 0 // it has no such label
	}
	return uint32(placement)
}

// CurrentAttempt is the attempt that is or will be running, from 1.
func (t *TaskAction) CurrentAttempt() int32 {
	return max(t.Status.Attempt, t.Spec.Attempt, 1)
}
