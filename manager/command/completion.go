package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// completion prints the completions of shells. It replaces cobra's, which has no words on how to install them.
func completion() *cobra.Command {
	shells := map[string]func(*cobra.Command) error{
		"bash":       func(c *cobra.Command) error { return c.Root().GenBashCompletionV2(c.OutOrStdout(), true) },
		"zsh":        func(c *cobra.Command) error { return c.Root().GenZshCompletion(c.OutOrStdout()) },
		"fish":       func(c *cobra.Command) error { return c.Root().GenFishCompletion(c.OutOrStdout(), true) },
		"powershell": func(c *cobra.Command) error { return c.Root().GenPowerShellCompletionWithDesc(c.OutOrStdout()) },
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print the completion of a shell: bash, zsh, fish or powershell",
		Long: `Prints a script that completes commands, flags, configuration keys and values in a shell. Load it where the shell loads its
completions, as in the examples; then start a new shell.` + readMore("docs/install-on-a-laptop.md"),
		Example: `  flyte-binary completion bash > ~/.local/share/bash-completion/completions/flyte-binary
  flyte-binary completion zsh > "${fpath[1]}/_flyte-binary"
  flyte-binary completion fish > ~/.config/fish/completions/flyte-binary.fish
  flyte-binary completion powershell >> $PROFILE`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE:      func(command *cobra.Command, args []string) error { return shells[args[0]](command) },
	}
}

// completer returns the values that a flag may have for what has been typed.
type completer func(typed string) ([]string, cobra.ShellCompDirective)

// complete registers the values of a flag.
func complete(command *cobra.Command, flag string, values completer) {
	err := command.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return values(typed)
	})
	if err != nil {
		panic(fmt.Sprintf("flag of our own: %v", err))
	}
}

// fixed is a choice of words.
func fixed(words ...string) completer {
	return func(string) ([]string, cobra.ShellCompDirective) { return words, cobra.ShellCompDirectiveNoFileComp }
}

// CompleteOverride completes --set: the keys, and after the = the values of keys that have only some.
func CompleteOverride(typed string) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	key, _, isValue := strings.Cut(typed, "=")
	var found []string
	for _, known := range configuration.Keys() {
		switch {
		case isValue && known.Path == key:
			for _, value := range known.Values {
				found = append(found, key+"="+value)
			}
		case !isValue && strings.HasPrefix(known.Path, typed):
			found = append(found, known.Path+"=")
		}
	}
	return found, directive
}

func targetNames() []string {
	return []string{string(configuration.TargetAll), string(configuration.TargetAPI), string(configuration.TargetController)}
}
