package taskactions_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestCreatedNamespacesNameTheirProject(t *testing.T) {
	f := newFixture(t)
	f.config.Namespace = "{{project}}-{{domain}}-labels-" + f.cluster.Namespace
	f.engine.assign(assignment(3001, "a0"), true)
	f.start()
	name := "proj-dev-labels-" + f.cluster.Namespace
	require.Eventually(t, func() bool { return f.actions(name) == "a0" }, 20*time.Second, 5*time.Millisecond)
	made := &corev1.Namespace{}
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKey{Name: name}, made))
	for key, want := range map[string]string{
		v1.LabelManaged: "true", v1.LabelProject: "proj", v1.LabelDomain: "dev", "pod-security.kubernetes.io/enforce": "baseline",
	} {
		require.Equal(t, want, made.Labels[key])
	}
	watching := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "watching"}, Spec: corev1.PodSpec{
		HostPID: true, Containers: []corev1.Container{{Name: "main", Image: "i"}},
	}}
	require.ErrorContains(t, f.cluster.Client.Create(t.Context(), watching), `violates PodSecurity "baseline:latest"`)
}

// ofTheProject gives each project and domain a namespace and returns that of the assignments. The owner sees all namespaces
// then, and those of other tests must not count.
func (f *fixture) ofTheProject() string {
	f.installation = f.cluster.Namespace
	f.config.Namespace = "{{project}}-{{domain}}-" + f.cluster.Namespace
	return "proj-dev-" + f.cluster.Namespace
}

// A project's name must not lead its pods into a namespace that exists for something else.
func TestNamespacesOfOthersAreNotUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		labels  map[string]string
		prepare func(f *fixture, namespace string)
		words   string // empty where the namespace is used
	}{
		"not marked":             {nil, nil, "kubectl label namespace proj-dev-%s flyte.org/managed=true"},
		"marked as something":    {map[string]string{v1.LabelManaged: "false"}, nil, "is not marked as one for tasks"},
		"of another project":     {map[string]string{v1.LabelManaged: "true", v1.LabelProject: "other"}, nil, `its label flyte.org/project is "other", not "proj"`},
		"of another domain":      {map[string]string{v1.LabelManaged: "true", v1.LabelProject: "proj", v1.LabelDomain: "production"}, nil, "flyte.org/domain"},
		"of the server":          {map[string]string{v1.LabelManaged: "true"}, func(f *fixture, namespace string) { f.own = namespace }, "is the server's own"},
		"cannot be read":         {map[string]string{v1.LabelManaged: "true"}, func(f *fixture, _ string) { f.kube = refusing(f.kube, http.MethodGet) }, "allow the controller to get namespaces"},
		"marked by hand":         {map[string]string{v1.LabelManaged: "true"}, nil, ""},
		"of the project":         {map[string]string{v1.LabelManaged: "true", v1.LabelProject: "proj", v1.LabelDomain: "dev"}, nil, ""},
		"marked, none created":   {map[string]string{v1.LabelManaged: "true"}, func(f *fixture, _ string) { f.config.CreateNamespaces = false }, ""},
		"unmarked, none created": {nil, func(f *fixture, _ string) { f.config.CreateNamespaces = false }, "is not marked as one for tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			namespace := f.ofTheProject()
			require.NoError(t, f.cluster.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: tc.labels}}))
			if tc.prepare != nil {
				tc.prepare(f, namespace)
			}
			f.engine.assign(assignment(1, "a0"), true)
			f.start()
			if tc.words == "" {
				require.Eventually(t, func() bool { return f.actions(namespace) == "a0" }, 20*time.Second, 5*time.Millisecond)
				return
			}
			require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
			got := f.events.all()[0].GetError()
			require.Equal(t, "NamespaceNotOurs", got.GetCode())
			require.Equal(t, core.ExecutionError_SYSTEM, got.GetKind())
			require.Contains(t, got.GetMessage(), strings.ReplaceAll(tc.words, "%s", f.cluster.Namespace))
			require.Empty(t, f.actions(namespace))
		})
	}
}

// An operator who names one namespace for all tasks has decided, even if it is the server's own and carries no mark.
func TestAConfiguredNamespaceNeedsNoMark(t *testing.T) {
	f := newFixture(t)
	f.own = f.cluster.Namespace
	f.engine.assign(assignment(1, "a0"), true)
	f.start()
	f.eventually("a0")
}

// A mark that the operator takes away counts within a minute.
func TestMarksAreReadAgain(t *testing.T) {
	f := newFixture(t)
	f.clock = clock.NewFake(time.Now())
	f.config.MaxSilence, f.config.Resync = time.Hour, time.Hour // they have the same clock
	namespace := f.ofTheProject()
	f.start()
	f.engine.assign(assignment(1, "a0"), true)
	require.Eventually(t, func() bool { return f.actions(namespace) == "a0" }, 20*time.Second, 5*time.Millisecond)
	made := &corev1.Namespace{}
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, made))
	delete(made.Labels, v1.LabelManaged)
	require.NoError(t, f.cluster.Client.Update(t.Context(), made))
	f.clock.Step(time.Minute)
	f.engine.assign(assignment(2, "b"), true)
	require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
	require.Equal(t, "NamespaceNotOurs", f.events.all()[0].GetError().GetCode())
}

// refusing answers 403 to requests for namespaces with these methods.
func refusing(config *rest.Config, methods ...string) *rest.Config {
	refused := rest.CopyConfig(config)
	refused.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			for _, method := range methods {
				if r.Method == method && strings.HasPrefix(r.URL.Path, "/api/v1/namespaces") {
					body := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not allowed"}`
					return &http.Response{
						StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}},
						Body: io.NopCloser(strings.NewReader(body)), Request: r,
					}, nil
				}
			}
			return next.RoundTrip(r)
		})
	})
	return refused
}

func TestActionsWithoutANamespaceFailWithAMessage(t *testing.T) {
	for name, prepare := range map[string]func(*fixture){
		"creation is disabled":  func(f *fixture) { f.config.CreateNamespaces = false },
		"creation is forbidden": func(f *fixture) { f.kube = refusing(f.kube, http.MethodPost) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.config.Namespace = "missing-" + f.cluster.Namespace
			prepare(f)
			f.engine.assign(assignment(1, "a0"), true)
			f.start()
			require.Eventually(t, func() bool { return len(f.events.all()) == 1 }, 20*time.Second, time.Millisecond)
			got := f.events.all()[0].GetError()
			require.Equal(t, "NamespaceMissing", got.GetCode())
			require.Equal(t, core.ExecutionError_SYSTEM, got.GetKind())
			require.Contains(t, got.GetMessage(), "namespace missing-"+f.cluster.Namespace+" does not exist")
		})
	}
}

func TestNamespacesThatExistNeedNoRights(t *testing.T) {
	for name, prepare := range map[string]func(*fixture){
		"creation is disabled": func(f *fixture) { f.config.CreateNamespaces = false },
		"reads are forbidden":  func(f *fixture) { f.kube = refusing(f.kube, http.MethodPost, http.MethodGet) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			prepare(f)
			f.engine.assign(assignment(1, "a0"), true)
			f.start()
			require.Eventually(t, func() bool { return f.actions(f.cluster.Namespace) == "a0" }, 20*time.Second, 5*time.Millisecond)
		})
	}
}
