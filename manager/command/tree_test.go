package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/command"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

var page = regexp.MustCompile(`Read more in (\S+\.md)\.`)

// visible calls visit for every command that people see.
func visible(root *cobra.Command, visit func(*cobra.Command)) {
	if root.Hidden || root.Name() == "help" {
		return
	}
	visit(root)
	for _, below := range root.Commands() {
		visible(below, visit)
	}
}

func TestEveryCommandHelps(t *testing.T) {
	seen := 0
	visible(command.New(), func(c *cobra.Command) {
		seen++
		require.NotEmpty(t, c.Short, c.CommandPath())
		require.NotEmpty(t, c.Example, "%s has no example", c.CommandPath())
		found := page.FindStringSubmatch(c.Long)
		require.NotNil(t, found, "the help of %s names no page", c.CommandPath())
		_, err := os.Stat(filepath.Join("../..", found[1]))
		require.NoError(t, err, c.CommandPath())
		c.Flags().VisitAll(func(flag *pflag.Flag) { require.NotEmpty(t, flag.Usage, flag.Name) })
	})
	require.Greater(t, seen, 10)
}

// Every command line of the examples names a command, flags that it has, and keys that exist.
func TestExamplesAreRight(t *testing.T) {
	visible(command.New(), func(c *cobra.Command) {
		for line := range strings.Lines(c.Example) {
			words := words(line)
			if len(words) == 0 || words[0] == "kubectl" {
				continue
			}
			require.Equal(t, "flyte-binary", words[0], line)
			root := command.New()
			found, rest, err := root.Find(words[1:])
			require.NoError(t, err, line)
			require.True(t, c == c.Root() || found.CommandPath() == c.CommandPath() || strings.HasPrefix(found.CommandPath(), c.CommandPath()+" "), line)
			require.NoError(t, found.ParseFlags(rest), line)
			if set, err := found.Flags().GetStringArray("set"); err == nil {
				_, _, err := configuration.Read("", set)
				require.NoError(t, err, line)
			}
		}
	})
}

// words splits a line as a shell does, up to a comment or a redirection.
func words(line string) []string {
	var all []string
	for _, word := range strings.Fields(line) {
		if strings.HasPrefix(word, "#") || strings.HasPrefix(word, ">") {
			break
		}
		all = append(all, word)
	}
	return all
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, err := run(t, "completion", shell)
		require.NoError(t, err)
		require.Contains(t, out, "flyte-binary", shell)
	}
	out, err := run(t, "completion", "--help")
	require.NoError(t, err)
	require.Contains(t, out, "bash-completion/completions/flyte-binary")
	for typed, want := range map[string]string{
		"serve --target ":                     "controller",
		"serve --set server.lis":              "server.listen=",
		"serve --set logging.level=":          "logging.level=debug",
		"config show --output ":               "json",
		"migrate down --schema ":              "cache",
		"migrate up --set database.migrate=f": "database.migrate=false",
	} {
		out, err := run(t, append([]string{"__complete"}, strings.Split(typed, " ")...)...)
		require.NoError(t, err)
		require.Contains(t, out, want+"\n", typed)
	}
}

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	_, err := run(t, "man", dir)
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "flyte-binary-config-show.1"))
	require.NoError(t, err)
	require.Contains(t, string(text), "--output")
	_, err = os.Stat(filepath.Join(dir, "flyte-binary-copilot.1"))
	require.ErrorIs(t, err, os.ErrNotExist, "internal commands have no page")
}
