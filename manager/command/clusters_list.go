package command

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	clusterstore "github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// listedClusters bounds what clusters list prints.
const listedClusters = 10_000

func clustersList() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "list",
		Short: "List the clusters: how they are, what they have, and their credentials",
		Long: "Lists the registered clusters: how each is, its version, what is free of what it has, which stores of runs.placement it reaches, and its " +
			"credentials, by whom and when they were made, and when they were last used." + readMore(clustersPage),
		Example: "  flyte-binary clusters list --config flyte.yaml",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				found, err := tools.Registry.List(ctx, "", listedClusters)
				if err != nil {
					return err
				}
				known, err := tools.States.All(ctx)
				for i := range found {
					printCluster(command.OutOrStdout(), tools, &found[i], known)
				}
				return err
			})
		},
	}
	from.flags(command)
	return command
}

func printCluster(out io.Writer, tools manager.ClusterTools, one *clusterstore.Cluster, known []states.State) {
	fmt.Fprintf(out, "%s  added %s by %s%s\n", one.Name, one.CreatedAt.UTC().Format(time.DateOnly), one.CreatedBy, stateWords(known, one.Name, time.Now()))
	state := states.State{Name: one.Name}
	if at := slices.IndexFunc(known, func(s states.State) bool { return s.Name == one.Name }); at >= 0 {
		state = known[at]
	}
	switch {
	case !state.Known():
		fmt.Fprintln(out, "  its controller has not connected yet")
	default:
		fmt.Fprintf(out, "  version %s, last heard %s\n", state.Version, state.SeenAt.UTC().Format("2006-01-02 15:04:05 UTC"))
		fmt.Fprintf(out, "  %s\n", room(state))
	}
	if tools.Stores != nil {
		fmt.Fprintf(out, "  reaches %s\n", stores(tools.Stores(one.Name, state.Labels)))
	}
	for _, credential := range one.Credentials {
		ended := ""
		if credential.RevokedAt != nil {
			ended = "  revoked " + dayOf(credential.RevokedAt, "")
		}
		fmt.Fprintf(out, "  %s  …%s  made %s by %s  used %s%s\n", credential.ID, credential.Hint, credential.CreatedAt.UTC().Format(time.DateOnly),
			credential.CreatedBy, dayOf(credential.LastUsedAt, "never"), ended)
	}
}

// room is what is free of what a cluster has.
func room(s states.State) string {
	if s.Capacity == nil {
		return "its capacity is unknown: the controller may not list nodes"
	}
	var parts []string
	for _, name := range placement.Amounts(s.Capacity).Names() {
		parts = append(parts, fmt.Sprintf("%s of %s %s", placement.Show(name, s.Free[name]), placement.Show(name, s.Capacity[name]), name))
	}
	if len(parts) == 0 {
		return "it has no nodes for pods"
	}
	return "free: " + strings.Join(parts, ", ")
}

// stores are the stores that a cluster reaches, in words.
func stores(prefixes []string) string {
	if len(prefixes) == 0 {
		return "none of the stores of runs.placement.stores"
	}
	return strings.Join(prefixes, ", ")
}
