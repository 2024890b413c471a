package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestAnInterruptedAnswerIsNoFaultOfTheContainer reads a Secret whose answer breaks off.
func TestAnInterruptedAnswerIsNoFaultOfTheContainer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = fmt.Fprint(w, "{")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	require.NoError(t, err)
	_, err = client.CoreV1().Secrets("default").Get(t.Context(), "s", metav1.GetOptions{})
	require.Error(t, err)
	var wait *waitError
	require.ErrorAs(t, later(fmt.Errorf("environment variable X: %w", err), "CreateContainerConfigError", "Failed"), &wait)
	require.Equal(t, "ContainerCreating", wait.reason)

	require.NotErrorAs(t, later(exec.CommandContext(t.Context(), t.TempDir()+"/missing").Run(), "", ""), &wait, "a fault of this machine")
}
