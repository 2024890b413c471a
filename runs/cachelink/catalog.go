package cachelink

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// key is a cache key with its scope. Without project and domain it is global: the scope of the first version of the
// service, whose requests have no scope.
type key struct{ project, domain, text string }

// organization is sent because the contract requires one; it has no meaning.
const organisation = "flyte"

func (k key) global() bool { return k.project == "" && k.domain == "" }

func (k key) identifier() *cachev2.Identifier {
	return &cachev2.Identifier{Org: organisation, Project: k.project, Domain: k.domain}
}

// catalog is the cache service as this package uses it.
type catalog struct {
	config Config
	clock  clock.Clock
	scoped v2connect.CacheServiceClient
	global cacheserviceconnect.CacheServiceClient
}

// found is an entry.
type found struct {
	uri       string
	updatedAt time.Time
	source    *common.ActionAttemptIdentifier // nil when it is not known
}

// get returns an entry, or the reason why there is none.
func (c *catalog) get(ctx context.Context, k key) (entry *found, reason string, err error) {
	request := &cachev1.GetCacheRequest{Key: k.text}
	var response *cachev1.GetCacheResponse
	err = c.call(ctx, func(ctx context.Context) (err error) {
		if k.global() {
			response, err = c.global.Get(ctx, request)
		} else {
			response, err = c.scoped.Get(ctx, &cachev2.GetCacheRequest{Identifier: k.identifier(), BaseRequest: request})
		}
		return err
	})
	switch {
	case rpc.KindOf(err) == rpc.KindNotFound && err != nil:
		return nil, message(err), nil
	case err != nil:
		return nil, "", err
	}
	output := response.GetOutput()
	uri := strings.TrimSuffix(output.GetOutputUri(), "/"+blobpath.OutputsFile)
	if uri == "" {
		return nil, "the entry has no URI", nil
	}
	return &found{uri: uri, updatedAt: output.GetMetadata().GetLastUpdatedAt().AsTime(), source: sourceOf(output.GetMetadata())}, "", nil
}

// put stores outputs. An error of kind AlreadyExists says that the key has different outputs.
func (c *catalog) put(ctx context.Context, k key, uri string, metadata *cachev1.Metadata, overwrite *cachev1.OverwriteOutput) error {
	request := &cachev1.PutCacheRequest{Key: k.text, Overwrite: overwrite, Output: &cachev1.CachedOutput{
		Output: &cachev1.CachedOutput_OutputUri{OutputUri: uri}, Metadata: metadata,
	}}
	return c.call(ctx, func(ctx context.Context) (err error) {
		if k.global() {
			_, err = c.global.Put(ctx, request)
		} else {
			_, err = c.scoped.Put(ctx, &cachev2.PutCacheRequest{Identifier: k.identifier(), BaseRequest: request})
		}
		return err
	})
}

// reserve claims or extends a reservation, and returns the current owner.
func (c *catalog) reserve(ctx context.Context, k key, owner string) (*cachev1.Reservation, error) {
	request := &cachev1.GetOrExtendReservationRequest{Key: k.text, OwnerId: owner, HeartbeatInterval: durationpb.New(c.config.Heartbeat)}
	var response *cachev1.GetOrExtendReservationResponse
	err := c.call(ctx, func(ctx context.Context) (err error) {
		if k.global() {
			response, err = c.global.GetOrExtendReservation(ctx, request)
		} else {
			response, err = c.scoped.GetOrExtendReservation(ctx, &cachev2.GetOrExtendReservationRequest{Identifier: k.identifier(), BaseRequest: request})
		}
		return err
	})
	return response.GetReservation(), err
}

func (c *catalog) release(ctx context.Context, k key, owner string) error {
	request := &cachev1.ReleaseReservationRequest{Key: k.text, OwnerId: owner}
	return c.call(ctx, func(ctx context.Context) (err error) {
		if k.global() {
			_, err = c.global.ReleaseReservation(ctx, request)
		} else {
			_, err = c.scoped.ReleaseReservation(ctx, &cachev2.ReleaseReservationRequest{Identifier: k.identifier(), BaseRequest: request})
		}
		return err
	})
}

// call retries errors that are not caused by the request itself.
func (c *catalog) call(ctx context.Context, one func(context.Context) error) error {
	for try, pause := 1, 50*time.Millisecond; ; try, pause = try+1, 4*pause {
		bounded, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
		err := one(bounded)
		cancel()
		if err == nil || final(rpc.KindOf(err)) || try >= c.config.Tries || ctx.Err() != nil {
			return err
		}
		if clock.Sleep(ctx, c.clock, pause) != nil {
			return err
		}
	}
}

func final(kind rpc.Kind) bool {
	switch kind {
	case rpc.KindNotFound, rpc.KindAlreadyExists, rpc.KindInvalidArgument, rpc.KindFailedPrecondition, rpc.KindUnimplemented,
		rpc.KindPermissionDenied, rpc.KindUnauthenticated, rpc.KindDataLoss:
		return true
	default:
		return false
	}
}

// message is the error message of the service, for people.
func message(err error) string {
	var answered *connect.Error
	if errors.As(err, &answered) {
		return answered.Message()
	}
	return err.Error()
}

// The names under which the metadata of an entry name the attempt that computed it.
const (
	sourceProject = "project"
	sourceDomain  = "domain"
	sourceRun     = "run"
	sourceAction  = "action"
	sourceAttempt = "attempt"
)

func metadataOf(id ident.Action, attempt int32, task *core.Identifier) *cachev1.Metadata {
	return &cachev1.Metadata{SourceIdentifier: task, KeyMap: &cachev1.KeyMapMetadata{Values: map[string]string{
		sourceProject: id.Run.Project, sourceDomain: id.Run.Domain, sourceRun: id.Run.Name, sourceAction: id.Name,
		sourceAttempt: strconv.Itoa(int(attempt)),
	}}}
}

func sourceOf(metadata *cachev1.Metadata) *common.ActionAttemptIdentifier {
	values := metadata.GetKeyMap().GetValues()
	attempt, err := strconv.ParseUint(values[sourceAttempt], 10, 31)
	if err != nil || values[sourceRun] == "" || values[sourceAction] == "" {
		return nil
	}
	id := ident.Action{Run: ident.Run{Project: values[sourceProject], Domain: values[sourceDomain], Name: values[sourceRun]}, Name: values[sourceAction]}
	return &common.ActionAttemptIdentifier{ActionId: id.Proto(), Attempt: uint32(attempt)}
}
