// Package kubetest gives tests a real Kubernetes API server, and a node that runs nothing. One server and its store are
// started for each test process, as child processes that end with it; each test gets a namespace of its own. There are
// no controllers: owner references are not collected and namespaces are not emptied. Only tests import it.
package kubetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// Cluster is an API server with a namespace for one test. The TaskAction CRD is installed.
type Cluster struct {
	// Config reaches the API server as an administrator, without a client-side limit of requests.
	Config *rest.Config
	// Namespace is the test's own.
	Namespace string
	// Clientset reaches the built-in kinds, uncached.
	Clientset kubernetes.Interface
	// Client reaches TaskActions too, uncached.
	Client client.Client
}

// New starts the servers, if they do not run yet, and creates a namespace. The test is skipped when the binaries are not
// built; the reason says how to build them.
func New(t testing.TB) *Cluster {
	t.Helper()
	running, err := shared()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	return namespaceOn(t, running)
}

// Another starts an API server of the test's own, with its store, and creates a namespace. It is for tests of installations with several
// clusters, whose objects of the same name must not be the same object. Both programs end with the test.
func Another(t testing.TB) *Cluster {
	t.Helper()
	running, err := startServers()
	if errors.Is(err, errMissing) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		for _, pipe := range running.pipes {
			require.NoError(t, pipe.Close())
		}
	})
	return namespaceOn(t, running)
}

func namespaceOn(t testing.TB, running *server) *Cluster {
	t.Helper()
	cluster := &Cluster{Config: rest.CopyConfig(running.config)}
	var err error
	cluster.Clientset, err = kubernetes.NewForConfig(cluster.Config)
	require.NoError(t, err)
	cluster.Client, err = client.New(cluster.Config, client.Options{Scheme: Scheme(t)})
	require.NoError(t, err)
	namespace, err := cluster.Clientset.CoreV1().Namespaces().Create(context.Background(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	cluster.Namespace = namespace.Name
	return cluster
}

// Scheme knows the built-in kinds and TaskActions.
func Scheme(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1.AddToScheme(scheme))
	return scheme
}
