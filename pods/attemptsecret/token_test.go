package attemptsecret_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// issuer is TaskTokenService.
type issuer struct {
	token string
	fail  error
	asked *enginev1.IssueTaskTokenRequest
}

func (i *issuer) IssueTaskToken(_ context.Context, request *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error) {
	i.asked = request
	return &enginev1.IssueTaskTokenResponse{Token: i.token}, i.fail
}

func (b *bench) issues(from *issuer) {
	b.keeper = attemptsecret.New(plugin.Deps{Live: b.Client, Writer: b.Client, Secrets: b.values, Tokens: from})
}

// running is a pod whose containers know the server, or do not.
func running() *corev1.PodTemplateSpec {
	made := pod()
	made.Spec.Containers = []corev1.Container{
		{Name: "primary", Env: []corev1.EnvVar{
			{Name: "OWN", Value: "$(FLYTE_TASK_TOKEN)"},
			{Name: "INTERNAL_APP_ENDPOINT_PATTERN", Value: "http://localhost:8090/apps/p/d/{app_fqdn}"},
			{Name: "_U_EP_OVERRIDE", Value: "localhost:8090"}, {Name: "_U_INSECURE", Value: "true"},
			{Name: "FLYTE_TASK_TOKEN", Value: "of the task's author"},
		}},
		{Name: "sidecar", Env: []corev1.EnvVar{{Name: "A", Value: "b"}}},
	}
	return made
}

func TestAnAttemptGetsItsTokenByReference(t *testing.T) {
	b := newBench(t)
	from := &issuer{token: "fbt_token-of-the-attempt"}
	b.issues(from)
	b.values.set("key", "value")
	attempt, made := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR}), running()
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", made))

	ref := from.asked.GetAttempt()
	require.Equal(t, attempt.Task.Spec.UID, ref.GetAction().GetUid())
	require.Equal(t, attempt.Task.Spec.Run, ref.GetAction().GetId().GetRun().GetName())
	require.EqualValues(t, attempt.Number, ref.GetAttempt())
	name := attemptsecret.Name(attempt, "")
	require.Equal(t, map[string][]byte{"key": []byte("value"), "flyte.task-token": []byte(from.token)}, b.secret(t, name).Data)
	require.Equal(t, []corev1.EnvVar{
		{Name: "FLYTE_TASK_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Key: "flyte.task-token",
		}}},
		{Name: "OWN", Value: "$(FLYTE_TASK_TOKEN)"},
		{Name: "INTERNAL_APP_ENDPOINT_PATTERN", Value: "http://localhost:8090/t/$(FLYTE_TASK_TOKEN)/apps/p/d/{app_fqdn}"},
		{Name: "_U_EP_OVERRIDE", Value: "http://localhost:8090/t/$(FLYTE_TASK_TOKEN)"}, {Name: "_U_INSECURE", Value: "true"},
	}, made.Spec.Containers[0].Env)
	require.Equal(t, []corev1.EnvVar{{Name: "A", Value: "b"}}, made.Spec.Containers[1].Env)
	require.NotContains(t, made.String(), "fbt_")

	// A Secret that an earlier try wrote stays, with the same token.
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", running()))
}

func TestWithoutAuthenticationNothingChanges(t *testing.T) {
	b := newBench(t)
	for _, from := range []*issuer{{}, {fail: connect.NewError(connect.CodeUnimplemented, errors.New("older server"))}} {
		b.issues(from)
		made := running()
		require.NoError(t, b.keeper.Prepare(t.Context(), b.attempt(), "", made))
		require.Equal(t, running(), made)
		require.Zero(t, b.count(t))
	}
}

// TestNoPodWithoutItsToken: a pod that could not call the server would fail for a reason that its author cannot see.
func TestNoPodWithoutItsToken(t *testing.T) {
	b := newBench(t)
	b.issues(&issuer{fail: connect.NewError(connect.CodeUnavailable, errors.New("no database"))})
	require.ErrorContains(t, b.keeper.Prepare(t.Context(), b.attempt(), "", running()), "no database")
	require.Zero(t, b.count(t))
}

func TestATokenFitsNextToTheLargestSecrets(t *testing.T) {
	b := newBench(t)
	b.issues(&issuer{token: "fbt_" + strings.Repeat("x", 200)})
	b.values.set("key", strings.Repeat("x", corev1.MaxSecretSize-2<<10))
	secret := &core.Secret{Key: "key", MountRequirement: core.Secret_FILE}
	require.NoError(t, b.keeper.Prepare(t.Context(), b.attempt(secret), "", running()))
	b.values.set("key", strings.Repeat("x", corev1.MaxSecretSize-2<<10+1))
	require.ErrorContains(t, b.keeper.Prepare(t.Context(), plugintest.Second(b.attempt(secret)), "", running()), "is the most")
}
