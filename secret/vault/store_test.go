package vault_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
	"github.com/flyte-binary/flyte-binary/secret/vault"
)

type bench struct {
	*double
	config vault.Config
	clock  *clock.Fake
	store  *vault.Store
}

func newBench(t *testing.T, auth vault.AuthConfig) *bench {
	t.Setenv("VAULT_TOKEN", "not-this-one")
	t.Setenv("VAULT_NAMESPACE", "not-this-one")
	b := &bench{double: newDouble(t), config: vault.DefaultConfig(), clock: clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	b.config.Address, b.config.Namespace, b.config.Mount, b.config.Auth = b.server.URL, namespace, "kv", auth
	var err error
	b.store, err = vault.New(b.config, b.clock, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	return b
}

func withToken() vault.AuthConfig { return vault.AuthConfig{Method: "token", Token: rootToken} }

func withAppRole() vault.AuthConfig {
	return vault.AuthConfig{Method: "approle", Mount: "our-approle", RoleID: roleID, SecretID: secretID}
}

func withPod(t *testing.T) vault.AuthConfig {
	path := filepath.Join(t.TempDir(), "jwt")
	require.NoError(t, os.WriteFile(path, []byte(podJWT+"\n"), 0o600))
	return vault.AuthConfig{Method: "kubernetes", Role: podRole, JWTFile: path}
}

func TestContract(t *testing.T) {
	backendtest.Contract(t, newBench(t, withToken()).store, backendtest.Options{MaxValue: 700 << 10})
}

func TestEverySignIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(rootToken+"\n"), 0o600))
	for name, auth := range map[string]vault.AuthConfig{
		"token": withToken(), "token of a file": {Method: "token", TokenFile: file}, "service account": withPod(t), "AppRole": withAppRole(),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, auth)
			require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("x")))
			_, err := b.store.Describe(t.Context(), backendtest.ID("p", "d", "key"))
			require.NoError(t, err)
			logins, _ := b.counts()
			require.LessOrEqual(t, logins, 1, "one sign-in serves every call")
		})
	}
}

func TestAWrongCredentialIsAnOutageInWords(t *testing.T) {
	auth := withAppRole()
	auth.SecretID = "wrong-secret-id"
	err := newBench(t, auth).store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("hidden"))
	var unavailable *entry.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.NotContains(t, err.Error(), "wrong-secret-id")
	require.NotContains(t, err.Error(), "hidden")
}

func TestWhereASecretIs(t *testing.T) {
	b := newBench(t, withToken())
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("text")))
	require.Equal(t, "text", b.stored("d/p/key")["value"])
	require.NoError(t, b.store.Create(t.Context(), backendtest.ID("", "", "key"), entry.Content{Value: entry.NewValue([]byte{0xff, 0})}))
	require.Equal(t, "/wA=", b.stored("-/-/key")["binary"])

	// What other tools write has neither a type nor a time.
	b.set(func() { b.secrets["d/-/theirs"] = []map[string]any{{"value": "by hand"}} })
	content, err := b.store.Value(t.Context(), backendtest.ID("", "d", "theirs"))
	require.NoError(t, err)
	require.Equal(t, "by hand", string(content.Value.Reveal()))
	about, err := b.store.Describe(t.Context(), backendtest.ID("", "d", "theirs"))
	require.NoError(t, err)
	require.Equal(t, 2026, about.Created.Year())
}

// run runs the loop of the backend until the test ends.
func (b *bench) run(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); b.store.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	b.awaitIdle(t)
}

func (b *bench) awaitIdle(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool { return b.clock.Timers() == 1 }, 10*time.Second, time.Millisecond)
}

func (b *bench) describe(t *testing.T) error {
	t.Helper()
	_, err := b.store.Describe(t.Context(), backendtest.ID("p", "d", "key"))
	return err
}

func TestTheTokenIsRenewedInTime(t *testing.T) {
	b := newBench(t, withPod(t))
	b.set(func() { b.lease = time.Hour })
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
	b.run(t)
	for i := range 3 {
		b.clock.Step(41 * time.Minute)
		require.Eventually(t, func() bool { _, renewals := b.counts(); return renewals == i+1 }, 10*time.Second, time.Millisecond)
		b.awaitIdle(t)
	}
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
	logins, _ := b.counts()
	require.Equal(t, 1, logins, "two hours with one sign-in")

	// At the end of the longest life that Vault gives to a token, another sign-in replaces it.
	b.set(func() { b.maxed = true })
	b.clock.Step(41 * time.Minute)
	require.Eventually(t, func() bool { logins, _ := b.counts(); return logins == 2 }, 10*time.Second, time.Millisecond)
	b.awaitIdle(t)
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
}

func TestAnExpiredOrRevokedTokenIsReplaced(t *testing.T) {
	b := newBench(t, withAppRole())
	b.set(func() { b.lease = time.Hour })
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
	b.clock.Step(2 * time.Hour)
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
	logins, _ := b.counts()
	require.Equal(t, 2, logins, "expired")
	b.set(func() { clear(b.tokens) })
	require.ErrorIs(t, b.describe(t), entry.ErrNotFound)
	logins, _ = b.counts()
	require.Equal(t, 3, logins, "revoked")
}

// Fault: Vault is sealed while the server runs, and unsealed later.
func TestVaultIsSealedInTheMiddle(t *testing.T) {
	b := newBench(t, withPod(t))
	b.set(func() { b.lease = time.Hour })
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, b.store.Create(t.Context(), id, backendtest.Text("hidden")))
	b.run(t)
	b.set(func() { b.sealed = true })
	for name, call := range map[string]func() error{
		"describe": func() error { return b.describe(t) },
		"value":    func() error { _, err := b.store.Value(t.Context(), id); return err },
		"create": func() error {
			return b.store.Create(t.Context(), backendtest.ID("p", "d", "other"), backendtest.Text("hidden"))
		},
		"update": func() error { return b.store.Update(t.Context(), id, backendtest.Text("hidden")) },
		"delete": func() error { return b.store.Delete(t.Context(), id) },
		"list":   func() error { _, err := b.store.List(t.Context(), entry.Scope{}, "", 10); return err },
	} {
		var unavailable *entry.UnavailableError
		err := call()
		require.ErrorAs(t, err, &unavailable, name)
		require.Contains(t, unavailable.Words, "sealed", name)
		require.NotContains(t, err.Error(), "hidden", name)
	}
	b.clock.Step(41 * time.Minute) // a renewal fails, and is tried again
	b.awaitIdle(t)
	b.set(func() { b.sealed = false })
	b.clock.Step(10 * time.Second)
	require.Eventually(t, func() bool { _, renewals := b.counts(); return renewals == 1 }, 10*time.Second, time.Millisecond)
	content, err := b.store.Value(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "hidden", string(content.Value.Reveal()))
	_, err = b.store.Describe(t.Context(), backendtest.ID("p", "d", "other"))
	require.ErrorIs(t, err, entry.ErrNotFound, "nothing was half stored")
}

func TestTwoUpdatesAtTheSameTime(t *testing.T) {
	b := newBench(t, withToken())
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, b.store.Create(t.Context(), id, backendtest.Text("one")))
	errs := make(chan error, 8)
	for range cap(errs) {
		go func() { errs <- b.store.Update(context.Background(), id, backendtest.Text("two")) }()
	}
	won := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			won++
		} else {
			require.ErrorIs(t, err, entry.ErrConflict)
		}
	}
	require.Positive(t, won)
}

func TestConfigNamesTheWrongField(t *testing.T) {
	for field, change := range map[string]func(*vault.Config){
		"address":        func(c *vault.Config) { c.Address = "vault:8200" },
		"mount":          func(c *vault.Config) { c.Mount = "/kv" },
		"prefix":         func(c *vault.Config) { c.Prefix = "" },
		"auth.method":    func(c *vault.Config) { c.Auth.Method = "ldap" },
		"auth.role":      func(c *vault.Config) { c.Auth = vault.AuthConfig{Method: "kubernetes"} },
		"auth.roleID":    func(c *vault.Config) { c.Auth = vault.AuthConfig{Method: "approle", RoleID: "x"} },
		"auth.tokenFile": func(c *vault.Config) { c.Auth = vault.AuthConfig{Method: "token"} },
	} {
		config := vault.DefaultConfig()
		config.Address, config.Auth = "https://vault:8200", withToken()
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
