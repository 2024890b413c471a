package podspec_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// podOf is a task with a pod spec, as YAML, based on the pod template base.
func podOf(t *testing.T, spec string) *core.TaskTemplate {
	t.Helper()
	fields := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(spec), &fields))
	template := podTask(t, fields)
	template.Metadata = &core.TaskMetadata{PodTemplateName: "base"}
	return template
}

// withTemplate puts a pod template base into the cluster.
func (b *bench) withTemplate(t *testing.T, spec string) *bench {
	t.Helper()
	made := &corev1.PodTemplate{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &made.Template.Spec))
	b.templates.All = map[string]*corev1.PodTemplate{"ns/base": made}
	return b
}

func TestPodsKeepThePolicy(t *testing.T) {
	lists := map[string]*core.TaskTemplate{
		`container "main" must not set securityContext.privileged=true`: podOf(t, `containers: [{name: main, securityContext: {privileged: true}}]`),
		`container "setup" must not set`:                                podOf(t, `{initContainers: [{name: setup, securityContext: {privileged: true}}], containers: [{name: main}]}`),
		`the pod sets nodeName to n1`:                                   podOf(t, `{nodeName: n1, containers: [{name: main}]}`),
		`service account "admin"`:                                       podOf(t, `{serviceAccountName: admin, containers: [{name: main}]}`),
	}
	confined := podOf(t, `containers: [{name: main}]`)
	confined.GetK8SPod().Metadata = &core.K8SObjectMetadata{Annotations: map[string]string{"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}}
	lists["unconfined"] = confined
	for words, template := range lists {
		why := newBench(t).withTemplate(t, `containers: [{name: logs}]`).lost(t, plugintest.AttemptOf(template))
		require.Equal(t, failure.PodNotAllowed, why.Reason)
		require.False(t, why.Recoverable)
		require.Equal(t, failure.User, why.Class)
		require.Contains(t, why.Message, words)
		require.Contains(t, why.Message, "executor.pod.policy.")
	}
}

// The operator's own pod templates may exceed what tasks may ask for.
func TestPodTemplatesMayExceedThePolicy(t *testing.T) {
	b := newBench(t).withTemplate(t, `
hostNetwork: true
serviceAccountName: admin
priorityClassName: high
volumes: [{name: disk, hostPath: {path: /disk}}, {name: keys, secret: {secretName: keys}}]
containers:
  - {name: primary, volumeMounts: [{name: disk, mountPath: /disk}], securityContext: {privileged: true}}
  - {name: agent, image: agent, volumeMounts: [{name: keys, mountPath: /keys}]}`)
	made := b.build(t, plugintest.AttemptOf(podOf(t, `containers: [{name: main, image: m}]`)))
	require.True(t, made.Spec.HostNetwork)
	require.Equal(t, "admin", made.Spec.ServiceAccountName)
	require.True(t, *made.Spec.Containers[0].SecurityContext.Privileged)
}

// What a pod template gives to containers of its own stays theirs.
func TestTasksGetNoHoldOfAPodTemplate(t *testing.T) {
	const template = `
volumes: [{name: host, hostPath: {path: /}}, {name: keys, secret: {secretName: keys}}, {name: scripts, configMap: {name: scripts}}, {name: data, emptyDir: {}}]
initContainers: [{name: prepare, image: i, securityContext: {privileged: true}}]
containers:
  - {name: agent, image: agent, securityContext: {privileged: true}, volumeMounts: [{name: scripts, mountPath: /scripts}]}
  - {name: metrics, image: exporter}`
	for name, tc := range map[string]struct{ spec, words string }{
		"place of a container":      {`containers: [{name: main}, {name: agent, image: mine}]`, `container "agent" takes the place of that of the pod template: privileged`},
		"place of an init":          {`{initContainers: [{name: prepare, image: mine}], containers: [{name: main}]}`, `container "prepare" takes the place`},
		"primary of that name":      {`containers: [{name: main}, {name: prepare, image: mine}]`, `container "prepare" takes the place`},
		"mount of a host path":      {`containers: [{name: main, volumeMounts: [{name: host, mountPath: /host}]}]`, `container "main" mounts a volume of the pod template: volume "host"`},
		"mount of a secret":         {`{initContainers: [{name: x, volumeMounts: [{name: keys, mountPath: /k}]}], containers: [{name: main}]}`, `the secret "keys"`},
		"volume of the agent":       {`{volumes: [{name: scripts, emptyDir: {}}], containers: [{name: main}]}`, `volume "scripts" takes the place of one that containers of the pod template mount`},
		"a harmless place":          {`containers: [{name: main}, {name: metrics, args: [--mine]}]`, ""},
		"mount of a harmless thing": {`containers: [{name: main, volumeMounts: [{name: data, mountPath: /data}]}]`, ""},
		"a volume of one's own":     {`{volumes: [{name: host, emptyDir: {}}], containers: [{name: main, volumeMounts: [{name: host, mountPath: /host}]}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, attempt := newBench(t).withTemplate(t, template), plugintest.AttemptOf(podOf(t, tc.spec))
			if tc.words == "" {
				b.build(t, attempt)
				return
			}
			why := b.lost(t, attempt)
			require.Equal(t, failure.PodNotAllowed, why.Reason)
			require.Contains(t, why.Message, tc.words)
		})
	}
}

// A variable such as LD_PRELOAD would make a privileged container of the pod template run the task's code.
func TestContainersOfAPodTemplateGetNothingOfTheRun(t *testing.T) {
	template := podOf(t, `containers: [{name: main, image: m}]`)
	template.SecurityContext = &core.SecurityContext{Secrets: []*core.Secret{{Key: "a", EnvVar: "PATH"}, {Key: "b"}}}
	made := newBench(t).withTemplate(t, `containers: [{name: agent, image: agent}]`).build(t, plugintest.AttemptOf(template, func(s *v1.TaskActionSpec) {
		s.Env = []v1.EnvVar{{Name: "LD_PRELOAD", Value: "/mine.so"}}
	}))
	names := func(container corev1.Container) []string {
		var result []string
		for _, variable := range container.Env {
			result = append(result, variable.Name)
		}
		return result
	}
	require.Equal(t, "agent", made.Spec.Containers[1].Name)
	require.Subset(t, names(made.Spec.Containers[0]), []string{"LD_PRELOAD", "PATH", "RUN_NAME"})
	require.Contains(t, names(made.Spec.Containers[1]), "RUN_NAME")
	require.NotContains(t, names(made.Spec.Containers[1]), "LD_PRELOAD")
	require.NotContains(t, names(made.Spec.Containers[1]), "PATH")
	require.Empty(t, made.Spec.Containers[1].VolumeMounts)
}

func TestAccountsOfPods(t *testing.T) {
	naming := func(run, settings string) *plugin.Attempt {
		return plugintest.AttemptOf(plugintest.ContainerTask(), func(s *v1.TaskActionSpec) {
			s.ServiceAccount, s.Defaults = run, &v1.Defaults{ServiceAccount: settings}
		})
	}
	b := newBench(t, func(c *podspec.Config) {
		c.DefaultServiceAccount, c.Policy.ServiceAccounts = "tasks", []string{"team-*"}
	})
	for _, allowed := range []*plugin.Attempt{naming("", ""), naming("tasks", ""), naming("team-a", ""), naming("ml", "ml")} {
		b.build(t, allowed)
	}
	for _, refused := range []*plugin.Attempt{naming("admin", ""), naming("admin", "ml"), naming("default", "")} {
		require.Equal(t, failure.PodNotAllowed, b.lost(t, refused).Reason)
	}
	newBench(t).build(t, naming("default", "")) // what pods get anyway
}

func TestReviewBeforeARun(t *testing.T) {
	running := func(account, settings string) *task.RunSpec {
		return &task.RunSpec{
			SecurityContext: &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: account}},
			Annotations:     &task.Annotations{Values: map[string]string{ident.AnnotationServiceAccount: settings}},
		}
	}
	own := plugintest.ContainerTask()
	own.SecurityContext = &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "admin"}}
	privileged := podOf(t, `containers: [{name: main, securityContext: {privileged: true}}]`)
	config := podspec.DefaultConfig()
	reviewer := podspec.NewReviewer(config)
	const account = "security_context.run_as.k8s_service_account"
	for name, tc := range map[string]struct {
		template *core.TaskTemplate
		run      *task.RunSpec
		field    string
	}{
		"pod":                       {privileged, &task.RunSpec{}, "task_template.k8s_pod.pod_spec"},
		"pod of a deployed task":    {privileged, nil, "task_template.k8s_pod.pod_spec"},
		"account of the run":        {plugintest.ContainerTask(), running("admin", ""), "run_spec." + account},
		"account of the task":       {own, &task.RunSpec{}, "task_template." + account},
		"account of the settings":   {plugintest.ContainerTask(), running("admin", "admin"), ""},
		"settings override a task":  {own, running("tasks", "tasks"), ""},
		"account of a deployment":   {own, nil, ""},
		"a container":               {plugintest.ContainerTask(), &task.RunSpec{}, ""},
		"nothing that runs":         {&core.TaskTemplate{Type: "core-sleep"}, &task.RunSpec{}, ""},
		"a spec that is misspelled": {podOf(t, `containers: [{name: main, securityContextt: {}}]`), &task.RunSpec{}, ""},
	} {
		field, words := reviewer.Review(tc.template, tc.run)
		require.Equal(t, tc.field, field, name)
		require.Equal(t, tc.field == "", words == "", name)
	}
}
