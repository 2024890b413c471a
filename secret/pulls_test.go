package secret_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/secret/entry"
	"github.com/flyte-binary/flyte-binary/secret/local"
)

// counted counts what a backend is asked, and fails on request.
type counted struct {
	secret.Backend
	lists, values atomic.Int32
	fail          error
}

func (c *counted) List(ctx context.Context, scope entry.Scope, token string, limit int) (entry.Page, error) {
	c.lists.Add(1)
	if c.fail != nil {
		return entry.Page{}, c.fail
	}
	return c.Backend.List(ctx, scope, token, limit)
}

func (c *counted) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	c.values.Add(1)
	if c.fail != nil {
		return entry.Content{}, c.fail
	}
	return c.Backend.Value(ctx, id)
}

type pullBench struct {
	t       *testing.T
	backend *counted
	clock   *clock.Fake
	service *secret.Service
}

func newPullBench(t *testing.T) *pullBench {
	t.Helper()
	clk := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	config := local.DefaultConfig()
	dir := t.TempDir()
	config.Directory, config.KeyFile = filepath.Join(dir, "secrets"), filepath.Join(dir, "keys")
	store, err := local.Open(config, clk, zerolog.Nop())
	require.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	b := &pullBench{t: t, backend: &counted{Backend: store}, clock: clk}
	b.service, err = secret.New(secret.Deps{Backends: []secret.Named{{Name: "local", Backend: b.backend}}, Clock: clk, Logger: zerolog.Nop()})
	require.NoError(t, err)
	return b
}

func (b *pullBench) create(project, domain, name, config string) {
	b.t.Helper()
	_, err := b.service.CreateSecret(b.t.Context(), &secretpb.CreateSecretRequest{
		Id: &secretpb.SecretIdentifier{Project: project, Domain: domain, Name: name},
		SecretSpec: &secretpb.SecretSpec{
			Type: secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET, Value: &secretpb.SecretSpec_StringValue{StringValue: config},
		},
	})
	require.NoError(b.t, err)
}

// config is what pods of project p in domain d get for images.
func (b *pullBench) config(images ...string) string {
	b.t.Helper()
	answer, err := b.service.GetSecretValues(b.t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Images: images})
	require.NoError(b.t, err)
	require.Empty(b.t, answer.GetValues())
	return string(answer.GetPullConfig())
}

func TestPodsGetTheCredentialsOfTheirRegistries(t *testing.T) {
	t.Parallel()
	b := newPullBench(t)
	b.create("", "", "all", `{"auths":{"ghcr.io":{"auth":"org"},"quay.io":{"auth":"org"}}}`)
	b.create("", "other", "theirs", `{"auths":{"other.example":{"auth":"no"}}}`)
	b.create("p", "d", "mine", `{"auths":{"ghcr.io":{"auth":"project"}}}`)
	require.JSONEq(t, `{"auths":{"ghcr.io":{"auth":"project"}}}`, b.config("ghcr.io/team/app:1"), "the narrowest scope wins")
	require.JSONEq(t, `{"auths":{"ghcr.io":{"auth":"project"},"quay.io":{"auth":"org"}}}`, b.config("ghcr.io/a", "quay.io/b", "python:3"))
	require.Empty(t, b.config("other.example/app"), "another domain's")
	b.create("p", "d", "all", `{"auths":{"none.example":{"auth":"x"}}}`)
	require.Empty(t, b.config("quay.io/b"), "the name in a narrower scope hides that of a wider one")
}

func TestRegistriesAndImages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		registry, image string
		want            bool
	}{
		{"ghcr.io", "ghcr.io/a/b:1", true},
		{"https://ghcr.io/v2/", "ghcr.io/a", true},
		{"ghcr.io", "ghcr.io.evil.example/a", false},
		{"ghcr.io", "evil.example/ghcr.io/a", false},
		{"ghcr.io/team", "ghcr.io/team/a@sha256:0", true},
		{"ghcr.io/team", "ghcr.io/team", true},
		{"ghcr.io/team", "ghcr.io/teams/a", false},
		{"https://index.docker.io/v1/", "python:3.12", true},
		{"docker.io", "me/app", true},
		{"docker.io", "localhost/app", false},
		{"localhost:5000", "localhost:5000/app", true},
		{"localhost:5000", "localhost:5001/app", false},
		{"registry.example", "registry.example:5000/app", false},
		{"*.dkr.ecr.*.amazonaws.com", "1.dkr.ecr.eu-west-1.amazonaws.com/a", true},
		{"*.example", "a.b.example/x", false},
		{"[", "a.example/x", false},
	} {
		b := newPullBench(t)
		b.create("", "", "r", `{"auths":{"`+tc.registry+`":{"auth":"x"}}}`)
		require.Equal(t, tc.want, b.config(tc.image) != "", "%s for %s", tc.registry, tc.image)
	}
}

// Most pods have an image that needs no credentials: they cost the backend nothing.
func TestTheListOfPullSecretsIsReadOnceAMinute(t *testing.T) {
	t.Parallel()
	b := newPullBench(t)
	b.create("", "", "r", `{"auths":{"ghcr.io":{"auth":"x"}}}`)
	for range 5 {
		require.Empty(t, b.config("python:3"))
	}
	require.EqualValues(t, 1, b.backend.lists.Load())
	require.EqualValues(t, 1, b.backend.values.Load())
	b.create("", "", "s", `{"auths":{"quay.io":{"auth":"x"}}}`)
	require.NotEmpty(t, b.config("quay.io/a"), "a secret that was just created")
	require.EqualValues(t, 2, b.backend.lists.Load())

	// A backend that is away is not asked for each pod; what was known is used meanwhile, and a pod that has a secret waits.
	b.clock.Step(2 * time.Minute)
	b.backend.fail = errors.New("away")
	for range 5 {
		require.Empty(t, b.config("python:3"))
	}
	require.EqualValues(t, 3, b.backend.lists.Load())
	_, err := b.service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Images: []string{"quay.io/a"}})
	require.ErrorContains(t, err, "not available")
	b.backend.fail = nil
	require.NotEmpty(t, b.config("quay.io/a"))
}

func TestCredentialsAreNotKeptInTheList(t *testing.T) {
	t.Parallel()
	b := newPullBench(t)
	b.create("", "", "r", `{"auths":{"ghcr.io":{"auth":"hidden-credentials"}}}`)
	require.Contains(t, b.config("ghcr.io/a"), "hidden-credentials")
	_, err := b.service.DeleteSecret(t.Context(), &secretpb.DeleteSecretRequest{Id: &secretpb.SecretIdentifier{Name: "r"}})
	require.NoError(t, err)
	require.Empty(t, b.config("ghcr.io/a"))
}

func TestPodsNeedNoBackendOfSecrets(t *testing.T) {
	t.Parallel()
	service, err := secret.New(secret.Deps{Unavailable: "there are none", Logger: zerolog.Nop()})
	require.NoError(t, err)
	answer, err := service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Images: []string{"ghcr.io/a"}})
	require.NoError(t, err)
	require.Empty(t, answer.GetPullConfig())
	_, err = service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Names: []string{"key"}})
	require.ErrorContains(t, err, "there are none")
}
