package manager_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/layers"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// required is what every configuration must have.
const required = "database: {url: postgres://flyte:hunter2@localhost/flyte}\nstorage: {url: /data}\n"

func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLoad(t *testing.T) {
	config, err := configuration.Load(file(t, required+"server: {listen: 127.0.0.1:1}\nruns: {writer: {maxBatch: 7}}\n"), nil)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", config.Server.Listen)
	require.Equal(t, 7, config.Runs.Writer.MaxBatch)
	require.Equal(t, configuration.DefaultConfig().Server.ShutdownGrace, config.Server.ShutdownGrace, "absent keys keep their defaults")
	require.Equal(t, configuration.DefaultConfig().Runs.Writer.MaxQueue, config.Runs.Writer.MaxQueue)
}

func TestProblemsAreListedTogetherWithTheirPlaces(t *testing.T) {
	path := file(t, `database: {url: postgres://flyte:hunter2@localhost/flyte}
storage: {url: /data}
server:
  lisen: 127.0.0.1:1
  maxRequestBytes: 64MiB
loging: {level: debug}
runs:
  retention:
    maxAge: 3d
  writer: {maxBach: 7}
telemetry: {traceRatio: 2}
`)
	t.Setenv("FLYTE_SERVER_SHUTDOWNGRAC", "3s")
	t.Setenv("FLYTE_HEALTH_MINFREEBYTES", "1 GiB")
	_, err := configuration.Load(path, []string{"logging.levl=debug", "logging.level=loud"})
	for _, line := range []string{
		"configuration: 10 problems:",
		path + ":4: server.lisen: unknown key; did you mean server.listen?",
		path + ":5: server.maxRequestBytes: \"64MiB\" is not a whole number; write 67108864",
		path + ":6: loging: unknown key; did you mean logging?",
		path + ":9: runs.retention.maxAge: \"3d\" is not a duration; write 72h",
		path + ":10: runs.writer.maxBach: unknown key; did you mean runs.writer.maxBatch?",
		path + ":11: telemetry.traceRatio: must be ",
		"FLYTE_HEALTH_MINFREEBYTES: health.minFreeBytes: \"1 GiB\" is not a whole number from 0; write 1073741824",
		"FLYTE_SERVER_SHUTDOWNGRAC: unknown variable; did you mean FLYTE_SERVER_SHUTDOWNGRACE?",
		"--set logging.levl: unknown key; did you mean logging.level?",
	} {
		require.ErrorContains(t, err, line)
	}
	require.NotContains(t, err.Error(), "hunter2")
	require.NotContains(t, err.Error(), "manager.")
}

func TestRefusedValuesHaveTheirPlace(t *testing.T) {
	path := file(t, required+"\nserver: {listen: \"8090\"}\nrest: {}\n")
	_, err := configuration.Load(path, []string{"logging.level=loud"})
	require.ErrorContains(t, err, path+":4: server.listen: want host:port, got \"8090\"")
	require.ErrorContains(t, err, "--set logging.level: \"loud\" is not one of")
	require.ErrorContains(t, err, path+":5: rest: unknown key")

	path = file(t, required+`server:
  listen: "8090"
  bodyTimeout: 0s
  allowedOrigins: ["*", "https://fine.example", "*.example"]
runs:
  writer: {maxBatch: 0}
  queues:
    - {name: fine}
    - {name: "-", maxActions: -1}
clusters:
  - {id: East, url: here}
`)
	_, err = configuration.Load(path, nil)
	require.EqualError(t, err, `configuration: 10 problems:
  `+path+`:4: server.listen: want host:port, got "8090"
  `+path+`:5: server.bodyTimeout: must be positive, got 0s
  `+path+`:6: server.allowedOrigins[0]: name the origins; "*" would let any page call the API
  `+path+`:6: server.allowedOrigins[2]: name the origins; "*.example" would let any page call the API
  `+path+`:8: runs.writer.maxBatch: must be from 1 to 10000, got 0
  `+path+`:11: runs.queues[1].name: has 1 to 63 letters, digits and -._/ between them, got "-"
  `+path+`:11: runs.queues[1].maxActions: must not be negative, got -1
  `+path+`:12: clusters[0].token: required to read the logs of that cluster: it is the auth.internalToken of its controller
  `+path+`:13: clusters[0].id: must be 1 to 32 lower-case letters, digits and dashes, got "East"
  `+path+`:13: clusters[0].url: want http://host:port or https://host:port, got "here"`)

	_, err = configuration.Load("", nil)
	require.EqualError(t, err, `configuration: 2 problems:
  database.url: required, such as postgres://flyte@localhost:5432/flyte
  storage.url: required, such as file:///var/lib/flyte or s3://bucket/prefix`)
	_, err = configuration.Load("", []string{"databse.url=postgres://localhost/flyte", "storage.url=/data"})
	require.EqualError(t, err, "configuration: --set databse.url: unknown key; did you mean database.url?", "a misspelled key is not reported as missing too")
}

func TestFilesThatCannotBeRead(t *testing.T) {
	_, err := configuration.Load("", []string{"server.listen"})
	require.ErrorContains(t, err, "want section.key=value")
	_, err = configuration.Load(filepath.Join(t.TempDir(), "none.yaml"), nil)
	require.ErrorContains(t, err, "none.yaml")
	require.ErrorContains(t, err, "--config")
	path := file(t, "server:\n  listen: [\n")
	_, err = configuration.Load(path, nil)
	require.ErrorContains(t, err, path+":")
	require.ErrorContains(t, err, "not valid YAML")
}

func TestPrecedence(t *testing.T) {
	path := file(t, required+"server: {shutdownGrace: 1s, listen: \"a:1\"}\n")
	t.Setenv("FLYTE_SERVER_SHUTDOWNGRACE", "2s")
	t.Setenv("FLYTE_SERVER_MAXREQUESTBYTES", "17") // a key that the file does not have
	t.Setenv("FLYTE_STORAGE_SYNC", "false")
	t.Setenv("FLYTE_STORAGE_S3_REGION", "there")
	config, err := configuration.Load(path, []string{"server.maxRequestBytes=18"})
	require.NoError(t, err)
	require.Equal(t, "a:1", config.Server.Listen, "file")
	require.Equal(t, 2*time.Second, config.Server.ShutdownGrace, "environment over file")
	require.Equal(t, 18, config.Server.MaxRequestBytes, "flag over environment")
	require.False(t, config.Storage.Sync)
	require.Equal(t, "there", config.Storage.S3.Region)
}

func TestEnvironmentAlone(t *testing.T) {
	t.Setenv("FLYTE_DATABASE_URL", "postgres://localhost/flyte")
	t.Setenv("FLYTE_STORAGE_URL", "s3://bucket/prefix")
	t.Setenv("FLYTE_SERVER_ALLOWEDORIGINS", "https://a.example, https://b.example")
	config, err := configuration.Load("", nil)
	require.NoError(t, err)
	require.Equal(t, "s3://bucket/prefix", config.Storage.URL)
	require.Equal(t, []string{"https://a.example", "https://b.example"}, config.Server.AllowedOrigins)
}

func TestListsReplaceTheirDefault(t *testing.T) {
	config, err := configuration.Load(file(t, required+"runs: {domains: [one]}\nserver: {allowedOrigins: []}\n"), []string{"runs.seedProjects=a,b"})
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, config.Runs.Domains)
	require.Equal(t, []string{"a", "b"}, config.Runs.SeedProjects)
	require.Empty(t, config.Server.AllowedOrigins)
}

func TestListsOfSectionsInOneLine(t *testing.T) {
	t.Setenv("FLYTE_EVENTSTREAM_SINKS", `[{"name": "hook", "type": "http", "url": "https://example.com", "headers": {"X-Key": "a,b"}}]`)
	config, err := configuration.Load(file(t, required), nil)
	require.NoError(t, err)
	require.Len(t, config.EventStream.Sinks, 1)
	require.Equal(t, map[string]string{"X-Key": "a,b"}, config.EventStream.Sinks[0].Headers)

	_, err = configuration.Load(file(t, required), []string{`eventStream.sinks=[{"name": "hook", "kind": "http"}]`})
	require.ErrorContains(t, err, "unknown key")
	require.ErrorContains(t, err, "kind")
	_, err = configuration.Load(file(t, required), []string{`eventStream.sinks={"name": "hidden"}`})
	require.ErrorContains(t, err, "must be a list of objects in JSON")
	require.NotContains(t, err.Error(), "hidden")
	config, err = configuration.Load(file(t, required), []string{`eventStream.sinks=`})
	require.NoError(t, err)
	require.Empty(t, config.EventStream.Sinks)
}

func TestQueuesInFilesAndInOneLine(t *testing.T) {
	want := []queues.Queue{{Name: "gpu", MaxActions: 4, Priority: 10}, {Name: "slow", MaxDepth: 7, Projects: []string{"a", "b/production"}}}
	config, err := configuration.Load(file(t, required+"runs: {queues: [{name: gpu, maxActions: 4, priority: 10}, {name: slow, maxDepth: 7, projects: [a, b/production]}]}\n"), nil)
	require.NoError(t, err)
	require.Equal(t, want, config.Runs.Queues)
	config, err = configuration.Load(file(t, required), []string{"runs.queues=gpu maxActions=4 priority=10, slow maxDepth=7 projects=a;b/production"})
	require.NoError(t, err)
	require.Equal(t, want, config.Runs.Queues)
	for text, complaint := range map[string]string{
		"gpu maxActions=x": "maxActions", "gpu maxAction=1": "maxAction", "gpu maxDepth=-1": "runs.queues[0].maxDepth", "a,a": "runs.queues[1].name",
	} {
		_, err = configuration.Load(file(t, required), []string{"runs.queues=" + text})
		require.ErrorContains(t, err, complaint)
	}
	_, err = configuration.Load(file(t, required), []string{"runs.queues=gpu maxActions=x colour=red priority=high"})
	require.ErrorContains(t, err, `queue gpu: maxActions is a number, got "x"; it has no field "colour"; priority is a number, got "high"`)
	_, err = configuration.Load(file(t, required+"runs: {queues: [{name: gpu, maxAction: 4}]}\n"), nil)
	require.ErrorContains(t, err, "runs.queues[0].maxAction: unknown key; did you mean runs.queues[0].maxActions?")
}

func TestValuesAreCheckedByFullPath(t *testing.T) {
	for path, override := range map[string]string{
		"database.url":                "database.url=",
		"storage.url":                 "storage.url=ftp://x",
		"server.listen":               "server.listen=8090",
		"server.allowedOrigins[0]":    "server.allowedOrigins=*",
		"logging.level":               "logging.level=loud",
		"telemetry.traceRatio":        "telemetry.traceRatio=2",
		"runs.writer.maxBatch":        "runs.writer.maxBatch=0",
		"actions.taskActions.workers": "actions.taskActions.workers=0",
		"kubernetes.qps":              "kubernetes.qps=0",
	} {
		_, err := configuration.Load(file(t, required), []string{override})
		require.ErrorContains(t, err, path)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	config, err := configuration.Load(file(t, required), []string{
		"auth.internalToken=hunter2", "storage.signingKey=hunter2",
		"storage.s3.accessKeyID=id", "storage.s3.secretAccessKey=hunter2",
	})
	require.NoError(t, err)
	text, err := json.Marshal(configuration.Redacted(config))
	require.NoError(t, err)
	require.NotContains(t, string(text), "hunter2")
	require.Contains(t, string(text), "postgres://flyte:xxxxx@localhost/flyte")
	require.Contains(t, string(text), `"shutdownGrace":"20s"`)
}

// TestAllWrongValuesAreReportedAtOnce makes every number of the configuration wrong by itself, and then all of them together: each
// problem must still be there, with its line.
func TestAllWrongValuesAreReportedAtOnce(t *testing.T) {
	wrong := map[string]string{} // the values, by their keys
	for _, key := range layers.Paths(reflect.TypeFor[configuration.Config]()) {
		if kind := key.Type.Kind(); kind < reflect.Int || kind > reflect.Float64 {
			continue // no number
		}
		value := "-7"
		if key.Type == reflect.TypeFor[time.Duration]() {
			value = "-7s"
		}
		if _, err := configuration.Load(file(t, required), []string{key.Path + "=" + value}); err != nil {
			wrong[key.Path] = value
			require.ErrorContains(t, err, "--set "+key.Path+": ")
		}
	}
	require.Greater(t, len(wrong), 150)

	var overrides []string
	for _, key := range slices.Sorted(maps.Keys(wrong)) {
		overrides = append(overrides, key+"="+wrong[key])
	}
	_, err := configuration.Load(file(t, required), overrides)
	var problems layers.Problems
	require.ErrorAs(t, err, &problems)
	reported := map[string]bool{}
	for _, problem := range problems {
		require.Equal(t, "--set "+problem.Key, problem.Origin.Flag)
		reported[problem.Key] = true
	}
	// Wrong with these is only that they are less than another key, which is -7 as well.
	related := []string{
		"access.sessions.absolute",
		"executor.reconciler.maxErrorBackoff", "executor.reconciler.maxSystemBackoff", "gateway.maxWaitingTotal",
		"runs.writer.maxQueue", "runs.writer.retryMax", "server.maxDecodingBytes",
	}
	for key := range wrong {
		if !slices.Contains(related, key) && !strings.HasSuffix(key, ".backoff.max") {
			require.True(t, reported[key], key)
		}
	}
}
