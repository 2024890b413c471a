package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
)

// partDatabase is Postgres.
const partDatabase = "database"

// Database explains an error of connecting to Postgres. An interrupted attempt is not a failure of the database: its error is
// returned as it is.
func Database(config pgdb.Config, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	f := &Failure{Part: partDatabase, Tried: "connect to " + address(config), Err: err}
	f.Cause, f.Fix = databaseCause(config, err)
	return f
}

// Migration explains an error of migrating the schema.
func Migration(config pgdb.Config, err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	f := &Failure{Part: partDatabase, Tried: "migrate the schema in " + address(config), Cause: oneLine(err), Err: err}
	var answer *pgconn.PgError
	var connecting *pgconn.ConnectError
	switch {
	case errors.As(err, &connecting):
		f.Cause, f.Fix = databaseCause(config, err)
	case errors.As(err, &answer) && answer.Code == "42501":
		f.Cause = answer.Message
		f.Fix = "grant the account CREATE on the database and on its schema, or run `flyte-binary migrate up` with an account that has it"
	default:
		f.Fix = "nothing of the failed migration was kept; `flyte-binary migrate status` lists what is applied, and docs/upgrading.md says what to do"
	}
	return f
}

// SchemaFix is what to do about a schema that is older than the program.
func SchemaFix(migrates bool) string {
	if migrates {
		return "run `flyte-binary migrate up`, or start the server: it migrates the schema, since database.migrate is on"
	}
	return "run `flyte-binary migrate up`"
}

// Schema explains an error of CheckSchema.
func Schema(config pgdb.Config, err error) error {
	var old *pgdb.SchemaError
	if errors.As(err, &old) {
		return &Failure{Part: partDatabase, Cause: old.Error(), Fix: SchemaFix(config.Migrate), Err: err}
	}
	return Database(config, err)
}

// address is where the database is and who connects, without the password.
func address(config pgdb.Config) string {
	parsed, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return "database.url"
	}
	to := parsed.ConnConfig
	where := net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port)))
	if strings.HasPrefix(to.Host, "/") {
		where = fmt.Sprintf("%s (port %d)", to.Host, to.Port)
	}
	return fmt.Sprintf("%s, database %s, user %s", where, to.Database, to.User)
}

func databaseCause(config pgdb.Config, err error) (cause, fix string) {
	password := "database.url"
	if config.PasswordFile != "" {
		password = "database.passwordFile"
	}
	const start = "check database.url, and that Postgres runs and accepts connections from this machine"
	var answer *pgconn.PgError
	var path *fs.PathError
	var old *pgdb.VersionError
	switch {
	case errors.As(err, &old):
		return old.Error(), fmt.Sprintf("upgrade the server to Postgres %d or newer", pgdb.OldestServer)
	case errors.As(err, &answer):
		return answered(answer, password)
	case errors.As(err, &path) && config.PasswordFile != "":
		return oneLine(path), "correct database.passwordFile, and let this account read it"
	case errors.As(err, &path) || strings.Contains(err.Error(), ".s.PGSQL."):
		return "there is no socket of a Postgres server", start
	case strings.Contains(err.Error(), "refused TLS connection"):
		return "the server does not speak TLS", "enable TLS on the server, or set sslmode=disable in database.url if the network is trusted"
	}
	if cause, fix, ok := network(err, start); ok {
		return cause, fix
	}
	return oneLine(err), start
}

// answered explains what the server said, by its SQLSTATE.
func answered(answer *pgconn.PgError, password string) (cause, fix string) {
	switch answer.Code {
	case "28P01": // invalid_password
		return answer.Message, "correct the user or the password in " + password
	case "28000": // invalid_authorization_specification: no such account, or pg_hba.conf has no line for it
		return answer.Message, "create the account, correct the user in database.url, or allow this machine in pg_hba.conf"
	case "3D000": // invalid_catalog_name: no such database
		return answer.Message, "create it with `createdb`, or correct its name in database.url"
	case "42501": // insufficient_privilege
		return answer.Message, "grant the account the rights on the database"
	case "53300": // too_many_connections
		return answer.Message, "raise max_connections of the server, or lower database.maxConns"
	case "57P03": // cannot_connect_now
		return answer.Message, "the server is starting or stopping: try again when it is up"
	case "25006": // read_only_sql_transaction
		return answer.Message, "the server is a read-only replica: point database.url at the primary"
	default:
		return answer.Message + " (SQLSTATE " + answer.Code + ")", "see the log of the database"
	}
}
