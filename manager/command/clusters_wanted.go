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
)

func clustersCordon() *cobra.Command {
	note := ""
	command := clustersState(states.Cordoned, &note, nil)
	command.Use, command.Short = "cordon NAME", "Give a cluster no new work"
	command.Long = "Gives a cluster no new work. What runs there continues, and what waits for it waits or goes elsewhere." + readMore(clustersPage)
	command.Example = `  flyte-binary clusters cordon east --note "network is replaced" --config flyte.yaml`
	command.Flags().StringVar(&note, "note", "", "why, for those who see it")
	return command
}

func clustersUncordon() *cobra.Command {
	note := ""
	command := clustersState(states.Ready, &note, nil)
	command.Use, command.Short = "uncordon NAME", "Give a cluster new work again"
	command.Long = "Gives a cluster new work again, whether it was cordoned or is draining." + readMore(clustersPage)
	command.Example = "  flyte-binary clusters uncordon east --config flyte.yaml"
	return command
}

func clustersDrain() *cobra.Command {
	note, deadline := "", time.Duration(0)
	command := clustersState(states.Draining, &note, &deadline)
	command.Use, command.Short = "drain NAME", "Give a cluster no new work, and let what runs there end"
	command.Long = `Gives a cluster no new work, lets what runs there end, and prints what is left. With --deadline, attempts that are still there then are ended as a
failure of the system, and run again on other clusters. Run it again to see what is left.` + readMore(clustersPage)
	command.Example = "  flyte-binary clusters drain east --deadline 2h --config flyte.yaml"
	command.Flags().StringVar(&note, "note", "", "why, for those who see it")
	command.Flags().DurationVar(&deadline, "deadline", 0, "how long attempts may still run there; 0 means until they end")
	return command
}

// clustersState is a command that records what is wanted of a cluster.
func clustersState(state string, note *string, deadline *time.Duration) *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				var limit *time.Duration
				if deadline != nil && *deadline > 0 {
					limit = deadline
				}
				err := tools.Access.Change(ctx, "cluster.update", aboutCluster(args[0]), func(ctx context.Context) ([]string, error) {
					return nil, tools.Registry.SetState(ctx, args[0], state, osUser(), *note, limit)
				})
				if err != nil {
					return err
				}
				return printWork(ctx, command.OutOrStdout(), tools, args[0])
			})
		},
	}
	from.flags(command)
	return command
}

// printWork says what is wanted of a cluster, until when, and what it still has.
func printWork(ctx context.Context, out io.Writer, tools manager.ClusterTools, name string) error {
	work, err := tools.Registry.Work(ctx, name)
	if err != nil {
		return err
	}
	known, err := tools.States.All(ctx)
	if err != nil {
		return err
	}
	state, until := states.Ready, ""
	if at := slices.IndexFunc(known, func(s states.State) bool { return s.Name == name }); at >= 0 {
		if state = known[at].State; !known[at].Until.IsZero() {
			until = " until " + known[at].Until.UTC().Format("2006-01-02 15:04 UTC")
		}
	}
	fmt.Fprintf(out, "cluster %s is %s%s; it has %s\n", name, state, until, work)
	return nil
}

func clustersSet() *cobra.Command {
	from := &source{}
	var labels, pools []string
	weight := 0
	command := &cobra.Command{
		Use:   "set NAME",
		Short: "Change the labels, the weight or the pools of a cluster",
		Long: `Changes the labels, the weight or the pools of a cluster. What is not named stays; --labels and --pools replace all that were given before. Labels of
operators win over those that the controller reports. A cluster of weight 0 gets only what names it or one of its pools.` + readMore(clustersPage),
		Example: "  flyte-binary clusters set east --labels region=us-east-1,tier=spot --weight 2 --pools gpu,cheap --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			change, err := changeOf(command, labels, pools, weight)
			if err != nil {
				return err
			}
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				change.By = osUser()
				return tools.Access.Change(ctx, "cluster.update", aboutCluster(args[0]), func(ctx context.Context) ([]string, error) {
					err := tools.Registry.Update(ctx, args[0], change)
					if err == nil {
						fmt.Fprintf(command.OutOrStdout(), "changed cluster %s\n", args[0])
					}
					return nil, err
				})
			})
		},
	}
	command.Flags().StringSliceVar(&labels, "labels", nil, "labels as KEY=VALUE; an empty list removes all")
	command.Flags().StringSliceVar(&pools, "pools", nil, "names of cluster pools; an empty list removes all")
	command.Flags().IntVar(&weight, "weight", 1, "share of new work, from 0 to 1000")
	from.flags(command)
	return command
}

func changeOf(command *cobra.Command, labels, pools []string, weight int) (clusterstore.Update, error) {
	var change clusterstore.Update
	given := command.Flags().Changed
	if given("labels") {
		change.Labels = map[string]string{}
		for _, one := range labels {
			key, value, found := strings.Cut(one, "=")
			if !found {
				return change, fmt.Errorf("--labels: want KEY=VALUE, got %q", one)
			}
			change.Labels[key] = value
		}
	}
	if given("weight") {
		if weight < 0 || weight > 1000 {
			return change, fmt.Errorf("--weight: must be from 0 to 1000, got %d", weight)
		}
		change.Weight = &weight
	}
	if given("pools") {
		change.Pools = append([]string{}, pools...)
	}
	if change.Labels == nil && change.Weight == nil && change.Pools == nil {
		return change, fmt.Errorf("nothing to change: give --labels, --weight or --pools")
	}
	return change, nil
}

// stateWords say what is unusual about a cluster: that it takes no new work, or is away.
func stateWords(known []states.State, name string, now time.Time) string {
	at := slices.IndexFunc(known, func(s states.State) bool { return s.Name == name })
	if at < 0 {
		return ""
	}
	words, s := "", known[at]
	if s.State != states.Ready {
		words = "  " + s.State
		if !s.Until.IsZero() {
			words += " until " + s.Until.UTC().Format("2006-01-02 15:04 UTC")
		}
		if s.By != "" {
			words += " by " + s.By
		}
		if s.Note != "" {
			words += " (" + s.Note + ")"
		}
	}
	if s.Away(now) {
		words += "  away for " + now.Sub(s.SeenAt).Round(time.Second).String()
	}
	if s.Refused != "" {
		words += "  its controller of version " + s.Refused + " is refused: it does not work with the version of the API"
	}
	return words
}
