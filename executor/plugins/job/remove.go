package job

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// Remove implements plugin.Plugin. It deletes the Job, then a pod whose process still runs: the garbage collector would
// delete that too, but later, and with the long grace of a pod that uploads outputs.
func (p *Plugin) Remove(ctx context.Context, attempt *plugin.Attempt) error {
	key := p.Key(attempt)
	pods := &corev1.PodList{}
	err := p.deps.Cache.List(ctx, pods, client.InNamespace(key.Namespace), client.MatchingFields{jobIndex: key.Name})
	if err != nil {
		err = fmt.Errorf("list pods of job %s: %w", key.Name, err)
	}
	if failed := p.Keeper.Remove(ctx, attempt); failed != nil {
		return errors.Join(err, failed) // The Job goes first: deleting its pod would look like a failure.
	}
	for i := range pods.Items {
		err = errors.Join(err, p.stop(ctx, attempt, &pods.Items[i]))
	}
	return err
}

// stop deletes a pod unless it has ended or is being deleted.
func (p *Plugin) stop(ctx context.Context, attempt *plugin.Attempt, pod *corev1.Pod) error {
	if pod.Labels[labelTaskAction] != attempt.Task.Name || pod.DeletionTimestamp != nil ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return nil
	}
	options := append([]client.DeleteOption{client.Preconditions{UID: &pod.UID}}, p.config.StopOptions(podspec.Uploads(attempt.Template))...)
	if err := p.deps.Writer.Delete(ctx, pod, options...); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete pod %s: %w", pod.Name, err)
	}
	return nil
}
