package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// labelRole tells the pods of a RayJob apart.
const labelRole = v1.Group + "/role"

// submitter is the role of the pod whose end is the end of a RayJob.
const submitter = "submitter"

var rayJobResource = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayjobs"}

// RayJobs plays KubeRay: it gives each RayJob a head, its workers and the pod that submits, all at once, and writes what KubeRay
// writes into the status: that the job runs, and that it is complete when the pod that submits has succeeded. It deletes the pods
// of RayJobs that are gone, for the cluster of a stack has no garbage collector.
type RayJobs struct {
	cluster *cluster
	objects dynamic.Interface
	stop    context.CancelFunc
	working sync.WaitGroup
}

// StartRayJobs makes the API server serve RayJobs, without a schema, and begins to act for them.
func (s *Stack) StartRayJobs(ctx context.Context) (*RayJobs, error) {
	objects, err := dynamic.NewForConfig(s.Cluster.config)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &RayJobs{cluster: s.Cluster, objects: objects, stop: stop}
	if err := r.define(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	jobs := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	on := func(do func(context.Context, *unstructured.Unstructured) error) func(any) {
		return func(object any) {
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			if job, ok := object.(*unstructured.Unstructured); ok {
				r.working.Go(func() { _ = do(running, job) }) // it fails only when the object is gone or the case ends
			}
		}
	}
	_, err = jobs.ForResource(rayJobResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: on(r.begin), DeleteFunc: on(r.collect)})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	pods := informers.NewSharedInformerFactoryWithOptions(s.Cluster.Client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.LabelSelector = labelRole + "=" + submitter
	}))
	_, err = pods.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, object any) {
		old, isOld := before.(*corev1.Pod)
		pod, ok := object.(*corev1.Pod)
		if ok && isOld && pod.Status.Phase == corev1.PodSucceeded && old.Status.Phase != corev1.PodSucceeded {
			r.working.Go(func() { _ = r.write(running, pod.Namespace, pod.OwnerReferences[0].Name, "Complete", "SUCCEEDED") })
		}
	}})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	jobs.Start(running.Done())
	pods.Start(running.Done())
	jobs.WaitForCacheSync(ctx.Done())
	pods.WaitForCacheSync(ctx.Done())
	return r, nil
}

// Close ends the work. The error is always nil.
func (r *RayJobs) Close() error {
	r.stop()
	r.working.Wait()
	return nil
}

// members are the templates of the pods of a RayJob, by what their names end in.
func members(job *unstructured.Unstructured) map[string]map[string]any {
	template := func(path ...string) map[string]any {
		found, _, _ := unstructured.NestedMap(job.Object, append([]string{"spec"}, path...)...)
		return found
	}
	wanted := map[string]map[string]any{"head": template("rayClusterSpec", "headGroupSpec", "template"), submitter: template("submitterPodTemplate")}
	groups, _, _ := unstructured.NestedSlice(job.Object, "spec", "rayClusterSpec", "workerGroupSpecs")
	for n, one := range groups {
		group, _ := one.(map[string]any)
		count, _, _ := unstructured.NestedInt64(group, "replicas")
		for i := range count {
			wanted[fmt.Sprintf("worker-%d-%d", n, i)], _, _ = unstructured.NestedMap(group, "template")
		}
	}
	return wanted
}

// collect deletes the pods of a RayJob that is gone, as the garbage collector of a cluster does.
func (r *RayJobs) collect(ctx context.Context, job *unstructured.Unstructured) error {
	var failures []error
	for name := range members(job) {
		err := r.cluster.Client.CoreV1().Pods(job.GetNamespace()).Delete(ctx, job.GetName()+"-"+name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// begin creates the pods of a RayJob.
func (r *RayJobs) begin(ctx context.Context, job *unstructured.Unstructured) error {
	for name, from := range members(job) {
		made := &corev1.PodTemplateSpec{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, made); err != nil {
			return err
		}
		pod := &corev1.Pod{ObjectMeta: made.ObjectMeta, Spec: made.Spec}
		pod.Namespace, pod.Name = job.GetNamespace(), job.GetName()+"-"+name
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, job.GroupVersionKind())}
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
		if _, err := r.cluster.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return r.write(ctx, job.GetNamespace(), job.GetName(), "Running", "RUNNING")
}

func (r *RayJobs) write(ctx context.Context, namespace, name, deployment, job string) error {
	body, err := json.Marshal(map[string]any{"status": map[string]any{"jobDeploymentStatus": deployment, "jobStatus": job}})
	if err != nil {
		return err
	}
	_, err = r.objects.Resource(rayJobResource).Namespace(namespace).
		Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

func (r *RayJobs) define(ctx context.Context) error {
	definitions := r.objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err := definitions.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "rayjobs.ray.io"},
		"spec": map[string]any{
			"group": "ray.io", "scope": "Namespaced", "names": map[string]any{"plural": "rayjobs", "kind": "RayJob", "listKind": "RayJobList"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("define RayJobs: %w", err)
	}
	for {
		if _, err = r.objects.Resource(rayJobResource).List(ctx, metav1.ListOptions{Limit: 1}); err == nil {
			return nil
		}
		if Pause(ctx, 100*time.Millisecond) != nil {
			return fmt.Errorf("RayJobs are not served: %w", err)
		}
	}
}
