package manager_test

import (
	"net/http"
	"net/url"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
)

// approveCode lets the command line sign in from a browser that is signed in, and returns the address that has the code.
func (c *commandLine) approveCode() *url.URL {
	c.t.Helper()
	shown := c.open(c.meta.GetAuthorizationEndpoint() + "?" + c.parameters().Encode())
	return c.post("/access/approve", url.Values{"request": {shown.field(c.t, "request")}, "answer": {"allow"}}).location
}

// approveDevice lets a device sign in from a browser that is signed in, and returns its code.
func (c *commandLine) approveDevice() (device string) {
	c.t.Helper()
	waiting := c.ask(c.meta.GetDeviceAuthorizationEndpoint(), url.Values{"client_id": {c.config.GetClientId()}})
	require.Equal(c.t, http.StatusOK, c.post("/access/device", url.Values{"user_code": {waiting.UserCode}, "answer": {"allow"}}).status)
	return waiting.Device
}

// poll asks for the tokens of a device.
func (c *commandLine) poll(device string) tokens {
	c.t.Helper()
	return c.ask(c.meta.GetTokenEndpoint(), url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:device_code"}, "client_id": {c.config.GetClientId()}, "device_code": {device},
	})
}

// refresh asks for another access token.
func (c *commandLine) refresh(token string) tokens {
	c.t.Helper()
	return c.ask(c.meta.GetTokenEndpoint(), url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {c.config.GetClientId()}})
}

// TestAnApprovalEndsWithItsSession: codes and devices that a person approved, and the tokens that clients got for them, are worth nothing
// once the person has signed out in that browser, or was signed out.
func TestAnApprovalEndsWithItsSession(t *testing.T) {
	server := startSignIn(t, nil)
	admin, elsewhere := server.browser(t), server.browser(t)
	admin.signIn("admin")
	elsewhere.signIn("grace")
	accounts := accessv1connect.NewAccountServiceClient(admin.http, server.url)
	other := elsewhere.commandLine()
	stays := other.exchange(other.approveCode())
	for _, end := range []struct {
		how string
		do  func(b *browser)
	}{
		{"sign-out", func(b *browser) { b.post("/access/sign-out", nil) }},
		{"another person signs in there", func(b *browser) { b.signIn("admin") }},
		{"signed out by an operator", func(*browser) {
			_, err := accounts.EndSessions(t.Context(), &accessv1.EndSessionsRequest{Subject: "grace"})
			require.NoError(t, err)
		}},
	} {
		grace := server.browser(t)
		grace.signIn("grace")
		client := grace.commandLine()
		byCode, byDevice := client.exchange(client.approveCode()), client.poll(client.approveDevice())
		program := server.browser(t).http
		for _, got := range []tokens{byCode, byDevice} {
			_, err := server.whoami(t, program, got.Access)
			require.NoError(t, err, end.how)
		}
		code, device := client.approveCode(), client.approveDevice()
		_, err := server.whoami(t, program, stays.Access)
		require.NoError(t, err, "what was approved in another browser stays")
		end.do(grace)
		require.Equal(t, "invalid_grant", client.exchange(code).Error, end.how)
		require.Equal(t, "invalid_grant", client.poll(device).Error, end.how)
		for _, got := range []tokens{byCode, byDevice} {
			require.Equal(t, "invalid_grant", client.refresh(got.Refresh).Error, end.how)
			_, err := server.whoami(t, program, got.Access)
			require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err), "%s: %v", end.how, err)
		}
	}
}

// TestSigningInTwiceKeepsTheFirst: the SDK opens the browser for calls and for streams, so a person may sign in on two pages at once.
func TestSigningInTwiceKeepsTheFirst(t *testing.T) {
	server := startSignIn(t, nil)
	browser := server.browser(t)
	client := browser.commandLine()
	page := func() string {
		return browser.open(client.meta.GetAuthorizationEndpoint()+"?"+client.parameters().Encode()).field(t, "request")
	}
	first, second := page(), page()
	enter := func(request string) *url.URL {
		return browser.post("/access/sign-in", url.Values{"name": {"grace"}, "password": {password}, "request": {request}}).location
	}
	calls := client.exchange(enter(first))
	streams := client.exchange(enter(second))
	program := server.browser(t).http
	for _, got := range []tokens{calls, streams} {
		require.Empty(t, got.Error, got.Description)
		_, err := server.whoami(t, program, got.Access)
		require.NoError(t, err)
		require.Empty(t, client.refresh(got.Refresh).Error)
	}
	browser.post("/access/sign-out", nil)
	for _, got := range []tokens{calls, streams} {
		require.Equal(t, "invalid_grant", client.refresh(got.Refresh).Error)
	}
}
