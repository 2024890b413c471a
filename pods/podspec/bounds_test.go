package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

type amounts = map[corev1.ResourceName]string

func asking(requests, limits map[core.Resources_ResourceName]string) *core.TaskTemplate {
	entries := func(from map[core.Resources_ResourceName]string) (result []*core.Resources_ResourceEntry) {
		for name, value := range from {
			result = append(result, &core.Resources_ResourceEntry{Name: name, Value: value})
		}
		return result
	}
	return plugintest.ContainerTask(func(c *core.Container) {
		c.Resources = &core.Resources{Requests: entries(requests), Limits: entries(limits)}
	})
}

type wish = map[core.Resources_ResourceName]string

func TestDefaultsOfTheRun(t *testing.T) {
	defaults := &v1.Defaults{Requests: map[string]string{"cpu": "500m", "ephemeral-storage": "5Gi", "gpu": "0"}}
	for _, tc := range []struct {
		name             string
		template         *core.TaskTemplate
		change           func(*v1.Defaults)
		requests, limits amounts
	}{
		{
			name: "a task without resources", template: plugintest.ContainerTask(),
			requests: amounts{"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "0"},
			limits:   amounts{"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "0"},
		},
		{
			name: "a limit replaces the default", template: asking(nil, wish{core.Resources_CPU: "100m"}),
			requests: amounts{"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "0"},
			limits:   amounts{"cpu": "100m", "memory": "1Gi", "ephemeral-storage": "5Gi", "nvidia.com/gpu": "0"},
		},
		{
			name: "limits mirror requests", template: asking(wish{core.Resources_CPU: "1"}, wish{core.Resources_CPU: "4", core.Resources_MEMORY: "2Gi"}),
			change:   func(d *v1.Defaults) { d.MirrorLimits, d.Requests = true, nil },
			requests: amounts{"cpu": "1", "memory": "2Gi"}, limits: amounts{"cpu": "1", "memory": "2Gi"},
		},
		{
			name: "a default never exceeds a bound", template: plugintest.ContainerTask(),
			change:   func(d *v1.Defaults) { d.Requests, d.Max = nil, map[string]string{"memory": "512Mi"} },
			requests: amounts{"cpu": "1", "memory": "512Mi"}, limits: amounts{"cpu": "1", "memory": "512Mi"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			given := defaults.DeepCopy()
			if tc.change != nil {
				tc.change(given)
			}
			made := newBench(t).build(t, plugintest.AttemptOf(tc.template, func(s *v1.TaskActionSpec) { s.Defaults = given }))
			require.Equal(t, tc.requests, texts(made.Spec.Containers[0].Resources.Requests))
			require.Equal(t, tc.limits, texts(made.Spec.Containers[0].Resources.Limits))
		})
	}
}

func TestBounds(t *testing.T) {
	helper := func(memory string) *core.TaskTemplate {
		return podTask(t, map[string]any{"containers": []any{
			map[string]any{"name": "main", "image": "m"},
			map[string]any{"name": "helper", "image": "h", "resources": map[string]any{"requests": map[string]any{"memory": memory}}},
		}})
	}
	shared := plugintest.ContainerTask()
	shared.ExtendedResources = &core.ExtendedResources{SharedMemory: &core.SharedMemory{SizeLimit: "9Gi"}}
	for _, tc := range []struct {
		name     string
		template *core.TaskTemplate
		max      map[string]string
		words    string // empty: it is within the bounds
	}{
		{"within", asking(wish{core.Resources_CPU: "2", core.Resources_MEMORY: "8Gi"}, nil), map[string]string{"memory": "8Gi"}, ""},
		{"request", asking(wish{core.Resources_MEMORY: "9Gi"}, nil), map[string]string{"memory": "8Gi"}, `container "primary" asks for 9Gi memory, and the maximum by settings is 8Gi`},
		{"limit", asking(nil, wish{core.Resources_CPU: "4500m"}), map[string]string{"cpu": "100"}, "4500m cpu, and the maximum by this installation is 4"},
		{"the smaller one", asking(wish{core.Resources_CPU: "3"}, nil), map[string]string{"cpu": "2"}, "the maximum by settings is 2"},
		{"devices", asking(wish{core.Resources_GPU: "3"}, nil), map[string]string{"gpu": "2"}, "3 nvidia.com/gpu"},
		{"disk", asking(wish{core.Resources_STORAGE: "3Ti"}, nil), map[string]string{"ephemeral-storage": "1Ti"}, "3Ti ephemeral-storage"},
		{"another container", helper("9Gi"), map[string]string{"memory": "8Gi"}, `container "helper"`},
		{"another container within", helper("8Gi"), map[string]string{"memory": "8Gi"}, ""},
		{"shared memory", shared, map[string]string{"memory": "8Gi"}, "9Gi shared memory"},
		{"an invalid bound", plugintest.ContainerTask(), map[string]string{"memory": "lots"}, "lots"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, func(c *podspec.Config) { c.MaxCPU = "4" })
			attempt := plugintest.AttemptOf(tc.template, func(s *v1.TaskActionSpec) { s.Defaults = &v1.Defaults{Max: tc.max} })
			if tc.words == "" {
				b.build(t, attempt)
				return
			}
			why := b.lost(t, attempt)
			require.Equal(t, failure.BadTaskSpecification, why.Reason)
			require.True(t, why.IsUsers())
			require.False(t, why.Recoverable)
			require.Contains(t, why.Message, tc.words)
		})
	}
}

func TestSidecarsOfATemplateHaveNoBounds(t *testing.T) {
	b := newBench(t)
	b.template(t, "ns", "base", "template.yaml")
	b.build(t, plugintest.AttemptOf(based("base"), func(s *v1.TaskActionSpec) {
		s.Defaults = &v1.Defaults{Max: map[string]string{"cpu": "3", "memory": "2Gi"}}
	}))
}

func encodedAccelerator(t *testing.T, a *core.GPUAccelerator) []byte {
	t.Helper()
	body, err := proto.Marshal(a)
	require.NoError(t, err)
	return body
}

func TestAccelerators(t *testing.T) {
	table := func(c *podspec.Config) {
		c.Accelerators = []podspec.Accelerator{{
			Device: "nvidia-l4", Resource: "example.com/l4", NodeLabels: []string{"cloud.google.com/gke-accelerator=nvidia-l4", "tier=gpu"},
			Tolerations: []corev1.Toleration{{Key: "l4", Operator: corev1.TolerationOpExists}}, PartitionNodeLabel: "gke/partition",
		}}
	}
	one := asking(wish{core.Resources_GPU: "1"}, nil)
	byDefault := &v1.Defaults{Accelerator: encodedAccelerator(t, &core.GPUAccelerator{Device: "nvidia-l4"})}
	with := func(a *core.GPUAccelerator) *core.TaskTemplate {
		template := proto.CloneOf(one)
		template.ExtendedResources = &core.ExtendedResources{GpuAccelerator: a}
		return template
	}
	for _, tc := range []struct {
		name     string
		template *core.TaskTemplate
		defaults *v1.Defaults
		selector map[string]string
		resource corev1.ResourceName
	}{
		{"none", one, nil, nil, "nvidia.com/gpu"},
		{"named", with(&core.GPUAccelerator{Device: "nvidia-h100"}), byDefault, map[string]string{"k8s.amazonaws.com/accelerator": "nvidia-h100"}, "nvidia.com/gpu"},
		{"by its model", with(&core.GPUAccelerator{AcceleratorModel: core.AcceleratorModel_NVIDIA_H100}), nil, map[string]string{"k8s.amazonaws.com/accelerator": "nvidia-h100"}, "nvidia.com/gpu"},
		{"by the table", with(&core.GPUAccelerator{Device: "NVIDIA-L4"}), nil, map[string]string{"cloud.google.com/gke-accelerator": "nvidia-l4", "tier": "gpu"}, "example.com/l4"},
		{"by default", one, byDefault, map[string]string{"cloud.google.com/gke-accelerator": "nvidia-l4", "tier": "gpu"}, "example.com/l4"},
		{"of another class", with(&core.GPUAccelerator{Device: "tpu-v5", DeviceClass: core.GPUAccelerator_GOOGLE_TPU}), nil, map[string]string{"k8s.amazonaws.com/accelerator": "tpu-v5"}, "google.com/tpu"},
		{"a task without devices", plugintest.ContainerTask(), byDefault, nil, ""},
		{
			"partition", with(&core.GPUAccelerator{Device: "nvidia-l4", PartitionSizeValue: &core.GPUAccelerator_PartitionSize{PartitionSize: "1g.5gb"}}), nil,
			map[string]string{"cloud.google.com/gke-accelerator": "nvidia-l4", "tier": "gpu", "gke/partition": "1g.5gb"}, "example.com/l4",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			made := newBench(t, table).build(t, plugintest.AttemptOf(tc.template, func(s *v1.TaskActionSpec) { s.Defaults = tc.defaults }))
			require.Equal(t, tc.selector, made.Spec.NodeSelector)
			if tc.resource == "" {
				require.Empty(t, made.Spec.Tolerations)
				return
			}
			require.Equal(t, "1", texts(made.Spec.Containers[0].Resources.Limits)[tc.resource])
			require.Contains(t, made.Spec.Tolerations, corev1.Toleration{Key: string(tc.resource), Operator: "Exists", Effect: "NoSchedule"})
			if tc.resource == "example.com/l4" {
				require.Contains(t, made.Spec.Tolerations, corev1.Toleration{Key: "l4", Operator: "Exists"})
			}
		})
	}
	whole := newBench(t).build(t, plugintest.AttemptOf(with(&core.GPUAccelerator{Device: "a100", PartitionSizeValue: &core.GPUAccelerator_Unpartitioned{Unpartitioned: true}})))
	terms := whole.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	require.Equal(t, []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "k8s.amazonaws.com/gpu-partition-size", Operator: corev1.NodeSelectorOpDoesNotExist},
	}}}, terms)
}

func TestTolerationsOfExtendedResources(t *testing.T) {
	made := newBench(t).build(t, plugintest.AttemptOf(podTask(t, map[string]any{
		"tolerations": []any{map[string]any{"key": "rdma/hca", "operator": "Exists", "effect": "NoSchedule"}},
		"containers": []any{
			map[string]any{"name": "main", "image": "m", "resources": map[string]any{"limits": map[string]any{"rdma/hca": "1", "hugepages-2Mi": "1Gi"}}},
			map[string]any{"name": "side", "image": "s", "resources": map[string]any{"requests": map[string]any{"example.com/x": "1"}, "limits": map[string]any{"example.com/x": "1"}}},
		},
	})))
	require.Equal(t, []corev1.Toleration{
		{Key: "rdma/hca", Operator: "Exists", Effect: "NoSchedule"}, {Key: "example.com/x", Operator: "Exists", Effect: "NoSchedule"},
	}, made.Spec.Tolerations)
}

func TestTheLastAttemptsRunOnSteadyNodes(t *testing.T) {
	template := plugintest.ContainerTask()
	template.Metadata = &core.TaskMetadata{InterruptibleValue: &core.TaskMetadata_Interruptible{Interruptible: true}}
	spot := func(failures, limit int32) bool {
		b := newBench(t, func(c *podspec.Config) {
			c.InterruptibleNodeSelector, c.InterruptibleFailures = map[string]string{"pool": "spot"}, limit
		})
		attempt := plugintest.AttemptOf(template)
		attempt.SystemFailures = failures
		return b.build(t, attempt).Spec.NodeSelector["pool"] == "spot"
	}
	require.True(t, spot(0, 2))
	require.True(t, spot(1, 2))
	require.False(t, spot(2, 2))
	require.True(t, spot(9, 0), "without a limit they stay on preemptible nodes")
}

func TestTheDefaultLimitOfCPU(t *testing.T) {
	for _, tc := range []struct {
		name             string
		template         *core.TaskTemplate
		max              string
		defaults         *v1.Defaults
		requests, limits string
	}{
		{name: "for a container that names neither", template: plugintest.ContainerTask(), requests: "100m", limits: "2"},
		{name: "not for one with a request", template: asking(wish{core.Resources_CPU: "300m"}, nil), requests: "300m", limits: "300m"},
		{name: "not for one with a limit", template: asking(nil, wish{core.Resources_CPU: "300m"}), requests: "300m", limits: "300m"},
		{name: "lowered to a bound", template: plugintest.ContainerTask(), max: "1", requests: "100m", limits: "1"},
		{name: "below the run's request", template: plugintest.ContainerTask(), defaults: &v1.Defaults{Requests: map[string]string{"cpu": "4"}}, requests: "4", limits: "4"},
		{name: "mirrored", template: plugintest.ContainerTask(), defaults: &v1.Defaults{MirrorLimits: true}, requests: "100m", limits: "100m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, func(c *podspec.Config) { c.DefaultCPU, c.DefaultCPULimit, c.MaxCPU = "100m", "2", tc.max })
			made := b.build(t, plugintest.AttemptOf(tc.template, func(s *v1.TaskActionSpec) { s.Defaults = tc.defaults }))
			resources := made.Spec.Containers[0].Resources
			require.Equal(t, tc.requests, resources.Requests.Cpu().String())
			require.Equal(t, tc.limits, resources.Limits.Cpu().String())
		})
	}
	config := podspec.DefaultConfig()
	config.DefaultCPULimit = "much"
	require.ErrorContains(t, config.Validate(), "defaultCpuLimit")
}
