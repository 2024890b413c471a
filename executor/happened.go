package executor

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/happenings"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// followEvents follows the Events of the cluster until ctx ends.
func (s *Service) followEvents(ctx context.Context) {
	var watchers sync.WaitGroup
	defer watchers.Wait()
	for _, namespace := range s.config.namespaces() {
		watcher := happenings.Watcher{
			Events: s.clientset.CoreV1().Events(namespace), Observe: s.happened, Clock: s.deps.Clock, Logger: s.deps.Logger,
		}
		watchers.Go(func() { watcher.Run(ctx) })
	}
}

// generated matches what the API server appends to the name of an object that an operator creates for that of an attempt, such as a
// RayCluster.
var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// happened passes what the cluster says about an object on to the reconciler of its attempt. Most Events concern other objects.
func (s *Service) happened(ctx context.Context, about corev1.ObjectReference, h happenings.Happening) {
	var key types.NamespacedName
	var attempt int32
	var found bool
	if about.Kind == "Pod" {
		pod := s.cachedPod(ctx, about)
		if pod == nil {
			return
		}
		if key, attempt, found = taskActionOf(pod); found {
			h.Message = podsecret.CleanText(ctx, s.secret, pod, h.Message)
		}
	} else {
		key, attempt, found = splitName(about.Namespace, generated.ReplaceAllString(about.Name, ""))
	}
	if !found {
		return
	}
	for _, one := range s.current.all() {
		if one.Happened(key, attempt, h) {
			return
		}
	}
}

// cachedPod is the pod of an Event, if it is one of this installation; nil otherwise.
func (s *Service) cachedPod(ctx context.Context, about corev1.ObjectReference) *corev1.Pod {
	for _, cache := range s.caches.all() {
		pod := &corev1.Pod{}
		err := cache.Get(ctx, client.ObjectKey{Namespace: about.Namespace, Name: about.Name}, pod)
		if err == nil && (about.UID == "" || about.UID == pod.UID) {
			return pod
		}
	}
	return nil
}

func (s *Service) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return s.clientset.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
}

// taskActionOf is the TaskAction whose attempt a pod runs, or of whose members it is one.
func taskActionOf(pod *corev1.Pod) (key types.NamespacedName, attempt int32, found bool) {
	of, ours := attemptOf(pod)
	if !ours {
		return key, 0, false
	}
	name := pod.Labels[podspec.LabelTaskAction]
	if owner := metav1.GetControllerOfNoCopy(pod); name == "" && owner != nil {
		switch owner.Kind {
		case v1.Kind:
			name = owner.Name
		default: // a Job of the attempt, which has its name
			split, _, known := splitName(pod.Namespace, owner.Name)
			if !known {
				return key, 0, false
			}
			name = split.Name
		}
	}
	return types.NamespacedName{Namespace: pod.Namespace, Name: name}, int32(of.Number), name != "" //nolint:gosec // 31 bits
}

// splitName reads the name of an attempt's object, which v1.PodName made.
func splitName(namespace, name string) (key types.NamespacedName, attempt int32, found bool) {
	at := strings.LastIndexByte(name, '-')
	if at <= 0 {
		return key, 0, false
	}
	number, err := strconv.ParseInt(name[at+1:], 10, 32)
	if err != nil || number < 0 || number >= 1<<31-1 {
		return key, 0, false
	}
	return types.NamespacedName{Namespace: namespace, Name: name[:at]}, int32(number) + 1, true
}
