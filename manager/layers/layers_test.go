package layers_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/layers"
)

type config struct {
	Server server `config:"server"`
	Ratio  float64
	Rules  []rule `config:"rules"`
}

type server struct {
	Listen  string            `config:"listen"`
	Grace   time.Duration     `config:"grace"`
	Workers int32             `config:"workers"`
	Sync    bool              `config:"sync"`
	Hosts   []string          `config:"hosts"`
	Labels  map[string]string `config:"labels"`
	Token   time.Duration     `config:"token" sensitive:"true"`
}

type rule struct {
	Name  string `config:"name"`
	Limit *int   `json:"limit,omitempty"`
}

func read(t *testing.T, text string, environment, overrides []string) (config, layers.Origins, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "c.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	t.Chdir(filepath.Dir(path))
	target := config{Server: server{Listen: "a:1", Labels: map[string]string{"team": "x"}, Hosts: []string{"h"}}}
	origins, err := layers.Read(&target, layers.Sources{
		File: "c.yaml", Prefix: "APP", Environment: environment, Overrides: overrides, Flag: "--set",
	})
	return target, origins, err
}

func TestLayers(t *testing.T) {
	got, origins, err := read(t, `
x: &x {ignored: 1}
`, nil, nil)
	require.EqualError(t, err, "c.yaml:2: x: unknown key; the configuration has server, rules")
	require.Equal(t, "a:1", got.Server.Listen)
	require.True(t, origins.Of("server.listen").IsDefault())

	got, origins, err = read(t, `# comment
server:
  LISTEN: b:2
  grace: 1m30s
  workers: 20_000
  hosts: [one, two]
  labels:
    app.kubernetes.io/Name: y
  sync: on
  token:
rules:
  - {name: first, limit: 3}
  - name: second
`, []string{"APP_SERVER_WORKERS=7", "APP_SERVER_SYNC=", "APP_OTHER=1", "APP_SERVER_SERVICE_HOST=10.0.0.1", "APP_SERVER_PORT=tcp://10.0.0.1:80"},
		[]string{"server.hosts=a, b,", "server.labels.example.com/Team=z"})
	require.NoError(t, err)
	require.Equal(t, server{
		Listen: "b:2", Grace: 90 * time.Second, Workers: 7, Sync: true, Hosts: []string{"a", "b"},
		Labels: map[string]string{"team": "x", "app.kubernetes.io/Name": "y", "example.com/Team": "z"},
	}, got.Server)
	require.Equal(t, 3, *got.Rules[0].Limit)
	require.Nil(t, got.Rules[1].Limit)
	for key, place := range map[string]string{
		"server.listen": "c.yaml:3", "server.workers": "APP_SERVER_WORKERS", "server.hosts[1]": "--set server.hosts",
		"rules[1].name": "c.yaml:13", "rules[0].limit": "c.yaml:12", "server.token": "default",
	} {
		require.Equal(t, place, origins.Of(key).String(), key)
	}
}

func TestProblems(t *testing.T) {
	for text, problem := range map[string]string{
		"server: 3":                          "c.yaml:1: server: must be a section with keys, such as server.listen",
		"server: {listen: {x: 1}}":           "c.yaml:1: server.listen: must be one value, such as text",
		"server: {grace: 3d}":                `c.yaml:1: server.grace: "3d" is not a duration; write 72h`,
		"server: {grace: 30}":                `c.yaml:1: server.grace: "30" is not a duration; write 30s`,
		"server: {grace: soon}":              `c.yaml:1: server.grace: "soon" is not a duration; write a number with a unit, such as 30s, 5m or 72h`,
		"server: {token: hunter2}":           "c.yaml:1: server.token: the value is not a duration; write a number with a unit, such as 30s, 5m or 72h",
		"server: {workers: 3000000000}":      `c.yaml:1: server.workers: "3000000000" is out of range; write at most 2147483647`,
		"server: {workers: many}":            `c.yaml:1: server.workers: "many" is not a whole number; write a whole number such as 20`,
		"server: {sync: maybe}":              `c.yaml:1: server.sync: "maybe" is not true or false; write true or false`,
		"server: {hosts: {a: b}}":            "c.yaml:1: server.hosts: must be a list, such as [text]",
		"server: {labels: [a]}":              "c.yaml:1: server.labels: must be a map",
		"server:\n  sync: true\n  sync: off": "c.yaml:3: server.sync: given twice: it is on line 2 too",
		"rules:\n- name: a\n- {nam: b}":      "c.yaml:3: rules[1].nam: unknown key; did you mean rules[1].name?",
		"rules: first":                       "c.yaml:1: rules: must be a list of objects",
		"listen: a:1":                        "c.yaml:1: listen: unknown key; did you mean server.listen?",
		"sever: {listen: a}":                 "c.yaml:1: sever: unknown key; did you mean server?",
		"- a":                                `c.yaml:1: must be a map of sections, such as server: {listen: "127.0.0.1:8090"}`,
		"server: {}\n---\nrules: []":         "c.yaml:2: a second document begins here, which would be ignored; remove the line ---",
	} {
		_, _, err := read(t, text, nil, nil)
		require.EqualError(t, err, problem)
	}
	_, _, err := read(t, "", []string{"APP_SERVER_LABELS=a=b", "APP_SERVR_LISTEN=x", "APP_SERVER_COLOUR=red"},
		[]string{"server=x", "server.listen.x=1", "rules={}", "server.labels={"})
	require.EqualError(t, err, `7 problems:
  APP_SERVER_COLOUR: unknown variable; no key has this name
  APP_SERVER_LABELS: server.labels: must be a map in JSON: {"name": "value"}
  APP_SERVR_LISTEN: unknown variable; did you mean APP_SERVER_LISTEN?
  --set server: is a section; set one of its keys, such as server.listen
  --set server.listen.x: unknown key; server.listen has no keys below it
  --set rules: must be a list of objects in JSON: [{"key": "value"}]
  --set server.labels: is not valid JSON; write {"name": "value"}`)
}

func TestAnchorsAndEmptyFiles(t *testing.T) {
	got, _, err := read(t, "server: {<<: {listen: c:3}, hosts: &h [x]}\nrules: []\n", nil, nil)
	require.NoError(t, err)
	require.Equal(t, "c:3", got.Server.Listen)
	for _, text := range []string{"", "# nothing\n", "server:\n"} {
		got, _, err = read(t, text, nil, nil)
		require.NoError(t, err)
		require.Equal(t, "a:1", got.Server.Listen)
	}
}

func TestTheDefaultsAreNotChanged(t *testing.T) {
	defaults := map[string]string{"team": "x"}
	target := config{Server: server{Labels: defaults}}
	_, err := layers.Read(&target, layers.Sources{Overrides: []string{"server.labels.a=b"}, Flag: "--set"})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"team": "x"}, defaults)
	require.Equal(t, "b", target.Server.Labels["a"])
}

func TestNearest(t *testing.T) {
	keys := []string{"listen", "logging", "maxAge", "url"}
	for word, want := range map[string]string{"lisen": "listen", "lsiten": "listen", "loging": "logging", "MAXAGE": "maxAge", "ulr": "url", "colour": "", "x": ""} {
		require.Equal(t, want, layers.Nearest(word, keys), word)
	}
}
