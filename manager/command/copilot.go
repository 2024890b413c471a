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

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/inpod/copilot"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// sidecarStart bounds the wait of the download for the sidecar. Both use the same image, so it has been pulled by then.
const sidecarStart = 2 * time.Minute

// reportTimeout bounds the writing of an error document.
const reportTimeout = 30 * time.Second

// pilot holds the flags that download and sidecar share.
type pilot struct {
	storage, attempt, dir string
	stage                 string
}

func copilotCommand() *cobra.Command {
	command := &cobra.Command{
		Use: "copilot", Short: "Transfer the inputs and outputs of a raw container; runs in its pod", Hidden: true, Args: cobra.NoArgs,
	}
	command.AddCommand(downloadCommand(), sidecarCommand())
	return command
}

func (p *pilot) flags(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&p.storage, "storage", "", "configuration of the object store without secrets, as JSON")
	flags.StringVar(&p.attempt, "attempt", "", "directory of the attempt in the object store")
	flags.StringVar(&p.dir, "dir", "", "inputs or outputs directory of the container")
	flags.StringVar(&p.stage, "stage", "", "directory shared by download and sidecar")
}

func downloadCommand() *cobra.Command {
	p, inputs, format, layout, await := &pilot{}, "", "", "", false
	command := &cobra.Command{
		Use: "download", Short: "Download the inputs of a container, then exit", Args: cobra.NoArgs,
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
				// A container without inputs still waits for its sidecar.
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
	command.Flags().StringVar(&format, "format", "JSON", "format of the document with all inputs: JSON, YAML or PROTO")
	command.Flags().StringVar(&layout, "layout", "DIRECT", "layout of files: DIRECT or NAMED_DIR")
	command.Flags().BoolVar(&await, "await-sidecar", false, "exit only when the sidecar is ready")
	return command
}

func sidecarCommand() *cobra.Command {
	p, raw, outputs, timeout := &pilot{}, "", "", time.Duration(0)
	command := &cobra.Command{
		Use: "sidecar", Short: "Wait for SIGTERM, then upload the outputs of a container", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			ended := make(chan os.Signal, 1)
			// Before MarkListening, after which the container may start, end and have this signal sent.
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
	command.Flags().StringVar(&raw, "raw", "", "prefix for files in the object store")
	command.Flags().StringVar(&outputs, "outputs", "", "declared outputs, a VariableMap in base64")
	command.Flags().DurationVar(&timeout, "timeout", time.Hour, "time limit of the upload")
	return command
}

// run calls work, and writes its error to where the executor reads it.
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
	// The error is reported even when the pod is being stopped.
	reporting, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
	defer cancel()
	return errors.Join(failure, copilot.Report(reporting, stores, clock.System{}, p.attempt, failure))
}
