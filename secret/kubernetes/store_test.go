package kubernetes_test

import (
	"net/http"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
	"github.com/flyte-binary/flyte-binary/secret/kubernetes"
)

func open(t *testing.T, cluster *kubetest.Cluster, installation string) *kubernetes.Store {
	t.Helper()
	store, err := kubernetes.New(kubernetes.Config{Namespace: cluster.Namespace}, cluster.Config, installation)
	require.NoError(t, err)
	return store
}

func TestContract(t *testing.T) {
	backendtest.Contract(t, open(t, kubetest.New(t), "abc"), backendtest.Options{})
}

func TestInstallationsShareANamespace(t *testing.T) {
	cluster := kubetest.New(t)
	one, two := open(t, cluster, "one"), open(t, cluster, "two")
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, one.Create(t.Context(), id, backendtest.Text("of one")))
	require.NoError(t, two.Create(t.Context(), id, backendtest.Text("of two")))
	content, err := one.Value(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "of one", string(content.Value.Reveal()))
	page, err := two.List(t.Context(), entry.Scope{}, "", 10)
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
}

func TestTheNamespaceIsCreated(t *testing.T) {
	cluster := kubetest.New(t)
	config := kubernetes.Config{Namespace: cluster.Namespace + "-new"}
	store, err := kubernetes.New(config, cluster.Config, "")
	require.NoError(t, err)
	require.NoError(t, store.Create(t.Context(), backendtest.ID("", "", "key"), backendtest.Text("x")))
	_, err = store.Describe(t.Context(), backendtest.ID("", "", "key"))
	require.NoError(t, err)
}

func TestATokenThatIsNoneIsRefused(t *testing.T) {
	_, err := open(t, kubetest.New(t), "").List(t.Context(), entry.Scope{}, "nonsense", 10)
	require.ErrorIs(t, err, entry.ErrBadToken)
}

// Lists and descriptions are of metadata: the API server sends no values.
func TestOnlyValuesAreReadWithValues(t *testing.T) {
	cluster := kubetest.New(t)
	var accepts []string
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				accepts = append(accepts, r.Header.Get("Accept"))
			}
			return next.RoundTrip(r)
		})
	})
	store, err := kubernetes.New(kubernetes.Config{Namespace: cluster.Namespace}, config, "")
	require.NoError(t, err)
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, store.Create(t.Context(), id, backendtest.Text("x")))
	_, err = store.Describe(t.Context(), id)
	require.NoError(t, err)
	_, err = store.List(t.Context(), entry.Scope{}, "", 10)
	require.NoError(t, err)
	require.Len(t, accepts, 2)
	for _, accept := range accepts {
		require.Contains(t, accept, "as=PartialObjectMetadata")
	}
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestWithoutRightsItSaysSo(t *testing.T) {
	cluster := kubetest.New(t)
	config := rest.CopyConfig(cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	store, err := kubernetes.New(kubernetes.Config{Namespace: cluster.Namespace}, config, "")
	require.NoError(t, err)
	var unavailable *entry.UnavailableError
	err = store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("hidden"))
	require.ErrorAs(t, err, &unavailable)
	require.Contains(t, unavailable.Words, "no right")
	require.NotContains(t, err.Error(), "hidden")
	_, err = cluster.Clientset.CoreV1().Secrets(cluster.Namespace).Get(t.Context(), "any", metav1.GetOptions{})
	require.True(t, apierrors.IsNotFound(err))
}

// TestRegistriesOfImages: the list of image pull secrets is one of metadata, and only those are read with values.
func TestRegistriesOfImages(t *testing.T) {
	t.Parallel()
	cluster := kubetest.New(t)
	service, err := secret.New(secret.Deps{Backends: []secret.Named{{Name: "kubernetes", Backend: open(t, cluster, "abc")}}, Logger: zerolog.Nop()})
	require.NoError(t, err)
	create := func(project, domain, name, value string, kind secretpb.SecretType) {
		t.Helper()
		_, err := service.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{
			Id:         &secretpb.SecretIdentifier{Project: project, Domain: domain, Name: name},
			SecretSpec: &secretpb.SecretSpec{Type: kind, Value: &secretpb.SecretSpec_StringValue{StringValue: value}},
		})
		require.NoError(t, err)
	}
	const pull = secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET
	create("", "", "registry", `{"auths":{"ghcr.io":{"auth":"org"}}}`, pull)
	create("", "d", "registry-d", `{"auths":{"ghcr.io":{"auth":"domain"}}}`, pull)
	create("q", "d", "registry-q", `{"auths":{"ghcr.io":{"auth":"another"}}}`, pull)
	create("", "", "generic", `{"auths":{"quay.io":{"auth":"no"}}}`, secretpb.SecretType_SECRET_TYPE_GENERIC)
	for image, want := range map[string]string{"ghcr.io/a:1": `{"auths":{"ghcr.io":{"auth":"domain"}}}`, "quay.io/a": "", "python:3": ""} {
		answer, err := service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Images: []string{image}})
		require.NoError(t, err)
		require.Equal(t, want, string(answer.GetPullConfig()), image)
	}
}
