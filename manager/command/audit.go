package command

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/store"
)

func auditCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "audit",
		Short:   "Export and check the record of what was done",
		Long:    "Works on the audit events of an installation. It uses the database, with or without a running server." + readMore(accessPage),
		Example: "  flyte-binary audit export --since 24h --config flyte.yaml\n  flyte-binary audit verify --config flyte.yaml",
	}
	from := &source{}
	verify := &cobra.Command{
		Use:   "verify",
		Short: "Check that no audit event was changed or removed",
		Long: `Recomputes the chain of hashes over all audit events that are kept, and names the first that was changed or removed. It prints
the number and the hash of the newest event: keep them elsewhere to see later whether the end was cut off.` + readMore(accessPage),
		Example: "  flyte-binary audit verify --config flyte.yaml",
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				result, err := tools.Verify(ctx)
				if err != nil {
					return err
				}
				if result.Problem != "" {
					return fmt.Errorf("after %d events: %s", result.Checked, result.Problem)
				}
				fmt.Fprintf(command.OutOrStdout(), "%d events are as they were written; the newest is %d with the hash %s\n",
					result.Checked, result.Last, hex.EncodeToString(result.Hash))
				return nil
			})
		},
	}
	from.flags(verify)
	command.AddCommand(auditExport(), verify)
	return command
}

// formatLines is one JSON object on each line.
const formatLines = "jsonl"

func auditExport() *cobra.Command {
	from, filter := &source{}, store.AuditFilter{}
	var since, until, format string
	command := &cobra.Command{
		Use:   "export",
		Short: "Write audit events to the standard output, oldest first",
		Long: `Writes the audit events that are kept to the standard output, oldest first, each as a JSON object on a line of its own. It needs
the same memory for any number of events. To continue later, or after an interruption, give the sequence of the last event that you have
as --after; the numbers have no gaps. SINCE and UNTIL are a time such as 2026-11-20T10:00:00Z, a day such as 2026-11-20, or how long ago, such
as 24h; they are compared with the time at which a call began.` + readMore(accessPage),
		Example: `  flyte-binary audit export --since 2026-11-01 --until 2026-12-01 --config flyte.yaml > november.jsonl
  flyte-binary audit export --after 120345 --config flyte.yaml >> audit.jsonl`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if format != formatLines {
				return fmt.Errorf("--format must be %s, got %q", formatLines, format)
			}
			if filter.After < 0 {
				return fmt.Errorf("--after must not be negative, got %d", filter.After)
			}
			var err error
			if filter.From, err = momentOf("since", since, time.Now()); err != nil {
				return err
			}
			if filter.Until, err = momentOf("until", until, time.Now()); err != nil {
				return err
			}
			return from.withTools(command, func(ctx context.Context, tools *access.Tools) error {
				return exportAudit(ctx, tools, filter, command.OutOrStdout(), command.ErrOrStderr())
			})
		},
	}
	from.flags(command)
	command.Flags().StringVar(&since, "since", "", "only events that are not older")
	command.Flags().StringVar(&until, "until", "", "only events that are older")
	command.Flags().Int64Var(&filter.After, "after", 0, "only events after the one with this sequence")
	command.Flags().StringVar(&filter.Project, "project", "", "only events about this project")
	command.Flags().StringVar(&filter.Subject, "subject", "", "only events of this person or key")
	command.Flags().StringVar(&format, "format", formatLines, "the format, "+formatLines)
	return command
}

// exportAudit writes events as lines, and at the end where to continue.
func exportAudit(ctx context.Context, tools *access.Tools, filter store.AuditFilter, to, notes io.Writer) error {
	out, count := bufio.NewWriter(to), 0
	err := tools.ExportAudit(ctx, filter, func(event store.AuditEvent) error {
		line, err := audit.JSON(event)
		if err != nil {
			return err
		}
		filter.After = event.Sequence
		count++
		_, err = out.Write(append(line, '\n'))
		return err
	})
	if flushed := out.Flush(); err == nil {
		err = flushed
	}
	if err != nil {
		return fmt.Errorf("export audit events: %w", err)
	}
	fmt.Fprintf(notes, "exported events: %d; continue with --after %d\n", count, filter.After)
	return nil
}

// momentOf reads the time of a flag: a time, a day, or how long ago. The zero time is an empty one.
func momentOf(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s must be a time such as 2026-11-20T10:00:00Z, a day such as 2026-11-20 or how long ago, such as 24h, got %q", flag, text)
}
