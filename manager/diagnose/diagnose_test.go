package diagnose_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// closedPort is an address of this machine at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// Real Postgres servers, and real errors of this machine.
func TestDatabase(t *testing.T) {
	own := pgtest.Empty(t).Config().ConnConfig
	there := "host=" + own.Host + " port=" + strconv.Itoa(int(own.Port)) + " password=hunter2 sslmode=disable "
	closed := closedPort(t)
	for name, one := range map[string]struct {
		config    pgdb.Config
		says, fix string
	}{
		"closed port": {
			pgdb.Config{URL: "postgres://flyte:hunter2@" + closed + "/flyte?sslmode=disable"},
			"database: connect to " + closed + ", database flyte, user flyte: connection refused: nothing listens there", "check database.url",
		},
		"no socket":        {pgdb.Config{URL: "host=" + t.TempDir() + " user=flyte dbname=flyte password=hunter2"}, "there is no socket of a Postgres server", "check database.url"},
		"no such host":     {pgdb.Config{URL: "postgres://flyte:hunter2@nowhere.invalid/flyte"}, "the host name nowhere.invalid cannot be resolved", "correct the name"},
		"no database":      {pgdb.Config{URL: there + "dbname=nothing user=" + own.User}, `database "nothing" does not exist`, "create it with `createdb`"},
		"no user":          {pgdb.Config{URL: there + "dbname=postgres user=nobody"}, "nobody", "correct the user"},
		"no password file": {pgdb.Config{URL: "postgres://flyte@localhost/flyte", PasswordFile: "/nowhere/password"}, "/nowhere/password: no such file", "correct database.passwordFile"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pgdb.Open(t.Context(), one.config)
			require.Error(t, err)
			explained(t, diagnose.Database(one.config, err), one.says, one.fix)
		})
	}
}

func TestWrongPassword(t *testing.T) {
	dir, err := os.MkdirTemp("", "diagnose-") //nolint:usetesting // under root, Postgres runs as another account, which must pass through
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	server, err := pgembed.New(pgembed.Config{DataDir: filepath.Join(dir, "postgres")})
	require.NoError(t, err)
	require.NoError(t, server.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	parsed, err := pgx.ParseConfig(server.DSN())
	require.NoError(t, err)
	config := pgdb.Config{URL: fmt.Sprintf("host=%s port=%d user=%s dbname=%s password=hunter2", parsed.Host, parsed.Port, parsed.User, parsed.Database)}
	_, err = pgdb.Open(t.Context(), config)
	require.Error(t, err)
	explained(t, diagnose.Database(config, err), "password authentication failed", "correct the user or the password in database.url")
}

func TestAnswersOfPostgres(t *testing.T) {
	config := pgdb.Config{URL: "postgres://flyte:hunter2@db:5432/flyte"}
	for code, fix := range map[string]string{
		"53300": "raise max_connections", "57P03": "try again when it is up", "25006": "at the primary", "28000": "pg_hba.conf", "XX000": "log of the database",
	} {
		explained(t, diagnose.Database(config, &pgconn.PgError{Code: code, Message: "what it says"}), "what it says", fix)
	}
	explained(t, diagnose.Database(config, &pgdb.VersionError{Version: "12.4"}), "Postgres 12.4, and 13 is the oldest", "upgrade the server")
	explained(t, diagnose.Migration(config, &pgconn.PgError{Code: "42501", Message: "permission denied for schema public"}), "migrate the schema in db:5432", "grant the account CREATE")
	explained(t, diagnose.Schema(config, fmt.Errorf("migrations: %w", &pgdb.SchemaError{Name: "runs", Current: 3, Wanted: 4})), "at version 3 and must be at 4", "migrate up")
	require.NoError(t, diagnose.Database(config, nil))
	require.Equal(t, context.Canceled, diagnose.Database(config, context.Canceled), "an interrupted start is not a failure of the database")
}

func TestCluster(t *testing.T) {
	const host = "https://10.0.0.1:6443"
	definitions := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	for _, one := range []struct {
		err       error
		says, fix string
	}{
		{apierrors.NewUnauthorized("Unauthorized"), "does not accept the credentials", "renew the credentials"},
		{apierrors.NewForbidden(definitions, "x", errors.New("no rule")), "is forbidden", "allow this account to get customresourcedefinitions"},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, "connection refused", "check kubernetes.kubeconfig"},
		{context.DeadlineExceeded, "no answer in time", "firewall"},
	} {
		explained(t, diagnose.Cluster(host, "get customresourcedefinitions", one.err), "API server: get customresourcedefinitions at "+host, one.fix)
		require.ErrorContains(t, diagnose.Cluster(host, "get", one.err), one.says)
	}
	explained(t, diagnose.Kubeconfig("", errors.New("no")), "does not run in a pod", "flyte-binary demo")
}

// answer is an error as the clients of object stores return it.
type answer string

func (a answer) Error() string     { return "the store says " + string(a) }
func (a answer) ErrorCode() string { return string(a) }

func TestStorage(t *testing.T) {
	config := blobstore.Config{URL: "s3://acme/flyte"}
	for code, fix := range map[string]string{
		"NoSuchBucket": "create the bucket", "AccessDenied": "allow the account to read, write, list and delete", "SignatureDoesNotMatch": "correct storage.s3.accessKeyID",
		"PermanentRedirect": "storage.s3.region", "Other": "check storage.url and the credentials",
	} {
		explained(t, diagnose.Storage(config, fmt.Errorf("write: %w", answer(code))), "storage: use s3://acme/flyte", fix)
	}
	for cause, fix := range map[error]string{
		fs.ErrPermission: "let this account write there", syscall.EROFS: "mount the file system writable", syscall.ENOSPC: "free space", syscall.ENOTDIR: "set storage.url to a directory",
	} {
		explained(t, diagnose.Storage(blobstore.Config{URL: "/data"}, &fs.PathError{Op: "mkdir", Path: "/data", Err: cause}), "storage: use /data: /data: ", fix)
	}

	// A store at which nothing listens.
	config = blobstore.DefaultConfig()
	config.URL, config.S3.Endpoint, config.S3.AccessKeyID, config.S3.SecretAccessKey = "s3://acme/flyte", "http://"+closedPort(t), "id", "hunter2"
	store, err := blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	explained(t, diagnose.Storage(config, store.CheckWrite(t.Context())), "at "+config.S3.Endpoint+": connection refused", "check storage.url and storage.s3.endpoint")
}

func TestPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, taken.Close()) })
	for listen, want := range map[string][2]string{
		taken.Addr().String(): {"in use", "--set server.listen=127.0.0.1:"},
		"203.0.113.1:1024":    {"does not have the address", "0.0.0.0"},
		"nowhere.invalid:1":   {"cannot be resolved", "correct server.listen"},
	} {
		_, err := net.Listen("tcp", listen)
		require.Error(t, err)
		explained(t, diagnose.Port("server.listen", listen, err), "port: listen on "+listen+": ", want[1])
		require.ErrorContains(t, diagnose.Port("server.listen", listen, err), want[0])
	}
	require.Equal(t, "a:8", diagnose.NextPort("a:7"))
	require.Equal(t, "a:0", diagnose.NextPort("a:65535"))
}

func explained(t *testing.T, err error, says, fix string) {
	t.Helper()
	var failure *diagnose.Failure
	require.ErrorAs(t, err, &failure)
	require.Contains(t, failure.Error(), says)
	require.Contains(t, failure.Fix, fix)
	require.NotContains(t, failure.Error(), "\n")
	require.NotContains(t, failure.Error(), "hunter2")
}
