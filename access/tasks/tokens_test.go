package tasks_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/access/tasks"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/text/redact"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// runs is the runs service: it knows one action, in an attempt.
type runs struct {
	attempt atomic.Uint32 // 0 if it is not live
	reads   atomic.Int32
	away    atomic.Bool
}

func (r *runs) GetLiveAttempts(ctx context.Context, request *enginev1.GetLiveAttemptsRequest) (*enginev1.GetLiveAttemptsResponse, error) {
	r.reads.Add(1)
	if authz.IdentityFrom(ctx).Kind != authz.Service {
		return nil, errors.New("not a service")
	}
	if r.away.Load() {
		return nil, errors.New("no database")
	}
	response := &enginev1.GetLiveAttemptsResponse{}
	if attempt := r.attempt.Load(); attempt > 0 && request.GetUids()[0] == 7 {
		response.Attempts = append(response.Attempts, &enginev1.LiveAttempt{Uid: 7, Attempt: attempt})
	}
	return response, nil
}

// bench is the tokens of an installation, and one action in it.
type bench struct {
	*tasks.Tokens
	clock *clock.Fake
	runs  *runs
	apps  *apps
}

func newBench(t testing.TB) *bench {
	pool := pgtest.Schemas(t, store.Schema())
	b := &bench{clock: clock.NewFake(time.Unix(1_000_000, 0).UTC()), runs: &runs{}, apps: &apps{}}
	b.runs.attempt.Store(1)
	b.Tokens = tasks.New(true, tasks.Deps{
		Keys: signing.NewRing(tasks.Keys(), store.New(pool, b.clock), b.clock), Attempts: b.runs, Clock: b.clock,
		Apps: b.apps,
	})
	return b
}

func attempt(uid int64, number uint32) *enginev1.IssueTaskTokenRequest {
	return &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_Attempt{Attempt: &enginev1.AttemptRef{
		Action: &enginev1.ActionRef{Uid: uid, Id: &common.ActionIdentifier{
			Run: &common.RunIdentifier{Project: "p", Domain: "d", Name: "r"}, Name: "a0",
		}}, Attempt: number,
	}}}
}

func (b *bench) issue(t testing.TB, request *enginev1.IssueTaskTokenRequest) string {
	response, err := b.IssueTaskToken(t.Context(), request)
	require.NoError(t, err)
	return response.GetToken()
}

func (b *bench) enter(t testing.TB, token string) (authz.Identity, error) {
	return b.Authenticate(t.Context(), authz.Request{Token: token, Header: http.Header{}})
}

func TestATaskIsKnownByItsToken(t *testing.T) {
	b := newBench(t)
	token := b.issue(t, attempt(7, 1))
	require.Regexp(t, `^fbt_[A-Za-z0-9_-]+$`, token, "it needs no escapes in a path")
	require.Less(t, len(token), 128)
	require.Equal(t, "at [token of a task]/x", redact.Tokens("at "+token+"/x"), "it is known by its form")
	require.Equal(t, token, b.issue(t, attempt(7, 1)), "a Secret that is written twice has the same")
	want := authz.Identity{
		Kind: authz.Task, Subject: "task:p/d/r/a0", Credential: "attempt 1",
		Attempt: &authz.Attempt{Project: "p", Domain: "d", Run: "r", Action: "a0", UID: "7", Number: 1},
		Name:    "",
	}
	got, err := b.enter(t, token)
	require.NoError(t, err)
	want.Name = got.Name
	require.Equal(t, want, got)
	got, err = b.Authenticate(t.Context(), authz.Request{Header: http.Header{"Authorization": {"Bearer " + token}}})
	require.NoError(t, err)
	require.Equal(t, want, got, "with TLS it may be a bearer token")

	for _, header := range []string{"", "Bearer fbk_other", "Basic " + token, token} {
		got, err = b.Authenticate(t.Context(), authz.Request{Header: http.Header{"Authorization": {header}}})
		require.NoError(t, err)
		require.Equal(t, authz.Anonymous, got.Kind, "the credentials of others are left to others: %q", header)
	}
	require.NotContains(t, protojson.Format(&enginev1.IssueTaskTokenResponse{}), "fbt_")
}

// TestAChangedTokenIsRefused changes each byte of a token.
func TestAChangedTokenIsRefused(t *testing.T) {
	b := newBench(t)
	token := b.issue(t, attempt(7, 1))
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, "fbt_"))
	require.NoError(t, err)
	refused := func(token string) {
		t.Helper()
		identity, err := b.enter(t, token)
		require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), "%q %v", token, err)
		require.Zero(t, identity)
		require.NotContains(t, err.Error(), token)
	}
	for i := range raw {
		b.clock.Step(time.Second) // an unknown key is looked for
		changed := append([]byte{}, raw...)
		changed[i] ^= 1
		refused("fbt_" + base64.RawURLEncoding.EncodeToString(changed))
	}
	refused("fbt_")
	refused("x")
	refused(token[:len(token)-1])
	refused(token + "A")
	refused(token + "=")
	refused("fbt_" + strings.Repeat("A", 1<<20))
	other := newBench(t)
	refused(other.issue(t, attempt(7, 1)))
}

func TestATokenEndsWithItsAttempt(t *testing.T) {
	b := newBench(t)
	first, second := b.issue(t, attempt(7, 1)), b.issue(t, attempt(7, 2))
	_, err := b.enter(t, first)
	require.NoError(t, err)
	_, err = b.enter(t, second)
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), "an attempt that has not begun")

	b.runs.attempt.Store(2)
	_, err = b.enter(t, second)
	require.NoError(t, err, "the next attempt need not wait until what is known is old")
	_, err = b.enter(t, first)
	require.ErrorContains(t, err, "attempt 1 of p/d/r/a0 has ended")

	b.runs.attempt.Store(0)
	_, err = b.enter(t, second)
	require.NoError(t, err, "for a short time")
	b.clock.Step(3 * time.Second)
	_, err = b.enter(t, second)
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	_, err = b.enter(t, b.issue(t, attempt(8, 1)))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), "an action of the same name before it")
}

// TestOpenStreamsEndWithTheirAttempt: what is asked about the caller of an open stream says the same as its next call would.
func TestOpenStreamsEndWithTheirAttempt(t *testing.T) {
	b := newBench(t)
	caller, err := b.enter(t, b.issue(t, attempt(7, 1)))
	require.NoError(t, err)
	require.NoError(t, b.Ended(t.Context(), caller))
	b.runs.away.Store(true)
	b.clock.Step(time.Hour)
	require.NoError(t, b.Ended(t.Context(), caller), "no one can tell")
	b.runs.away.Store(false)
	b.clock.Step(time.Minute)
	require.NoError(t, b.Ended(t.Context(), caller))
	b.runs.attempt.Store(2)
	b.clock.Step(time.Minute)
	err = b.Ended(t.Context(), caller)
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.ErrorContains(t, err, "attempt 1 of p/d/r/a0 has ended")
	require.NoError(t, b.Ended(t.Context(), authz.Identity{Kind: authz.User, Subject: "u"}), "a caller of others")
}

func TestAnOutageEndsNoTaskThatWasLive(t *testing.T) {
	b := newBench(t)
	token, unseen := b.issue(t, attempt(7, 1)), b.issue(t, attempt(9, 1))
	_, err := b.enter(t, token)
	require.NoError(t, err)
	b.runs.away.Store(true)
	b.clock.Step(9 * time.Minute)
	_, err = b.enter(t, token)
	require.NoError(t, err)
	_, err = b.enter(t, unseen)
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err), "the client tries again")
	b.clock.Step(time.Minute)
	_, err = b.enter(t, token)
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err), "without an answer for long, no one gets in")
	b.runs.away.Store(false)
	_, err = b.enter(t, token)
	require.NoError(t, err)
}

// apps is the apps service with one app.
type apps struct {
	uid      string
	revision uint64 // 0 if it is stopped
}

func (a *apps) GetLiveApps(_ context.Context, request *enginev1.GetLiveAppsRequest) (*enginev1.GetLiveAppsResponse, error) {
	answer := &enginev1.GetLiveAppsResponse{}
	if a.revision > 0 && slices.Contains(request.GetUids(), a.uid) {
		answer.Apps = append(answer.Apps, &enginev1.LiveApp{Uid: a.uid, Revision: a.revision})
	}
	return answer, nil
}

func TestAnAppIsKnownByItsToken(t *testing.T) {
	b := newBench(t)
	revision := func(number uint64) string {
		return b.issue(t, &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_App{App: &enginev1.AppRevisionRef{
			Project: "p", Domain: "d", Name: "web", Uid: "u-1", Revision: number,
		}}})
	}
	for name, c := range map[string]struct {
		apps   apps
		number uint64
		live   bool
	}{
		"it serves":                  {apps{"u-1", 4}, 4, true},
		"it is being replaced":       {apps{"u-1", 4}, 3, true},
		"it has not started yet":     {apps{"u-1", 4}, 5, false},
		"the app is stopped":         {apps{"u-1", 0}, 4, false},
		"the app is gone":            {apps{}, 4, false},
		"another has its name since": {apps{"u-2", 4}, 4, false},
	} {
		b.clock.Step(time.Minute)
		*b.apps = c.apps
		identity, err := b.enter(t, revision(c.number))
		if !c.live {
			require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, authz.Task, identity.Kind)
		require.Nil(t, identity.Attempt)
		require.Equal(t, &authz.App{Project: "p", Domain: "d", Name: "web", UID: "u-1", Revision: c.number}, identity.App)
	}
}

func TestNoTokenWithoutAuthentication(t *testing.T) {
	open := tasks.New(false, tasks.Deps{Clock: clock.System{}})
	response, err := open.IssueTaskToken(t.Context(), attempt(7, 1))
	require.NoError(t, err)
	require.Empty(t, response.GetToken())
}

// TestManyCallsAskOnce: the calls of a task cost one question in a few seconds.
func TestManyCallsAskOnce(t *testing.T) {
	b := newBench(t)
	token := b.issue(t, attempt(7, 1))
	done := make(chan error)
	for range 100 {
		go func() { _, err := b.enter(t, token); done <- err }()
	}
	for range 100 {
		require.NoError(t, <-done)
	}
	reads := b.runs.reads.Load()
	for range 100 {
		_, err := b.enter(t, token)
		require.NoError(t, err)
	}
	require.Equal(t, reads, b.runs.reads.Load())
}

// BenchmarkAuthenticate measures what a call of a task costs more than one without a token. The budget is 50 µs.
func BenchmarkAuthenticate(b *testing.B) {
	bench := newBench(b)
	token := bench.issue(b, attempt(7, 1))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bench.enter(b, token); err != nil {
			b.Fatal(err)
		}
	}
}
