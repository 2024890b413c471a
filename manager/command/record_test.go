package command_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// refusing makes it impossible to store the record of a change.
const refusing = `CREATE FUNCTION refuse_record() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no record is taken'; END $$;
	CREATE TRIGGER refuse_record BEFORE INSERT ON access_audit_made FOR EACH ROW EXECUTE FUNCTION refuse_record()`

// contents are the rows that the command line may change, as texts.
func contents(t *testing.T, pool *pgxpool.Pool) (all []string) {
	t.Helper()
	for _, table := range []string{
		"access_accounts", "access_keys", "access_bindings", "access_sessions", "clusters", "cluster_credentials", "cluster_removals", "access_audit", "access_audit_made",
	} {
		rows, err := pool.Query(t.Context(), `SELECT $1 || ': ' || t::text FROM `+table+` t ORDER BY 1`, table)
		require.NoError(t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		all = append(all, texts...)
	}
	return all
}

// TestTheCommandLineRecordsInTheTransactionOfTheChange makes every change of the command line, first while no record can be stored: then
// nothing is changed. So a command that is killed at any time leaves no change without its record.
func TestTheCommandLineRecordsInTheTransactionOfTheChange(t *testing.T) {
	pool := pgtest.Schemas(t, manager.Schemas()...)
	run := func(args ...string) (string, error) {
		root := command.New()
		var out bytes.Buffer
		root.SetIn(strings.NewReader("a good password\n"))
		root.SetOut(&out)
		root.SetErr(&out)
		root.SetArgs(append(args, "--set", "database.url="+pgtest.URL(pool), "--set", "access.local.enabled=true", "--set", "access.publicURL=https://flyte.example.com"))
		err := root.ExecuteContext(t.Context())
		return out.String(), err
	}
	made := ""
	commands := []string{
		"access users add grace", "access users passwd grace", "access users groups grace --group oncall", "access users unlock grace",
		"access users sign-out grace --keys", "access users remove grace",
		"keys create ci --role runner --in mine", "keys revoke $ID",
		"clusters add east", "clusters revoke $ID", "clusters issue east", "clusters cordon east", "clusters uncordon east", "clusters drain east",
		"clusters set east --weight 2", "clusters remove east", "clusters add west", "clusters remove west --force",
	}
	for i, line := range commands {
		args := strings.Fields(strings.ReplaceAll(line, "$ID", made))
		before := contents(t, pool)
		_, err := pool.Exec(t.Context(), refusing)
		require.NoError(t, err)
		_, err = run(args...)
		require.ErrorContains(t, err, "record the change", line)
		_, err = pool.Exec(t.Context(), `DROP TRIGGER refuse_record ON access_audit_made; DROP FUNCTION refuse_record`)
		require.NoError(t, err)
		require.Equal(t, before, contents(t, pool), line)

		text, err := run(args...)
		require.NoError(t, err, line)
		if id := regexp.MustCompile(`(key|cred)-\w{16}`).FindString(text); id != "" {
			made = id
		}
		var events, left int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM access_audit), (SELECT count(*) FROM access_audit_made)`).Scan(&events, &left))
		require.Equal(t, i+1, events, "%s: one event, which is part of the chain", line)
		require.Zero(t, left)
	}
	text, err := run("audit", "verify")
	require.NoError(t, err)
	require.Contains(t, text, "18 events are as they were written")
}
