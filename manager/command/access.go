package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// accessPage describes access control.
const accessPage = "docs/access.md"

// withTools runs a function with the tools of access control.
func (s *source) withTools(command *cobra.Command, do func(ctx context.Context, tools *access.Tools) error) error {
	return s.withConfig(command, func(ctx context.Context, config configuration.Config, log zerolog.Logger) error {
		tools, closing, err := manager.OpenAccess(ctx, config, log)
		if err != nil {
			return err
		}
		defer closing()
		return do(ctx, tools)
	})
}

func accessCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "access",
		Short:   "Ask who may do what, and keep local accounts",
		Long:    "Asks the roles and bindings of an installation, and keeps its local accounts. It uses the database, with or without a running server." + readMore(accessPage),
		Example: "  flyte-binary access check ada run.create mine/development --config flyte.yaml",
	}
	command.AddCommand(accessCheck(), usersCommand())
	return command
}

// errNotAllowed makes the exit code of a check.
var errNotAllowed = errors.New("not allowed")

func accessCheck() *cobra.Command {
	from := &source{}
	var groups []string
	command := &cobra.Command{
		Use:   "check MEMBER PERMISSION [PLACE]",
		Short: "Say whether a member may do something, and by which role",
		Long: `Says whether a member may do something in a place, by which roles, or which role is missing. MEMBER is the subject of a
person, group:NAME or key:ID. PLACE is PROJECT, PROJECT/DOMAIN or /DOMAIN; without it, it is the whole installation. The server
learns the groups of a person from the identity provider at sign-in: name them with --group. The exit code is 1 if the member
may not do it.` + readMore(accessPage),
		Example: `  flyte-binary access check ada run.create mine/development --config flyte.yaml
  flyte-binary access check ada run.create mine --group researchers --config flyte.yaml`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				place := authz.Place{}
				if len(args) == 3 {
					place = placeOf(args[2])
				}
				explained, err := tools.Check(ctx, memberOf(args[0]), groups, args[1], place)
				if err != nil {
					return err
				}
				fmt.Fprintln(command.OutOrStdout(), explained.Reason)
				if !explained.Allowed {
					return errNotAllowed
				}
				return nil
			})
		},
	}
	from.flags(command)
	command.Flags().StringArrayVar(&groups, "group", nil, "a group of the person at the identity provider; may be repeated")
	return command
}

// memberOf reads a member such as ada, group:researchers or key:key-1234.
func memberOf(text string) store.Member {
	for _, kind := range []store.MemberKind{store.UserMember, store.GroupMember, store.KeyMember} {
		if name, ok := strings.CutPrefix(text, string(kind)+":"); ok {
			return store.Member{Kind: kind, Name: name}
		}
	}
	return store.Member{Kind: store.UserMember, Name: text}
}

// placeOf reads a place such as mine, mine/development or /development.
func placeOf(text string) authz.Place {
	project, domain, _ := strings.Cut(text, "/")
	return authz.Place{Project: project, Domain: domain}
}

func keysCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "keys",
		Short:   "Make, list and revoke the API keys of programs",
		Long:    "Makes, lists and revokes API keys. It uses the database, with or without a running server." + readMore(accessPage),
		Example: "  flyte-binary keys create ci --role contributor --in mine --config flyte.yaml",
	}
	command.AddCommand(keysCreate(), keysList(), keysRevoke())
	return command
}

func keysCreate() *cobra.Command {
	from := &source{}
	var role string
	var key store.Key
	var in []string
	var lifetime time.Duration
	command := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a key with a role, and print its secret",
		Long: `Makes an API key. The secret is printed once and cannot be read again. It is sent as a bearer token, or by the SDK in the variable
FLYTE_API_KEY. Without --owner it is the key of a service, which keeps its role until it ends. With --owner it may do no more than that person
may at the time of a call; name the groups by which the person has roles with --group, until the person signs in again.` + readMore(accessPage),
		Example: `  flyte-binary keys create ci --role contributor --in mine --config flyte.yaml
  flyte-binary keys create nightly --role runner --in mine/production --in theirs/production --lifetime 720h --config flyte.yaml`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				var places []authz.Place
				for _, text := range in {
					places = append(places, placeOf(text))
				}
				if len(places) == 0 {
					places = []authz.Place{{}}
				}
				key.Name, key.Service = args[0], key.Owner == ""
				if key.Service {
					key.Owner = osUser() // who made it
				}
				made, flyteAPIKey, err := tools.CreateKey(ctx, key, role, places, lifetime)
				if err != nil {
					return err
				}
				out := command.OutOrStdout()
				fmt.Fprintf(out, "id             %s\nsecret         %s\n", made.Key.ID, made.Secret)
				fmt.Fprintf(out, "FLYTE_API_KEY  %s\n", cmp.Or(flyteAPIKey, "none, since clients would use port 443 of access.publicURL: send id and secret, or the secret as a bearer token"))
				if end := made.Key.ExpiresAt; end != nil {
					fmt.Fprintf(out, "ends           %s\n", end.UTC().Format(time.RFC3339))
				}
				return nil
			})
		},
	}
	from.flags(command)
	command.Flags().StringVar(&role, "role", "", "the role of the key")
	command.Flags().StringArrayVar(&in, "in", nil, "where the role holds: PROJECT, PROJECT/DOMAIN or /DOMAIN (default: the whole installation); may be repeated")
	command.Flags().StringVar(&key.Owner, "owner", "", "the subject of the person whose key it is (default: the key of a service)")
	command.Flags().StringArrayVar(&key.OwnerGroups, "group", nil, "a group of the owner at the identity provider; may be repeated")
	command.Flags().DurationVar(&lifetime, "lifetime", 0, "how long the key is valid (default: access.keys.maxLifetime)")
	_ = command.MarkFlagRequired("role") // it exists
	return command
}

// osUser is the name of the person at the command line.
func osUser() string {
	if current, err := user.Current(); err == nil {
		return current.Username
	}
	return access.CommandLine
}

// listedKeys bounds what keys list prints.
const listedKeys = 10_000

func keysList() *cobra.Command {
	from, ended := &source{}, false
	command := &cobra.Command{
		Use:     "list",
		Short:   "List the keys, newest first",
		Long:    "Lists the API keys of everybody, newest first, with their owner, the end of their secret, and when they were last used." + readMore(accessPage),
		Example: "  flyte-binary keys list --ended --config flyte.yaml",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				keys, err := tools.ListKeys(ctx, ended, listedKeys)
				for _, key := range keys {
					fmt.Fprintf(command.OutOrStdout(), "%s  %s  %s %s  …%s  made %s  used %s  ends %s%s\n", key.ID, key.Name, ownership(key), key.Owner, key.Hint,
						key.CreatedAt.UTC().Format(time.DateOnly), dayOf(key.LastUsedAt, "never"), dayOf(key.ExpiresAt, "never"), revoked(key))
				}
				return err
			})
		},
	}
	from.flags(command)
	command.Flags().BoolVar(&ended, "ended", false, "also the keys that have expired or were revoked")
	return command
}

// ownership says how a key and its owner belong together.
func ownership(key store.Key) string {
	if key.Service {
		return "of a service, by"
	}
	return "of"
}

func dayOf(at *time.Time, none string) string {
	if at == nil {
		return none
	}
	return at.UTC().Format(time.DateOnly)
}

func revoked(key store.Key) string {
	if key.RevokedAt == nil {
		return ""
	}
	return "  revoked " + dayOf(key.RevokedAt, "")
}

func keysRevoke() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:     "revoke ID",
		Short:   "End a key at once",
		Long:    "Ends an API key. Running servers refuse it within seconds." + readMore(accessPage),
		Example: "  flyte-binary keys revoke key-abcdefgh12345678 --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				if err := tools.RevokeKey(ctx, args[0]); err != nil {
					return err
				}
				fmt.Fprintf(command.OutOrStdout(), "revoked %s\n", args[0])
				return nil
			})
		},
	}
	from.flags(command)
	return command
}
