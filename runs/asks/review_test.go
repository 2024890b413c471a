package asks_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// reporting are the policies of an installation that allows nothing beyond the default, and a report that allows privileged pods.
func reporting(t *testing.T) (*podspec.Reviewers, string, string) {
	t.Helper()
	config := podspec.DefaultConfig()
	narrow, err := podspec.ReportPolicy(config)
	require.NoError(t, err)
	config.Policy.Exceptions = []string{"privileged"}
	wide, err := podspec.ReportPolicy(config)
	require.NoError(t, err)
	return podspec.NewReviewers(podspec.DefaultConfig()), narrow, wide
}

func pod(spec map[string]any) *core.TaskTemplate {
	encoded, err := structpb.NewStruct(spec)
	if err != nil {
		panic(err)
	}
	return &core.TaskTemplate{Type: "python", Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: encoded, PrimaryContainerName: "main"}}}
}

func privileged() *core.TaskTemplate {
	return pod(map[string]any{"containers": []any{map[string]any{"name": "main", "image": "a:1", "securityContext": map[string]any{"privileged": true}}}})
}

func TestReviewByThePoliciesOfClusters(t *testing.T) {
	by, narrow, wide := reporting(t)
	field, today := podspec.NewReviewer(podspec.DefaultConfig()).Review(privileged(), nil)
	require.NotEmpty(t, today)
	noVolumes, err := podspec.ReportPolicy(podspec.Config{})
	require.NoError(t, err)
	of := func(name, policy string) placement.Cluster { return placement.Cluster{Name: name, PodPolicy: policy} }
	removed := placement.Cluster{Name: "gone", Unseen: true, Closed: "was removed"}
	for name, test := range map[string]struct {
		clusters []placement.Cluster
		words    string
	}{
		"none is known":                         {nil, today},
		"one that does not report":              {[]placement.Cluster{of("east", "")}, today},
		"one that reports the same":             {[]placement.Cluster{of("east", narrow)}, today},
		"one that allows more than this API":    {[]placement.Cluster{of("east", wide)}, ""},
		"several that say the same":             {[]placement.Cluster{of("east", narrow), of("west", narrow)}, today},
		"several with other policies, in words": {[]placement.Cluster{of("east", narrow), of("west", noVolumes)}, today},
		"one of several":                        {[]placement.Cluster{of("east", narrow), of("west", wide)}, ""},
		"only one that was removed":             {[]placement.Cluster{removed}, today},
		"one that was removed does not count":   {[]placement.Cluster{of("east", narrow), removed}, today},
	} {
		gotField, words := asks.Review(by, test.clusters, privileged(), nil)
		require.Equal(t, test.words, words, name)
		require.Equal(t, map[bool]string{true: "", false: field}[words == ""], gotField, name)
	}
}

// TestEachClusterGivesItsReason: the reasons differ, and there are many.
func TestEachClusterGivesItsReason(t *testing.T) {
	by, narrow, wide := reporting(t)
	template := pod(map[string]any{
		"containers":        []any{map[string]any{"name": "main", "image": "a:1", "securityContext": map[string]any{"privileged": true}}},
		"priorityClassName": "high",
	})
	clusters := []placement.Cluster{{Name: "east", PodPolicy: narrow}, {Name: "west", PodPolicy: wide}}
	_, east := by.Review(narrow, template, &task.RunSpec{})
	_, west := by.Review(wide, template, &task.RunSpec{})
	field, words := asks.Review(by, clusters, template, &task.RunSpec{})
	require.Equal(t, "task_template.k8s_pod.pod_spec", field)
	require.Equal(t, "no cluster allows it. east: "+east+". west: "+west, words)
	_, anywhere := asks.Anywhere{Policies: by, Clusters: known(clusters)}.Review(template, &task.RunSpec{})
	require.Equal(t, words, anywhere)

	for i := range 5 {
		clusters = append(clusters, placement.Cluster{Name: fmt.Sprint("north-", i), PodPolicy: wide})
	}
	_, words = asks.Review(by, clusters, template, &task.RunSpec{})
	require.Contains(t, words, "north-2")
	require.NotContains(t, words, "north-3")
	require.Contains(t, words, "and 2 more")
}

type known []placement.Cluster

func (k known) Clusters() []placement.Cluster { return k }

// TestARequestKnowsThePoliciesThatRefuseIt: what is read of a task judges it later, by other policies.
func TestARequestKnowsThePoliciesThatRefuseIt(t *testing.T) {
	by, narrow, wide := reporting(t)
	rules := &asks.Rules{Pods: func(template *core.TaskTemplate) asks.Pods { return by.Read(template) }}
	request := rules.Of(privileged(), &task.RunSpec{})
	require.Contains(t, request.Refuses(narrow), "privileged")
	require.Empty(t, request.Refuses(wide))
	of := rules.Of(container("python", nil), &task.RunSpec{SecurityContext: &core.SecurityContext{RunAs: &core.Identity{K8SServiceAccount: "admin"}}})
	require.Nil(t, of.Refuses, "a container without an image cannot run for another reason")
	require.Nil(t, (&asks.Rules{}).Of(privileged(), nil).Refuses)
}
