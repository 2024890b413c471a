package connectors

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/connector/connectorconnect"
)

// remote is a connector as this process reaches it.
type remote struct {
	Endpoint
	jobs     connectorconnect.AsyncConnectorServiceClient
	metadata connectorconnect.ConnectorMetadataServiceClient
	// close closes the connections that no call uses.
	close func()
	// app is the route of the app that serves it; nil for a connector of the configuration.
	app *enginev1.AppRoute
	// shared means that the app serves the tasks of all projects and domains.
	shared bool
}

// scope is the project and the domain whose tasks the connector runs; empty for those of all.
func (r *remote) scope() (project, domain string) {
	if r.app == nil || r.shared {
		return "", ""
	}
	return r.app.GetId().GetProject(), r.app.GetId().GetDomain()
}

// asleep reports whether the connector is an app without a replica, which a call wakes.
func (r *remote) asleep() bool { return r.app.GetWakes() && len(r.app.GetTargets()) == 0 }

// unreachable is why no call can reach the app; empty if one can.
func (r *remote) unreachable() string {
	if r.app == nil || len(r.app.GetTargets()) > 0 || r.app.GetWakes() {
		return ""
	}
	return cmp.Or(r.app.GetReason(), "the app has no replica")
}

// reach makes the clients over a transport.
func (r *remote) reach(over connect.HTTPClient, url string, maxAnswer int) {
	options := connect.WithClientOptions(connect.WithGRPC(), connect.WithReadMaxBytes(maxAnswer), connect.WithInterceptors(bearer(r.Token)))
	r.jobs = connectorconnect.NewAsyncConnectorServiceClient(over, url, options)
	r.metadata = connectorconnect.NewConnectorMetadataServiceClient(over, url, options)
}

// dial makes the clients of an endpoint; nothing is connected yet.
func dial(e Endpoint, maxAnswer int) (*remote, error) {
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if e.CAFile != "" {
		pem, err := os.ReadFile(e.CAFile)
		if err != nil {
			return nil, fmt.Errorf("connector %s: %w", e.Name, err)
		}
		secure.RootCAs = x509.NewCertPool()
		if !secure.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("connector %s: %s has no certificate", e.Name, e.CAFile)
		}
	}
	if e.CertFile != "" {
		certificate, err := tls.LoadX509KeyPair(e.CertFile, e.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("connector %s: %w", e.Name, err)
		}
		secure.Certificates = []tls.Certificate{certificate}
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{
		Protocols: protocols, TLSClientConfig: secure, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 5 * time.Minute,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 15 * time.Second},
	}}
	r := &remote{Endpoint: e, close: client.CloseIdleConnections}
	r.reach(client, e.URL, maxAnswer)
	return r, nil
}

// bearer sends a token with each call.
type bearer string

func (b bearer) add(to http.Header) {
	if b != "" {
		to.Set("Authorization", "Bearer "+string(b))
	}
}

// WrapUnary implements connect.Interceptor.
func (b bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		b.add(r.Header())
		return next(ctx, r)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (b bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		b.add(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (b bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
