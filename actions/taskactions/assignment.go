package taskactions

import (
	"maps"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// reservedKeys are the prefixes that labels and annotations of users must not have.
const reservedKeys = v1.Group + "/"

// FromAssignment builds the TaskAction of an assignment; the result is deterministic. Variables, labels and annotations of
// the run that Kubernetes would reject are refused when a run is created. What earlier versions accepted is left out, so
// that it cannot keep an action from running.
func FromAssignment(a *enginev1.Assignment, namespace string) *v1.TaskAction {
	action, uid := ident.ActionOf(a.GetRef().GetId()), a.GetRef().GetUid()
	template := a.GetTask().GetSpec().GetTaskTemplate()
	// Encoding a message that was just decoded cannot fail, and an empty template is refused by the reconciler.
	encoded, _ := proto.MarshalOptions{Deterministic: true}.Marshal(template)

	result := &v1.TaskAction{
		TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: v1.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        Name(action, uid),
			Labels:      userLabels(a.GetRunSpec().GetLabels().GetValues()),
			Annotations: userAnnotations(a.GetRunSpec().GetAnnotations().GetValues()),
		},
		Spec: v1.TaskActionSpec{
			UID:            uid,
			Project:        action.Run.Project,
			Domain:         action.Run.Domain,
			Run:            action.Run.Name,
			Action:         action.Name,
			Parent:         a.GetParent(),
			Group:          a.GetGroup(),
			TaskType:       template.GetType(),
			ShortName:      a.GetTask().GetSpec().GetShortName(),
			TaskTemplate:   encoded,
			Env:            environment(a.GetRunSpec()),
			ServiceAccount: serviceAccount(a.GetRunSpec().GetSecurityContext(), template.GetSecurityContext()),
			InputURI:       a.GetInputUri(),
			RunOutputBase:  a.GetRunOutputBase(),
			RawDataPrefix:  a.GetRunSpec().GetRawDataStorage().GetRawDataPrefix(),
			CacheKey:       a.GetTask().GetCacheKey().GetValue(),
			Attempt:        max(1, int32(a.GetAttempt())), //nolint:gosec // attempts are small
			Begun:          a.GetBegun(),
			UserFailures:   int32(a.GetUserFailures()),   //nolint:gosec // as few as attempts
			SystemFailures: int32(a.GetSystemFailures()), //nolint:gosec // bounded, as above
			RunStartTime:   microTime(a.GetRunStartTime()),
			QueuedAt:       microTime(a.GetQueuedAt()),
		},
	}
	result.Spec.Defaults = defaultsOf(a.GetRunSpec())
	maps.Copy(result.Labels, IdentityLabels(action, uid))
	if placement := a.GetRef().GetPlacement(); placement > 0 {
		result.Labels[v1.LabelPlacement] = strconv.FormatUint(uint64(placement), 10)
	}
	if wanted := a.GetRunSpec().GetInterruptible(); wanted != nil {
		result.Spec.Interruptible = &wanted.Value
	}
	return result
}

func environment(spec *task.RunSpec) []v1.EnvVar {
	var result []v1.EnvVar
	for _, pair := range spec.GetEnvs().GetValues() {
		if len(validation.IsRelaxedEnvVarName(pair.GetKey())) == 0 {
			result = append(result, v1.EnvVar{Name: pair.GetKey(), Value: pair.GetValue()})
		}
	}
	return result
}

func serviceAccount(contexts ...*core.SecurityContext) string {
	for _, context := range contexts {
		if name := context.GetRunAs().GetK8SServiceAccount(); name != "" {
			return name
		}
	}
	return ""
}

func userLabels(values map[string]string) map[string]string {
	result := map[string]string{}
	for key, value := range values {
		if acceptableKey(key) && len(validation.IsValidLabelValue(value)) == 0 {
			result[key] = value
		}
	}
	return result
}

func userAnnotations(values map[string]string) map[string]string {
	result := map[string]string{}
	for key, value := range values {
		if acceptableKey(key) {
			result[key] = value
		}
	}
	return result
}

func acceptableKey(key string) bool {
	return len(validation.IsQualifiedName(key)) == 0 && !strings.HasPrefix(key, reservedKeys)
}

func microTime(t *timestamppb.Timestamp) *metav1.MicroTime {
	if t == nil {
		return nil
	}
	result := metav1.NewMicroTime(t.AsTime())
	return &result
}
