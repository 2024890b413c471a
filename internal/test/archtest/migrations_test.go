package archtest_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// before is the newest migration of each service from before the rules below.
var before = map[string]string{
	"runs/store":          "00020",
	"cache_service/store": "00001",
	"artifacts/store":     "00001",
	"notifications/store": "00001",
	"triggers/store":      "00002",
	"apps/store":          "00003",
	"pools/store":         "00000", // it has none
	"connectors/store":    "00000", // it has none
	"clusters/store":      "00000", // it has none
	"access/store":        "00001",
}

// TestMigrationsAreOnline: a migration runs while old and new replicas serve. It holds no lock that they need for longer than a
// change of the catalog takes, and takes away nothing that the version before uses.
func TestMigrationsAreOnline(t *testing.T) {
	files, err := filepath.Glob("../../../*/store/migrations/*.sql")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, path := range files {
		service := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(filepath.Dir(path))), "../../../")
		seen[service] = true
		number, _, _ := strings.Cut(filepath.Base(path), "_")
		if number <= before[service] {
			continue
		}
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, offline(string(body)), "%s: docs/high-availability.md#migrations says how", path)
	}
	require.Len(t, seen, len(before), "every service has a baseline")
}

func TestOfflineMigrationsAreFound(t *testing.T) {
	const up = "-- +goose Up\n"
	for text, complaint := range map[string]string{
		"CREATE TABLE new (id int); CREATE INDEX new_id ON new (id);":   "",
		"ALTER TABLE actions ADD COLUMN x int NOT NULL DEFAULT 0;":      "",
		"ALTER TABLE actions ADD CONSTRAINT c CHECK (x > 0) NOT VALID;": "",
		"ALTER TABLE actions VALIDATE CONSTRAINT c;":                    "",
		"CREATE INDEX a_x ON actions (x);":                              "CONCURRENTLY",
		"CREATE UNIQUE INDEX a_x ON actions (x);":                       "CONCURRENTLY",
		"CREATE INDEX CONCURRENTLY a_x ON actions (x);":                 "NO TRANSACTION",
		"DROP INDEX a_x;": "CONCURRENTLY",
		"ALTER TABLE actions ADD CONSTRAINT c CHECK (x > 0);":                     "NOT VALID",
		"ALTER TABLE actions ADD FOREIGN KEY (x) REFERENCES b (id);":              "NOT VALID",
		"ALTER TABLE actions ADD COLUMN x timestamptz DEFAULT clock_timestamp();": "rewrites",
		"ALTER TABLE actions ADD COLUMN x bigserial;":                             "rewrites",
		"ALTER TABLE actions ADD COLUMN x int REFERENCES b (id);":                 "NOT VALID",
		"ALTER TABLE actions ALTER COLUMN x TYPE bigint;":                         "rewrites",
		"ALTER TABLE actions ALTER x SET NOT NULL;":                               "reads the whole table",
		"UPDATE actions SET x = 1;":                                               "many rows",
		"CREATE TABLE new (id int); INSERT INTO new SELECT id FROM actions;":      "many rows",
		"ALTER TABLE actions DROP COLUMN x;":                                      "version before",
		"ALTER TABLE actions RENAME COLUMN x TO y;":                               "version before",
		"DROP TABLE actions;":                                                     "version before",
		"LOCK TABLE actions;":                                                     "locks",
		"ALTER TABLE actions ADD COLUMN x int; CREATE TABLE new (id int);":        "until the transaction ends",
		"CREATE TABLE new (id int); ALTER TABLE actions ADD COLUMN x int;":        "",
		"-- it would UPDATE actions\nSELECT 1;":                                   "",
	} {
		found := strings.Join(offline(up+text+"\n-- +goose Down\nDROP TABLE actions;"), "; ")
		if complaint == "" {
			require.Empty(t, found, text)
		} else {
			require.Contains(t, found, complaint, text)
		}
	}
	require.Empty(t, offline("-- +goose NO TRANSACTION\n"+up+"SET lock_timeout = 0;\nDROP INDEX CONCURRENTLY IF EXISTS a_x;\nCREATE INDEX CONCURRENTLY a_x ON actions (x);\n-- +goose Down\n"))
	require.NotEmpty(t, offline("-- +goose NO TRANSACTION\n"+up+"CREATE INDEX CONCURRENTLY a_x ON actions (x);\n-- +goose Down\n"))
}

var (
	comments     = regexp.MustCompile(`--[^\n]*`)
	spaces       = regexp.MustCompile(`\s+`)
	createsTable = regexp.MustCompile(`^CREATE TABLE (?:IF NOT EXISTS )?(\S+)`)
	createsIndex = regexp.MustCompile(`^CREATE (?:UNIQUE )?INDEX (CONCURRENTLY )?.*?\bON (?:ONLY )?(\S+)`)
	writesRows   = regexp.MustCompile(`^(?:UPDATE|DELETE FROM|MERGE INTO) (\S+)|^INSERT INTO \S+.*\bSELECT\b`)
	altersTable  = regexp.MustCompile(`^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?(\S+)`)
)

// rule is a pattern that a statement on an existing table must not have.
type rule struct {
	pattern, unless *regexp.Regexp
	why             string
}

var rules = []rule{
	{regexp.MustCompile(`^DROP INDEX `), regexp.MustCompile(`CONCURRENTLY`), "DROP INDEX locks the table: use CONCURRENTLY"},
	{regexp.MustCompile(`\bADD (CONSTRAINT|CHECK|FOREIGN KEY)\b|\bADD COLUMN .*\b(REFERENCES|CHECK|UNIQUE|PRIMARY KEY)\b`), regexp.MustCompile(`NOT VALID`), "a constraint reads the whole table: add it NOT VALID and validate it in the next file"},
	{regexp.MustCompile(`\bADD COLUMN .*\bDEFAULT [^,;]*\(|\bADD COLUMN .*(SERIAL|IDENTITY|GENERATED)`), nil, "such a default rewrites the table"},
	{regexp.MustCompile(`\bALTER (COLUMN )?\S+ (SET DATA )?TYPE\b`), nil, "a change of type rewrites the table: add a column"},
	{regexp.MustCompile(`\bSET NOT NULL\b`), nil, "SET NOT NULL reads the whole table: add a check NOT VALID, validate it in the next file"},
	{regexp.MustCompile(`\bDROP COLUMN\b|\bRENAME\b|^DROP TABLE\b`), nil, "the version before still uses it: remove it in the release after"},
	{regexp.MustCompile(`^(LOCK|TRUNCATE|CLUSTER|VACUUM|REINDEX)\b`), nil, "it locks the table"},
}

// offline lists what is wrong with the statements of a migration upwards.
func offline(body string) (wrong []string) {
	noTransaction := strings.Contains(body, "-- +goose NO TRANSACTION")
	_, up, _ := strings.Cut(body, "-- +goose Up")
	up, _, _ = strings.Cut(up, "-- +goose Down")
	var statements []string
	for statement := range strings.SplitSeq(comments.ReplaceAllString(up, ""), ";") {
		if statement = strings.ToUpper(strings.TrimSpace(spaces.ReplaceAllString(statement, " "))); statement != "" {
			statements = append(statements, statement)
		}
	}
	fresh := map[string]bool{}
	locked := "" // an existing table, until the transaction ends
	complain := func(statement, why string) { wrong = append(wrong, why+": "+statement) }
	for _, statement := range statements {
		table := altersTable.FindStringSubmatch(statement)
		existing := table != nil && !fresh[table[1]]
		if locked != "" && !existing && !noTransaction {
			complain(statement, "ALTER TABLE "+locked+" locks the table until the transaction ends: put this before it")
		}
		if existing {
			locked = table[1]
		}
		if made := createsTable.FindStringSubmatch(statement); made != nil {
			fresh[made[1]] = true
			continue
		}
		if index := createsIndex.FindStringSubmatch(statement); index != nil {
			switch {
			case fresh[index[2]]:
			case index[1] == "":
				complain(statement, "an index of an existing table must be built CONCURRENTLY")
			case !noTransaction:
				complain(statement, "CONCURRENTLY needs -- +goose NO TRANSACTION")
			case !slices.Contains(statements, "SET LOCK_TIMEOUT = 0"):
				complain(statement, "CONCURRENTLY waits for transactions and blocks nobody: SET lock_timeout = 0 before it")
			}
			continue
		}
		if rows := writesRows.FindStringSubmatch(statement); rows != nil && !fresh[rows[1]] {
			complain(statement, "a migration must not write many rows: let a loop of the server do it in batches")
		}
		if table != nil && !existing {
			continue
		}
		for _, rule := range rules {
			if rule.pattern.MatchString(statement) && (rule.unless == nil || !rule.unless.MatchString(statement)) {
				complain(statement, rule.why)
			}
		}
	}
	return wrong
}
