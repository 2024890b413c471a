package secret_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	secretpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/secret"
	"github.com/flyte-binary/flyte-binary/secret/entry"
	"github.com/flyte-binary/flyte-binary/secret/local"
)

// breakable is a backend that can be made to fail.
type breakable struct {
	secret.Backend
	fail error
}

func (b *breakable) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	if b.fail != nil {
		return b.fail
	}
	return b.Backend.Create(ctx, id, content)
}

func (b *breakable) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	if b.fail != nil {
		return entry.Metadata{}, b.fail
	}
	return b.Backend.Describe(ctx, id)
}

func (b *breakable) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	if b.fail != nil {
		return entry.Content{}, b.fail
	}
	return b.Backend.Value(ctx, id)
}

type bench struct {
	backends []*breakable
	service  *secret.Service
	log      bytes.Buffer
	reader   *metric.ManualReader
}

func newBench(t *testing.T, backends int) *bench {
	b := &bench{reader: metric.NewManualReader()}
	var named []secret.Named
	for i := range backends {
		config := local.DefaultConfig()
		dir := t.TempDir()
		config.Directory, config.KeyFile = filepath.Join(dir, "secrets"), filepath.Join(dir, "keys")
		store, err := local.Open(config, clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)), zerolog.Nop())
		require.NoError(t, err)
		t.Cleanup(func() { _ = store.Close() })
		b.backends = append(b.backends, &breakable{Backend: store})
		named = append(named, secret.Named{Name: fmt.Sprintf("backend-%d", i), Backend: b.backends[i]})
	}
	var err error
	b.service, err = secret.New(secret.Deps{
		Backends: named, Unavailable: "there are none", Cluster: "default",
		Logger: zerolog.New(&b.log), Meter: metric.NewMeterProvider(metric.WithReader(b.reader)),
	})
	require.NoError(t, err)
	return b
}

func id(project, domain, name string) *secretpb.SecretIdentifier {
	return &secretpb.SecretIdentifier{Organization: "acme", Project: project, Domain: domain, Name: name}
}

func text(value string) *secretpb.SecretSpec {
	return &secretpb.SecretSpec{Value: &secretpb.SecretSpec_StringValue{StringValue: value}}
}

func binary(value []byte) *secretpb.SecretSpec {
	return &secretpb.SecretSpec{Value: &secretpb.SecretSpec_BinaryValue{BinaryValue: value}}
}

func (b *bench) create(t *testing.T, id *secretpb.SecretIdentifier, spec *secretpb.SecretSpec) error {
	t.Helper()
	_, err := b.service.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{Id: id, SecretSpec: spec})
	return err
}

// values are what a task of a project and domain gets, and what it misses.
func (b *bench) values(t *testing.T, project, domain string, names ...string) (map[string]string, []string) {
	t.Helper()
	answer, err := b.service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: project, Domain: domain, Names: names})
	require.NoError(t, err)
	found := map[string]string{}
	for _, value := range answer.GetValues() {
		found[value.GetName()] = string(value.GetValue())
	}
	return found, answer.GetMissing()
}

func (b *bench) list(t *testing.T, project, domain string, limit int32) []string {
	t.Helper()
	var found []string
	request := &secretpb.ListSecretsRequest{Organization: "acme", Project: project, Domain: domain, Limit: limit}
	for {
		answer, err := b.service.ListSecrets(t.Context(), request)
		require.NoError(t, err)
		require.LessOrEqual(t, len(answer.GetSecrets()), int(max(limit, 1)*100))
		for _, one := range answer.GetSecrets() {
			found = append(found, one.GetId().GetDomain()+"/"+one.GetId().GetProject()+"/"+one.GetId().GetName())
		}
		if request.Token = answer.GetToken(); request.Token == "" {
			return found
		}
	}
}

func requireKind(t *testing.T, kind rpc.Kind, err error) *rpc.Error {
	t.Helper()
	var wrong *rpc.Error
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, kind, wrong.Kind, "%v", err)
	return wrong
}

func refused(t *testing.T, kind rpc.Kind, err error) {
	t.Helper()
	require.NotNil(t, requireKind(t, kind, err))
}

func TestTheNarrowestScopeWins(t *testing.T) {
	for name, order := range map[string][3]int{"one backend": {0, 0, 0}, "the narrowest in the last": {0, 0, 1}, "the narrowest in the first": {1, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 2)
			scopes := []entry.Scope{{}, {Domain: "d"}, {Project: "p", Domain: "d"}}
			for i, scope := range scopes {
				_, missing := b.values(t, "p", "d", "key")
				require.Equal(t, i == 0, len(missing) == 1)
				content := entry.Content{Value: entry.NewValue([]byte(scope.String()))}
				require.NoError(t, b.backends[order[i]].Create(t.Context(), entry.ID{Scope: scope, Name: "key"}, content))
				found, _ := b.values(t, "p", "d", "key")
				require.Equal(t, scope.String(), found["key"])
			}
			for _, other := range [][2]string{{"q", "d"}, {"p", "e"}} {
				found, _ := b.values(t, other[0], other[1], "key")
				require.NotEqual(t, scopes[2].String(), found["key"], "not for other projects and domains")
			}
			for i := len(scopes) - 1; i > 0; i-- {
				_, err := b.service.DeleteSecret(t.Context(), &secretpb.DeleteSecretRequest{Id: id(scopes[i].Project, scopes[i].Domain, "key")})
				require.NoError(t, err)
				found, _ := b.values(t, "p", "d", "key")
				require.Equal(t, scopes[i-1].String(), found["key"])
			}
		})
	}
}

func TestWhatWasSearchedIsNamed(t *testing.T) {
	answer, err := newBench(t, 1).service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Names: []string{"gone", "a/../b", ".."}})
	require.NoError(t, err)
	require.Equal(t, []string{"gone", "a/../b", ".."}, answer.GetMissing())
	require.Equal(t, []string{"project p in domain d", "domain d", "the organization"}, answer.GetSearched())
}

func TestTextAndBytesComeBackAsTheyWere(t *testing.T) {
	b := newBench(t, 1)
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	require.NoError(t, b.create(t, id("p", "d", "bytes"), binary(every)))
	require.NoError(t, b.create(t, id("p", "d", "text"), text("grüße\n")))
	require.NoError(t, b.create(t, id("p", "d", "largest"), binary(bytes.Repeat([]byte{7}, secret.MaxValue))))
	found, _ := b.values(t, "p", "d", "bytes", "text", "largest")
	require.Equal(t, string(every), found["bytes"])
	require.Equal(t, "grüße\n", found["text"])
	require.Len(t, found["largest"], secret.MaxValue)
}

func TestAnAnswerHasALimit(t *testing.T) {
	b := newBench(t, 1)
	var names []string
	for i := range 3 {
		names = append(names, fmt.Sprintf("large-%d", i))
		require.NoError(t, b.create(t, id("p", "d", names[i]), binary(bytes.Repeat([]byte("x"), secret.MaxValue))))
	}
	_, err := b.service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Names: names})
	require.Equal(t, "names", requireKind(t, rpc.KindInvalidArgument, err).Field)
}

func TestWhatClientsSeeOfASecret(t *testing.T) {
	b := newBench(t, 1)
	pull := binary([]byte(`{"auths":{"registry.example":{"auth":"dTpw"}}}`))
	pull.Type = secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET
	require.NoError(t, b.create(t, id("", "", "registry"), pull))
	answer, err := b.service.GetSecret(t.Context(), &secretpb.GetSecretRequest{Id: id("", "", "registry")})
	require.NoError(t, err)
	about := answer.GetSecret().GetSecretMetadata()
	require.Equal(t, "acme", answer.GetSecret().GetId().GetOrganization())
	require.Equal(t, secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET, about.GetType())
	require.Equal(t, 2026, about.GetCreatedTime().AsTime().Year())
	require.Equal(t, secretpb.OverallStatus_FULLY_PRESENT, about.GetSecretStatus().GetOverallStatus())
	require.Equal(t, "default", about.GetSecretStatus().GetClusterStatus()[0].GetCluster().GetName())
	require.Equal(t, secretpb.SecretPresenceStatus_PRESENT, about.GetSecretStatus().GetClusterStatus()[0].GetPresenceStatus())
	require.NotContains(t, answer.String(), "registry.example")
}

func TestListsPageOverBackends(t *testing.T) {
	b := newBench(t, 2)
	var all []string
	for i := range 5 {
		name := fmt.Sprintf("first-%d", i)
		require.NoError(t, b.create(t, id("p", "d", name), text("x")))
		all = append(all, "d/p/"+name)
	}
	for i := range 5 {
		name := fmt.Sprintf("second-%d", i)
		require.NoError(t, b.backends[1].Create(t.Context(), entry.ID{Scope: entry.Scope{Domain: "d"}, Name: name}, entry.Content{Value: entry.NewValue([]byte("x"))}))
		all = append(all, "d//"+name)
	}
	both := entry.ID{Scope: entry.Scope{Project: "p", Domain: "d"}, Name: "first-0"}
	require.NoError(t, b.backends[1].Create(t.Context(), both, entry.Content{Value: entry.NewValue([]byte("y"))}))
	for _, limit := range []int32{1, 3, 5, 0} {
		require.ElementsMatch(t, all, b.list(t, "", "d", limit), "the one that both have is listed once")
	}
	require.Len(t, b.list(t, "p", "d", 2), 5)
	require.Empty(t, b.list(t, "", "other", 2))
	found, _ := b.values(t, "p", "d", "first-0")
	require.Equal(t, "x", found["first-0"], "the first backend wins")
}

func TestChanges(t *testing.T) {
	b := newBench(t, 2)
	require.NoError(t, b.create(t, id("p", "d", "key"), text("one")))
	require.Contains(t, requireKind(t, rpc.KindAlreadyExists, b.create(t, id("p", "d", "key"), text("two"))).Message, "secret key of project p in domain d")
	later := entry.ID{Scope: entry.Scope{Project: "p", Domain: "d"}, Name: "later"}
	require.NoError(t, b.backends[1].Create(t.Context(), later, entry.Content{Value: entry.NewValue([]byte("x"))}))
	require.Contains(t, requireKind(t, rpc.KindAlreadyExists, b.create(t, id("p", "d", "later"), text("two"))).Message, "backend-1")
	update := func(name string, spec *secretpb.SecretSpec) error {
		_, err := b.service.UpdateSecret(t.Context(), &secretpb.UpdateSecretRequest{Id: id("p", "d", name), SecretSpec: spec})
		return err
	}
	require.NoError(t, update("key", text("three")))
	require.NoError(t, update("later", text("four")), "where it is")
	found, _ := b.values(t, "p", "d", "key", "later")
	require.Equal(t, map[string]string{"key": "three", "later": "four"}, found)
	require.Contains(t, requireKind(t, rpc.KindNotFound, update("gone", text("x"))).Message, "secret gone")
	pull := binary([]byte(`{"auths":{"r":{}}}`))
	pull.Type = secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET
	require.Equal(t, "secret_spec.type", requireKind(t, rpc.KindInvalidArgument, update("key", pull)).Field)
	_, err := b.service.DeleteSecret(t.Context(), &secretpb.DeleteSecretRequest{Id: id("p", "d", "gone")})
	refused(t, rpc.KindNotFound, err)
	_, err = b.service.GetSecret(t.Context(), &secretpb.GetSecretRequest{Id: id("p", "d", "gone")})
	refused(t, rpc.KindNotFound, err)
}

func TestBadRequests(t *testing.T) {
	const hidden = "correct-horse-battery-staple"
	b := newBench(t, 1)
	pull := text(hidden)
	pull.Type = secretpb.SecretType_SECRET_TYPE_IMAGE_PULL_SECRET
	odd := text(hidden)
	odd.Type = 9
	for field, tc := range map[string]struct {
		id   *secretpb.SecretIdentifier
		spec *secretpb.SecretSpec
	}{
		"id.domain":         {id("p", "", "key"), text(hidden)},
		"id.name":           {id("p", "d", strings.Repeat("n", 254)), text(hidden)},
		"secret_spec.value": {id("p", "d", "key"), text("")},
		"secret_spec.type":  {id("p", "d", "key"), odd},
	} {
		wrong := requireKind(t, rpc.KindInvalidArgument, b.create(t, tc.id, tc.spec))
		require.Equal(t, field, wrong.Field)
		require.NotContains(t, wrong.Error(), hidden)
	}
	for _, spec := range []*secretpb.SecretSpec{nil, {}, pull, binary(bytes.Repeat([]byte("x"), 2<<20)), text(strings.Repeat("x", secret.MaxValue+1))} {
		wrong := requireKind(t, rpc.KindInvalidArgument, b.create(t, id("p", "d", "key"), spec))
		require.Equal(t, "secret_spec.value", wrong.Field)
		require.NotContains(t, wrong.Error(), hidden)
		require.Less(t, len(wrong.Error()), 300)
	}
	require.Empty(t, b.list(t, "", "", 0), "nothing is half stored")
	for _, request := range []*secretpb.ListSecretsRequest{{Limit: -1}, {Limit: 201}, {Token: "nonsense"}, {Token: "OSB4"}, {Project: "p"}} {
		_, err := b.service.ListSecrets(t.Context(), request)
		refused(t, rpc.KindInvalidArgument, err)
	}
}

// A backend that does not answer may have the secret: the next one does not answer for it.
func TestAnOutageOfABackend(t *testing.T) {
	b := newBench(t, 2)
	require.NoError(t, b.backends[1].Create(t.Context(), entry.ID{Name: "key"}, entry.Content{Value: entry.NewValue([]byte("wider"))}))
	b.backends[0].fail = &entry.UnavailableError{Words: "Vault is sealed", Err: errors.New("details")}
	_, err := b.service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Names: []string{"key"}})
	require.Contains(t, requireKind(t, rpc.KindUnavailable, err).Message, "secret backend backend-0 is not available: Vault is sealed")
	_, err = b.service.GetSecret(t.Context(), &secretpb.GetSecretRequest{Id: id("", "", "key")})
	refused(t, rpc.KindUnavailable, err)
	refused(t, rpc.KindUnavailable, b.create(t, id("", "", "new"), text("x")))
	b.backends[0].fail, b.backends[1].fail = nil, errors.New("network")
	refused(t, rpc.KindUnavailable, b.create(t, id("", "", "new"), text("x")))
	b.backends[1].fail = nil
	require.Equal(t, []string{"//key"}, b.list(t, "", "", 0), "nothing is half stored")
}

func TestWithoutBackendsTheServiceSaysWhy(t *testing.T) {
	b := newBench(t, 0)
	require.Contains(t, requireKind(t, rpc.KindFailedPrecondition, b.create(t, id("", "", "key"), text("x"))).Message, "there are none")
	_, err := b.service.ListSecrets(t.Context(), &secretpb.ListSecretsRequest{})
	refused(t, rpc.KindFailedPrecondition, err)
	_, err = b.service.GetSecretValues(t.Context(), &enginev1.GetSecretValuesRequest{Project: "p", Domain: "d", Names: []string{"key"}})
	refused(t, rpc.KindFailedPrecondition, err)
}

// quoting is an error of a careless library.
type quoting struct {
	*breakable
	form func([]byte) string
}

func (q quoting) Create(_ context.Context, _ entry.ID, content entry.Content) error {
	return fmt.Errorf("cannot store %s", q.form(content.Value.Reveal()))
}

func TestNoErrorHasAValue(t *testing.T) {
	const hidden = "correct-horse-battery-staple"
	for _, form := range []func([]byte) string{
		func(value []byte) string { return string(value) },
		func(value []byte) string { encoded, _ := json.Marshal(value); return string(encoded) },
	} {
		b := newBench(t, 1)
		service, err := secret.New(secret.Deps{Backends: []secret.Named{{Name: "careless", Backend: quoting{b.backends[0], form}}}})
		require.NoError(t, err)
		_, err = service.CreateSecret(t.Context(), &secretpb.CreateSecretRequest{Id: id("", "", "key"), SecretSpec: text(hidden)})
		wrong := requireKind(t, rpc.KindUnavailable, err)
		for _, text := range []string{wrong.Error(), wrong.Message, fmt.Sprint(wrong.Err), b.log.String()} {
			require.NotContains(t, text, hidden)
			require.NotContains(t, text, form([]byte(hidden)))
		}
	}
}

func TestAValueCannotPrintItself(t *testing.T) {
	content := entry.Content{Value: entry.NewValue([]byte("hidden"))}
	encoded, err := json.Marshal(content)
	require.NoError(t, err)
	var log bytes.Buffer
	logger := zerolog.New(&log)
	logger.Info().Any("content", content).Interface("value", content.Value).Stringer("text", content.Value).Msg("")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		printed := fmt.Sprintf(verb, content) + fmt.Sprintf(verb, &content) + fmt.Sprintf(verb, content.Value)
		require.NotContains(t, printed, "hidden", verb)
		require.NotContains(t, printed, "68696464656e", verb)
		require.NotContains(t, printed, "104", verb)
	}
	require.NotContains(t, string(encoded)+log.String(), "hidden")
}

func TestCallsAreCounted(t *testing.T) {
	b := newBench(t, 1)
	require.NoError(t, b.create(t, id("", "", "key"), text("x")))
	var all metricdata.ResourceMetrics
	require.NoError(t, b.reader.Collect(t.Context(), &all))
	counts := map[string]int64{}
	for _, point := range all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints {
		operation, _ := point.Attributes.Value("operation")
		outcome, _ := point.Attributes.Value("outcome")
		counts[operation.AsString()+" "+outcome.AsString()] = point.Value
	}
	require.Equal(t, map[string]int64{"describe not found": 1, "create ok": 1}, counts)
}

func TestConfigNamesTheWrongField(t *testing.T) {
	require.NoError(t, secret.DefaultConfig().Validate())
	for field, change := range map[string]func(*secret.Config){
		"backends[0]":          func(c *secret.Config) { c.Backends = []string{"paper"} },
		"backends[1]":          func(c *secret.Config) { c.Backends = []string{"kubernetes", "kubernetes"} },
		"local.directory":      func(c *secret.Config) { c.Backends = []string{"local"} },
		"vault.address":        func(c *secret.Config) { c.Backends = []string{"vault"} },
		"aws.region":           func(c *secret.Config) { c.Backends = []string{"aws"} },
		"gcp.project":          func(c *secret.Config) { c.Backends = []string{"gcp"} },
		"azure.url":            func(c *secret.Config) { c.Backends = []string{"azure"} },
		"kubernetes.namespace": func(c *secret.Config) { c.Kubernetes.Namespace = "A B" },
	} {
		config := secret.DefaultConfig()
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}
