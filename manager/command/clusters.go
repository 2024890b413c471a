package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// clustersPage describes several clusters.
const clustersPage = "docs/clusters.md"

// withClusters runs a function with the registry of clusters.
func (s *source) withClusters(command *cobra.Command, do func(ctx context.Context, tools manager.ClusterTools) error) error {
	return s.withConfig(command, func(ctx context.Context, config configuration.Config, log zerolog.Logger) error {
		tools, closing, err := manager.OpenClusters(ctx, config, log)
		if err != nil {
			return err
		}
		defer closing()
		return do(ctx, tools)
	})
}

func clustersCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "clusters",
		Short: "Register the clusters that run work, and issue the credentials of their controllers",
		Long: "Registers and removes clusters, and issues and revokes the credentials of their controllers. It uses the database, with or without a running " +
			"server." + readMore(clustersPage),
		Example: "  flyte-binary clusters add east --config flyte.yaml",
	}
	command.AddCommand(clustersAdd(), clustersList(), clustersIssue(), clustersRevoke(), clustersCordon(), clustersUncordon(), clustersDrain(), clustersSet(), clustersRemove())
	return command
}

// aboutCluster are the resources of a record about a cluster.
func aboutCluster(name string) []string { return []string{"cluster " + name} }

func printIssued(out io.Writer, tools manager.ClusterTools, issued clusters.Issued) {
	fmt.Fprintf(out, "cluster       %s\ninstallation  %s\ncredential    %s\nsecret        %s\n",
		issued.Credential.Cluster, tools.Installation, issued.Credential.ID, issued.Secret)
}

func clustersAdd() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "add NAME",
		Short: "Register a cluster, and print the credential of its controller",
		Long: `Registers a cluster and prints its first credential. The secret is printed once and cannot be read again. The controller presents it in
controlPlane.credential or controlPlane.credentialFile, with cluster.id set to NAME and replicas.installation to the printed id.` + readMore(clustersPage),
		Example: "  flyte-binary clusters add east --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				var issued clusters.Issued
				err := tools.Access.Change(ctx, "cluster.create", aboutCluster(args[0]), func(ctx context.Context) (made []string, err error) {
					_, issued, err = tools.Registry.Add(ctx, args[0], osUser())
					return nil, err
				})
				if err == nil {
					printIssued(command.OutOrStdout(), tools, issued)
				}
				return err
			})
		},
	}
	from.flags(command)
	return command
}

func clustersIssue() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:   "issue NAME",
		Short: "Make one more credential of a cluster",
		Long: "Makes one more credential of a cluster and prints it once. The others stay valid: give the controller the new one, see in clusters list that it " +
			"is used, then revoke the old one." + readMore(clustersPage),
		Example: "  flyte-binary clusters issue east --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				var issued clusters.Issued
				err := tools.Access.Change(ctx, "cluster.update", aboutCluster(args[0]), func(ctx context.Context) (made []string, err error) {
					issued, err = tools.Registry.Issue(ctx, args[0], osUser())
					return []string{"credential " + issued.Credential.ID}, err
				})
				if err == nil {
					printIssued(command.OutOrStdout(), tools, issued)
				}
				return err
			})
		},
	}
	from.flags(command)
	return command
}

func clustersRevoke() *cobra.Command {
	from := &source{}
	command := &cobra.Command{
		Use:     "revoke CREDENTIAL",
		Short:   "End a credential",
		Long:    "Ends a credential. Running servers refuse it within seconds, and end the streams of its controller." + readMore(clustersPage),
		Example: "  flyte-binary clusters revoke cred-abcdefgh12345678 --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				return tools.Access.Change(ctx, "cluster.update", []string{"credential " + args[0]}, func(ctx context.Context) ([]string, error) {
					ended, err := tools.Registry.Revoke(ctx, args[0])
					if err == nil {
						fmt.Fprintf(command.OutOrStdout(), "revoked %s of cluster %s\n", ended.ID, ended.Cluster)
					}
					return aboutCluster(ended.Cluster), err
				})
			})
		},
	}
	from.flags(command)
	return command
}

func clustersRemove() *cobra.Command {
	from := &source{}
	force, yes := false, false
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "End all credentials of a cluster and forget it",
		Long: `Ends all credentials of a cluster and forgets it. It is refused while work is there: drain the cluster first. With --force, what runs there is
given up, and runs again on other clusters; the command says what that is, and asks for the name of the cluster first.` + readMore(clustersPage),
		Example: "  flyte-binary clusters remove east --config flyte.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return from.withClusters(command, func(ctx context.Context, tools manager.ClusterTools) error {
				if force && !yes {
					if err := confirmRemoval(ctx, command, tools, args[0]); err != nil {
						return err
					}
				}
				return tools.Access.Change(ctx, "cluster.delete", aboutCluster(args[0]), func(ctx context.Context) ([]string, error) {
					err := tools.Registry.Remove(ctx, args[0], force)
					if err == nil {
						fmt.Fprintf(command.OutOrStdout(), "removed cluster %s\n", args[0])
					}
					return nil, err
				})
			})
		},
	}
	command.Flags().BoolVar(&force, "force", false, "remove it although work is there")
	command.Flags().BoolVar(&yes, "yes", false, "with --force: do not ask for the name")
	from.flags(command)
	return command
}

// confirmRemoval says what the removal of a cluster with work does, and reads its name. It asks nothing if no work is there.
func confirmRemoval(ctx context.Context, command *cobra.Command, tools manager.ClusterTools, name string) error {
	work, err := tools.Registry.Work(ctx, name)
	if err != nil || work.Empty() {
		return err
	}
	fmt.Fprintf(command.OutOrStdout(), "cluster %s still has %s. Attempts end as ClusterLost at once and run again on other clusters. A pod that the cluster\n"+
		"cannot stop now may still run there: what it does to systems outside of Flyte, it does twice.\nType the name of the cluster to continue: ", name, work)
	typed, err := bufio.NewReader(command.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the name: %w", err)
	}
	if strings.TrimSpace(typed) != name {
		return fmt.Errorf("nothing was removed: the name was not typed; --yes does not ask for it")
	}
	return nil
}
