// Package churn writes to an API server what tasks write, so that benchmarks need not run them.
package churn

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// Churn writes to an API server what tasks write: a TaskAction and a pod each, their changes, and their ends. No process
// runs, so that the history of many thousand tasks takes minutes instead of hours.
type Churn struct {
	kube      *kubernetes.Clientset
	objects   dynamic.Interface
	namespace string
}

// New makes a namespace for the objects.
func New(ctx context.Context, config *rest.Config) (*Churn, error) {
	config = rest.CopyConfig(config)
	// The client's own limit of requests would be what is measured.
	config.QPS = -1
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	made, err := kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "churn-"}}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return &Churn{kube: kube, objects: objects, namespace: made.Name}, nil
}

// Task writes the life of one task: seven writes, of objects as large as those of the SDK's tasks.
func (c *Churn) Task(ctx context.Context, i int) error {
	name := fmt.Sprint("task-", i)
	actions := c.objects.Resource(v1.Resource).Namespace(c.namespace)
	_, err := actions.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": v1.Kind, "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"uid": int64(i + 1), "attempt": int64(1), "project": stack.Project, "domain": stack.Domain, "run": name, "action": "a0", "taskType": "python",
			"taskTemplate": strings.Repeat("QUFB", 800), "runOutputBase": "/data/" + name + "/",
		},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.namespace}, Spec: corev1.PodSpec{
		NodeName: "of-nobody", RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{{Name: "main", Image: "registry.example/image:1", Args: []string{"a0", "--inputs", "/data/" + name}}},
	}}
	for n := range 24 {
		pod.Spec.Containers[0].Env = append(pod.Spec.Containers[0].Env, corev1.EnvVar{Name: fmt.Sprint("FLYTE_VARIABLE_", n), Value: strings.Repeat("x", 60)})
	}
	pods := c.kube.CoreV1().Pods(c.namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, phase := range []string{"Pending", "Running", "Succeeded"} {
		patch := fmt.Appendf(nil, `{"status":{"phase":%q,"podIP":"127.0.0.1","message":%q}}`, phase, strings.Repeat("m", 500))
		if _, err := pods.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	now := int64(0)
	return errors.Join(pods.Delete(ctx, name, metav1.DeleteOptions{GracePeriodSeconds: &now}), actions.Delete(ctx, name, metav1.DeleteOptions{}))
}
