package operators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// labelObject has the uid of the object for which a pod was created.
const labelObject = "storm.flyte.org/object"

// recent is the resource version of lists that the API server has in memory: what a look misses, the next one finds.
const recent = "0"

// poll is the pause between two looks at all objects.
const poll = 400 * time.Millisecond

// Operators acts for the objects of every kind until it is closed.
type Operators struct {
	pods    kubernetes.Interface
	objects dynamic.Interface
	kinds   []kind
	away    atomic.Bool
	settled atomic.Int64
	stop    context.CancelFunc
	done    chan struct{}

	// made are the pods that each object was given, by name; only the loop uses it. A pod that is missing was deleted.
	made map[types.UID]map[string]bool
}

// Start defines the kinds in the cluster and begins to act. The program is what runs in pods that only belong to a
// cluster.
func Start(ctx context.Context, pods kubernetes.Interface, objects dynamic.Interface, program string) (*Operators, error) {
	o := &Operators{pods: pods, objects: objects, kinds: kinds(program), done: make(chan struct{}), made: map[types.UID]map[string]bool{}}
	for _, one := range o.kinds {
		if err := one.define(ctx, objects); err != nil {
			return nil, fmt.Errorf("define %s: %w", one.name, err)
		}
	}
	running, stop := context.WithCancel(context.Background())
	o.stop = stop
	go o.run(running)
	return o, nil
}

// Close ends the work and leaves objects and pods as they are.
func (o *Operators) Close() {
	o.stop()
	<-o.done
}

// Leave stops the work until Leave(false).
func (o *Operators) Leave(away bool) { o.away.Store(away) }

// Settled returns how many objects have come to an end since the last call.
func (o *Operators) Settled() int { return int(o.settled.Swap(0)) }

func (o *Operators) run(ctx context.Context) {
	defer close(o.done)
	for clock.Sleep(ctx, clock.System{}, poll) == nil {
		if !o.away.Load() {
			_ = o.all(ctx) // The API server is down; the next look finds the same.
		}
	}
}

func (o *Operators) all(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	found := make([]*unstructured.UnstructuredList, len(o.kinds))
	n := 0
	for i, one := range o.kinds {
		var err error
		if found[i], err = o.objects.Resource(one.resource).List(ctx, metav1.ListOptions{ResourceVersion: recent}); err != nil {
			return err
		}
		n += len(found[i].Items)
	}
	if n == 0 {
		return nil
	}
	byObject, err := o.podsByObject(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i, one := range o.kinds {
		for j := range found[i].Items {
			object := &found[i].Items[j]
			errs = append(errs, o.act(ctx, one, object, byObject[string(object.GetUID())]))
		}
	}
	return errors.Join(errs...)
}

// podsByObject lists all pods of objects as they are now: one that is missing counts as deleted.
func (o *Operators) podsByObject(ctx context.Context) (map[string]map[string]*corev1.Pod, error) {
	pods, err := o.pods.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: labelObject})
	if err != nil {
		return nil, err
	}
	byObject := map[string]map[string]*corev1.Pod{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := pod.Labels[labelObject]
		if byObject[owner] == nil {
			byObject[owner] = map[string]*corev1.Pod{}
		}
		byObject[owner][pod.Name] = pod
	}
	return byObject, nil
}

// act creates the pods that an object lacks, or settles it.
func (o *Operators) act(ctx context.Context, k kind, object *unstructured.Unstructured, pods map[string]*corev1.Pod) error {
	if object.GetDeletionTimestamp() != nil || k.settled(object) {
		return nil
	}
	made := o.made[object.GetUID()]
	if made == nil {
		made = map[string]bool{}
		o.made[object.GetUID()] = made
	}
	members := k.members(object)
	if status := k.judge(members, pods, made); status != nil {
		return o.settle(ctx, k, object, status)
	}
	for _, one := range members {
		if pods[one.name] != nil || (one.last && !allRun(members, pods)) {
			continue
		}
		pod, err := one.pod(object)
		if err != nil {
			return err
		}
		_, err = o.pods.CoreV1().Pods(object.GetNamespace()).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		made[one.name] = true
	}
	return nil
}

func (o *Operators) settle(ctx context.Context, k kind, object *unstructured.Unstructured, status map[string]any) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.GetUID()}, "status": status})
	if err != nil {
		return err
	}
	_, err = o.objects.Resource(k.resource).Namespace(object.GetNamespace()).
		Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // the object was deleted, or replaced
		return nil
	}
	if err == nil {
		o.settled.Add(1)
	}
	return err
}

// member is a pod that an object should have.
type member struct {
	name     string
	template map[string]any
	labels   map[string]string
	command  []string // in place of that of the template
	env      []corev1.EnvVar
	lead     bool // the object succeeds when all of these have
	vital    bool // the object fails when it is deleted; others are replaced
	last     bool // created when all others run
}

func (m member) pod(object *unstructured.Unstructured) (*corev1.Pod, error) {
	template := &corev1.PodTemplateSpec{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.template, template); err != nil {
		return nil, fmt.Errorf("read the template of %s: %w", m.name, err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: object.GetNamespace(), Name: m.name, Labels: template.Labels, Annotations: template.Annotations,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(object, object.GroupVersionKind())},
	}, Spec: template.Spec}
	if len(pod.Spec.Containers) == 0 {
		return nil, fmt.Errorf("the template of %s has no container", m.name)
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[labelObject] = string(object.GetUID())
	for name, value := range m.labels {
		pod.Labels[name] = value
	}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	own := &pod.Spec.Containers[0]
	if m.command != nil {
		own.Command, own.Args = m.command, nil
	}
	own.Env = append(own.Env, m.env...)
	return pod, nil
}

// allRun reports whether every member but those that are created last runs.
func allRun(members []member, pods map[string]*corev1.Pod) bool {
	for _, one := range members {
		if !one.last && (pods[one.name] == nil || pods[one.name].Status.Phase != corev1.PodRunning) {
			return false
		}
	}
	return true
}
