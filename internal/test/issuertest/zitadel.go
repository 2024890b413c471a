package issuertest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// The client and the person of the example provider.
const (
	ClientID     = "flyte"
	ClientSecret = "secret of flyte"
	User         = "test-user2"
	Password     = "verysecure"
	Subject      = "id2"
	Email        = "test-user2@zitadel.ch"
)

// Zitadel starts the example provider of zitadel/oidc with a client that people are sent back to, and returns its URL.
func Zitadel(t testing.TB, redirect string) string {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	url := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	require.NotEmpty(t, redirect)
	clients := storage.NewStorageWithClients(storage.NewUserStore(url), map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, ClientSecret, redirect),
	})
	handler = exampleop.SetupServer(url, clients, nil, false, op.WithAllowInsecure())
	return url
}
