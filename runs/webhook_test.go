package runs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// receiver is a server that webhooks call.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	answer func(call int) int
}

func newReceiver(t *testing.T, answer func(call int) int) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		parsed := map[string]any{}
		_ = json.Unmarshal(body, &parsed)
		r.mu.Lock()
		r.bodies = append(r.bodies, parsed)
		n := len(r.bodies)
		r.mu.Unlock()
		status := http.StatusOK
		if r.answer != nil {
			status = r.answer(n)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "secret of the service") // without a body for 204
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) calls() []map[string]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]map[string]any(nil), r.bodies...)
}

// newWebhookFixture starts a service that may call this machine, with its callbacks on a port.
func newWebhookFixture(t *testing.T, change func(*runs.Config)) (*writeFixture, *httptest.Server) {
	t.Helper()
	front := httptest.NewUnstartedServer(nil)
	front.Start()
	t.Cleanup(front.Close)
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Webhooks.PublicURL = front.URL
		config.Webhooks.Allow = []string{"127.0.0.0/8"}
		config.Webhooks.Backoff.First, config.Webhooks.Poll = 10*time.Millisecond, 20*time.Millisecond
		if change != nil {
			change(config)
		}
	})
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	c.service.Mount(mux)
	front.Config.Handler = mux
	return c, front
}

func conditionWithWebhook(url string) *workflow.ConditionAction {
	payload, err := structpb.NewStruct(map[string]any{
		"text": "answer at {callback_uri} please", "nested": map[string]any{"list": []any{"{callback_uri}", 7.0, true, nil}}, "{callback_uri}": "a key stays",
	})
	if err != nil {
		panic(err)
	}
	return &workflow.ConditionAction{Prompt: "<May I?>", Webhook: &workflow.ConditionWebhook{Url: url, Payload: payload}}
}

func post(t *testing.T, address, contentType, body string) (int, string) {
	t.Helper()
	response, err := http.Post(address, contentType, strings.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func (c *writeFixture) clusterEvents(run, action string) []string {
	c.t.Helper()
	var texts []string
	for _, event := range c.details(run, action).GetAttempts()[0].GetClusterEvents() {
		texts = append(texts, event.GetReason()+": "+event.GetMessage())
	}
	return texts
}

// TestWebhookAndItsCallback is the whole way: the condition, the call, the answer.
func TestWebhookAndItsCallback(t *testing.T) {
	c, _ := newWebhookFixture(t, nil)
	r := newReceiver(t, nil)
	c.create(namedRun("hook"))
	require.Zero(t, c.record(recordCondition("hook", "c", conditionWithWebhook(r.URL+"/secret-path"))))
	require.Eventually(t, func() bool { return len(r.calls()) == 1 }, 10*time.Second, 10*time.Millisecond)
	body := r.calls()[0]
	list, _ := body["nested"].(map[string]any)["list"].([]any)
	callback, _ := list[0].(string)
	require.Equal(t, []any{callback, 7.0, true, nil}, list)
	require.Equal(t, "answer at "+callback+" please", body["text"])
	require.Equal(t, "a key stays", body["{callback_uri}"])

	response, err := http.Get(callback)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, callback, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/html")
	response, err = http.DefaultClient.Do(request)
	require.NoError(t, err)
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Contains(t, string(page), "&lt;May I?&gt;")
	require.Contains(t, string(page), "Approve")
	require.Equal(t, "ACTION_PHASE_PAUSED", c.phase("hook", "c").String(), "looking changes nothing")

	status, words := post(t, callback, "application/json", `{"value": 3}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, words, "boolean")
	for range 2 { // the second is a repetition
		status, _ = post(t, callback, "application/json", `{"value": true}`)
		require.Equal(t, http.StatusOK, status)
	}
	status, words = post(t, callback, "application/x-www-form-urlencoded", "value=false")
	require.Equal(t, http.StatusConflict, status, words)
	details := c.details("hook", "c")
	require.Equal(t, phaseSucceeded, details.GetStatus().GetPhase())
	require.True(t, details.GetSignalInfo().GetOutput().GetScalar().GetPrimitive().GetBoolean())
	require.Equal(t, "condition-callback", details.GetSignalInfo().GetSignalledBy().GetApplication().GetId().GetSubject())
	require.Len(t, c.clusterEvents("hook", "c"), 1)
	require.Contains(t, c.clusterEvents("hook", "c")[0], "WebhookDelivered: the webhook at 127.0.0.1")
	require.NotContains(t, c.clusterEvents("hook", "c")[0], "secret-path")
	require.Len(t, r.calls(), 1)
}

func TestForgedAndExpiredCallbacks(t *testing.T) {
	c, front := newWebhookFixture(t, nil)
	r := newReceiver(t, nil)
	c.create(namedRun("forged"))
	condition := conditionWithWebhook(r.URL)
	condition.Timeout = durationpb.New(700 * time.Millisecond)
	require.Zero(t, c.record(recordCondition("forged", "c", condition)))
	require.Eventually(t, func() bool { return len(r.calls()) == 1 }, 10*time.Second, 10*time.Millisecond)
	callback := strings.Fields(r.calls()[0]["text"].(string))[2]
	for _, forged := range []string{
		callback[:len(callback)-2] + "AA", front.URL + "/v1/conditions/callback/", front.URL + "/v1/conditions/callback/" + strings.Repeat("A", 64),
	} {
		status, words := post(t, forged, "application/json", `{"value": true}`)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, words, "not valid")
	}
	c.await("forged", "c", phaseTimedOut)
	status, words := post(t, callback, "application/json", `{"value": true}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, words, "TIMED_OUT")
}

func TestValuesOfForms(t *testing.T) {
	c, _ := newWebhookFixture(t, nil)
	r := newReceiver(t, nil)
	c.create(namedRun("forms"))
	for simple, tc := range map[core.SimpleType]struct{ form, wrong string }{
		core.SimpleType_BOOLEAN: {"True", "perhaps"}, core.SimpleType_INTEGER: {"-7", "7.5"},
		core.SimpleType_FLOAT: {"2.5", "much"}, core.SimpleType_STRING: {"some text & more", ""},
	} {
		name := strings.ToLower(simple.String())
		condition := conditionWithWebhook(r.URL)
		condition.Type = &core.LiteralType{Type: &core.LiteralType_Simple{Simple: simple}}
		before := len(r.calls())
		require.Zero(t, c.record(recordCondition("forms", name, condition)))
		require.Eventually(t, func() bool { return len(r.calls()) == before+1 }, 10*time.Second, 10*time.Millisecond)
		callback := strings.Fields(r.calls()[before]["text"].(string))[2]
		if tc.wrong != "" {
			status, _ := post(t, callback, "application/x-www-form-urlencoded", url.Values{"value": {tc.wrong}}.Encode())
			require.Equal(t, http.StatusBadRequest, status, name)
		}
		status, words := post(t, callback, "application/x-www-form-urlencoded", url.Values{"value": {tc.form}}.Encode())
		require.Equal(t, http.StatusOK, status, words)
		require.Equal(t, phaseSucceeded, c.phase("forms", name))
	}
}

func TestWebhookIsRetriedUpToALimit(t *testing.T) {
	c, _ := newWebhookFixture(t, func(config *runs.Config) { config.Webhooks.MaxTries = 3 })
	c.create(namedRun("retry"))
	twice := newReceiver(t, func(call int) int {
		if call < 3 {
			return http.StatusBadGateway
		}
		return http.StatusNoContent
	})
	never := newReceiver(t, func(int) int { return http.StatusInternalServerError })
	require.Zero(t, c.record(recordCondition("retry", "twice", conditionWithWebhook(twice.URL))))
	require.Zero(t, c.record(recordCondition("retry", "never", conditionWithWebhook(never.URL))))
	require.Eventually(t, func() bool {
		return len(c.clusterEvents("retry", "twice")) == 2 && len(c.clusterEvents("retry", "never")) == 2
	}, 10*time.Second, 20*time.Millisecond)
	require.Contains(t, c.clusterEvents("retry", "twice")[0], "502 Bad Gateway")
	require.NotContains(t, c.clusterEvents("retry", "twice")[0], "secret", "nobody reads a service through the server")
	require.Contains(t, c.clusterEvents("retry", "twice")[1], "WebhookDelivered")
	require.Contains(t, c.clusterEvents("retry", "never")[1], "WebhookGivenUp")
	require.Contains(t, c.clusterEvents("retry", "never")[1], "after 3 tries")
	require.Equal(t, "ACTION_PHASE_PAUSED", c.phase("retry", "never").String(), "it can still be signalled")
	require.Eventually(t, func() bool {
		left := -1
		return c.pool.QueryRow(t.Context(), `SELECT count(*) FROM webhooks`).Scan(&left) == nil && left == 0
	}, 10*time.Second, 20*time.Millisecond, "a webhook is forgotten after its last event")
}

// TestWebhooksDoNotReachTheMachine: no name or redirect leads to metadata services or local ports.
func TestWebhooksDoNotReachTheMachine(t *testing.T) {
	c, _ := newWebhookFixture(t, func(config *runs.Config) { config.Webhooks.Allow, config.Webhooks.MaxTries = nil, 1 })
	local := newReceiver(t, nil)
	c.create(namedRun("inside"))
	for name, target := range map[string]string{
		"local": local.URL, "name": strings.Replace(local.URL, "127.0.0.1", "localhost", 1), "metadata": "http://169.254.169.254/latest",
		"mapped": "http://[::ffff:169.254.169.254]/", "private": "http://10.0.0.7/", "class-c": "http://192.168.1.1/", "shared": "http://100.64.0.1/",
		"unique-local": "http://[fd00::1]/", "tunnel": "http://[2002:a00:1::1]/", "translator": "http://[64:ff9b:1::a00:1]/",
	} {
		require.Zero(t, c.record(recordCondition("inside", name, conditionWithWebhook(target))))
		require.Eventually(t, func() bool { return len(c.clusterEvents("inside", name)) == 1 }, 10*time.Second, 10*time.Millisecond)
		require.Contains(t, c.clusterEvents("inside", name)[0], "must not be called")
	}
	require.Empty(t, local.calls())
	for _, target := range []string{"ftp://host/x", "file:///etc/passwd", "no url", ""} {
		require.Equal(t, connect.CodeInvalidArgument, c.record(recordCondition("inside", "bad", conditionWithWebhook(target))), target)
	}
}

// TestNewWebhooksWakeTheirLoop: the poll is too rare to find the webhook.
func TestNewWebhooksWakeTheirLoop(t *testing.T) {
	c, _ := newWebhookFixture(t, func(config *runs.Config) { config.Webhooks.Poll = time.Hour })
	r := newReceiver(t, nil)
	c.create(namedRun("woken"))
	for i := range 3 {
		require.Zero(t, c.record(recordCondition("woken", fmt.Sprint("c", i), conditionWithWebhook(r.URL))))
		require.Eventually(t, func() bool { return len(r.calls()) == i+1 }, 10*time.Second, time.Millisecond)
	}
}

func TestRedirectsOfWebhooks(t *testing.T) {
	c, _ := newWebhookFixture(t, func(config *runs.Config) { config.Webhooks.MaxTries = 1 })
	r := newReceiver(t, nil)
	redirect := func(status int, to string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) { http.Redirect(w, request, to, status) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	c.create(namedRun("redirect"))
	for name, tc := range map[string]struct{ target, words string }{
		"kept": {redirect(307, r.URL), "WebhookDelivered"}, "changed": {redirect(302, r.URL), "not followed"},
		"metadata": {redirect(307, "http://169.254.169.254/"), "must not be called"}, "scheme": {redirect(308, "file:///etc/passwd"), "not followed"},
	} {
		require.Zero(t, c.record(recordCondition("redirect", name, conditionWithWebhook(tc.target))))
		require.Eventually(t, func() bool { return len(c.clusterEvents("redirect", name)) == 1 }, 10*time.Second, 10*time.Millisecond)
		require.Contains(t, c.clusterEvents("redirect", name)[0], tc.words, name)
	}
	require.Len(t, r.calls(), 1)
}

// TestWebhookIsKeptOverARestart: the next process delivers the webhook of a recorded condition. Another process holds the
// lease while the first one runs, so the first one delivers nothing.
func TestWebhookIsKeptOverARestart(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	_, err := pool.Exec(t.Context(), `INSERT INTO leases VALUES ('webhooks', 'other', now() + interval '1 hour')`)
	require.NoError(t, err)
	configure := func(config *runs.Config) {
		config.Webhooks.PublicURL, config.Webhooks.Allow = "http://localhost", []string{"127.0.0.0/8"}
		config.Webhooks.Lease = time.Hour // one that ends much later is not believed
	}
	c := writeFixtureOn(t, pool, configure)
	r := newReceiver(t, nil)
	c.create(namedRun("after"))
	require.Zero(t, c.record(recordCondition("after", "c", conditionWithWebhook(r.URL))))
	require.Zero(t, c.record(recordCondition("after", "answered", conditionWithWebhook(r.URL))))
	_, err = c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
		ActionId: actionID("after", "answered"), ParentActionName: "a0",
		Payload: &workflow.EventPayload{Value: &workflow.EventPayload_BoolValue{BoolValue: true}},
	})
	require.NoError(t, err)
	require.NoError(t, c.service.Stop(context.WithoutCancel(t.Context())))
	_, err = pool.Exec(t.Context(), `DELETE FROM leases WHERE name = 'webhooks'`)
	require.NoError(t, err)
	again := writeFixtureOn(t, pool, configure)
	require.Eventually(t, func() bool { return len(again.clusterEvents("after", "c")) == 1 }, 10*time.Second, 10*time.Millisecond)
	require.Len(t, r.calls(), 1, "no call for an answered condition")
}
