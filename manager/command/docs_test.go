package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

const root = "../.."

// block is a block of code in a document.
type block struct {
	path     string
	line     int
	language string
	text     string
}

// documents are the texts that people read, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			all[path] = string(text)
		}
	}
	require.Greater(t, len(all), 30)
	return all
}

func blocks(t *testing.T) []block {
	t.Helper()
	var all []block
	for path, text := range documents(t) {
		var current *block
		for i, line := range strings.Split(text, "\n") {
			trimmed := strings.TrimSpace(line)
			switch {
			case current == nil && strings.HasPrefix(trimmed, "```"):
				current = &block{path: path, line: i + 1, language: strings.TrimPrefix(trimmed, "```")}
			case current != nil && trimmed == "```":
				all = append(all, *current)
				current = nil
			case current != nil:
				current.text += line + "\n"
			}
		}
		require.Nil(t, current, "%s: a block of code has no end", path)
	}
	return all
}

func schemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := run(t, "config", "schema")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(out))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("flyte.schema.json", document))
	compiled, err := compiler.Compile("flyte.schema.json")
	require.NoError(t, err)
	return compiled
}

// validate checks YAML against the schema.
func validate(t *testing.T, schema *jsonschema.Schema, text string) error {
	t.Helper()
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(text), &value))
	content, err := json.Marshal(value)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
	require.NoError(t, err)
	return schema.Validate(document)
}

func TestSchemaHasEveryKey(t *testing.T) {
	out, err := run(t, "config", "schema")
	require.NoError(t, err)
	var top map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &top))
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", top["$schema"])
	for _, key := range configuration.Keys() {
		at := top
		for part := range strings.SplitSeq(key.Path, ".") {
			properties, ok := at["properties"].(map[string]any)
			require.True(t, ok, key.Path)
			at, ok = properties[part].(map[string]any)
			require.True(t, ok, "the schema lacks %s", key.Path)
		}
		require.NotEmpty(t, at["description"], key.Path)
	}
	schema := schemaOf(t)
	shown, err := run(t, "config", "show")
	require.NoError(t, err)
	require.NoError(t, validate(t, schema, shown), "the defaults")
	for _, wrong := range []string{"server: {lisen: x}", "server: {shutdownGrace: 3d}", "logging: {level: loud}", "runs: {queues: [{nam: x}]}", "database: {maxConns: many}"} {
		require.Error(t, validate(t, schema, wrong), wrong)
	}
}

// The examples of configurations in the documents are right, for the program and for editors.
func TestConfigurationsInDocuments(t *testing.T) {
	schema, sections, checked := schemaOf(t), map[string]bool{}, 0
	for _, key := range configuration.Keys() {
		section, _, _ := strings.Cut(key.Path, ".")
		sections[section] = true
	}
	for _, block := range blocks(t) {
		if block.language != "yaml" {
			continue
		}
		where := fmt.Sprintf("%s:%d", block.path, block.line)
		var document any
		require.NoError(t, yaml.Unmarshal([]byte(block.text), &document), where)
		value, ours := document.(map[string]any)
		for key := range value {
			ours = ours && sections[key]
		}
		if !ours {
			continue // of another program
		}
		checked++
		require.NoError(t, validate(t, schema, block.text), where)
		path := filepath.Join(t.TempDir(), "flyte.yaml")
		require.NoError(t, os.WriteFile(path, []byte(block.text), 0o600))
		_, _, err := configuration.Read(path, nil)
		require.NoError(t, err, where)
	}
	require.Greater(t, checked, 5)
}

func TestShellInDocuments(t *testing.T) {
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	checked := 0
	for _, block := range blocks(t) {
		if block.language != "sh" && block.language != "bash" && block.language != "console" {
			continue
		}
		checked++
		text := regexp.MustCompile(`(?m)^\$ `).ReplaceAllString(block.text, "")
		command := exec.CommandContext(t.Context(), bash, "-n")
		command.Stdin = strings.NewReader(text)
		out, err := command.CombinedOutput()
		require.NoError(t, err, "%s:%d: %s", block.path, block.line, out)
	}
	require.Greater(t, checked, 2)
}

func TestPythonInDocuments(t *testing.T) {
	python, err := exec.LookPath("python3")
	require.NoError(t, err)
	sources := map[string]string{}
	for _, block := range blocks(t) {
		if block.language == "python" {
			sources[fmt.Sprintf("%s:%d", block.path, block.line)] = block.text
		}
	}
	require.NotEmpty(t, sources)
	input, err := json.Marshal(sources)
	require.NoError(t, err)
	command := exec.CommandContext(t.Context(), python, "-c", "import ast, json, sys\nfor name, text in json.load(sys.stdin).items():\n    compile(text, name, 'exec', ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)")
	command.Stdin = bytes.NewReader(input)
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	mention = regexp.MustCompile("`(docs/[a-z/-]+\\.md)(#[a-z0-9-]+)?`")
)

// anchors are the names of the headings of a document.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.NewReplacer("`", "", "*", "").Replace(found[1]))
		name = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(name, "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

func TestLinksInDocuments(t *testing.T) {
	all := documents(t)
	check := func(from, target string) {
		path, anchor, _ := strings.Cut(target, "#")
		full := from
		if path != "" {
			full = filepath.Join(filepath.Dir(from), path)
		}
		_, err := os.Stat(full)
		require.NoError(t, err, "%s links to %s", from, target)
		if anchor != "" {
			require.True(t, anchors(all[full])[anchor], "%s links to %s, which has no such heading", from, target)
		}
	}
	links := 0
	for path, text := range all {
		for _, found := range mention.FindAllStringSubmatch(text, -1) {
			check(filepath.Join(root, "README.md"), found[1]+found[2])
		}
		for _, found := range link.FindAllStringSubmatch(code.ReplaceAllString(text, ""), -1) {
			if !strings.Contains(found[1], "://") && !strings.HasPrefix(found[1], "mailto:") {
				links++
				check(path, found[1])
			}
		}
	}
	require.Greater(t, links, 50)
}

// TestEveryPageIsInTheNavigation: the site leaves out what mkdocs.yml does not list.
func TestEveryPageIsInTheNavigation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "mkdocs.yml"))
	require.NoError(t, err)
	for path := range documents(t) {
		page, inside := strings.CutPrefix(filepath.ToSlash(path), root+"/docs/")
		if inside {
			require.Regexp(t, `(?m)[-:] `+regexp.QuoteMeta(page)+`$`, string(text))
		}
	}
}
