package executor_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// jobController plays Kubernetes' Job controller and garbage collector, which the API server of tests does not have.
// Like the real one, it creates the pod of a Job from the template to which the API server has added the labels
// job-name and controller-uid, owns it, keeps it with the finalizer batch.kubernetes.io/job-tracking until it is
// counted, and settles the Job with the conditions SuccessCriteriaMet and Complete, or FailureTarget and Failed. The
// pods of a deleted Job are deleted. It supports only Jobs of one pod without retries.
type jobController struct {
	client    kubernetes.Interface
	namespace string

	mu      sync.Mutex
	created []string           // GUARDED_BY(mu): names of pods
	started map[types.UID]bool // GUARDED_BY(mu): Jobs that got their pod
}

func startJobController(t testing.TB, cluster *kubetest.Cluster) *jobController {
	t.Helper()
	c := &jobController{client: cluster.Clientset, namespace: cluster.Namespace, started: map[types.UID]bool{}}
	ctx, cancel := context.WithCancel(context.Background())
	names := make(chan string, 1024)
	factory := informers.NewSharedInformerFactoryWithOptions(cluster.Clientset, 0, informers.WithNamespace(cluster.Namespace))
	handle := func(informer cache.SharedIndexInformer, name func(metav1.Object) string) {
		queue := func(object any) {
			if accessor, ok := object.(metav1.Object); ok && name(accessor) != "" {
				names <- name(accessor)
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: queue, UpdateFunc: func(_, object any) { queue(object) }, DeleteFunc: queue,
		})
		require.NoError(t, err)
	}
	handle(factory.Batch().V1().Jobs().Informer(), metav1.Object.GetName)
	handle(factory.Core().V1().Pods().Informer(), func(pod metav1.Object) string { return pod.GetLabels()[batchv1.JobNameLabel] })
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case name := <-names:
				if err := c.sync(ctx, name); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
					t.Errorf("job controller: %v", err)
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		factory.Shutdown()
	})
	return c
}

// pods are the names of all pods that were created, in their order.
func (c *jobController) pods() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.created)
}

func (c *jobController) sync(ctx context.Context, name string) error {
	list, err := c.client.CoreV1().Pods(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + name})
	if err != nil {
		return err
	}
	job, err := c.client.BatchV1().Jobs(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return c.collect(ctx, list.Items)
	case err != nil:
		return err
	}
	c.mu.Lock()
	started := c.started[job.UID]
	c.started[job.UID] = true
	c.mu.Unlock()
	switch {
	case len(job.Status.Conditions) > 0:
		return nil
	case !started:
		return c.create(ctx, job)
	case len(list.Items) == 0:
		return c.settle(ctx, job, false)
	}
	switch pod := &list.Items[0]; pod.Status.Phase { //nolint:exhaustive // the others are not terminal
	case corev1.PodSucceeded:
		if err := c.settle(ctx, job, true); err != nil {
			return err
		}
		return c.release(ctx, pod)
	case corev1.PodFailed:
		if err := c.settle(ctx, job, false); err != nil {
			return err
		}
		return c.release(ctx, pod)
	}
	return nil
}

func (c *jobController) create(ctx context.Context, job *batchv1.Job) error {
	pod := &corev1.Pod{ObjectMeta: *job.Spec.Template.ObjectMeta.DeepCopy(), Spec: *job.Spec.Template.Spec.DeepCopy()}
	pod.GenerateName, pod.Finalizers = job.Name+"-", []string{batchv1.JobTrackingFinalizer}
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}
	pod, err := c.client.CoreV1().Pods(c.namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.created = append(c.created, pod.Name)
	c.mu.Unlock()
	now := metav1.Now()
	job.Status.StartTime, job.Status.Active = &now, 1
	_, err = c.client.BatchV1().Jobs(c.namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
	return err
}

// settle writes the end of a Job, in the two steps that the API server requires.
func (c *jobController) settle(ctx context.Context, job *batchv1.Job, succeeded bool) error {
	now := metav1.Now()
	first, last, reason, message := batchv1.JobFailureTarget, batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded, "Job has reached the specified backoff limit"
	if succeeded {
		first, last, reason, message = batchv1.JobSuccessCriteriaMet, batchv1.JobComplete, batchv1.JobReasonCompletionsReached, "Reached expected number of succeeded pods"
	}
	for _, kind := range []batchv1.JobConditionType{first, last} {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastProbeTime: now, LastTransitionTime: now,
		})
		job.Status.Active, job.Status.UncountedTerminatedPods = 0, nil
		switch kind {
		case batchv1.JobComplete:
			job.Status.Succeeded, job.Status.CompletionTime = 1, &now
		case batchv1.JobFailed:
			job.Status.Failed = 1
		default: // The conditions before the last one change no counts.
		}
		written, err := c.client.BatchV1().Jobs(c.namespace).UpdateStatus(ctx, job, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		job = written
	}
	return nil
}

// release removes the finalizer of a pod that was counted.
func (c *jobController) release(ctx context.Context, pod *corev1.Pod) error {
	_, err := c.client.CoreV1().Pods(c.namespace).Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return err
}

// collect deletes the pods of a Job that is gone.
func (c *jobController) collect(ctx context.Context, pods []corev1.Pod) error {
	for i := range pods {
		pod := &pods[i]
		if len(pod.Finalizers) > 0 {
			if err := c.release(ctx, pod); err != nil {
				return err
			}
		}
		if pod.DeletionTimestamp == nil {
			if err := c.client.CoreV1().Pods(c.namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
				return err
			}
		}
	}
	return nil
}
