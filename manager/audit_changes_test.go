package manager_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/contracttest"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications"
)

// refusal makes it impossible to store a record in a table: access_audit_made has those in the transaction of a change, access_audit_open
// those around one.
const refusal = `
	CREATE FUNCTION refuse_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no record is taken'; END $$;
	CREATE TRIGGER refuse_record BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION refuse_record()`

// noting notes the transaction of each change of each table, and of each record with the id of its call. It leaves out what loops of the
// server change all the time, such as the heartbeats of the controller in cluster_states.
const noting = `
	CREATE TABLE noted (id bigint GENERATED ALWAYS AS IDENTITY, tx xid8, tbl text, request text, outcome text);
	CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.noted (tx, tbl) VALUES (pg_current_xact_id(), TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME);
		RETURN NULL;
	END $$;
	CREATE FUNCTION note_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		INSERT INTO public.noted (tx, tbl, request, outcome) VALUES (pg_current_xact_id(), 'record', NEW.event::json->>'RequestID', NEW.event::json->>'Outcome');
		RETURN NULL;
	END $$;
	CREATE TRIGGER note_record AFTER INSERT ON access_audit_open FOR EACH ROW EXECUTE FUNCTION note_record();
	CREATE TRIGGER note_record AFTER INSERT ON access_audit_made FOR EACH ROW EXECUTE FUNCTION note_record();
	DO $$ DECLARE name regclass; BEGIN
		FOR name IN SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname IN ('public', 'tracked') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
				AND c.relname NOT IN ('noted', 'artifact_events', 'cluster_states', 'task_days', 'task_health', 'use_days', 'use_rates', 'use_prices', 'run_use', 'run_tasks') AND c.relname NOT LIKE 'access_audit%' AND c.relname NOT LIKE '%leases' AND c.relname NOT LIKE 'goose%'
		LOOP
			EXECUTE format('CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION note_change()', name);
		END LOOP;
	END $$`

// audited is a server whose database notes which transaction changes what.
type audited struct {
	*testing.T
	url     string
	storage string
	db      *pgx.Conn
	calls   int
	answers map[string]string // of the calls that made something, by procedure and name
}

func startAudited(t *testing.T, changes ...func(*configuration.Config)) *audited {
	t.Helper()
	var database string
	a := &audited{T: t, answers: map[string]string{}}
	a.url = startWithRoles(t, append(changes, func(c *configuration.Config) {
		c.Access.Local = access.LocalConfig{Enabled: true, AdminPassword: "correct horse"}
		database, a.storage = c.Database.URL, c.Storage.URL
		c.Notifications.Deliveries = []notifications.Delivery{{Name: "forbidden", Type: "webhook", URL: "http://169.254.169.254/"}}
		c.Notifications.Rules = []notifications.Rule{{Name: "sample", Phases: []string{"failed"}, Deliveries: []string{"forbidden"}}}
	})...)
	var err error
	a.db, err = pgx.Connect(t.Context(), database)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.db.Close(context.WithoutCancel(t.Context()))) })
	a.exec(noting)
	return a
}

func (a *audited) exec(statement string, args ...any) {
	a.Helper()
	_, err := a.db.Exec(a.Context(), statement, args...)
	require.NoError(a, err)
}

// call makes a call as a person, and returns the id by which its record is found.
func (a *audited) call(person, procedure, body string) (status int, answer, id string) {
	a.Helper()
	a.calls++
	id = fmt.Sprint("audited-", a.calls)
	request, err := http.NewRequestWithContext(a.Context(), http.MethodPost, a.url+procedure, strings.NewReader(body))
	require.NoError(a, err)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-Request-Id", id)
	response, err := as(person).Do(request)
	require.NoError(a, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(a, err)
	return response.StatusCode, string(text), id
}

// prepare makes what a sample needs, and returns the body of its call about the things of a name.
func (a *audited) prepare(procedure, name string) string {
	a.Helper()
	of := samples[procedure]
	for _, given := range of.given {
		body := a.prepare(given, name)
		if _, done := a.answers[given+name]; done {
			continue
		}
		status, answer, _ := a.call("root", given, body)
		require.Equal(a, http.StatusOK, status, "%s before %s: %s", given, procedure, answer)
		a.answers[given+name] = answer
	}
	if of.row != "" {
		a.exec(strings.ReplaceAll(of.row, "NAME", name))
	}
	body := strings.NewReplacer(parts...).Replace(of.body)
	body = strings.NewReplacer("NAME", name, "$STORAGE", a.storage).Replace(body)
	if of.id != "" {
		var made map[string]map[string]any
		_ = json.Unmarshal([]byte(a.answers[of.given[len(of.given)-1]+name]), &made)
		id, _ := made[of.id]["id"].(string)
		require.NotEmpty(a, id, "%s: %v", procedure, a.answers)
		body = strings.ReplaceAll(body, "$ID", id)
	}
	return body
}

// noted are the tables that were changed after a moment, and the transactions with records of a call.
func (a *audited) noted(after int64, call string) (tables map[string][]string, records map[string]string) {
	a.Helper()
	rows, err := a.db.Query(a.Context(), `SELECT DISTINCT tx::text, tbl, coalesce(request, ''), coalesce(outcome, '') FROM noted WHERE id > $1`, after)
	require.NoError(a, err)
	tables, records = map[string][]string{}, map[string]string{}
	var tx, table, request, outcome string
	_, err = pgx.ForEachRow(rows, []any{&tx, &table, &request, &outcome}, func() error {
		switch {
		case table != "record":
			tables[tx] = append(tables[tx], table)
		case call == "" || request == call:
			records[tx] = outcome
		}
		return nil
	})
	require.NoError(a, err)
	return tables, records
}

func (a *audited) now() (id int64) {
	a.Helper()
	require.NoError(a, a.db.QueryRow(a.Context(), `SELECT coalesce(max(id), 0) FROM noted`).Scan(&id))
	return id
}

// refusing runs work while a table takes no record.
func (a *audited) refusing(table string, work func()) {
	a.Helper()
	a.exec(fmt.Sprintf(refusal, table))
	defer a.exec(`DROP FUNCTION refuse_record CASCADE`)
	work()
}

// changing are the procedures that people may call and that change something, by the verbs of their permissions.
func changing() (procedures []string) {
	for _, method := range contracttest.Methods() {
		procedure := contracttest.ProcedureOf(method)
		rule, known := authz.RuleOf(procedure)
		_, verb, _ := strings.Cut(rule.Action, ".")
		if known && rule.Asks(authz.User) && !slices.Contains([]string{"view", "use", "call", "select", "discover", "verify"}, verb) {
			procedures = append(procedures, procedure)
		}
	}
	slices.Sort(procedures)
	return procedures
}

// TestChangesAndTheirRecordsAreOneTransaction makes each change that the table of procedures has. Where the record is within the
// transaction of the change, the change fails while the record cannot be stored, and nothing has changed: so no process that dies,
// whenever it does, leaves one without the other. Where it is around the change, there is a reason, and the call is not handled before
// the record is stored.
func TestChangesAndTheirRecordsAreOneTransaction(t *testing.T) {
	a := startAudited(t)
	unused := map[string]bool{}
	for procedure := range samples {
		unused[procedure] = true
	}
	for i, procedure := range changing() {
		delete(unused, procedure)
		t.Run(strings.TrimPrefix(procedure, "/"), func(t *testing.T) {
			a.T = t
			of, known := samples[procedure]
			require.True(t, known, "there is no sample of a call: add one, so that its record is tested")
			name := fmt.Sprint("c", i)
			body, person := a.prepare(procedure, name), strings.ReplaceAll(cmp.Or(of.person, "root"), "NAME", name)
			switch {
			case of.refused != 0:
				before := a.now()
				status, answer, id := a.call(person, procedure, body)
				require.Equal(t, of.refused, status, answer)
				tables, records := a.noted(before, id)
				require.Empty(t, tables)
				require.Empty(t, records)
			case audit.Manner(procedure) == "within":
				a.within(person, procedure, body, of.counts)
			case audit.Manner(procedure) == "around":
				require.NotEmpty(t, audit.Outside(procedure), "the reason")
				a.around(person, procedure, body)
			default:
				before := a.now()
				status, answer, id := a.call(person, procedure, body)
				require.Equal(t, http.StatusOK, status, answer)
				tables, _ := a.noted(before, id)
				require.Empty(t, tables, "it changes something, so its record must not come after it")
			}
		})
	}
	a.T = t
	require.Empty(t, unused, "samples of no procedure that changes something")
}

// within makes a call whose record is in the transaction of its change.
func (a *audited) within(person, procedure, body, counts string) {
	a.Helper()
	var refused map[string][]string
	a.refusing("access_audit_made", func() {
		before := a.now()
		status, answer, id := a.call(person, procedure, body)
		require.Contains(a, []int{http.StatusInternalServerError, http.StatusServiceUnavailable}, status, answer)
		var records map[string]string
		refused, records = a.noted(before, id)
		require.Empty(a, records)
	})
	before := a.now()
	status, answer, id := a.call(person, procedure, body)
	require.Equal(a, http.StatusOK, status, "after one that failed: %s", answer)
	tables, records := a.noted(before, id)
	require.Len(a, records, 1, "one record, at once")
	for tx, outcome := range records {
		require.Equal(a, "succeeded", outcome)
		require.NotEmpty(a, tables[tx], "its transaction changes something: %v", tables)
		for _, table := range tables[tx] {
			for _, changed := range refused { // the loops of the server change others
				require.True(a, table == counts || !slices.Contains(changed, table), "%s was changed without a record", table)
			}
		}
	}
}

// around makes a call whose record is stored before its change.
func (a *audited) around(person, procedure, body string) {
	a.Helper()
	before := a.now()
	a.refusing("access_audit_open", func() {
		status, answer, _ := a.call(person, procedure, body)
		require.Equal(a, http.StatusServiceUnavailable, status, answer)
		require.Contains(a, answer, "the call cannot be recorded, so it is not made")
	})
	status, answer, id := a.call(person, procedure, body)
	require.Equal(a, http.StatusOK, status, answer)
	tables, records := a.noted(before, id)
	// The beat of the server's own cluster may come at any time.
	maps.DeleteFunc(tables, func(_ string, changed []string) bool { return slices.Equal(changed, []string{"public.cluster_states"}) })
	require.Empty(a, tables, "it changes Postgres, where its record could be in the transaction")
	require.Len(a, records, 1)
	for _, outcome := range records {
		require.Equal(a, "unknown", outcome)
	}
}
