package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/store"
)

func usersCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "users",
		Short: "Keep the local accounts, and sign people out",
		Long: `Lists, adds and removes local accounts, replaces their passwords, and signs people out. It uses the database, with or without a
running server. Passwords are read from the terminal, or from the first line of the standard input, never from the command line.` + readMore(accessPage),
		Example: "  flyte-binary access users add grace --group research --config flyte.yaml",
	}
	command.AddCommand(usersList(), usersAdd(), usersPassword(), usersGroups(),
		usersChange("remove", "End an account with its sessions, keys and bindings",
			"Ends a local account: its sessions and tokens within seconds, its API keys and its bindings. A start does not make it again.",
			"removed", (*access.Tools).RemoveAccount),
		usersChange("unlock", "Let an account sign in after wrong passwords",
			"Forgets the wrong passwords of a local account, so that it can sign in at once.", "unlocked", (*access.Tools).UnlockAccount),
		usersSignOut())
	return command
}

func usersList() *cobra.Command {
	from, removed := &source{}, false
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the local accounts",
		Long:    "Lists the local accounts in alphabetical order, with their groups and until when they are locked." + readMore(accessPage),
		Example: "  flyte-binary access users list --config flyte.yaml",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				accounts, err := tools.Accounts(ctx)
				for _, account := range accounts {
					if account.RemovedAt == nil || removed {
						fmt.Fprintln(command.OutOrStdout(), accountLine(account, time.Now()))
					}
				}
				return err
			})
		},
	}
	from.flags(command)
	command.Flags().BoolVar(&removed, "removed", false, "also the accounts that were removed")
	return command
}

func accountLine(account store.Account, now time.Time) string {
	line := account.Name
	for _, more := range []string{account.DisplayName, account.Email} {
		if more != "" && more != account.Name {
			line += "  " + more
		}
	}
	line += "  made " + account.CreatedAt.UTC().Format(time.DateOnly)
	if len(account.Groups) > 0 {
		line += "  in " + strings.Join(account.Groups, ", ")
	}
	if account.LockedUntil != nil && account.LockedUntil.After(now) {
		line += "  locked until " + account.LockedUntil.UTC().Format(time.RFC3339)
	}
	if account.RemovedAt != nil {
		line += "  removed " + account.RemovedAt.UTC().Format(time.DateOnly)
	}
	return line
}

func usersAdd() *cobra.Command {
	from, account := &source{}, store.Account{}
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Make a local account",
		Long: `Makes a local account. It reads the first password from the terminal, or from the first line of the standard input. Bindings of
the name or of its groups say what the account may do.` + readMore(accessPage),
		Example: `  flyte-binary access users add grace --display-name "Grace Hopper" --group research --config flyte.yaml
  flyte-binary access users add grace --config flyte.yaml < password.txt`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			password, err := readPassword(command, "Password of "+args[0])
			if err != nil {
				return err
			}
			account.Name = args[0]
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				if err := tools.AddAccount(ctx, account, password); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "added %s\n", account.Name)
				return nil
			})
		},
	}
	from.flags(command)
	command.Flags().StringVar(&account.DisplayName, "display-name", "", "the name for display")
	command.Flags().StringVar(&account.Email, "email", "", "the e-mail address, for display")
	command.Flags().StringArrayVar(&account.Groups, "group", nil, "a group, for bindings; may be repeated")
	return command
}

func usersPassword() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "passwd NAME",
		Short: "Replace the password of a local account",
		Long: `Replaces the password of a local account, unlocks it, and ends its sessions within seconds. It reads the password from the terminal,
or from the first line of the standard input.` + readMore(accessPage),
		Example: "  flyte-binary access users passwd grace --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			password, err := readPassword(command, "New password of "+args[0])
			if err != nil {
				return err
			}
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				if err := tools.SetPassword(ctx, args[0], password); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "replaced the password of %s\n", args[0])
				return nil
			})
		},
	}
	from.flags(command)
	return command
}

func usersGroups() *cobra.Command {
	from := &source{}
	var groups []string
	command := &cobra.Command{
		Use:   "groups NAME",
		Short: "Replace the groups of a local account",
		Long: `Replaces the groups of a local account. Its open sessions and its API keys have the roles of the groups within seconds. Without --group
the account is in none.` + readMore(accessPage),
		Example: `  flyte-binary access users groups grace --group research --group oncall --config flyte.yaml
  flyte-binary access users groups grace --config flyte.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				if err := tools.SetGroups(ctx, args[0], groups); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "%s is in: %s\n", args[0], cmp.Or(strings.Join(groups, ", "), "no group"))
				return nil
			})
		},
	}
	from.flags(command)
	command.Flags().StringArrayVar(&groups, "group", nil, "a group that the account is in; may be repeated")
	return command
}

// usersChange is a command that changes an account.
func usersChange(verb, short, long, done string, change func(*access.Tools, context.Context, string) error) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:     verb + " NAME",
		Short:   short,
		Long:    long + readMore(accessPage),
		Example: "  flyte-binary access users " + verb + " grace --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				if err := change(tools, ctx, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "%s %s\n", done, args[0])
				return nil
			})
		},
	}
	from.flags(command)
	return command
}

func usersSignOut() *cobra.Command {
	from, keys := &source{}, false
	command := &cobra.Command{
		Use:   "sign-out SUBJECT",
		Short: "Sign a person out everywhere",
		Long: `Ends the sessions of a person in browsers and at the command line within seconds, also of a person of an identity provider. SUBJECT
is what flyte whoami shows. The person can sign in again, unless the account was removed or the provider refuses it.` + readMore(accessPage),
		Example: "  flyte-binary access users sign-out 00u1a2b3 --keys --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				ended, revoked, err := tools.EndSessions(ctx, args[0], keys)
				if err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "ended sessions: %d; revoked keys: %d\n", ended, revoked)
				return nil
			})
		},
	}
	from.flags(command)
	command.Flags().BoolVar(&keys, "keys", false, "also revoke the API keys of the person")
	return command
}

// readPassword asks for a password twice at a terminal, and reads the first line of anything else.
func readPassword(command *cobra.Command, prompt string) (string, error) {
	in := command.InOrStdin()
	file, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the password from the standard input: %w", err)
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	ask := func(prompt string) (string, error) {
		fmt.Fprint(command.ErrOrStderr(), prompt+": ")
		password, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(command.ErrOrStderr())
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return string(password), nil
	}
	password, err := ask(prompt)
	if err != nil {
		return "", err
	}
	again, err := ask("Again")
	if err == nil && again != password {
		err = errors.New("the passwords differ")
	}
	return password, err
}
