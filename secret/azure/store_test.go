package azure_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets"
	"github.com/Azure/azure-sdk-for-go/sdk/security/keyvault/azsecrets/fake"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/secret/azure"
	"github.com/flyte-binary/flyte-binary/secret/backendtest"
	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// keyVault is Azure's side of the library's own fake.
type keyVault struct {
	t *testing.T

	mu      sync.Mutex
	secrets map[string]azsecrets.Secret // GUARDED_BY(mu): by name in lower case
	deleted map[string]bool             // GUARDED_BY(mu): not purged yet
	noPurge bool                        // GUARDED_BY(mu)
	down    bool                        // GUARDED_BY(mu)
}

const address = "https://our.vault.azure.net"

func (k *keyVault) server() fake.Server {
	return fake.Server{
		SetSecret: func(_ context.Context, name string, p azsecrets.SetSecretParameters, _ *azsecrets.SetSecretOptions) (r azfake.Responder[azsecrets.SetSecretResponse], e azfake.ErrorResponder) {
			k.mu.Lock()
			defer k.mu.Unlock()
			switch {
			case len(name) > 127 || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", c) }):
				k.t.Errorf("Azure has no such name: %s", name)
			case len(*p.Value) > 25_000 || len(p.Tags) > 15:
				k.t.Errorf("Azure does not store %d characters with %d tags", len(*p.Value), len(p.Tags))
			}
			for key, value := range p.Tags {
				if len(*value) > 256 {
					k.t.Errorf("tag %s has %d characters", key, len(*value))
				}
			}
			if k.down || k.deleted[name] {
				e.SetResponseError(http.StatusConflict, "ObjectIsDeletedButRecoverable")
				return r, e
			}
			id, now := azsecrets.ID(address+"/secrets/"+name+"/0123"), time.Now()
			made := azsecrets.Secret{ID: &id, Value: p.Value, Tags: p.Tags, Attributes: &azsecrets.SecretAttributes{Created: &now}}
			k.secrets[name] = made
			r.SetResponse(http.StatusOK, azsecrets.SetSecretResponse{Secret: made}, nil)
			return r, e
		},
		GetSecret: func(_ context.Context, name, _ string, _ *azsecrets.GetSecretOptions) (r azfake.Responder[azsecrets.GetSecretResponse], e azfake.ErrorResponder) {
			k.mu.Lock()
			defer k.mu.Unlock()
			// The fake reads the slash before an empty version as a part of the name.
			found, ok := k.secrets[strings.TrimSuffix(name, "/")]
			switch {
			case k.down:
				e.SetResponseError(http.StatusForbidden, "Forbidden")
			case !ok:
				e.SetResponseError(http.StatusNotFound, "SecretNotFound")
			default:
				r.SetResponse(http.StatusOK, azsecrets.GetSecretResponse{Secret: found}, nil)
			}
			return r, e
		},
		DeleteSecret: func(_ context.Context, name string, _ *azsecrets.DeleteSecretOptions) (r azfake.Responder[azsecrets.DeleteSecretResponse], e azfake.ErrorResponder) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if _, ok := k.secrets[name]; !ok {
				e.SetResponseError(http.StatusNotFound, "SecretNotFound")
				return r, e
			}
			delete(k.secrets, name)
			k.deleted[name] = true
			r.SetResponse(http.StatusOK, azsecrets.DeleteSecretResponse{}, nil)
			return r, e
		},
		PurgeDeletedSecret: func(_ context.Context, name string, _ *azsecrets.PurgeDeletedSecretOptions) (r azfake.Responder[azsecrets.PurgeDeletedSecretResponse], e azfake.ErrorResponder) {
			k.mu.Lock()
			defer k.mu.Unlock()
			if k.noPurge {
				e.SetResponseError(http.StatusForbidden, "Forbidden")
				return r, e
			}
			delete(k.deleted, name)
			r.SetResponse(http.StatusNoContent, azsecrets.PurgeDeletedSecretResponse{}, nil)
			return r, e
		},
		NewListSecretPropertiesPager: func(*azsecrets.ListSecretPropertiesOptions) (r azfake.PagerResponder[azsecrets.ListSecretPropertiesResponse]) {
			k.mu.Lock()
			defer k.mu.Unlock()
			foreign := azsecrets.ID(address + "/secrets/somebody-elses")
			all := []*azsecrets.SecretProperties{{ID: &foreign}}
			for _, one := range k.secrets {
				all = append(all, &azsecrets.SecretProperties{ID: one.ID, Tags: one.Tags, Attributes: one.Attributes})
			}
			for part := range slices.Chunk(all, 3) {
				r.AddPage(http.StatusOK, azsecrets.ListSecretPropertiesResponse{SecretPropertiesListResult: azsecrets.SecretPropertiesListResult{Value: part}}, nil)
			}
			return r
		},
	}
}

type credential struct{}

func (credential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(time.Hour)}, nil
}

func open(t *testing.T) (*keyVault, *azure.Store) {
	t.Helper()
	side := &keyVault{t: t, secrets: map[string]azsecrets.Secret{}, deleted: map[string]bool{}}
	server := side.server()
	options := &azsecrets.ClientOptions{DisableChallengeResourceVerification: true}
	options.Transport = fake.NewServerTransport(&server)
	options.Retry.MaxRetries = -1
	config := azure.DefaultConfig()
	config.URL = address
	store, err := azure.NewWith(config, credential{}, options)
	require.NoError(t, err)
	return side, store
}

func TestContract(t *testing.T) {
	_, store := open(t)
	backendtest.Contract(t, store, backendtest.Options{MaxValue: 25_000})
}

func TestANameThatIsStillBeingDeleted(t *testing.T) {
	side, store := open(t)
	side.noPurge = true
	id := backendtest.ID("p", "d", "key")
	require.NoError(t, store.Create(t.Context(), id, backendtest.Text("x")))
	require.NoError(t, store.Delete(t.Context(), id))
	var unavailable *entry.UnavailableError
	require.ErrorAs(t, store.Create(t.Context(), id, backendtest.Text("hidden")), &unavailable)
	require.Contains(t, unavailable.Words, "purge")
}

func TestAnOutage(t *testing.T) {
	side, store := open(t)
	side.down = true
	var unavailable *entry.UnavailableError
	err := store.Create(t.Context(), backendtest.ID("p", "d", "key"), backendtest.Text("hidden"))
	require.ErrorAs(t, err, &unavailable)
	require.NotContains(t, err.Error(), "hidden")
}

func TestConfigNamesTheWrongField(t *testing.T) {
	config := azure.DefaultConfig()
	require.ErrorContains(t, config.Validate(), "url")
	config.URL, config.Prefix = address, "a_b"
	require.ErrorContains(t, config.Validate(), "prefix")
}
