package deployer_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

func TestAnAppIsADeploymentAndAService(t *testing.T) {
	f := newFixture(t)
	f.pod.Endpoint, f.pod.Copilot.Image = "flyte.example.com:443", "flyte-binary:1"
	f.fleet.want(hello("uid-1", revision(1, 2)), false)
	f.start()
	f.awaitDeployments("1×2")
	made := f.deployment(1)
	require.Regexp(t, `^app-hello-[0-9a-f]{8}-1$`, made.Name)
	require.Equal(t, f.Namespace, made.Labels["flyte.org/installation"])
	pod := made.Spec.Template.Spec
	require.Equal(t, corev1.RestartPolicyAlways, pod.RestartPolicy)
	require.False(t, *pod.EnableServiceLinks)
	container := pod.Containers[0]
	require.Equal(t, "app", container.Name)
	require.Equal(t, []string{"--raw", "/store/p/d/_apps/uid-1/data"}, container.Args)
	env := map[string]string{}
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	require.Equal(t, "https://flyte.example.com:443/apps/p/d/{app_fqdn}", env["INTERNAL_APP_ENDPOINT_PATTERN"])
	require.Equal(t, []string{"flyte.example.com:443", "local", "p", "d", "8080", "1"}, []string{
		env["_U_EP_OVERRIDE"], env["_U_ORG_NAME"], env["FLYTE_INTERNAL_EXECUTION_PROJECT"], env["FLYTE_INTERNAL_EXECUTION_DOMAIN"],
		env["PORT"], env["REVISION"],
	})
	forwarder := pod.InitContainers[0]
	require.Contains(t, forwarder.Args, "--to=127.0.0.1:8080")
	require.Equal(t, corev1.ContainerRestartPolicyAlways, *forwarder.RestartPolicy)

	var services corev1.ServiceList
	require.Eventually(t, func() bool {
		require.NoError(t, f.Client.List(t.Context(), &services, client.InNamespace(f.Namespace)))
		return len(services.Items) == 1
	}, waitLimit, look)
	require.Equal(t, map[string]string{"flyte.org/app-uid": "uid-1", "flyte.org/app-revision": "1"}, services.Items[0].Spec.Selector)
	require.Equal(t, 8012, services.Items[0].Spec.Ports[0].TargetPort.IntValue())
}

func TestRevisionsComeAndGo(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-2", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	f.fleet.want(hello("uid-2", revision(1, 1), revision(2, 1)), true)
	f.awaitDeployments("1×1 2×1")
	f.fleet.want(hello("uid-2", revision(2, 3)), true)
	f.awaitDeployments("2×3")
	f.fleet.want(hello("uid-2", revision(2, 0)), true)
	f.awaitDeployments("2×0")
	f.fleet.want(hello("uid-2", revision(2, 1)), true)
	f.awaitDeployments("2×1")
	f.fleet.drop("uid-2", true)
	f.awaitDeployments("")
	require.Eventually(t, func() bool {
		var services corev1.ServiceList
		require.NoError(t, f.Client.List(t.Context(), &services, client.InNamespace(f.Namespace)))
		return len(services.Items) == 0
	}, waitLimit, look)
}

// What changed while no deployer ran is made up for, and what is right already costs no write.
func TestARestartedDeployerCatchesUp(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-3", revision(1, 1)), false)
	stop := f.start()
	f.awaitDeployments("1×1")
	stop()
	f.fleet.want(hello("uid-3b", revision(1, 2)), false)
	f.fleet.drop("uid-3", false)
	stop = f.start()
	f.awaitDeployments("1×2")
	f.awaitReport("uid-3b", 1, "is reported", func(r *enginev1.ObservedRevision) bool { return r.GetWanted() == 2 })
	stop()
	before := f.counter.Writes("deployments") + f.counter.Writes("services")
	f.fleet.seen = map[string]*enginev1.ObservedApp{}
	f.start()
	f.awaitReport("uid-3b", 1, "is reported again", func(r *enginev1.ObservedRevision) bool { return r.GetWanted() == 2 })
	require.Equal(t, before, f.counter.Writes("deployments")+f.counter.Writes("services"))
}

func TestANewConfigurationReachesRunningApps(t *testing.T) {
	f := newFixture(t)
	f.pod.Endpoint = "old:1"
	f.fleet.want(hello("uid-4", revision(1, 1)), false)
	stop := f.start()
	f.awaitDeployments("1×1")
	stop()
	f.pod.Endpoint = "new:1"
	f.start()
	require.Eventually(t, func() bool {
		return strings.Contains(f.deployment(1).Spec.Template.Spec.Containers[0].String(), "new:1")
	}, waitLimit, look)
}

func TestWhatSomebodyChangesComesBack(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-5", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	first := f.deployment(1)
	require.NoError(t, f.Client.Delete(t.Context(), first))
	require.Eventually(t, func() bool {
		found := f.list()
		return len(found) == 1 && found[0].UID != first.UID
	}, waitLimit, look)
	scaled := f.deployment(1)
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))
	require.NoError(t, f.Client.Patch(t.Context(), scaled, patch))
	f.awaitDeployments("1×1")
}

func TestForeignObjectsAreLeftAlone(t *testing.T) {
	f := newFixture(t)
	foreign := func(name string, labels map[string]string) *appsv1.Deployment {
		pod := map[string]string{"x": name}
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name, Labels: labels}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		}}
	}
	require.NoError(t, f.Client.Create(t.Context(), foreign("plain", nil)))
	require.NoError(t, f.Client.Create(t.Context(), foreign("theirs", map[string]string{
		"flyte.org/managed": "true", "flyte.org/installation": "another", "flyte.org/app-uid": "unknown", "flyte.org/app-revision": "1",
	})))
	require.NoError(t, f.Client.Create(t.Context(), foreign("app-hello-"+nameHash("uid-6")+"-1", nil)))
	f.fleet.want(hello("uid-6", revision(1, 1)), false)
	f.start()
	seen := f.awaitReport("uid-6", 1, "the name is taken", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	require.Contains(t, seen.GetProblem().GetMessage(), "is not managed by flyte-binary")
	f.fleet.drop("uid-6", true)
	require.Eventually(t, func() bool {
		f.fleet.mu.Lock()
		defer f.fleet.mu.Unlock()
		return len(f.fleet.seen["uid-6"].GetRevisions()) == 0
	}, waitLimit, look)
	require.Len(t, f.list(), 3)
}

func TestOutagesOfTheAppsServiceStopNothing(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-7", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	f.fleet.breakStreams(true)
	require.NoError(t, f.Client.Delete(t.Context(), f.deployment(1)))
	f.awaitDeployments("1×1")
	f.replica(1, "replica-7")
	f.fleet.want(hello("uid-7", revision(1, 1), revision(2, 1)), false)
	f.fleet.breakStreams(false)
	f.awaitDeployments("1×1 2×1")
	one := func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 1 }
	f.awaitReport("uid-7", 1, "the replica is reported", one)

	// The apps service starts again and discards the report, and nothing changes in the cluster.
	f.fleet.mu.Lock()
	clear(f.fleet.seen)
	f.fleet.mu.Unlock()
	f.fleet.breakStreams(false)
	f.awaitReport("uid-7", 1, "the replica is reported again", one)
}

func TestReplicasAreReported(t *testing.T) {
	f := newFixture(t)
	f.fleet.want(hello("uid-8", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	pod := f.replica(1, "replica-8")
	seen := f.awaitReport("uid-8", 1, "is ready", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetReady()
	})
	require.Equal(t, "10.1.2.3:8080", seen.GetReplicas()[0].GetAddress())
	require.Nil(t, seen.GetProblem())

	f.status(pod, func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{
			Name: "app", RestartCount: 3, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: "no module named x"}},
		}
	})
	seen = f.awaitReport("uid-8", 1, "crashes", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	require.Equal(t, app.Status_CRASH_LOOP, seen.GetProblem().GetSubstate())
	require.True(t, seen.GetProblem().GetPermanent())
	require.Contains(t, seen.GetProblem().GetMessage(), "the app's process ended with an error")
	require.Contains(t, seen.GetProblem().GetMessage(), "no module named x")
	require.Empty(t, seen.GetReplicas()[0].GetAddress())
	require.EqualValues(t, 3, seen.GetReplicas()[0].GetRestarts())
}

// TestNoReportHasAValueThatAReplicaWasGiven: a container runtime says which command it did not find after it expanded it.
func TestNoReportHasAValueThatAReplicaWasGiven(t *testing.T) {
	f := newFixture(t)
	f.secrets["key"] = "hunter2"
	f.fleet.want(hello("uid-14", revision(1, 1, func(spec *app.Spec) {
		spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{{Key: "key", MountRequirement: core.Secret_ENV_VAR}}}
	})), false)
	f.start()
	f.awaitDeployments("1×1")
	f.replica(1, "replica-14", func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0] = corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError", Message: `exec: "hunter2": executable file not found`},
		}}
	})
	seen := f.awaitReport("uid-14", 1, "does not start", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	require.Contains(t, seen.GetProblem().GetMessage(), `exec: "[secret key]": executable file not found`)
	require.NotContains(t, seen.String(), "hunter2")
}

func TestWhatCannotRunIsExplained(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*app.Spec)
		words    string
		substate app.Status_Substate
	}{
		"a missing secret": {func(spec *app.Spec) {
			spec.SecurityContext = &app.SecurityContext{Secrets: []*core.Secret{{Key: "nope", MountRequirement: core.Secret_ENV_VAR}}}
		}, "the app asks for a secret that does not exist: nope", app.Status_SECRET_MOUNT_ERROR},
		"no image":   {func(spec *app.Spec) { spec.GetContainer().Image = "" }, "the container has no image", 0},
		"a bad port": {func(spec *app.Spec) { spec.GetContainer().Ports[0].Name = "not a name" }, "the cluster refused the pod as invalid", 0},
		"no app inside": {func(spec *app.Spec) {
			spec.AppPayload = &app.Spec_Pod{Pod: &core.K8SPod{PrimaryContainerName: "other"}}
		}, `"app"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.fleet.want(hello("uid-10", revision(1, 1, tc.change)), false)
			f.start()
			seen := f.awaitReport("uid-10", 1, "is explained", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
			require.Contains(t, seen.GetProblem().GetMessage(), tc.words)
			require.Equal(t, tc.substate, seen.GetProblem().GetSubstate())
			require.True(t, seen.GetProblem().GetPermanent())
		})
	}
}

// On a laptop the pods of all revisions have one port.
func TestOnASharedNetworkOneRevisionWaitsForTheOther(t *testing.T) {
	f := newFixture(t)
	f.config.SharedNetwork = true
	f.fleet.want(hello("uid-11", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	require.Equal(t, appsv1.RecreateDeploymentStrategyType, f.deployment(1).Spec.Strategy.Type)
	pod := f.replica(1, "replica-11")
	f.fleet.want(hello("uid-11", revision(2, 1)), true)
	f.awaitDeployments("")
	now := int64(0)
	require.NoError(t, f.Clientset.CoreV1().Pods(f.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}))
	f.awaitDeployments("2×1")
	var services corev1.ServiceList
	require.NoError(t, f.Client.List(t.Context(), &services, client.InNamespace(f.Namespace)))
	require.Empty(t, services.Items)
}

func TestARevisionMayTakeAnotherPort(t *testing.T) {
	f := newFixture(t)
	f.config.SharedNetwork = true
	one := revision(1, 1)
	one.TakesPort = true
	f.fleet.want(hello("uid-12", one), false)
	f.start()
	f.awaitDeployments("1×1")
	require.Equal(t, "app", f.deployment(1).Spec.Template.Annotations["node.flyte.org/takes-port"])
	pod := f.replica(1, "replica-12")
	seen := f.awaitReport("uid-12", 1, "has a replica", func(r *enginev1.ObservedRevision) bool { return len(r.GetReplicas()) == 1 })
	require.Empty(t, seen.GetReplicas()[0].GetAddress(), "the node has not said which port")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"node.flyte.org/port":"31234"}}}`))
	require.NoError(t, f.Client.Patch(t.Context(), pod, patch))
	f.awaitReport("uid-12", 1, "has an address", func(r *enginev1.ObservedRevision) bool {
		return r.GetReplicas()[0].GetAddress() == "10.1.2.3:31234"
	})
}

// TestANodeThatGivesPorts: revisions run side by side, and the address of a replica has the port that the node gave it.
func TestANodeThatGivesPorts(t *testing.T) {
	f := newFixture(t)
	f.config.SharedNetwork, f.config.GivesPorts = true, true
	f.fleet.want(hello("uid-13", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	made := f.deployment(1)
	require.Equal(t, appsv1.RollingUpdateDeploymentStrategyType, made.Spec.Strategy.Type)
	require.NotContains(t, made.Spec.Template.Annotations, "node.flyte.org/takes-port")
	declared := made.Spec.Template.Annotations["flyte.org/app-port"]
	require.Equal(t, declared, strconv.Itoa(int(made.Spec.Template.Spec.Containers[0].Ports[0].ContainerPort)), "the node knows the port by its container")
	pod := f.replica(1, "replica-13")
	f.awaitReport("uid-13", 1, "has the declared port", func(r *enginev1.ObservedRevision) bool {
		return len(r.GetReplicas()) == 1 && r.GetReplicas()[0].GetAddress() == "10.1.2.3:"+declared
	})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"node.flyte.org/port":"31235"}}}`))
	require.NoError(t, f.Client.Patch(t.Context(), pod, patch))
	f.awaitReport("uid-13", 1, "has the given port", func(r *enginev1.ObservedRevision) bool { return r.GetReplicas()[0].GetAddress() == "10.1.2.3:31235" })
	f.fleet.want(hello("uid-13", revision(1, 1), revision(2, 1)), true)
	f.awaitDeployments("1×1 2×1")
}

func TestAnIngressLeadsToTheService(t *testing.T) {
	f := newFixture(t)
	f.config.Route = deployer.Route{Kind: deployer.RouteIngress, Domain: "apps.example.com", IngressClass: "nginx", TLSSecret: "wildcard"}
	f.fleet.want(hello("uid-13", revision(1, 1)), false)
	f.start()
	var found networkingv1.IngressList
	list := func() int {
		require.NoError(t, f.Client.List(context.Background(), &found, client.InNamespace(f.Namespace)))
		return len(found.Items)
	}
	require.Eventually(t, func() bool { return list() == 1 }, waitLimit, look)
	made := found.Items[0]
	require.Equal(t, "hello-683d0b87.apps.example.com", made.Spec.Rules[0].Host)
	f.fleet.want(hello("uid-13", revision(2, 1, func(spec *app.Spec) { spec.Ingress = &app.IngressConfig{Subdomain: "nice"} })), true)
	require.Eventually(t, func() bool { list(); return found.Items[0].Spec.Rules[0].Host == "nice.apps.example.com" }, waitLimit, look)
	f.fleet.drop("uid-13", true)
	require.Eventually(t, func() bool { return list() == 0 }, waitLimit, look)
}

func TestAClusterWithoutTheGatewayAPISaysSo(t *testing.T) {
	f := newFixture(t)
	f.config.Route = deployer.Route{Kind: deployer.RouteGateway, Domain: "apps.example.com", Gateway: "infra/main"}
	f.fleet.want(hello("uid-14", revision(1, 1)), false)
	f.start()
	f.awaitDeployments("1×1")
	seen := f.awaitReport("uid-14", 1, "is explained", func(r *enginev1.ObservedRevision) bool { return r.GetProblem() != nil })
	require.Contains(t, seen.GetProblem().GetMessage(), "must install the Gateway API")
	require.False(t, seen.GetProblem().GetPermanent())
}

func TestLifecycle(t *testing.T) {
	f := newFixture(t)
	lifecycletest.Stress(t, func() lifecycle.Part { return f.make() })
}
