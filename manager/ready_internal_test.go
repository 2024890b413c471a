package manager

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
	"github.com/flyte-binary/flyte-binary/manager/system"
)

func TestAMissingDefinitionOfTaskActionsIsExplained(t *testing.T) {
	require.NoError(t, system.ServesTaskActions(t.Context(), kubetest.New(t).Config))

	answer := `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "flyte.org/v1", "resources": [{"name": "others"}]}`
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer)) // the client judges it
	}))
	config := &rest.Config{Host: server.URL}
	missing := func() {
		var failure *diagnose.Failure
		require.ErrorAs(t, system.ServesTaskActions(t.Context(), config), &failure)
		require.Equal(t, "API server", failure.Part)
		require.Contains(t, failure.Problem(), "taskactions.flyte.org")
		require.Contains(t, failure.Fix, "executor.installCrd")
	}
	missing()
	answer, status = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`, http.StatusNotFound
	missing()
	server.Close()
	require.NoError(t, system.ServesTaskActions(t.Context(), config), "the check of the API server reports it")
}
