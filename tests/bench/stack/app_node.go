package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// Labels and annotations of the pods of apps.
const (
	labelAppUID       = v1.Group + "/app-uid"
	annotationAppPort = v1.Group + "/app-port"
)

// AppNode plays the controllers of Deployments and the kubelet for apps of one replica. It runs the command of a pod as a
// process; a pod without a command is ready at once and runs nothing.
type AppNode struct {
	client  kubernetes.Interface
	dir     string
	ctx     context.Context //nolint:containedctx // for the informer's handlers, which get none
	Stop    func()
	working sync.WaitGroup

	mu       sync.Mutex
	wanted   map[string]*appsv1.Deployment // GUARDED_BY(mu): by namespace and name
	pods     map[string]*appPod            // GUARDED_BY(mu): what runs, by the same
	busy     map[string]bool               // GUARDED_BY(mu): a goroutine brings the two together
	made     int                           // GUARDED_BY(mu): how many pods were made
	failures []error                       // GUARDED_BY(mu)
}

// appPod is one replica.
type appPod struct {
	*corev1.Pod
	Process *supervise.Process // nil without a command
}

// StartAppNode starts watching Deployments. Its work continues after the context ends, until Stop.
func StartAppNode(ctx context.Context, client kubernetes.Interface, dir string) (*AppNode, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	n := &AppNode{
		client: client, dir: dir, ctx: running,
		wanted: map[string]*appsv1.Deployment{}, pods: map[string]*appPod{}, busy: map[string]bool{},
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Apps().V1().Deployments().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { n.want(object, false) },
		UpdateFunc: func(_, object any) { n.want(object, false) },
		DeleteFunc: func(object any) { n.want(object, true) },
	})
	if err != nil {
		cancel()
		return nil, err
	}
	factory.Start(running.Done())
	n.Stop = func() {
		cancel()
		factory.Shutdown()
		n.working.Wait()
		for _, pod := range n.pods {
			StopProcess(pod.Process)
		}
	}
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		n.Stop()
		return nil, fmt.Errorf("the node cannot list Deployments: %w", ctx.Err())
	}
	return n, nil
}

// want notes what a Deployment asks for. One goroutine for each Deployment brings it about: what is asked for meanwhile
// is noted, and settled in the same goroutine.
func (n *AppNode) want(object any, gone bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	deployment, ok := object.(*appsv1.Deployment)
	if !ok || deployment.Labels[labelAppUID] == "" {
		return
	}
	key := deployment.Namespace + "/" + deployment.Name
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wanted[key] = deployment
	if gone {
		n.wanted[key] = nil
	}
	if !n.busy[key] {
		n.busy[key] = true
		n.working.Go(func() { n.settle(key) })
	}
}

// settle starts and ends the pod of a Deployment until there is what was asked for last.
func (n *AppNode) settle(key string) {
	for {
		n.mu.Lock()
		deployment, pod := n.wanted[key], n.pods[key]
		wanted := deployment != nil && deployment.Spec.Replicas != nil && *deployment.Spec.Replicas > 0
		if wanted == (pod != nil) || n.ctx.Err() != nil {
			delete(n.busy, key)
			n.mu.Unlock()
			return
		}
		n.made++
		number := n.made
		n.mu.Unlock()
		var err error
		if wanted {
			pod, err = n.start(deployment, fmt.Sprintf("%s-%d", deployment.Name, number))
		} else {
			err = n.end(pod)
			pod = nil
		}
		n.mu.Lock()
		n.pods[key] = pod
		if pod == nil {
			delete(n.pods, key)
		}
		if err != nil {
			n.failures = append(n.failures, fmt.Errorf("pod of %s: %w", key, err))
			delete(n.busy, key)
			n.mu.Unlock()
			return
		}
		n.mu.Unlock()
	}
}

// start creates a pod, runs its command and reports it as ready once it accepts connections.
func (n *AppNode) start(deployment *appsv1.Deployment, name string) (*appPod, error) {
	template := deployment.Spec.Template.DeepCopy()
	template.Spec.NodeName = "bench"
	made, err := n.client.CoreV1().Pods(deployment.Namespace).Create(n.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	pod := &appPod{Pod: made}
	if command := made.Spec.Containers[0].Command; len(command) > 0 {
		var env []string
		for _, variable := range made.Spec.Containers[0].Env {
			env = append(env, variable.Name+"="+variable.Value)
		}
		if pod.Process, err = Spawn(n.dir, name, command[0], env, command[1:]...); err != nil {
			return pod, err
		}
		if err := n.write(pod, false); err != nil {
			return pod, err
		}
		if err := AwaitReady(n.ctx, pod.Process, Accepts(net.JoinHostPort("127.0.0.1", made.Annotations[annotationAppPort]))); err != nil {
			return pod, err
		}
	}
	return pod, n.write(pod, true)
}

// Accepts returns a check that an address accepts connections.
func Accepts(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
		}
		return err
	}
}

// write reports a pod as running, ready or not.
func (n *AppNode) write(pod *appPod, ready bool) error {
	now := metav1.Now()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	object := pod.DeepCopy()
	object.ResourceVersion = "" // whatever it is by now
	object.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &now, PodIP: "127.0.0.1", PodIPs: []corev1.PodIP{{IP: "127.0.0.1"}},
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now},
			{Type: corev1.PodReady, Status: status, LastTransitionTime: now},
		},
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: object.Spec.Containers[0].Name, Image: object.Spec.Containers[0].Image, Ready: ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	_, err := n.client.CoreV1().Pods(object.Namespace).UpdateStatus(n.ctx, object, metav1.UpdateOptions{})
	return err
}

// end stops the process of a pod, then deletes the pod without a grace: no kubelet would end it.
func (n *AppNode) end(pod *appPod) error {
	StopProcess(pod.Process)
	at := int64(0)
	return n.client.CoreV1().Pods(pod.Namespace).Delete(n.ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &at})
}

// Running returns the replica of an app; nil if there is none.
func (n *AppNode) Running(name string) *appPod {
	n.mu.Lock()
	defer n.mu.Unlock()
	for key, pod := range n.pods {
		if _, object, _ := strings.Cut(key, "/"); strings.HasPrefix(object, "app-"+name+"-") {
			return pod
		}
	}
	return nil
}

// Empty waits until no pod is left.
func (n *AppNode) Empty(ctx context.Context) error {
	for {
		n.mu.Lock()
		left, failure := len(n.pods)+len(n.busy), errors.Join(n.failures...)
		n.mu.Unlock()
		if left == 0 || failure != nil {
			return failure
		}
		if err := Pause(ctx, 10*time.Millisecond); err != nil {
			return fmt.Errorf("%d replicas of apps are left over: %w", left, err)
		}
	}
}
