package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// remote are the parts that a running server answers.
func remote(options Options, server *manager.Remote) []part {
	get := func(server *manager.Remote, path string) func(context.Context, io.Writer) error {
		return func(ctx context.Context, w io.Writer) error {
			status, err := server.Get(ctx, path, w)
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("%s answered %d", path, status)
			}
			return err
		}
	}
	parts := []part{
		{"server/healthz.txt", get(server, "/healthz")},
		{"server/readyz.txt", get(server, "/readyz")},
		{"server/metrics.txt", get(server, "/metrics")},
		{"server/log-level.json", get(server, port.LogLevelPath)},
		{"server/system.json", answer(func(ctx context.Context) (proto.Message, error) {
			return server.System().GetSystem(ctx, &insightv1.GetSystemRequest{})
		})},
		{"server/queues.json", answer(func(ctx context.Context) (proto.Message, error) {
			return server.Insight().ListQueues(ctx, &insightv1.ListQueuesRequest{})
		})},
	}
	if options.Config.Telemetry.DebugListen == "" {
		return append(parts, part{"server/profiles", func(context.Context, io.Writer) error {
			return errors.New("the server serves no profiles; set telemetry.debugListen to an address on loopback")
		}})
	}
	debug := server.At("http://" + strings.Replace(options.Config.Telemetry.DebugListen, "0.0.0.0", "localhost", 1))
	return append(parts,
		part{"server/goroutines.txt", get(debug, "/debug/pprof/goroutine?debug=2")},
		part{"server/heap.pprof", get(debug, "/debug/pprof/heap")})
}

// answer is a part with the answer of a procedure as JSON.
func answer(call func(context.Context) (proto.Message, error)) func(context.Context, io.Writer) error {
	return func(ctx context.Context, w io.Writer) error {
		message, err := call(ctx)
		if err != nil {
			return err
		}
		text, err := protojson.MarshalOptions{Multiline: true}.Marshal(message)
		if err != nil {
			return err
		}
		_, err = w.Write(append(text, '\n'))
		return err
	}
}
