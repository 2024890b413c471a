package manager_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestSignInsAndTheirRecordsAreOneTransaction does what people do on the pages of the sign-in, first while no record of success can be stored:
// then no one is signed in or out, and no client, device or app is let in.
func TestSignInsAndTheirRecordsAreOneTransaction(t *testing.T) {
	var database string
	server := startWithApps(t, func(c *configuration.Config) { database = c.Database.URL })
	app := server.serve(t, "one", mirrorRequest)
	db, err := pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.WithoutCancel(t.Context()))) })
	a := &audited{T: t, db: db}
	a.exec(noting)

	grace := server.visitor(t)
	require.Eventually(t, func() bool { return grace.visit(app, nil, false).status == http.StatusUnauthorized }, time.Minute, 20*time.Millisecond, "the gateway has the app")
	client := grace.commandLine()
	var request, device string // what waits for an answer
	for _, step := range []struct {
		page    string
		prepare func()
		do      func() page
	}{
		{page: "/access/sign-in", do: func() page { return grace.signIn("grace") }},
		{page: "/access/sign-in", do: func() page { return grace.signIn("grace") }}, // again, in a session that lasts
		{page: "/access/approve", prepare: func() {
			request = grace.open(client.meta.GetAuthorizationEndpoint()+"?"+client.parameters().Encode()).field(t, "request")
		}, do: func() page {
			return grace.post("/access/approve", url.Values{"request": {request}, "answer": {"allow"}})
		}},
		{page: "/access/device", prepare: func() {
			device = client.ask(client.meta.GetDeviceAuthorizationEndpoint(), url.Values{"client_id": {client.config.GetClientId()}}).UserCode
		}, do: func() page {
			return grace.post("/access/device", url.Values{"user_code": {device}, "answer": {"allow"}})
		}},
		{page: "/access/app", do: func() page { return grace.visit(app, opened(), true) }},
		{page: "/access/sign-out", do: func() page { return grace.post("/access/sign-out", nil) }},
	} {
		prepare := func() {
			if step.prepare != nil {
				step.prepare()
			}
		}
		prepare()
		before := a.lasting()
		a.refusing("access_audit_made", func() {
			got := step.do()
			require.Equal(t, http.StatusServiceUnavailable, got.status, "%s: %s", step.page, got.body)
		})
		require.Equal(t, before, a.lasting(), "%s changed something without a record", step.page)

		prepare()
		from := a.now()
		got := step.do()
		require.Less(t, got.status, http.StatusBadRequest, "%s: %s", step.page, got.body)
		tables, records := a.noted(from, "")
		require.Len(t, records, 1, "%s: one record, at once", step.page)
		for tx, outcome := range records {
			require.Equal(t, "succeeded", outcome)
			require.Contains(t, strings.Join(tables[tx], " "), "public.access_", "%s: its transaction changes something", step.page)
		}
	}
	var known int
	require.Eventually(t, func() bool {
		require.NoError(t, db.QueryRow(t.Context(), `SELECT count(*) FROM access_audit
			WHERE subject = 'grace' AND permission = 'identity.authenticate' AND outcome = 'succeeded' AND credential LIKE 's\_%'`).Scan(&known))
		return known == 6
	}, time.Minute, 20*time.Millisecond, "the chain has each, with the session")
}

// lasting are the sessions, and the grants by which something begins.
func (a *audited) lasting() []string {
	a.Helper()
	rows, err := a.db.Query(a.Context(), `SELECT id || ' ' || encode(token, 'hex') FROM access_sessions
		UNION ALL SELECT kind || ' ' || id || ' ' || encode(data, 'escape') FROM access_grants WHERE kind IN ('code', 'device', 'app-code') ORDER BY 1`)
	require.NoError(a, err)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(a, err)
	return all
}
