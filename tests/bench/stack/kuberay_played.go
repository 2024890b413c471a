package stack

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

var rayClusterResource = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}

// What KubeRay labels what it creates with, and the variable with the id of a job in the pod that submits it.
const (
	labelRayJob     = "ray.io/originated-from-cr-name"
	labelRayCluster = "ray.io/cluster"
	variableRayJob  = "RAY_JOB_SUBMISSION_ID"
)

// play begins to act as the controller of Jobs and as the garbage collector, until running ends.
func (k *KubeRay) play(ctx, running context.Context, objects dynamic.Interface) error {
	typed := informers.NewSharedInformerFactory(k.cluster.Client, 0)
	custom := dynamicinformer.NewDynamicSharedInformerFactory(objects, 0)
	client := k.cluster.Client
	_, err := typed.Batch().V1().Jobs().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: handle(k, func(job *batchv1.Job) error { return k.submit(running, job) }),
		DeleteFunc: handle(k, func(job *batchv1.Job) error {
			return client.CoreV1().Pods(job.Namespace).DeleteCollection(running, metav1.DeleteOptions{}, labelled(batchv1.JobNameLabel, job.Name))
		}),
	})
	if err != nil {
		return err
	}
	_, err = typed.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(before, after any) {
		old, isOld := before.(*corev1.Pod)
		pod, ok := after.(*corev1.Pod)
		if ok && isOld && pod.Labels[labelRole] == submitter && pod.Status.Phase == corev1.PodSucceeded && old.Status.Phase != corev1.PodSucceeded {
			k.working.Go(func() { _ = k.submitted(running, pod) }) // it fails only when the Job is gone or the case ends
		}
	}})
	if err != nil {
		return err
	}
	_, err = custom.ForResource(rayJobResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: handle(k, func(job *unstructured.Unstructured) error {
			background := metav1.DeletePropagationBackground
			return errors.Join(
				objects.Resource(rayClusterResource).Namespace(job.GetNamespace()).
					DeleteCollection(running, metav1.DeleteOptions{}, labelled(labelRayJob, job.GetName())),
				client.BatchV1().Jobs(job.GetNamespace()).
					DeleteCollection(running, metav1.DeleteOptions{PropagationPolicy: &background}, labelled(labelRayJob, job.GetName())),
			)
		}),
	})
	if err != nil {
		return err
	}
	_, err = custom.ForResource(rayClusterResource).Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: handle(k, func(cluster *unstructured.Unstructured) error { return k.collect(running, cluster) }),
	})
	if err != nil {
		return err
	}
	typed.Start(running.Done())
	custom.Start(running.Done())
	typed.WaitForCacheSync(ctx.Done())
	custom.WaitForCacheSync(ctx.Done())
	left := &orphans{objects: objects, children: []children{
		{rayJobResource, custom.ForResource(rayJobResource).Informer().GetStore()},
		{rayClusterResource, custom.ForResource(rayClusterResource).Informer().GetStore()},
		{batchv1.SchemeGroupVersion.WithResource("jobs"), typed.Batch().V1().Jobs().Informer().GetStore()},
		{corev1.SchemeGroupVersion.WithResource("pods"), typed.Core().V1().Pods().Informer().GetStore()},
	}}
	k.working.Go(func() { left.delete(running) })
	return nil
}

// submit creates the pod of a Job.
func (k *KubeRay) submit(ctx context.Context, job *batchv1.Job) error {
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod = pod.DeepCopy()
	pod.Namespace, pod.Name = job.Namespace, job.Name+"-submits"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	_, err := k.cluster.Client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// submitted ends the job on the head of a pod that has submitted it, and the pod's Job.
func (k *KubeRay) submitted(ctx context.Context, pod *corev1.Pod) error {
	for _, container := range pod.Spec.Containers {
		for _, variable := range container.Env {
			if variable.Name == variableRayJob {
				k.dashboards.end(variable.Value)
			}
		}
	}
	jobs := k.cluster.Client.BatchV1().Jobs(pod.Namespace)
	job, err := jobs.Get(ctx, pod.Labels[batchv1.JobNameLabel], metav1.GetOptions{})
	if err != nil {
		return err
	}
	now := metav1.Now()
	job.Status = batchv1.JobStatus{StartTime: pod.Status.StartTime, CompletionTime: &now, Succeeded: 1}
	for _, kind := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	job.ResourceVersion = ""
	_, err = jobs.UpdateStatus(ctx, job, metav1.UpdateOptions{})
	return err
}

// collect deletes what belongs to a RayCluster that is gone.
func (k *KubeRay) collect(ctx context.Context, cluster *unstructured.Unstructured) error {
	core, options := k.cluster.Client.CoreV1(), labelled(labelRayCluster, cluster.GetName())
	failures := []error{core.Pods(cluster.GetNamespace()).DeleteCollection(ctx, metav1.DeleteOptions{}, options)}
	services, err := core.Services(cluster.GetNamespace()).List(ctx, options)
	if err != nil {
		return errors.Join(append(failures, err)...)
	}
	for _, service := range services.Items {
		if err := core.Services(service.Namespace).Delete(ctx, service.Name, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

func labelled(name, value string) metav1.ListOptions {
	return metav1.ListOptions{LabelSelector: fmt.Sprintf("%s=%s", name, value)}
}

// handle returns a handler of events that calls do with the object, in a goroutine of its own.
func handle[T any](k *KubeRay, do func(T) error) func(any) {
	return func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if typed, ok := object.(T); ok {
			k.working.Go(func() { _ = do(typed) }) // it fails only when the object is gone or the case ends
		}
	}
}
