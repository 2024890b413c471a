package issuertest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

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

// Zitadel is the example provider of zitadel/oidc, which signs people in.
type Zitadel struct {
	// URL is the issuer.
	URL string

	t       testing.TB
	address string
	handler http.Handler
	server  *http.Server

	mu     sync.Mutex
	served map[string]int // GUARDED_BY(mu): requests by path
}

// Served counts the requests to a path.
func (z *Zitadel) Served(path string) int {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.served[path]
}

// ServeHTTP implements http.Handler.
func (z *Zitadel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	z.mu.Lock()
	z.served[r.URL.Path]++
	z.mu.Unlock()
	z.handler.ServeHTTP(w, r)
}

// NewZitadel starts the provider with a client that people are sent back to.
func NewZitadel(t testing.TB, redirect string) *Zitadel {
	t.Helper()
	require.NotEmpty(t, redirect)
	z := &Zitadel{t: t, address: "127.0.0.1:0", served: map[string]int{}}
	z.Start()
	t.Cleanup(z.Stop)
	z.URL = "http://" + strings.Replace(z.address, "127.0.0.1", "localhost", 1)
	z.handler = Provider(z.URL, strings.TrimSuffix(redirect, "/access/callback"))
	return z
}

// Provider is the example provider at a URL, with the client of an installation at another.
func Provider(url, installation string) http.Handler {
	clients := storage.NewStorageWithClients(storage.NewUserStore(url), map[string]*storage.Client{
		ClientID: storage.WebClient(ClientID, ClientSecret, installation+"/access/callback"),
	})
	return exampleop.SetupServer(url, leading{clients, installation + "/access/signed-out"}, nil, false, op.WithAllowInsecure())
}

// leading is the storage of the provider, whose clients have a page to which people come after they have signed out.
type leading struct {
	*storage.Storage
	left string
}

// GetClientByClientID implements op.Storage.
func (l leading) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	client, err := l.Storage.GetClientByClientID(ctx, id)
	return left{client, l.left}, err
}

type left struct {
	op.Client
	page string
}

// PostLogoutRedirectURIs implements op.Client.
func (l left) PostLogoutRedirectURIs() []string { return []string{l.page} }

// Start listens, at the same address as before.
func (z *Zitadel) Start() {
	z.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(z.t.Context(), "tcp", z.address)
	require.NoError(z.t, err)
	z.address = listener.Addr().String()
	z.server = &http.Server{Handler: z, ReadHeaderTimeout: time.Minute}
	go z.server.Serve(listener) //nolint:errcheck // until Stop
}

// Stop closes its port and its connections.
func (z *Zitadel) Stop() { require.NoError(z.t, z.server.Close()) }
