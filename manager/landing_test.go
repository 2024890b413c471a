package manager

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLinksOfRunsTellTheCommand(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v2/domain/{domain}/project/{project}/{kind}/{name}", landing)
	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/v2/domain/development/project/flytesnacks/runs/r1%3Cscript%3E", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, answer.Body.String(), "flyte get run -p flytesnacks -d development r1&lt;script&gt;")
	require.NotContains(t, answer.Body.String(), "<script>")
}
