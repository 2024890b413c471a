package manager_test

import (
	"bufio"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// startDex runs Dex, an identity provider that has nothing in common with the other one, as a process, and returns its URL. The test is
// skipped where it was not built.
func startDex(t *testing.T, installation string) string {
	t.Helper()
	program, err := filepath.Abs("../.bin/dex")
	require.NoError(t, err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("Dex is missing; make dex builds it")
	}
	command := exec.CommandContext(t.Context(), program, "-installation", installation)
	lives, err := command.StdinPipe()
	require.NoError(t, err)
	said, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = lives.Close()  // it ends then
		_ = command.Wait() // or because the test has ended
	})
	line, err := bufio.NewReader(said).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// atDex signs in at Dex and returns the page to which it leads back.
func (b *browser) atDex() page {
	b.t.Helper()
	shown := b.open("/access/provider?name=Dex&return=/v2/runs")
	require.Contains(b.t, shown.location.Path, "/auth/local", shown.body)
	form := url.Values{"login": {issuertest.Email}, "password": {issuertest.Password}}
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, shown.location.String(), strings.NewReader(form.Encode()))
	require.NoError(b.t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.send(request)
}

// TestTwoIndependentIssuers signs the same address in at two identity providers, and with a local account of that name: each is another
// person, with roles of their own. A clock that is ten minutes ahead is refused, since the tokens of Dex are valid for five.
func TestTwoIndependentIssuers(t *testing.T) {
	address, clk := freeAddress(t), shiftedBy(0)
	_, port, _ := strings.Cut(address, ":")
	here := "https://localhost:" + port
	zitadel, dex := issuertest.NewZitadel(t, here+"/access/callback"), startDex(t, here)
	server := startSignInAt(t, clk, func(c *configuration.Config) {
		c.Server.Listen = address
		for _, one := range [][2]string{{"Zitadel", zitadel.URL}, {"Dex", dex}} {
			c.Access.Issuers = append(c.Access.Issuers, access.IssuerConfig{
				Name: one[0], URL: one[1], ClientID: issuertest.ClientID, ClientSecret: issuertest.ClientSecret, SubjectClaim: "email",
			})
		}
		c.Access.Local.Accounts = append(c.Access.Local.Accounts, access.AccountConfig{Name: issuertest.Email, Password: password})
	})
	first, second, local := server.browser(t), server.browser(t), server.browser(t)
	first.atProvider("/access/provider?name=Zitadel&return=/v2/runs")
	require.Equal(t, "/v2/runs", second.atDex().location.Path)
	local.signIn(issuertest.Email)
	for want, browser := range map[string]*browser{
		issuertest.Email: first, "Dex|" + issuertest.Email: second, "local|" + issuertest.Email: local,
	} {
		who, err := server.whoami(t, browser.http, "")
		require.NoError(t, err, want)
		require.Equal(t, want, who.GetSubject())
	}

	clk.by.Add(int64(50 * time.Second))
	require.Equal(t, "/v2/runs", server.browser(t).atDex().location.Path, "clocks may differ a little")
	clk.by.Add(int64(10 * time.Minute))
	ahead := server.browser(t)
	shown := ahead.atDex()
	require.Equal(t, http.StatusBadGateway, shown.status, shown.body)
	require.Contains(t, shown.body, "The clocks do not agree")
	require.Contains(t, shown.body, "this clock or that of Dex is wrong")
	_, err := server.whoami(t, ahead.http, "")
	require.Equal(t, connect.CodeUnauthenticated, connect.CodeOf(err))
}
