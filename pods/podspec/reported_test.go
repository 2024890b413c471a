package podspec_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
	"github.com/flyte-binary/flyte-binary/pods/podpolicy"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

// asked are parts of pods that the default policy refuses, or not.
var asked = []string{
	`containers: [{name: main}]`,
	`containers: [{name: main, securityContext: {privileged: true}}]`,
	`containers: [{name: main, securityContext: {capabilities: {add: [SYS_PTRACE]}}}]`,
	`{containers: [{name: main}], volumes: [{name: v, hostPath: {path: /}}]}`,
	`{containers: [{name: main}], nodeName: n1}`,
	`{containers: [{name: main}], serviceAccountName: ml-1}`,
	`{containers: [{name: main}], volumes: [{name: v, secret: {secretName: keys}}]}`,
	`{containers: [{name: main}], priorityClassName: high}`,
	`{containers: [{name: main}], runtimeClassName: gvisor}`,
	`{containers: [{name: main}], hostNetwork: true}`,
}

// drawConfig draws a policy that widens the default in some of these.
func drawConfig(rt *rapid.T) podspec.Config {
	some := func(name string, values ...string) (list []string) {
		for _, value := range values {
			if rapid.Bool().Draw(rt, name+" "+value) {
				list = append(list, value)
			}
		}
		return list
	}
	return podspec.Config{
		DefaultServiceAccount: rapid.SampledFrom([]string{"", "tasks", "ml-1"}).Draw(rt, "account"),
		Policy: podpolicy.Config{
			PodSecurity: rapid.SampledFrom([]string{"baseline", "privileged"}).Draw(rt, "level"),
			Exceptions:  some("exceptions", "privileged", "hostNamespaces"), Capabilities: some("capabilities", "SYS_*"),
			Volumes: some("volumes", "hostPath", "secret"), Fields: some("fields", "nodeName"), ServiceAccounts: some("accounts", "ml-*"),
			Secrets: some("secrets", "keys"), PriorityClasses: some("priorities", "high"), RuntimeClasses: some("runtimes", "gvisor"),
		},
	}
}

func drawTask(t *testing.T, rt *rapid.T) (*core.TaskTemplate, *task.RunSpec) {
	template := plugintest.ContainerTask()
	if rapid.Bool().Draw(rt, "pod") {
		template = podOf(t, rapid.SampledFrom(asked).Draw(rt, "asked"))
	}
	if rapid.Bool().Draw(rt, "account of the task") {
		template.SecurityContext = &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "tasks"}}
	}
	if rapid.Bool().Draw(rt, "annotated") {
		template.Metadata = &core.TaskMetadata{Metadata: &core.K8SObjectMetadata{Annotations: map[string]string{
			"container.apparmor.security.beta.kubernetes.io/main": "unconfined",
		}}}
	}
	if rapid.Bool().Draw(rt, "deployed") {
		return template, nil
	}
	run := &task.RunSpec{}
	if rapid.Bool().Draw(rt, "account of the run") {
		run.SecurityContext = &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "admin"}}
	}
	if rapid.Bool().Draw(rt, "annotations of the run") {
		run.Annotations = &task.Annotations{Values: map[string]string{
			ident.AnnotationServiceAccount: "admin", "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
		}}
	}
	return template, run
}

// TestAReportJudgesAsTheConfigurationDoes: with one cluster, nothing is judged otherwise than by the configuration that it reports.
func TestAReportJudgesAsTheConfigurationDoes(t *testing.T) {
	refused := map[bool]int{}
	rapid.Check(t, func(rt *rapid.T) {
		config := drawConfig(rt)
		template, run := drawTask(t, rt)
		field, words := podspec.NewReviewer(config).Review(template, run)
		refused[words != ""]++
		report, err := podspec.ReportPolicy(config)
		require.NoError(rt, err)
		require.NoError(rt, podspec.CheckReport(report))
		others := podspec.NewReviewers(podspec.DefaultConfig())
		for range 2 { // the second time it is known
			gotField, got := others.Review(report, template, run)
			require.Equal(rt, []string{field, words}, []string{gotField, got})
		}
		require.Equal(rt, words, others.Read(template)(report, run), "what is kept of a task is judged alike")
		gotField, got := podspec.NewReviewers(config).Review("", template, run)
		require.Equal(rt, []string{field, words}, []string{gotField, got}, "who reports nothing is judged by the policy of the installation")
	})
	require.Positive(t, refused[true])
	require.Positive(t, refused[false])
}

func TestAReportHasEveryFieldOfThePolicy(t *testing.T) {
	config := podspec.Config{DefaultServiceAccount: "tasks"}
	fields := reflect.ValueOf(&config.Policy).Elem()
	for i := range fields.NumField() {
		switch field := fields.Field(i); field.Kind() {
		case reflect.String:
			field.SetString("privileged")
		case reflect.Slice:
			field.Set(reflect.ValueOf([]string{fmt.Sprintf("value-of-%d", i)}))
		default:
			t.Fatalf("the report does not know how to carry %s", fields.Type().Field(i).Name)
		}
	}
	report, err := podspec.ReportPolicy(config)
	require.NoError(t, err)
	for i := 1; i < fields.NumField(); i++ {
		require.Contains(t, report, fmt.Sprintf("value-of-%d", i), fields.Type().Field(i).Name)
	}
	require.NotContains(t, report, "PodSecurity", "names are those of the configuration")
}

func TestReportsThatAreNone(t *testing.T) {
	for text, words := range map[string]string{
		"":                           "cannot be read",
		"{":                          "cannot be read",
		`{"policy": {"volumes": 3}}`: "cannot be read",
		`"` + strings.Repeat("x", podspec.MostReported) + `"`: "more than 32768",
	} {
		require.ErrorContains(t, podspec.CheckReport(text), words)
		if text == "" {
			continue
		}
		_, refused := podspec.NewReviewers(podspec.DefaultConfig()).Review(text, podOf(t, asked[1]), nil)
		require.Contains(t, refused, "privileged", "it is judged by the policy of the installation")
	}
	require.NoError(t, podspec.CheckReport(`{"policy": {"podSecurity": "baseline", "later": ["x"]}, "more": true}`), "a later version may say more")
}
