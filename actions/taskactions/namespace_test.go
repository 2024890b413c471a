package taskactions_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
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
	for key, want := range map[string]string{v1.LabelManaged: "true", v1.LabelProject: "proj", v1.LabelDomain: "dev"} {
		require.Equal(t, want, made.Labels[key])
	}
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
