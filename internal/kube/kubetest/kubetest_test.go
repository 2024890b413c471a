package kubetest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

func TestClusterServesTaskActions(t *testing.T) {
	cluster := kubetest.New(t)
	made := &v1.TaskAction{
		ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "x"},
		Spec:       v1.TaskActionSpec{UID: 7, TaskTemplate: []byte{1, 2}, Attempt: 1},
	}
	require.NoError(t, cluster.Client.Create(context.Background(), made))
	read := &v1.TaskAction{}
	require.NoError(t, cluster.Client.Get(context.Background(), client.ObjectKeyFromObject(made), read))
	require.Equal(t, made.Spec, read.Spec)
	require.NoError(t, v1.EnsureCRD(context.Background(), cluster.Config), "installing again changes nothing")

	other := kubetest.New(t)
	require.NotEqual(t, cluster.Namespace, other.Namespace)
}

func TestNodeRunsAPodAndServesItsLog(t *testing.T) {
	cluster := kubetest.New(t)
	ctx := context.Background()
	node := kubetest.StartNode(t, cluster, kubetest.NodeOptions{
		Program: func(context.Context, *corev1.Pod) kubetest.Result {
			return kubetest.Result{ExitCode: 3, Message: "bye"}
		},
		Log: func(string, string) string { return "2026-01-02T03:04:05.000000006Z hello\n" },
	})
	pods := cluster.Clientset.CoreV1().Pods(cluster.Namespace)
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "i"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	var pod *corev1.Pod
	require.Eventually(t, func() bool {
		pod, err = pods.Get(ctx, "p", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodFailed
	}, 10*time.Second, 5*time.Millisecond)
	require.Equal(t, int32(3), pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
	require.Equal(t, node.Name, pod.Spec.NodeName)
	require.Equal(t, 1, node.Started())

	log, err := pods.GetLogs("p", &corev1.PodLogOptions{}).DoRaw(ctx)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(log))

	require.NoError(t, pods.Delete(ctx, "p", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		_, err = pods.Get(ctx, "p", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, 10*time.Second, 5*time.Millisecond)
}

func TestCounterCountsWritesByResource(t *testing.T) {
	cluster := kubetest.New(t)
	config, counter := kubetest.Counted(cluster.Config)
	writer, err := client.New(config, client.Options{Scheme: kubetest.Scheme(t)})
	require.NoError(t, err)
	made := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "x"}, Spec: v1.TaskActionSpec{TaskTemplate: []byte{1}, Attempt: 1}}
	require.NoError(t, writer.Create(context.Background(), made))
	base := made.DeepCopy()
	made.Status.Phase = "RUNNING"
	require.NoError(t, writer.Status().Patch(context.Background(), made, client.MergeFrom(base)))
	require.NoError(t, writer.Get(context.Background(), client.ObjectKeyFromObject(made), made))
	require.NoError(t, writer.Delete(context.Background(), made))
	require.Equal(t, 3, counter.Writes("taskactions"), counter.Snapshot())
	require.Equal(t, 1, counter.Snapshot()["PATCH taskactions/status"])
}
