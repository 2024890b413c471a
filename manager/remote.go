package manager

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// Remote is a server that runs elsewhere, as commands of operators reach it: with the internal token, if the configuration
// has one.
type Remote struct {
	url    string
	token  string
	client *http.Client
}

// NewRemote returns the server at a URL; the empty one is the address that the configuration listens on, on this machine.
func NewRemote(config configuration.Config, url string) (*Remote, error) {
	certificates, err := certfiles.NewMutual(config.Auth.TLS.Files(), clock.System{}, zerolog.Nop())
	if err != nil {
		return nil, fmt.Errorf("auth.tls: %w", err)
	}
	if url == "" {
		url = "http://" + reachable(config.Server.Listen)
		if config.Server.TLS.Enabled() {
			url = "https://" + reachable(config.Server.Listen)
		}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	return &Remote{
		url: strings.TrimSuffix(url, "/"), token: config.Auth.InternalToken,
		client: &http.Client{Transport: &http.Transport{Protocols: protocols, DialTLSContext: certificates.DialTLS("h2", "http/1.1")}},
	}, nil
}

// reachable is where this machine reaches an address to listen on.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// At is the same server at another address.
func (r *Remote) At(url string) *Remote { return &Remote{url: url, token: r.token, client: r.client} }

// URL is where the server is.
func (r *Remote) URL() string { return r.url }

// Close ends its connections.
func (r *Remote) Close() { r.client.CloseIdleConnections() }

// System is the client of its SystemService.
func (r *Remote) System() insightv1connect.SystemServiceClient {
	return insightv1connect.NewSystemServiceClient(r.client, r.url, rpc.WithInternalToken(r.token))
}

// Insight is the client of its InsightService.
func (r *Remote) Insight() insightv1connect.InsightServiceClient {
	return insightv1connect.NewInsightServiceClient(r.client, r.url, rpc.WithInternalToken(r.token))
}

// Get writes what a plain route answers to w, and returns the status. An answer of any status is not an error.
func (r *Remote) Get(ctx context.Context, path string, w io.Writer) (status int, err error) {
	return r.ask(ctx, http.MethodGet, path, "", w)
}

// Put sends a body to a plain route.
func (r *Remote) Put(ctx context.Context, path, body string, w io.Writer) (status int, err error) {
	return r.ask(ctx, http.MethodPut, path, body, w)
}

// askTimeout bounds one request.
const askTimeout = 15 * time.Second

func (r *Remote) ask(ctx context.Context, method, path, body string, w io.Writer) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("ask the server at %s: %w", r.url, err)
	}
	if r.token != "" {
		request.Header.Set(rpc.InternalTokenHeader, r.token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("ask the server: %w", err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(w, response.Body); err != nil {
		return response.StatusCode, fmt.Errorf("read the answer of the server: %w", err)
	}
	return response.StatusCode, nil
}
