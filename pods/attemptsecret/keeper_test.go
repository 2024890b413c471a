package attemptsecret_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// values is SecretValueService with the secrets of one project and domain.
type values struct {
	byName map[string]*enginev1.SecretValue
	pull   string
	fail   error
	asked  []*enginev1.GetSecretValuesRequest
}

func (v *values) GetSecretValues(_ context.Context, request *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	v.asked = append(v.asked, request)
	if v.fail != nil {
		return nil, v.fail
	}
	answer := &enginev1.GetSecretValuesResponse{Searched: []string{"project p in domain d", "domain d", "the organization"}}
	if len(request.GetImages()) > 0 {
		answer.PullConfig = []byte(v.pull)
	}
	for _, name := range request.GetNames() {
		if found := v.byName[name]; found != nil {
			answer.Values = append(answer.Values, found)
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

func (v *values) set(name, value string) {
	v.byName[name] = &enginev1.SecretValue{Name: name, Value: []byte(value)}
}

// bench is a keeper in front of a real API server.
type bench struct {
	*kubetest.Cluster
	values *values
	keeper *attemptsecret.Keeper
}

func newBench(t *testing.T) *bench {
	b := &bench{Cluster: kubetest.New(t), values: &values{byName: map[string]*enginev1.SecretValue{}}}
	b.keeper = attemptsecret.New(plugin.Deps{Live: b.Client, Writer: b.Client, Secrets: b.values})
	return b
}

func (b *bench) attempt(secrets ...*core.Secret) *plugin.Attempt {
	template := plugintest.ContainerTask()
	template.SecurityContext = &core.SecurityContext{Secrets: secrets}
	attempt := plugintest.AttemptOf(template)
	attempt.Task.Namespace = b.Namespace
	return attempt
}

func (b *bench) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	found := &corev1.Secret{}
	require.NoError(t, b.Client.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: name}, found))
	return found
}

func (b *bench) count(t *testing.T) int {
	t.Helper()
	list := &corev1.SecretList{}
	require.NoError(t, b.Client.List(t.Context(), list, client.InNamespace(b.Namespace)))
	return len(list.Items)
}

func pod(pulls ...string) *corev1.PodTemplateSpec {
	made := &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.LabelManaged: v1.ManagedValue}}}
	for _, name := range pulls {
		made.Spec.ImagePullSecrets = append(made.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: name})
	}
	return made
}

func allBytes() string {
	var text strings.Builder
	for i := range 256 {
		text.WriteByte(byte(i))
	}
	return text.String()
}

func TestAnAttemptGetsItsSecretsOnce(t *testing.T) {
	b := newBench(t)
	b.values.set("key", "first")
	b.values.set("g_file", allBytes())
	attempt := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR}, &core.Secret{Group: "g", Key: "file", MountRequirement: core.Secret_FILE})
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))
	made := b.secret(t, attemptsecret.Name(attempt, ""))
	require.Equal(t, map[string][]byte{"key": []byte("first"), "g_file": []byte(allBytes())}, made.Data)
	require.True(t, *made.Immutable)
	require.Equal(t, attempt.Task.UID, made.OwnerReferences[0].UID)
	require.Equal(t, v1.Kind, made.OwnerReferences[0].Kind)
	require.Equal(t, "p", b.values.asked[0].GetProject())
	require.Equal(t, "d", b.values.asked[0].GetDomain())

	// A process that died after it changes nothing: the pod of an attempt never sees two values.
	b.values.set("key", "second")
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))
	require.Equal(t, "first", string(b.secret(t, attemptsecret.Name(attempt, "")).Data["key"]))

	next := plugintest.Second(attempt)
	require.NoError(t, b.keeper.Prepare(t.Context(), next, "", pod()))
	require.Equal(t, "second", string(b.secret(t, attemptsecret.Name(next, "")).Data["key"]), "the next attempt gets the new value")
}

func TestTasksWithoutSecretsAskForNone(t *testing.T) {
	b := newBench(t)
	require.NoError(t, b.keeper.Prepare(t.Context(), b.attempt(), "", pod("with.dots")))
	require.Empty(t, b.values.asked)
	require.Zero(t, b.count(t))
}

func TestWhatAnAttemptCannotGet(t *testing.T) {
	asEnv := func(name string) *core.Secret {
		return &core.Secret{Key: name, MountRequirement: core.Secret_ENV_VAR}
	}
	for name, tc := range map[string]struct {
		secrets []*core.Secret
		fail    error
		reason  failure.Reason
		words   []string
	}{
		"missing": {[]*core.Secret{asEnv("there"), asEnv("gone"), asEnv("lost")}, nil, failure.SecretMissing,
			[]string{"gone, lost; searched were project p in domain d, then domain d, then the organization"}},
		"no backend": {[]*core.Secret{asEnv("there")}, connect.NewError(connect.CodeFailedPrecondition, errors.New("no backend")), failure.SecretMissing, []string{"there", "no backend"}},
		"NUL":        {[]*core.Secret{asEnv("nul")}, nil, failure.SecretUnusable, []string{"nul", "as a file"}},
		"no text":    {[]*core.Secret{asEnv("binary")}, nil, failure.SecretUnusable, []string{"binary", "as a file"}},
		"too large together": {
			[]*core.Secret{{Key: "big1", MountRequirement: core.Secret_FILE}, {Key: "big2", MountRequirement: core.Secret_FILE}},
			nil, failure.SecretUnusable, []string{"1200000 bytes together"},
		},
		"far too large":             {[]*core.Secret{asEnv("there")}, connect.NewError(connect.CodeInvalidArgument, errors.New("2 MiB together")), failure.SecretUnusable, []string{"2 MiB together"}},
		"a name that no secret has": {[]*core.Secret{asEnv("a.b")}, nil, failure.BadTaskSpecification, []string{`"a.b"`}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.values.set("there", "x")
			b.values.set("nul", "hidden\x00value")
			b.values.set("binary", "hidden\xffvalue")
			b.values.set("big1", strings.Repeat("x", 600_000))
			b.values.set("big2", strings.Repeat("y", 600_000))
			b.values.fail = tc.fail
			err := b.keeper.Prepare(t.Context(), b.attempt(tc.secrets...), "", pod())
			why := failure.Of(err)
			require.NotNil(t, why, "%v", err)
			require.Equal(t, tc.reason, why.Reason)
			require.False(t, why.Recoverable)
			require.True(t, why.IsUsers())
			for _, words := range tc.words {
				require.Contains(t, why.Message, words)
			}
			require.NotContains(t, why.Message, "hidden")
			require.Zero(t, b.count(t), "nothing is written")
		})
	}
}

func TestAnOutageOfTheBackendIsNoFailureOfTheTask(t *testing.T) {
	b := newBench(t)
	b.values.fail = connect.NewError(connect.CodeUnavailable, errors.New("sealed"))
	attempt := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR})
	err := b.keeper.Prepare(t.Context(), attempt, "", pod())
	require.ErrorContains(t, err, "sealed")
	require.Nil(t, failure.Of(err), "it is tried again")

	b.values.fail = nil
	b.values.set("key", "x")
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))
}

func TestImagePullSecrets(t *testing.T) {
	b := newBench(t)
	const config = `{"auths":{"registry.example":{"auth":"dXNlcjpwYXNz"}}}`
	b.values.byName["registry"] = &enginev1.SecretValue{Name: "registry", Value: []byte(config), ImagePull: true}
	b.values.set("generic", config)
	made := pod("registry", "of-the-namespace", "generic")
	attempt := b.attempt()
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", made))
	require.Equal(t, []corev1.LocalObjectReference{{Name: "r1-a0-0123abcd-0-pull-0"}, {Name: "of-the-namespace"}, {Name: "generic"}}, made.Spec.ImagePullSecrets)
	written := b.secret(t, "r1-a0-0123abcd-0-pull-0")
	require.Equal(t, corev1.SecretTypeDockerConfigJson, written.Type)
	require.JSONEq(t, config, string(written.Data[corev1.DockerConfigJsonKey]))
	require.Equal(t, 1, b.count(t))

	b.values.fail = connect.NewError(connect.CodeFailedPrecondition, errors.New("no backend"))
	require.NoError(t, b.keeper.Prepare(t.Context(), plugintest.Second(b.attempt()), "", pod("registry")), "the namespace may have it")
}

func TestRegistriesOfTheImages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.values.pull = `{"auths":{"registry.example":{"auth":"hidden"}}}`
	made := func() *corev1.PodTemplateSpec {
		made := pod("of.the.namespace")
		made.Spec.InitContainers = []corev1.Container{{Image: "registry.example/init"}}
		made.Spec.Containers = []corev1.Container{{Image: "registry.example/app:1"}, {Image: "registry.example/init"}, {}}
		return made
	}
	attempt, first := b.attempt(), made()
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", first))
	require.Equal(t, []string{"registry.example/init", "registry.example/app:1"}, b.values.asked[0].GetImages())
	require.Equal(t, []corev1.LocalObjectReference{{Name: "of.the.namespace"}, {Name: "r1-a0-0123abcd-0-pull"}}, first.Spec.ImagePullSecrets)
	require.NotContains(t, first.String(), "hidden")
	written := b.secret(t, "r1-a0-0123abcd-0-pull")
	require.Equal(t, corev1.SecretTypeDockerConfigJson, written.Type)
	require.JSONEq(t, b.values.pull, string(written.Data[corev1.DockerConfigJsonKey]))
	require.Equal(t, attempt.Task.UID, written.OwnerReferences[0].UID)

	// The process died before it created the pod, and the secret has changed since.
	before := b.values.pull
	b.values.pull = `{"auths":{}}`
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", made()))
	require.JSONEq(t, before, string(b.secret(t, written.Name).Data[corev1.DockerConfigJsonKey]))

	next := plugintest.Second(attempt)
	for code, fine := range map[connect.Code]bool{connect.CodeFailedPrecondition: true, connect.CodeInvalidArgument: true, connect.CodeUnavailable: false} {
		b.values.fail = connect.NewError(code, errors.New("away"))
		err := b.keeper.Prepare(t.Context(), next, "", made())
		require.Equal(t, fine, err == nil, "%s: %v", code, err)
		require.Nil(t, failure.Of(err), "it is tried again")
	}
}

func TestASecretOfADeletedTaskActionIsNotUsed(t *testing.T) {
	b := newBench(t)
	b.values.set("key", "old")
	attempt := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR})
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))

	b.values.set("key", "new")
	attempt.Task.UID = types.UID("another")
	require.ErrorContains(t, b.keeper.Prepare(t.Context(), attempt, "", pod()), "waiting until it is gone")
	require.NoError(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))
	require.Equal(t, "new", string(b.secret(t, attemptsecret.Name(attempt, "")).Data["key"]))
}

func TestASecretOfSomebodyElseStays(t *testing.T) {
	b := newBench(t)
	b.values.set("key", "x")
	attempt := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR})
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: attemptsecret.Name(attempt, "")}}
	require.NoError(t, b.Client.Create(t.Context(), theirs))
	require.Error(t, b.keeper.Prepare(t.Context(), attempt, "", pod()))
	require.Empty(t, b.secret(t, theirs.Name).Data)
}

func TestAMissingRightIsNamed(t *testing.T) {
	b := newBench(t)
	b.values.set("key", "hidden")
	keeper := attemptsecret.New(plugin.Deps{Live: b.Client, Writer: forbidding{b.Client}, Secrets: b.values})
	err := keeper.Prepare(t.Context(), b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR}), "", pod())
	require.ErrorContains(t, err, "requires the right to create, get and delete Secrets")
	require.NotContains(t, fmt.Sprint(err), "hidden")
	require.Nil(t, failure.Of(err))
}

type forbidding struct{ client.Writer }

func (forbidding) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return apierrors.NewForbidden(corev1.Resource("secrets"), object.GetName(), errors.New("no right"))
}

// TestRolesHaveSecretsOfTheirOwn: the pods of one attempt may have images of several registries. A Secret is immutable, and
// one that exists counts as written: with one name for both, the second role would get the credentials of the first.
func TestRolesHaveSecretsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	attempt := b.attempt(&core.Secret{Key: "key", MountRequirement: core.Secret_ENV_VAR})
	b.values.set("key", "value")
	for role, registry := range map[string]string{"": "primary.example", "head": "head.example", "worker": "worker.example"} {
		b.values.pull = `{"auths":{"` + registry + `":{}}}`
		made := pod()
		made.Spec.Containers = []corev1.Container{{Image: registry + "/app"}}
		require.NoError(t, b.keeper.Prepare(t.Context(), attempt, role, made))
		require.Len(t, made.Spec.ImagePullSecrets, 1)
		written := b.secret(t, made.Spec.ImagePullSecrets[0].Name)
		require.JSONEq(t, b.values.pull, string(written.Data[corev1.DockerConfigJsonKey]), "role %q", role)
		require.Equal(t, "value", string(b.secret(t, attemptsecret.Name(attempt, role)).Data["key"]))
	}
	require.Equal(t, 6, b.count(t))
	require.Equal(t, "r1-a0-0123abcd-0-secrets", attemptsecret.Name(attempt, ""), "attempts of earlier versions keep their Secret")
}
