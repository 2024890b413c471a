package job

import (
	"context"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/kueue"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// build puts the attempt's template into a Job that creates one pod, and none while that pod lives or after it failed.
func (p *Plugin) build(ctx context.Context, attempt *plugin.Attempt) (*batchv1.Job, error) {
	template, err := p.specs.BuildMember(ctx, attempt, podspec.Role{})
	if err != nil {
		return nil, err
	}
	key := p.Key(attempt)
	labels := maps.Clone(template.Labels)
	delete(labels, podspec.LabelTaskAction) // the Job's owner
	if queue := p.own.Queues.Of(Name, labels, p.own.Queue); queue != "" {
		labels[kueue.LabelQueue] = queue
	}
	job := &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       key.Namespace,
			Name:            key.Name,
			Labels:          labels,
			Annotations:     maps.Clone(template.Annotations),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(attempt.Task, v1.GroupVersion.WithKind(v1.Kind))},
		},
	}
	one, none, onlyFailed := int32(1), int32(0), batchv1.Failed
	job.Spec = batchv1.JobSpec{
		Parallelism:  &one,
		Completions:  &one,
		BackoffLimit: &none,
		// A suspended Job stops its pod. It may create the next one only when the processes of the first have ended.
		PodReplacementPolicy: &onlyFailed,
		Template:             *template,
	}
	return job, nil
}
