package charts_test

import (
	"context"
	"net/http"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// app deploys an app with a secret, changes what it has in the cluster, lets it sleep and wake, starts another server, and deletes it.
func (f *flows) app() {
	ctx := f.t.Context()
	id := &app.Identifier{Project: projectID, Domain: domainID, Name: "web"}
	_, err := f.apps.Create(ctx, &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: id},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{
				Image: appImage, Args: []string{"python", "-m", "http.server", "8080"}, Ports: []*core.ContainerPort{{ContainerPort: 8080, Name: "http"}},
			}},
			SecurityContext: &app.SecurityContext{Secrets: []*core.Secret{{Key: "key", MountRequirement: core.Secret_ENV_VAR, EnvVar: "KEY"}}},
			Ingress:         &app.IngressConfig{}, DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
			Autoscaling: &app.AutoscalingConfig{Replicas: &app.Replicas{Max: 1}},
		},
	}})
	require.NoError(f.t, err)
	ingresses := f.cluster.Clientset.NetworkingV1().Ingresses(f.tasksIn)
	var name string // of Service and route
	f.eventually("no route", func() bool {
		found, err := ingresses.List(ctx, metav1.ListOptions{})
		require.NoError(f.t, err)
		for _, item := range found.Items {
			name = item.Name
		}
		return name != "" && f.deployment() != nil
	})
	made := f.deployment()
	f.endReplica(made, id)
	f.changeObjects(name, made.Name)
	f.sleepAndWake(made)

	// The next leader writes the route again.
	f.stop()
	f.connect()
	f.eventually("the route is not written", func() bool { return f.requests.has("tasks update ingresses.networking.k8s.io") })
	_, err = f.apps.Delete(ctx, &app.DeleteRequest{AppId: id})
	require.NoError(f.t, err)
	f.eventually("the app stays", func() bool {
		_, err := ingresses.Get(ctx, name, metav1.GetOptions{})
		return apierrors.IsNotFound(err) && f.deployment() == nil
	})
}

// deployment is that of the app; nil for none.
func (f *flows) deployment() *appsv1.Deployment {
	f.t.Helper()
	found, err := f.cluster.Clientset.AppsV1().Deployments(f.tasksIn).List(f.t.Context(), metav1.ListOptions{LabelSelector: v1.Group + "/app=web"})
	require.NoError(f.t, err)
	if len(found.Items) == 0 {
		return nil
	}
	return &found.Items[0]
}

// endReplica makes a replica, as the controllers of a cluster would, that ends by itself when the app is active.
func (f *flows) endReplica(made *appsv1.Deployment, id *app.Identifier) {
	template := made.Spec.Template
	pods := f.cluster.Clientset.CoreV1().Pods(f.tasksIn)
	_, err := pods.Create(f.t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "replica", Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}, metav1.CreateOptions{})
	require.NoError(f.t, err)
	f.eventually("the app is not active", func() bool {
		read, err := f.apps.Get(f.t.Context(), &app.GetRequest{Identifier: &app.GetRequest_AppId{AppId: id}})
		require.NoError(f.t, err)
		conditions := read.GetApp().GetStatus().GetConditions()
		return len(conditions) > 0 && conditions[len(conditions)-1].GetDeploymentStatus() == app.Status_DEPLOYMENT_STATUS_ACTIVE
	})
	close(f.appEnds)
	f.eventually("the ended replica stays", func() bool {
		_, err := pods.Get(f.t.Context(), "replica", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// changeObjects changes the Service, and takes away by which both objects are known, for a while.
func (f *flows) changeObjects(service, deployment string) {
	ctx := f.t.Context()
	services, deployments := f.cluster.Clientset.CoreV1().Services(f.tasksIn), f.cluster.Clientset.AppsV1().Deployments(f.tasksIn)
	_, err := services.Patch(ctx, service, types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/ports/0/port","value":81}]`), metav1.PatchOptions{})
	require.NoError(f.t, err)
	f.eventually("the port stays", func() bool {
		found, err := services.Get(ctx, service, metav1.GetOptions{})
		require.NoError(f.t, err)
		return found.Spec.Ports[0].Port != 81
	})
	mark := func(value string) {
		body := []byte(`{"metadata":{"labels":{"` + v1.LabelManaged + `":` + value + `}}}`)
		_, err = services.Patch(ctx, service, types.MergePatchType, body, metav1.PatchOptions{})
		require.NoError(f.t, err)
		_, err = deployments.Patch(ctx, deployment, types.MergePatchType, body, metav1.PatchOptions{})
		require.NoError(f.t, err)
	}
	mark("null")
	f.eventually("the server has not read the existing objects", func() bool {
		return f.requests.has("tasks get services") && f.requests.has("tasks get deployments.apps")
	})
	mark(`"` + v1.ManagedValue + `"`)
}

// sleepAndWake waits until the app sleeps for lack of requests, and wakes it with one. Meanwhile a Secret has taken the place
// of the app's.
func (f *flows) sleepAndWake(made *appsv1.Deployment) {
	ctx := f.t.Context()
	secrets := f.cluster.Clientset.CoreV1().Secrets(f.tasksIn)
	mine := metav1.ListOptions{LabelSelector: v1.Group + "/app-uid=" + made.Labels[v1.Group+"/app-uid"]}
	found, err := secrets.List(ctx, mine)
	require.NoError(f.t, err)
	require.Len(f.t, found.Items, 1)
	name := found.Items[0].Name
	f.eventually("the app does not sleep", func() bool {
		found, err := secrets.List(ctx, mine)
		require.NoError(f.t, err)
		return *f.deployment().Spec.Replicas == 0 && len(found.Items) == 0
	})
	stale := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelManaged: v1.ManagedValue}}}
	_, err = secrets.Create(ctx, stale, metav1.CreateOptions{})
	require.NoError(f.t, err)
	waking, cancel := context.WithCancel(ctx)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		request, err := http.NewRequestWithContext(waking, http.MethodGet, f.url+"/apps/"+projectID+"/"+domainID+"/web/", nil)
		if err != nil {
			return
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
		}
	}()
	f.eventually("the app does not wake", func() bool { return *f.deployment().Spec.Replicas == 1 })
	cancel()
	<-answered
	found, err = secrets.List(ctx, mine)
	require.NoError(f.t, err)
	require.Len(f.t, found.Items, 1)
}
