package notifications_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/notifications"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

const (
	delivered = insightv1.DeliveryState_DELIVERY_STATE_DELIVERED
	dead      = insightv1.DeliveryState_DELIVERY_STATE_DEAD
)

const body = `{"run": "{{.Run.Name}}", "phase": "{{.Phase}}", "error": "{{ .Error }}", "card": "{{DATE(x)}}"}`

// TestAFailedRunIsReportedOnce: a two-line error with a quote arrives as valid JSON, and a success is not reported.
func TestAFailedRunIsReportedOnce(t *testing.T) {
	f := newFixture(t, nil)
	s := newSink(t, nil)
	hook := webhook(s.URL+"/{{.Run.Name}}?why={{.Error}}", body, failed)
	hook.GetDeliveryTemplate().GetWebhook().Headers = map[string]string{"X-Why": "{{.Error}}"}
	f.create("bad", rules(hook))
	f.create("good", rules(webhook(s.URL, body, failed)))
	f.end("good", succeeded, "")
	f.end("bad", failed, "line one & \"two\"\nline 2\u2028")
	f.end("bad", failed, "again") // has ended already

	list := f.settle("bad", 1, delivered)
	require.Empty(t, f.deliveries("good"))
	calls := s.received()
	require.Len(t, calls, 1)
	var said map[string]string
	require.NoError(t, json.Unmarshal([]byte(calls[0].body), &said), calls[0].body)
	require.Equal(t, map[string]string{"run": "bad", "phase": "FAILED", "error": "line one & \"two\"\nline 2\u2028", "card": "{{DATE(x)}}"}, said)
	require.Equal(t, "/bad", calls[0].path)
	require.Equal(t, "why=line%20one%20%26%20%22two%22%0Aline%202%E2%80%A8", calls[0].query)
	require.Equal(t, `line one & "two" line 2`, calls[0].header.Get("X-Why"), "one line")
	require.Empty(t, calls[0].header.Values("Content-Type"), "only what the user set")
	require.Equal(t, list[0].GetId(), calls[0].header.Get("Idempotency-Key"))
	require.Equal(t, uint32(1), list[0].GetTries())
	require.Equal(t, strings.TrimPrefix(s.URL, "http://"), list[0].GetTarget(), "no path: it may be a secret")
}

// TestAnAbortIsReportedOnceForTheRun: its children, which end with it, are not reported.
func TestAnAbortIsReportedOnceForTheRun(t *testing.T) {
	f := newFixture(t, nil)
	s := newSink(t, nil)
	f.create("parent", rules(webhook(s.URL, body, aborted, failed)))
	_, err := f.internal.RecordAction(t.Context(), &workflow.RecordActionRequest{
		ActionId: actionID("parent", "child"), Parent: "a0", InputUri: f.root + "/flytesnacks/development/in/inputs.pb",
		Spec: &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: request("x", nil).GetTaskSpec()}},
	})
	require.NoError(t, err)
	_, err = f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("parent"), Reason: new("enough")})
	require.NoError(t, err)
	f.settle("parent", 1, delivered)
	require.Len(t, s.received(), 1)
	require.Contains(t, s.received()[0].body, `"phase": "ABORTED", "error": "enough"`)
}

// TestAnAttemptThatIsRetriedIsNoEnd: a rule is about the run, whose phase is not terminal then.
func TestAnAttemptThatIsRetriedIsNoEnd(t *testing.T) {
	f := newFixture(t, nil)
	s := newSink(t, nil)
	f.create("retried", rules(webhook(s.URL, body, failed, succeeded)))
	transition := func(attempt uint32, phase common.ActionPhase) *enginev1.Transition {
		return &enginev1.Transition{Event: &workflow.ActionEvent{Id: actionID("retried", "a0"), Attempt: attempt, Phase: phase}}
	}
	_, err := f.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{
		transition(1, failed), transition(2, common.ActionPhase_ACTION_PHASE_QUEUED),
	}})
	require.NoError(t, err)
	require.Zero(t, f.outboxSize()+len(f.deliveries("retried")))
	_, err = f.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{transition(2, succeeded)}})
	require.NoError(t, err)
	f.settle("retried", 1, delivered)
	require.Len(t, s.received(), 1)
	require.Contains(t, s.received()[0].body, `"phase": "SUCCEEDED"`)
}

func TestAnActionThatWaits(t *testing.T) {
	f := newFixture(t, nil)
	s := newSink(t, nil)
	text := `{"action": "{{.Action.Name}}", "prompt": "{{.Prompt}}", "type": "{{.PromptType}}", "phase": "{{.Phase}}"}`
	f.create("waits", rules(webhook(s.URL, text, paused)))
	_, err := f.internal.RecordAction(t.Context(), &workflow.RecordActionRequest{
		ActionId: actionID("waits", "ask"), Parent: "a0",
		Spec: &workflow.RecordActionRequest_Condition{Condition: &workflow.ConditionAction{
			Name: "ask", Prompt: `May "I"?`, Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_BOOLEAN}},
		}},
	})
	require.NoError(t, err)
	list := f.settle("waits", 1, delivered)
	require.Equal(t, "ask", list[0].GetAction())
	require.Equal(t, paused, list[0].GetPhase())
	require.Contains(t, s.received()[0].body, `"action": "ask", "prompt": "May \"I\"?"`)
	require.Contains(t, s.received()[0].body, `"phase": "PAUSED"`)
}

// TestNamesOfTheConfiguration: named rules and deliveries, those for all runs, and runs that want none.
func TestNamesOfTheConfiguration(t *testing.T) {
	s := newSink(t, nil)
	f := newFixture(t, func(c *notifications.Config) {
		c.Deliveries = []notifications.Delivery{
			{Name: "slack", Type: "slack", URL: s.URL + "/slack"}, {Name: "teams", Type: "teams", URL: s.URL + "/teams"},
			{Name: "hook", Type: "webhook", URL: s.URL + "/hook", Headers: map[string]string{"x-team": "{{.Run.Project}}"}, Method: "put"},
		}
		c.Rules = []notifications.Rule{
			{Name: "oncall", Phases: []string{"failed"}, Deliveries: []string{"slack", "teams"}},
			{Name: "all", Phases: []string{"failed"}, Deliveries: []string{"hook", "slack"}, Everywhere: true},
			{Name: "elsewhere", Phases: []string{"failed"}, Deliveries: []string{"hook"}, Everywhere: true, Projects: []string{"other"}},
		}
	})
	f.create("plain", nil)
	f.create("oncall", named("oncall"))
	f.create("off", named("off"))
	f.create("fine", named("oncall"))
	for _, run := range []string{"plain", "oncall", "off"} {
		f.end(run, failed, "broken")
	}
	f.end("fine", succeeded, "")
	f.settle("plain", 2, delivered)
	f.settle("oncall", 3, delivered) // slack once
	require.Empty(t, f.deliveries("off"))
	require.Empty(t, f.deliveries("fine"))
	shapes := map[string]got{}
	for _, call := range s.received() {
		if strings.Contains(call.body, "oncall") {
			shapes[call.path] = call
			require.True(t, json.Valid([]byte(call.body)), call.body)
		}
	}
	require.JSONEq(t, `{"text":"Run oncall in flytesnacks/development: FAILED\nbroken"}`, shapes["/slack"].body)
	require.JSONEq(t, `{"text":"Run oncall in flytesnacks/development: FAILED\nbroken","title":"Run oncall: FAILED"}`, shapes["/teams"].body)
	require.Equal(t, http.MethodPut, shapes["/hook"].method)
	require.Equal(t, "flytesnacks", shapes["/hook"].header.Get("X-Team"))
	require.Equal(t, "application/json", shapes["/hook"].header.Get("Content-Type"))
}

// TestUnknownNamesDoNotStopARun: they are noted on the run, and listed as given up.
func TestUnknownNamesDoNotStopARun(t *testing.T) {
	f := newFixture(t, nil)
	f.create("rule", named("oncall"))
	f.create("delivery", rules(webhook("https://example.com", "", succeeded)))
	f.create("name", rulesOf("nowhere", failed))
	for _, run := range []string{"rule", "name"} {
		details, err := f.runs.GetActionDetails(t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID(run, "a0")})
		require.NoError(t, err)
		require.Contains(t, details.GetDetails().GetAttempts()[0].GetClusterEvents()[0].GetMessage(), "no notification is sent")
		f.end(run, failed, "x")
		list := f.settle(run, 1, dead)
		require.Contains(t, list[0].GetLastError(), "there is no")
	}
	// After the configuration has the rule, the delivery is sent again.
	s := newSink(t, nil)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context())))
	f.config.Deliveries = []notifications.Delivery{{Name: "hook", Type: "webhook", URL: s.URL}}
	f.config.Rules = []notifications.Rule{{Name: "oncall", Phases: []string{"failed"}, Deliveries: []string{"hook"}}}
	f.begin()
	id := f.deliveries("rule")[0].GetId()
	_, err := f.client.RetryDelivery(t.Context(), &insightv1.RetryDeliveryRequest{RunId: runID("rule"), DeliveryId: id})
	require.NoError(t, err)
	f.settle("rule", 2, delivered)
	require.Len(t, s.received(), 1)
}

// TestASinkThatIsDown: a delivery is repeated with the same id until it is taken, also by the next process.
func TestASinkThatIsDown(t *testing.T) {
	f := newFixture(t, func(c *notifications.Config) { c.MaxTries = 1000 })
	down := make(chan struct{})
	s := newSink(t, func(int) int {
		select {
		case <-down:
			return http.StatusNoContent
		default:
			return http.StatusServiceUnavailable
		}
	})
	f.create("later", rules(webhook(s.URL, body, succeeded)))
	f.end("later", succeeded, "")
	require.Eventually(t, func() bool { return len(s.received()) >= 3 }, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context())))
	before := len(s.received())
	f.begin()
	require.Eventually(t, func() bool { return len(s.received()) > before }, 20*time.Second, 5*time.Millisecond)
	close(down)
	list := f.settle("later", 1, delivered)
	ids := map[string]bool{}
	for _, call := range s.received() {
		ids[call.header.Get("Idempotency-Key")] = true
	}
	require.Equal(t, map[string]bool{list[0].GetId(): true}, ids)
}

// TestDeadLetters: what is refused is given up at once, what fails after the last try; both can be sent again.
func TestDeadLetters(t *testing.T) {
	f := newFixture(t, func(c *notifications.Config) { c.MaxTries = 3 })
	refuses := newSink(t, func(call int) int {
		if call == 1 {
			return http.StatusGone
		}
		return http.StatusOK
	})
	fails := newSink(t, func(int) int { return http.StatusBadGateway })
	f.create("refused", rules(webhook(refuses.URL, body, failed)))
	f.create("fails", rules(webhook(fails.URL, body, failed)))
	f.end("refused", failed, "x")
	f.end("fails", failed, "x")
	one := f.settle("refused", 1, dead)[0]
	require.Equal(t, "it returned 410 Gone", one.GetLastError())
	require.Len(t, refuses.received(), 1)
	require.Equal(t, uint32(3), f.settle("fails", 1, dead)[0].GetTries())
	require.Len(t, fails.received(), 3)

	response, err := f.client.ListDeliveries(t.Context(), &insightv1.ListDeliveriesRequest{State: dead, Limit: 1})
	require.NoError(t, err)
	require.Len(t, response.GetDeliveries(), 1)
	response, err = f.client.ListDeliveries(t.Context(), &insightv1.ListDeliveriesRequest{State: dead, Limit: 1, Token: response.GetToken()})
	require.NoError(t, err)
	require.Len(t, response.GetDeliveries(), 1)
	require.Empty(t, response.GetToken())
	for project, count := range map[string]int{"flytesnacks": 2, "other": 0} {
		scoped := authz.WithScope(t.Context(), authz.Scope{Places: []authz.Place{{Project: project}}})
		page, _, err := store.New(f.pool).List(scoped, ident.Run{}, store.Dead, 0, "")
		require.NoError(t, err)
		require.Len(t, page, count, "a caller sees the projects of its scope")
	}

	retry := &insightv1.RetryDeliveryRequest{RunId: runID("refused"), DeliveryId: one.GetId()}
	_, err = f.client.RetryDelivery(t.Context(), retry)
	require.NoError(t, err)
	f.settle("refused", 1, delivered)
	require.Equal(t, refuses.received()[0].header.Get("Idempotency-Key"), refuses.received()[1].header.Get("Idempotency-Key"))
	_, err = f.client.RetryDelivery(t.Context(), retry)
	require.Equal(t, connect.CodeFailedPrecondition, codeOf(err))
	retry.RunId = runID("fails")
	_, err = f.client.RetryDelivery(t.Context(), retry)
	require.Equal(t, connect.CodeNotFound, codeOf(err), "the run is part of the name")
}

// TestASlowSinkHoldsUpNoOther: it takes a quarter of the places, however much it has to receive.
func TestASlowSinkHoldsUpNoOther(t *testing.T) {
	f := newFixture(t, func(c *notifications.Config) { c.Parallel = 4 })
	release := make(chan struct{})
	slow := newSink(t, func(int) int { <-release; return http.StatusOK })
	t.Cleanup(func() { close(release) })
	quick := newSink(t, nil)
	f.create("slow", rules(webhook(slow.URL, body, failed), webhook(slow.URL+"/2", body, failed), webhook(slow.URL+"/3", body, failed)))
	f.end("slow", failed, "x")
	require.Eventually(t, func() bool { return len(slow.received()) == 1 }, 20*time.Second, 5*time.Millisecond)
	f.create("quick", rules(webhook(quick.URL, body, failed)))
	f.end("quick", failed, "x")
	f.settle("quick", 1, delivered)
	require.Len(t, slow.received(), 1)
}

func TestAddressesThatMustNotBeCalled(t *testing.T) {
	f := newFixture(t, func(c *notifications.Config) { c.Allow = nil })
	local := newSink(t, nil)
	for name, target := range map[string]string{
		"local": local.URL, "name": strings.Replace(local.URL, "127.0.0.1", "localhost", 1), "metadata": "http://169.254.169.254/latest",
		"private": "http://10.0.0.7/", "mapped": "http://[::ffff:10.0.0.1]/", "tunnel": "http://[2002:a00:1::1]/",
	} {
		f.create(name, rules(webhook(target, body, failed)))
		f.end(name, failed, "x")
		require.Contains(t, f.settle(name, 1, dead)[0].GetLastError(), "must not be called; see notifications.allow")
	}
	require.Empty(t, local.received())
}

func TestRedirectsOfWebhooks(t *testing.T) {
	f := newFixture(t, nil)
	last := newSink(t, nil)
	redirect := func(status int, to string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }))
		t.Cleanup(server.Close)
		return server.URL
	}
	kept := webhook(redirect(307, last.URL), body, failed)
	kept.GetDeliveryTemplate().GetWebhook().Headers = map[string]string{"X-API-Key": "secret", "Content-Type": "application/json"}
	f.create("kept", rules(kept))
	f.end("kept", failed, "x")
	f.settle("kept", 1, delivered)
	require.Empty(t, last.received()[0].header.Get("X-API-Key"), "another host does not get the user's headers")
	require.Equal(t, "application/json", last.received()[0].header.Get("Content-Type"))
	for name, tc := range map[string]struct{ target, words string }{
		"changed": {redirect(302, last.URL), "not followed"}, "metadata": {redirect(307, "http://169.254.169.254/"), "must not be called"},
		"scheme": {redirect(308, "file:///etc/passwd"), "not followed"},
	} {
		f.create(name, rules(webhook(tc.target, body, failed)))
		f.end(name, failed, "x")
		require.Contains(t, f.settle(name, 1, dead)[0].GetLastError(), tc.words)
	}
	require.Len(t, last.received(), 1)
}

// TestRulesThatCannotBeDelivered: a clear error at CreateRun, and no run.
func TestRulesThatCannotBeDelivered(t *testing.T) {
	f := newFixture(t, nil)
	hook := func(change func(*notification.WebhookDeliveryTemplate)) *notification.DeliveryConfigTemplate {
		w := &notification.WebhookDeliveryTemplate{Url: "https://example.com/x", Method: notification.HttpMethod_HTTP_METHOD_POST}
		change(w)
		return &notification.DeliveryConfigTemplate{Webhook: w}
	}
	email := func(change func(*notification.EmailDeliveryTemplate, *notification.InlineEmailTemplate)) *notification.DeliveryConfigTemplate {
		inline := &notification.InlineEmailTemplate{Subject: "s", HtmlTemplate: "h"}
		e := &notification.EmailDeliveryTemplate{
			To: []*notification.EmailRecipient{{Address: "a@example.com"}}, Content: &notification.EmailDeliveryTemplate_Inline{Inline: inline},
		}
		change(e, inline)
		return &notification.DeliveryConfigTemplate{Email: e}
	}
	type hooked = notification.WebhookDeliveryTemplate
	type mailed = notification.EmailDeliveryTemplate
	type inlined = notification.InlineEmailTemplate
	for name, tc := range map[string]struct {
		template *notification.DeliveryConfigTemplate
		words    string
	}{
		"variable":  {hook(func(w *hooked) { w.BodyTemplate = "{{.Run.Title}}" }), "webhook.body_template: unknown template variable .Run.Title"},
		"pipeline":  {hook(func(w *hooked) { w.BodyTemplate = "{{.Error | js}}" }), "unknown template variable .Error | js"},
		"paused":    {hook(func(w *hooked) { w.BodyTemplate = "{{.Prompt}}" }), "unknown template variable .Prompt"},
		"url":       {hook(func(w *hooked) { w.Url = "file:///etc/passwd" }), "must be an http or https URL"},
		"host":      {hook(func(w *hooked) { w.Url = "https://{{.Run.Name}}.example.com/" }), "must not contain a template variable before the path"},
		"user":      {hook(func(w *hooked) { w.Url = "https://a:b@example.com/" }), "must not have a user"},
		"connect":   {hook(func(w *hooked) { w.Method = notification.HttpMethod_HTTP_METHOD_CONNECT }), "CONNECT is not supported"},
		"injection": {hook(func(w *hooked) { w.Headers = map[string]string{"X-A": "b\r\nX-Evil: c"} }), "must be one line"},
		"header":    {hook(func(w *hooked) { w.Headers = map[string]string{"X A": "b"} }), "is not the name of a header"},
		"ours":      {hook(func(w *hooked) { w.Headers = map[string]string{"host": "b"} }), "is set by the server"},
		"twice":     {hook(func(w *hooked) { w.Headers = map[string]string{"X-a": "b", "x-A": "c"} }), "has header X-A more than once"},
		"subject":   {email(func(_ *mailed, i *inlined) { i.Subject = "a\r\nBcc: evil@example.com" }), "inline.subject: "},
		"address":   {email(func(e *mailed, _ *inlined) { e.To[0].Address = "a@example.com, b@example.com" }), "is not an e-mail address"},
		"line":      {email(func(e *mailed, _ *inlined) { e.To[0].Address = "a@example.com\r\nDATA" }), ""},
		"name":      {email(func(e *mailed, _ *inlined) { e.To[0].Name = "a\r\nBcc: b@c.d" }), ""},
		"provider": {email(func(e *mailed, _ *inlined) {
			e.Content = &notification.EmailDeliveryTemplate_ProviderTemplate{ProviderTemplate: &notification.ProviderEmailTemplate{TemplateId: "x"}}
		}), "this server sends mail itself"},
	} {
		_, err := f.runs.CreateRun(t.Context(), request("bad-"+name, rules(template(tc.template, failed))))
		require.Equal(t, connect.CodeInvalidArgument, codeOf(err), "%s: %v", name, err)
		require.ErrorContains(t, err, tc.words, name)
		_, err = f.runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runID("bad-" + name)})
		require.Equal(t, connect.CodeNotFound, codeOf(err), name)
	}
}

// TestConfigurationsThatAreRefused name the field.
func TestConfigurationsThatAreRefused(t *testing.T) {
	hook := notifications.Delivery{Name: "hook", Type: "webhook", URL: "https://example.com"}
	for words, change := range map[string]func(*notifications.Config){
		"allow[0]":                  func(c *notifications.Config) { c.Allow = []string{"10.0.0.0"} },
		"proxy":                     func(c *notifications.Config) { c.Proxy = "x" },
		"email.tls":                 func(c *notifications.Config) { c.Email.TLS = "" },
		"email.from":                func(c *notifications.Config) { c.Email.Host = "mail" },
		"lease":                     func(c *notifications.Config) { c.Lease = 0 },
		"deliveries[1].name":        func(c *notifications.Config) { c.Deliveries = []notifications.Delivery{hook, hook} },
		"deliveries[0].type":        func(c *notifications.Config) { c.Deliveries = []notifications.Delivery{{Name: "x", Type: "pager"}} },
		"deliveries[0].webhook.url": func(c *notifications.Config) { c.Deliveries = []notifications.Delivery{{Name: "x", Type: "slack"}} },
		"deliveries[0].webhook.body_template": func(c *notifications.Config) {
			c.Deliveries = []notifications.Delivery{{Name: "x", Type: "slack", URL: "https://a.b", Text: "{{.Nothing}}"}}
		},
		"requires notifications.email.host": func(c *notifications.Config) {
			c.Deliveries = []notifications.Delivery{{Name: "x", Type: "email", To: []string{"a@b.c"}}}
		},
		"rules[0].deliveries[0]": func(c *notifications.Config) {
			c.Rules = []notifications.Rule{{Name: "r", Phases: []string{"failed"}, Deliveries: []string{"nothing"}}}
		},
		"rules[0].phases[0]": func(c *notifications.Config) {
			c.Rules = []notifications.Rule{{Name: "r", Phases: []string{"running"}}}
		},
		"rules[0].name": func(c *notifications.Config) { c.Rules = []notifications.Rule{{Name: "off"}} },
	} {
		config := notifications.DefaultConfig()
		change(&config)
		require.ErrorContains(t, config.Validate(), words)
	}
	require.NoError(t, notifications.DefaultConfig().Validate())
}

// TestARunThatIsDeletedMeanwhile: its entries are removed from the outbox.
func TestARunThatIsDeletedMeanwhile(t *testing.T) {
	f := newFixture(t, nil)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context())))
	f.create("gone", rules(webhook("https://example.com", body, failed)))
	f.end("gone", failed, "x")
	require.Equal(t, 1, f.outboxSize())
	_, err := f.pool.Exec(t.Context(), `DELETE FROM actions`)
	require.NoError(t, err)
	f.begin()
	require.Eventually(t, func() bool { return f.outboxSize() == 0 }, 20*time.Second, 5*time.Millisecond)
	require.Empty(t, f.deliveries("gone"))
}

// TestTwoReplicasDeliverOnce: both read the outbox and the list, and each delivery is made by one.
func TestTwoReplicasDeliverOnce(t *testing.T) {
	f := newFixture(t, nil)
	f.begin()
	s := newSink(t, nil)
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		f.create(name, rules(webhook(s.URL, body, failed), webhook(s.URL+"/2", body, failed)))
		f.end(name, failed, name)
	}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		f.settle(name, 2, delivered)
	}
	require.Len(t, s.received(), 12)
}

// TestRunsWithoutRulesLeaveNoTrace: the outbox is for runs that someone asked about.
func TestRunsWithoutRulesLeaveNoTrace(t *testing.T) {
	f := newFixture(t, nil)
	require.NoError(t, f.service.Stop(context.WithoutCancel(t.Context())))
	f.create("plain", nil)
	f.create("other", rules(webhook("https://example.com", body, aborted)))
	f.end("plain", failed, "x")
	f.end("other", failed, "x")
	require.Zero(t, f.outboxSize())
}
