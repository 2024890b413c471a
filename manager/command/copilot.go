package command

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/copilot"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// sidecarStart is how long the download waits for the sidecar, whose image may have to be pulled no more: both have the same.
const sidecarStart = 2 * time.Minute

// reportTimeout bounds the writing of an error document.
const reportTimeout = 30 * time.Second

// pilot is what both halves of the co-pilot are told.
type pilot struct {
	storage, attempt, dir string
	stage                 string
}

func copilotCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "copilot", Short: "Carry the inputs and outputs of a raw container; runs in its pod", Hidden: true, Args: cobra.NoArgs,
	}
	command.AddCommand(downloadCommand(), sidecarCommand())
	return command
}

func (p *pilot) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&p.storage, "storage", "", "the object store without its secrets, as JSON")
	flags.StringVar(&p.attempt, "attempt", "", "the attempt's directory in the object store")
	flags.StringVar(&p.dir, "dir", "", "the container's directory")
	flags.StringVar(&p.stage, "stage", "", "directory that download and sidecar share")
}

func downloadCommand() *cobra.Command {
	p, inputs, format, layout, await := &pilot{}, "", "", "", false
	command := &cobra.Command{
		Use: "download", Short: "Bring the inputs of a container, then end", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return p.run(command.Context(), func(ctx context.Context, blobs copilot.Blobs) error {
				f, known := core.DataLoadingConfig_LiteralMapFormat_value[format]
				if !known {
					return fmt.Errorf("--format: %q is not JSON, YAML or PROTO", format)
				}
				l, known := core.DataLoadingConfig_FileInputLayout_value[layout]
				if !known {
					return fmt.Errorf("--layout: %q is not DIRECT or NAMED_DIR", layout)
				}
				if p.dir != "" {
					download := copilot.Download{
						Inputs: inputs, Dir: p.dir, Blobs: blobs, Clock: clock.System{},
						Format: core.DataLoadingConfig_LiteralMapFormat(f), Layout: core.DataLoadingConfig_FileInputLayout(l),
					}
					if err := download.Run(ctx); err != nil {
						return err
					}
				}
				if !await {
					return nil
				}
				stage := copilot.Stage(p.stage)
				if err := stage.Await(ctx, clock.System{}, copilot.MarkListening, sidecarStart); err != nil {
					return err
				}
				return stage.Set(copilot.MarkStarted)
			})
		},
	}
	p.flags(command)
	command.Flags().StringVar(&inputs, "inputs", "", "URI of the inputs; empty for none")
	command.Flags().StringVar(&format, "format", "JSON", "of the document with all inputs: JSON, YAML or PROTO")
	command.Flags().StringVar(&layout, "layout", "DIRECT", "of files: DIRECT or NAMED_DIR")
	command.Flags().BoolVar(&await, "await-sidecar", false, "end only when the sidecar is ready")
	return command
}

func sidecarCommand() *cobra.Command {
	p, raw, outputs, timeout := &pilot{}, "", "", time.Duration(0)
	command := &cobra.Command{
		Use: "sidecar", Short: "Wait for SIGTERM, then carry the outputs of a container away", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ended := make(chan os.Signal, 1)
			signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
			stage := copilot.Stage(p.stage)
			if err := stage.Set(copilot.MarkListening); err != nil {
				return err
			}
			select {
			case <-ended:
			case <-command.Context().Done():
				return command.Context().Err()
			}
			if started, err := stage.Has(copilot.MarkStarted); err != nil || !started {
				return err // the container never ran
			}
			return p.run(command.Context(), func(ctx context.Context, blobs copilot.Blobs) error {
				declared := &core.VariableMap{}
				if encoded, err := base64.StdEncoding.DecodeString(outputs); err != nil {
					return fmt.Errorf("--outputs: %w", err)
				} else if err := proto.Unmarshal(encoded, declared); err != nil {
					return fmt.Errorf("--outputs: %w", err)
				}
				return copilot.Sidecar{
					Dir: p.dir, Outputs: declared.GetVariables(), Attempt: p.attempt, Raw: raw, Timeout: timeout,
					Blobs: blobs, Clock: clock.System{},
				}.Collect(ctx)
			})
		},
	}
	p.flags(command)
	command.Flags().StringVar(&raw, "raw", "", "prefix of files in the object store")
	command.Flags().StringVar(&outputs, "outputs", "", "the declared outputs, a VariableMap in base64")
	command.Flags().DurationVar(&timeout, "timeout", time.Hour, "how long it may take to carry the outputs away")
	return command
}

// run does one half's work and leaves its error where the executor reads it.
func (p *pilot) run(ctx context.Context, work func(context.Context, copilot.Blobs) error) (failure error) {
	config := blobstore.DefaultConfig()
	decoder := json.NewDecoder(strings.NewReader(p.storage))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&config); err != nil {
		return fmt.Errorf("--storage: %w", err)
	}
	stores, err := copilot.OpenStores(ctx, config, os.Getenv)
	if err != nil {
		return err
	}
	defer func() { failure = errors.Join(failure, stores.Close()) }()
	if failure = work(ctx, stores); failure == nil {
		return nil
	}
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	return errors.Join(failure, copilot.Report(reporting, stores, clock.System{}, p.attempt, failure))
}
