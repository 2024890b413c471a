package podspec_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

func TestTemplatesAreReplacedInEveryElement(t *testing.T) {
	args := []string{
		"a0", "--inputs", "{{.input}}", "{{.InputPrefix}}", "--outputs-path", "{{ .OUTPUTPREFIX }}", "--raw-data-path={{.rawOutputDataPrefix}}",
		"{{.checkpointOutputPrefix}}", "{{.prevCheckpointPrefix}}", "{{$runName}}/{{.actionName}}", "{{.runStartTime}}", "{{.perRetryUniqueKey}}",
		"{{.namespace}}", "{{.unknown}}", "{{ not a template }}",
	}
	template := plugintest.ContainerTask(func(c *core.Container) { c.Args, c.Command = args, []string{"echo", "{{.runName}}"} })
	b := newBench(t)
	first := b.build(t, plugintest.AttemptOf(template))
	require.Equal(t, []string{
		"a0", "--inputs", "/base/p/d/r1/inputs/inputs.pb", "/base/p/d/r1/inputs", "--outputs-path", "/base/p/d/r1/a0/1",
		"--raw-data-path=/base/p/d/r1/a0/1", "/base/p/d/r1/a0/1/_flytecheckpoints", "", "r1/a0", "2026-01-02T03:04:05.000060+00:00",
		"r1_a0_0123abcd_0", "ns", "{{.unknown}}", "{{ not a template }}",
	}, first.Spec.Containers[0].Args)
	require.Equal(t, []string{"echo", "r1"}, first.Spec.Containers[0].Command)

	again := b.build(t, plugintest.Second(plugintest.AttemptOf(template)))
	require.Equal(t, "/base/p/d/r1/a0/1/_flytecheckpoints", again.Spec.Containers[0].Args[8])
	require.Equal(t, first.Spec.Containers[0].Args[10], again.Spec.Containers[0].Args[10], "the run starts once")
}

func TestInputsAndRawDataWhereverTheyLie(t *testing.T) {
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Args = []string{"{{.input}}", "{{.inputPrefix}}", "{{.rawOutputDataPrefix}}"}
	})
	made := newBench(t).build(t, plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) {
		s.InputURI, s.RawDataPrefix = "/base/p/d/r1/a0/inputs.pb", "s3://raw/"
	}))
	require.Equal(t, []string{"/base/p/d/r1/a0/inputs.pb", "/base/p/d/r1/a0", "s3://raw/p/d/r1/a0/1"}, made.Spec.Containers[0].Args)
}

func TestTheSDKKeepsItsBrakes(t *testing.T) {
	made := newBench(t, func(c *podspec.Config) { c.LaunchRate, c.ChildrenInFlight = 0, 0 }).build(t, plugintest.AttemptOf(plugintest.ContainerTask()))
	for _, variable := range made.Spec.Containers[0].Env {
		require.NotContains(t, []string{"_F_MAX_QPS", "_F_P_CNC"}, variable.Name)
	}
}

func TestEnvironment(t *testing.T) {
	b := newBench(t, func(c *podspec.Config) {
		c.Endpoint, c.Insecure = "127.0.0.1:8090", true
		c.DefaultEnv = []string{"FSSPEC_FILE={\"auto_mkdir\": true}", "LEVEL=default"}
		c.LaunchRate = 700
	})
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Env = []*core.KeyValuePair{{Key: "LEVEL", Value: "task"}, {Key: "MODE", Value: "task"}, {Key: "RUN_NAME", Value: "spoof"}}
	})
	attempt := plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) {
		s.Env = []v1.EnvVar{{Name: "MODE", Value: "run"}, {Name: "ACTION_NAME", Value: "spoof"}, {Name: "_U_RUN_BASE", Value: "spoof"}, {Name: "_F_P_CNC", Value: "5"}}
	})
	made := b.build(t, plugintest.Second(attempt))
	env := map[string]string{}
	for _, variable := range made.Spec.Containers[0].Env {
		require.NotContains(t, env, variable.Name, "each name once")
		env[variable.Name] = variable.Value
	}
	require.Equal(t, map[string]string{
		"ACTION_NAME": "a0", "RUN_NAME": "r1", "INTERNAL_APP_ENDPOINT_PATTERN": "http://127.0.0.1:8090/apps/p/d/{app_fqdn}",
		"FLYTE_INTERNAL_EXECUTION_PROJECT": "p", "FLYTE_INTERNAL_EXECUTION_DOMAIN": "d",
		"FLYTE_ATTEMPT_NUMBER": "1", "_U_ORG_NAME": "local", "_U_RUN_BASE": "/base/p/d/r1/", "_U_USE_ACTIONS": "1",
		"_U_EP_OVERRIDE": "127.0.0.1:8090", "_U_INSECURE": "true",
		"FSSPEC_FILE": "{\"auto_mkdir\": true}", "LEVEL": "task", "MODE": "run",
		"_F_MAX_QPS": "700", "_F_P_CNC": "5",
	}, env)
	require.Equal(t, made.Spec.Containers[0].Env, newBench(t, func(c *podspec.Config) {
		c.Endpoint, c.Insecure = "127.0.0.1:8090", true
		c.DefaultEnv = []string{"FSSPEC_FILE={\"auto_mkdir\": true}", "LEVEL=default"}
		c.LaunchRate = 700
	}).build(t, plugintest.Second(attempt)).Spec.Containers[0].Env, "always in the same order")
}

func TestLegacyEnvironment(t *testing.T) {
	attempt := plugintest.AttemptOf(plugintest.ContainerTask())
	legacy := map[string]string{
		"FLYTE_INTERNAL_EXECUTION_ID": "r1", "_F_PN": "",
		"FLYTE_INTERNAL_TASK_PROJECT": "tp", "FLYTE_INTERNAL_TASK_DOMAIN": "td", "FLYTE_INTERNAL_TASK_NAME": "env.main", "FLYTE_INTERNAL_TASK_VERSION": "v1",
		"FLYTE_INTERNAL_PROJECT": "tp", "FLYTE_INTERNAL_DOMAIN": "td", "FLYTE_INTERNAL_NAME": "env.main", "FLYTE_INTERNAL_VERSION": "v1",
	}
	without := map[string]bool{}
	for _, variable := range newBench(t).build(t, attempt).Spec.Containers[0].Env {
		without[variable.Name] = true
	}
	more := map[string]string{}
	for _, variable := range newBench(t, func(c *podspec.Config) { c.LegacyEnv = true }).build(t, attempt).Spec.Containers[0].Env {
		if !without[variable.Name] {
			more[variable.Name] = variable.Value
		}
		if variable.Name == "_F_PN" {
			require.Equal(t, "metadata.name", variable.ValueFrom.FieldRef.FieldPath)
		}
	}
	require.Equal(t, legacy, more)
}

func TestEnvironmentFromSecrets(t *testing.T) {
	made := newBench(t, func(c *podspec.Config) {
		c.EnvFromSecrets, c.EnvFromConfigMaps = []string{"store-credentials"}, []string{"site"}
	}).build(t, plugintest.AttemptOf(plugintest.ContainerTask()))
	sources := made.Spec.Containers[0].EnvFrom
	require.Equal(t, "store-credentials", sources[0].SecretRef.Name)
	require.True(t, *sources[0].SecretRef.Optional)
	require.Equal(t, "site", sources[1].ConfigMapRef.Name)
}

func TestIdentityOfPods(t *testing.T) {
	template := plugintest.ContainerTask()
	template.Metadata = &core.TaskMetadata{Metadata: &core.K8SObjectMetadata{
		Labels: map[string]string{"queue": "gpu", "team": "other", "flyte.org/run": "spoof", "not valid!": "x"}, Annotations: map[string]string{"a": "b"},
	}}
	made := newBench(t, func(c *podspec.Config) {
		c.DefaultLabels = map[string]string{"site": "lab"}
		c.DefaultServiceAccount = "tasks"
	}).build(t, plugintest.AttemptOf(template))
	require.Equal(t, map[string]string{
		v1.LabelManaged: "true", v1.LabelRun: "r1", "team": "ml", "queue": "gpu", "site": "lab", "flyte.org/attempt": "1", "flyte.org/task": "main",
	}, made.Labels)
	require.Equal(t, map[string]string{"note": "x", "a": "b", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}, made.Annotations)
	require.Equal(t, "tasks", made.Spec.ServiceAccountName)
	require.Equal(t, corev1.RestartPolicyNever, made.Spec.RestartPolicy)
	require.False(t, *made.Spec.EnableServiceLinks)
	require.Equal(t, corev1.TerminationMessageFallbackToLogsOnError, made.Spec.Containers[0].TerminationMessagePolicy)

	own := newBench(t, func(c *podspec.Config) { c.Policy.ServiceAccounts = []string{"mine"} }).
		build(t, plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) { s.ServiceAccount = "mine" }))
	require.Equal(t, "mine", own.Spec.ServiceAccountName)
}

func TestResources(t *testing.T) {
	entry := func(name core.Resources_ResourceName, value string) *core.Resources_ResourceEntry {
		return &core.Resources_ResourceEntry{Name: name, Value: value}
	}
	for _, tc := range []struct {
		name             string
		wanted           *core.Resources
		requests, limits map[corev1.ResourceName]string
	}{
		{"nothing", nil, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}, map[corev1.ResourceName]string{"cpu": "1", "memory": "1Gi"}},
		{
			"request only", &core.Resources{Requests: []*core.Resources_ResourceEntry{entry(core.Resources_CPU, "2")}},
			map[corev1.ResourceName]string{"cpu": "2", "memory": "1Gi"}, map[corev1.ResourceName]string{"cpu": "2", "memory": "1Gi"},
		},
		{
			"limit only", &core.Resources{Limits: []*core.Resources_ResourceEntry{entry(core.Resources_MEMORY, "4Gi"), entry(core.Resources_GPU, "1")}},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "4Gi", "nvidia.com/gpu": "1"},
			map[corev1.ResourceName]string{"cpu": "1", "memory": "4Gi", "nvidia.com/gpu": "1"},
		},
		{
			"both", &core.Resources{
				Requests: []*core.Resources_ResourceEntry{entry(core.Resources_CPU, "500m"), entry(core.Resources_EPHEMERAL_STORAGE, "1Gi")},
				Limits:   []*core.Resources_ResourceEntry{entry(core.Resources_CPU, "2")},
			},
			map[corev1.ResourceName]string{"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "1Gi"},
			map[corev1.ResourceName]string{"cpu": "2", "memory": "1Gi", "ephemeral-storage": "1Gi"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			made := newBench(t).build(t, plugintest.AttemptOf(plugintest.ContainerTask(func(c *core.Container) { c.Resources = tc.wanted })))
			got := made.Spec.Containers[0].Resources
			require.Equal(t, tc.requests, texts(got.Requests))
			require.Equal(t, tc.limits, texts(got.Limits))
		})
	}
}

func texts(list corev1.ResourceList) map[corev1.ResourceName]string {
	result := map[corev1.ResourceName]string{}
	for name, quantity := range list {
		result[name] = quantity.String()
	}
	return result
}

func podTask(t *testing.T, spec map[string]any) *core.TaskTemplate {
	t.Helper()
	encoded, err := structpb.NewStruct(spec)
	require.NoError(t, err)
	return &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{
		PodSpec: encoded, PrimaryContainerName: "main", Metadata: &core.K8SObjectMetadata{Labels: map[string]string{"from": "pod"}},
	}}}
}

func TestPodOfTheTask(t *testing.T) {
	template := podTask(t, map[string]any{
		"serviceAccountName": "theirs", "terminationGracePeriodSeconds": 5.0, "nodeName": nil,
		"containers": []any{
			map[string]any{"name": "sidecar", "image": "s", "args": []any{"{{.runName}}"}},
			map[string]any{
				"name": "main", "image": "m", "args": []any{"--outputs-path", "{{.outputPrefix}}"},
				"env":       []any{map[string]any{"name": "OWN", "value": "1"}},
				"resources": map[string]any{"limits": map[string]any{"gpu": "2", "cpu": "3"}},
			},
		},
	})
	made := newBench(t, func(c *podspec.Config) { c.Policy.ServiceAccounts = []string{"theirs"} }).build(t, plugintest.AttemptOf(template))
	require.Len(t, made.Spec.Containers, 2)
	require.Equal(t, []string{"r1"}, made.Spec.Containers[0].Args)
	require.Empty(t, made.Spec.Containers[0].Resources, "only the primary container gets defaults")
	require.Equal(t, []string{"--outputs-path", "/base/p/d/r1/a0/1"}, made.Spec.Containers[1].Args)
	require.Equal(t, map[corev1.ResourceName]string{"cpu": "3", "memory": "1Gi", "nvidia.com/gpu": "2"}, texts(made.Spec.Containers[1].Resources.Requests))
	require.Contains(t, made.Spec.Containers[1].Env, corev1.EnvVar{Name: "OWN", Value: "1"})
	require.Contains(t, made.Spec.Containers[0].Env, corev1.EnvVar{Name: "RUN_NAME", Value: "r1"})
	require.Equal(t, "theirs", made.Spec.ServiceAccountName)
	require.Equal(t, int64(5), *made.Spec.TerminationGracePeriodSeconds)
	require.Equal(t, "pod", made.Labels["from"])
	require.Contains(t, made.Spec.Tolerations, corev1.Toleration{Key: "nvidia.com/gpu", Operator: "Exists", Effect: "NoSchedule"})
}

func TestProcessesGetTimeToStop(t *testing.T) {
	require.Nil(t, newBench(t).build(t, plugintest.AttemptOf(plugintest.ContainerTask())).Spec.TerminationGracePeriodSeconds, "the cluster's own")
	patient := func(c *podspec.Config) { c.TerminationGracePeriod = 90 * time.Second }
	require.EqualValues(t, 90, *newBench(t, patient).build(t, plugintest.AttemptOf(plugintest.ContainerTask())).Spec.TerminationGracePeriodSeconds)
	theirs := podTask(t, map[string]any{
		"terminationGracePeriodSeconds": 5.0, "containers": []any{map[string]any{"name": "main", "image": "m"}},
	})
	require.EqualValues(t, 5, *newBench(t, patient).build(t, plugintest.AttemptOf(theirs)).Spec.TerminationGracePeriodSeconds)
}

func TestInvalidTasksAreRefusedWithAnExplanation(t *testing.T) {
	secretWith := func(s *core.Secret) *core.TaskTemplate {
		template := plugintest.ContainerTask()
		template.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{s}}
		return template
	}
	named := plugintest.ContainerTask()
	named.Metadata = &core.TaskMetadata{PodTemplateName: "gpu-template"}
	shared := plugintest.ContainerTask()
	shared.ExtendedResources = &core.ExtendedResources{SharedMemory: &core.SharedMemory{SizeLimit: "half"}}
	for _, tc := range []struct {
		name     string
		template *core.TaskTemplate
		reason   failure.Reason
		words    string
	}{
		{"missing pod template", named, failure.BadTaskSpecification, `no pod template "gpu-template" in the namespaces ns and flyte`},
		{"no target", &core.TaskTemplate{Type: "sql"}, failure.BadTaskSpecification, "requires a container or a pod"},
		{"no image", plugintest.ContainerTask(func(c *core.Container) { c.Image = " " }), failure.BadTaskSpecification, "no image"},
		{"misspelt", podTask(t, map[string]any{"containers": []any{map[string]any{"name": "main", "imagee": "x"}}}), failure.BadTaskSpecification, "imagee"},
		{"wrong type", podTask(t, map[string]any{"containers": "none"}), failure.BadTaskSpecification, "pod spec"},
		{"no primary", podTask(t, map[string]any{"containers": []any{map[string]any{"name": "x"}}}), failure.PrimaryContainerNotFound, "main"},
		{"quantity", plugintest.ContainerTask(func(c *core.Container) {
			c.Resources = &core.Resources{Limits: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "many"}}}
		}), failure.BadTaskSpecification, "many"},
		{"shared memory", shared, failure.BadTaskSpecification, "half"},
		{"secret key", secretWith(&core.Secret{Key: "a/b"}), failure.BadTaskSpecification, "a/b"},
		{"secret variable", secretWith(&core.Secret{Key: "k", EnvVar: "A B="}), failure.BadTaskSpecification, "A B="},
	} {
		t.Run(tc.name, func(t *testing.T) {
			why := newBench(t).lost(t, plugintest.AttemptOf(tc.template))
			require.Equal(t, tc.reason, why.Reason)
			require.Contains(t, why.Message, tc.words)
		})
	}
}

// Story R30: secrets were in plain text in pod specs.
func TestSecretsAreReferences(t *testing.T) {
	template := plugintest.ContainerTask()
	template.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{
		{Group: "Team_A", Key: "TOKEN", EnvVar: "MY_TOKEN", MountRequirement: core.Secret_ENV_VAR},
		{Key: "plain-key", MountRequirement: core.Secret_ENV_VAR},
		{Group: "team-b", Key: "Cert", MountRequirement: core.Secret_FILE},
		{Group: "team-b", Key: "Cert", MountRequirement: core.Secret_FILE},
		{Key: "Key", EnvVar: "KEY_PATH", MountRequirement: core.Secret_FILE},
	}}
	made := newBench(t).build(t, plugintest.AttemptOf(template))
	env := map[string]corev1.EnvVar{}
	for _, variable := range made.Spec.Containers[0].Env {
		env[variable.Name] = variable
	}
	ofAttempt := corev1.LocalObjectReference{Name: "r1-a0-0123abcd-0-secrets"}
	require.Equal(t, &corev1.SecretKeySelector{LocalObjectReference: ofAttempt, Key: "Team_A_TOKEN"}, env["MY_TOKEN"].ValueFrom.SecretKeyRef)
	require.Equal(t, &corev1.SecretKeySelector{LocalObjectReference: ofAttempt, Key: "plain-key"}, env["PLAIN_KEY"].ValueFrom.SecretKeyRef)
	require.Equal(t, "/etc/flyte/secrets/Key", env["KEY_PATH"].Value)
	require.Equal(t, []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{
		LocalObjectReference: ofAttempt, Items: []corev1.KeyToPath{{Key: "team-b_Cert", Path: "team-b/Cert"}, {Key: "Key", Path: "Key"}},
	}}}, made.Spec.Volumes[0].Projected.Sources)
	require.Equal(t, "/etc/flyte/secrets", made.Spec.Containers[0].VolumeMounts[0].MountPath)

	second := newBench(t).build(t, plugintest.Second(plugintest.AttemptOf(template)))
	require.Equal(t, "r1-a0-0123abcd-1-secrets", second.Spec.Volumes[0].Projected.Sources[0].Secret.Name, "each attempt has its own")
}

func TestPlacement(t *testing.T) {
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Resources = &core.Resources{Limits: []*core.Resources_ResourceEntry{{Name: core.Resources_GPU, Value: "1"}}}
	})
	template.ExtendedResources = &core.ExtendedResources{
		GpuAccelerator: &core.GPUAccelerator{
			Device: "a100", DeviceClass: core.GPUAccelerator_AMD_GPU, PartitionSizeValue: &core.GPUAccelerator_PartitionSize{PartitionSize: "1g.5gb"},
		},
		SharedMemory: &core.SharedMemory{SizeLimit: "2Gi"},
	}
	template.Metadata = &core.TaskMetadata{InterruptibleValue: &core.TaskMetadata_Interruptible{Interruptible: true}}
	spot := func(c *podspec.Config) {
		c.InterruptibleNodeSelector = map[string]string{"pool": "spot"}
		c.InterruptibleTolerations = []corev1.Toleration{{Key: "spot", Operator: corev1.TolerationOpExists}}
	}
	made := newBench(t, spot).build(t, plugintest.AttemptOf(template))
	require.Equal(t, map[string]string{
		"k8s.amazonaws.com/accelerator": "a100", "k8s.amazonaws.com/gpu-partition-size": "1g.5gb", "pool": "spot",
	}, made.Spec.NodeSelector)
	require.Contains(t, texts(made.Spec.Containers[0].Resources.Limits), corev1.ResourceName("amd.com/gpu"))
	require.Contains(t, made.Spec.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpExists})
	require.Equal(t, corev1.StorageMediumMemory, made.Spec.Volumes[0].EmptyDir.Medium)
	require.Equal(t, "2Gi", made.Spec.Volumes[0].EmptyDir.SizeLimit.String())
	require.Equal(t, "/dev/shm", made.Spec.Containers[0].VolumeMounts[0].MountPath)

	never := false
	steady := newBench(t, spot).build(t, plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) { s.Interruptible = &never }))
	require.NotContains(t, steady.Spec.NodeSelector, "pool", "the run has the last word")
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*podspec.Config){
		"organization":           func(c *podspec.Config) { c.Organization = "" },
		"defaultCpu":             func(c *podspec.Config) { c.DefaultCPU = "lots" },
		"defaultMemory":          func(c *podspec.Config) { c.DefaultMemory = "" },
		"imagePullPolicy":        func(c *podspec.Config) { c.ImagePullPolicy = "Sometimes" },
		"defaultEnv":             func(c *podspec.Config) { c.DefaultEnv = []string{"NOVALUE"} },
		"defaultLabels":          func(c *podspec.Config) { c.DefaultLabels = map[string]string{"a b": "c"} },
		"logLinks[0]":            func(c *podspec.Config) { c.LogLinks = []podspec.LogLink{{Name: "x"}} },
		"maxMemory":              func(c *podspec.Config) { c.MaxMemory = "0" },
		"maxGpu":                 func(c *podspec.Config) { c.MaxGPU = "all" },
		"defaultPodTemplate":     func(c *podspec.Config) { c.DefaultPodTemplate = "A B" },
		"podTemplateNamespace":   func(c *podspec.Config) { c.PodTemplateNamespace = "A B" },
		"interruptibleFailures":  func(c *podspec.Config) { c.InterruptibleFailures = -1 },
		"accelerators[0].device": func(c *podspec.Config) { c.Accelerators = []podspec.Accelerator{{}} },
		"accelerators[1].nodeLabels": func(c *podspec.Config) {
			c.Accelerators = []podspec.Accelerator{{Device: "a"}, {Device: "b", NodeLabels: []string{"x"}}}
		},
		"accelerators[0].resource": func(c *podspec.Config) { c.Accelerators = []podspec.Accelerator{{Device: "a", Resource: "cpu"}} },
		"accelerators[0].partitionNodeLabel": func(c *podspec.Config) {
			c.Accelerators = []podspec.Accelerator{{Device: "a", PartitionNodeLabel: "a b"}}
		},
		"policy.podSecurity":     func(c *podspec.Config) { c.Policy.PodSecurity = "" },
		"terminationGracePeriod": func(c *podspec.Config) { c.TerminationGracePeriod = -time.Second },
	} {
		config := podspec.DefaultConfig()
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}

// A plugin whose attempts have several pods builds each from a copy of the attempt with the template of that role.
func TestRolesOfAnAttempt(t *testing.T) {
	b := newBench(t, func(c *podspec.Config) { c.DefaultServiceAccount = "tasks" })
	whole := plugintest.ContainerTask()
	whole.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "token", EnvVar: "TOKEN"}}}
	roles := map[string]*corev1.PodTemplateSpec{}
	for role, image := range map[string]string{"head": "head:v1", "worker": "worker:v1"} {
		attempt := *plugintest.AttemptOf(whole)
		attempt.Template = proto.CloneOf(whole)
		attempt.Template.Target = &core.TaskTemplate_Container{Container: &core.Container{Image: image}}
		roles[role] = b.build(t, &attempt)
	}
	head, worker := roles["head"], roles["worker"]
	require.Equal(t, "head:v1", head.Spec.Containers[0].Image)
	require.Equal(t, "worker:v1", worker.Spec.Containers[0].Image)
	require.Equal(t, head.Labels, worker.Labels)
	require.Equal(t, head.Spec.Containers[0].Env, worker.Spec.Containers[0].Env)
	require.True(t, slices.ContainsFunc(head.Spec.Containers[0].Env, func(v corev1.EnvVar) bool { return v.Name == "TOKEN" && v.ValueFrom != nil }))
	require.Equal(t, "tasks", worker.Spec.ServiceAccountName)
	require.Equal(t, "image", whole.GetContainer().GetImage(), "the task is unchanged")
}

// TestVariablesArriveAsTheyAre: Kubernetes turns $$ into $ and expands $(NAME), so values of tasks, runs and the installation
// are escaped, and those of a pod spec, which is written for Kubernetes, are not. tests/e2e/test_variables.py has all ways to start.
func TestVariablesArriveAsTheyAre(t *testing.T) {
	const value, escaped = "pa$$word $(B) $C $", "pa$$$$word $$(B) $$C $$"
	installation := func(c *podspec.Config) {
		c.DefaultEnv, c.LegacyEnv, c.Organization = []string{"DEFAULT=" + value}, true, value
	}
	run := func(s *v1.TaskActionSpec) {
		s.Env, s.RunOutputBase, s.InputURI = []v1.EnvVar{{Name: "RUN", Value: value}}, "/base$$/", "/in$(B)/inputs.pb"
	}
	variables := func(container corev1.Container) map[string]string {
		env := map[string]string{}
		for _, variable := range container.Env {
			env[variable.Name] = variable.Value
		}
		return env
	}
	template := plugintest.ContainerTask(func(c *core.Container) {
		c.Env, c.Args = []*core.KeyValuePair{{Key: "TASK", Value: value}}, []string{"{{.input}}", "$(TASK)"}
	})
	template.Id = &core.Identifier{Name: value}
	made := newBench(t, installation).build(t, plugintest.AttemptOf(template, run)).Spec.Containers[0]
	env := variables(made)
	for _, name := range []string{"DEFAULT", "TASK", "RUN", "_U_ORG_NAME", "FLYTE_INTERNAL_TASK_NAME"} {
		require.Equal(t, escaped, env[name], name)
	}
	require.Equal(t, "/base$$$$/", env["_U_RUN_BASE"])
	require.Equal(t, []string{"/in$$(B)/inputs.pb", "$(TASK)"}, made.Args, "commands refer to variables as everywhere in Kubernetes")

	pod := podTask(t, map[string]any{"containers": []any{map[string]any{
		"name": "main", "image": "x", "env": []any{map[string]any{"name": "TASK", "value": "<$(RUN_NAME)> $$"}},
	}}})
	env = variables(newBench(t, installation).build(t, plugintest.AttemptOf(pod, run)).Spec.Containers[0])
	require.Equal(t, "<$(RUN_NAME)> $$", env["TASK"], "a pod spec is written for Kubernetes")
	require.Equal(t, escaped, env["RUN"])
	require.Equal(t, escaped, env["DEFAULT"])
}
