// Package located says on which cluster work runs: attempts, replicas of apps, and workers of pools. A service that hands something
// to the controller of a cluster asks it first. It meets the services that know by generated clients only.
package located

import (
	"context"
	"slices"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Attempts knows which attempts are live; enginev1connect.EngineServiceClient does.
type Attempts interface {
	GetLiveAttempts(ctx context.Context, request *enginev1.GetLiveAttemptsRequest) (*enginev1.GetLiveAttemptsResponse, error)
}

// Apps knows which apps may run; enginev1connect.AppFleetServiceClient does.
type Apps interface {
	GetLiveApps(ctx context.Context, request *enginev1.GetLiveAppsRequest) (*enginev1.GetLiveAppsResponse, error)
}

// Workers knows the workers of pools; enginev1connect.WorkerFleetServiceClient does.
type Workers interface {
	LocateWorker(ctx context.Context, request *enginev1.LocateWorkerRequest) (*enginev1.LocateWorkerResponse, error)
}

// Work knows where work runs. All fields are required.
type Work struct {
	Attempts Attempts
	Apps     Apps
	Workers  Workers
}

// place is where something runs, and for what.
type place struct{ cluster, project, domain string }

// Check returns nil if the caller may act for a holder of secrets in a project and domain: a service of the installation for each, the
// controller of a cluster for one that runs, or is to run, on its cluster. Else it returns a PermissionDenied error, which does not say
// whether the holder exists.
func (w Work) Check(ctx context.Context, holder *enginev1.SecretHolder, project, domain string) error {
	own := authz.ClusterOf(ctx)
	if own == "" {
		return nil
	}
	at, err := w.locate(authz.AsService(ctx, "clusters"), own, holder)
	if err != nil {
		return err
	}
	if at != (place{own, project, domain}) {
		return authz.Denied("nothing of %s/%s that needs this runs on cluster %s", project, domain, own)
	}
	return nil
}

// locate says where a holder runs; nowhere if it does not. Of several clusters, it is that of the caller.
func (w Work) locate(ctx context.Context, caller string, holder *enginev1.SecretHolder) (place, error) {
	switch of := holder.GetHolder().(type) {
	case *enginev1.SecretHolder_Attempt:
		return w.attempt(ctx, of.Attempt)
	case *enginev1.SecretHolder_App:
		return w.app(ctx, caller, of.App)
	case *enginev1.SecretHolder_Worker:
		at, err := w.Workers.LocateWorker(ctx, &enginev1.LocateWorkerRequest{Id: of.Worker})
		if connect.CodeOf(err) == connect.CodeNotFound {
			return place{}, nil
		}
		if err != nil {
			return place{}, unavailable(err)
		}
		return place{at.GetCluster(), at.GetProject(), at.GetDomain()}, nil
	}
	return place{}, rpc.InvalidArgument("holder", "is required of the controller of a cluster")
}

func (w Work) attempt(ctx context.Context, ref *enginev1.AttemptRef) (place, error) {
	uid := ref.GetAction().GetUid()
	answer, err := w.Attempts.GetLiveAttempts(ctx, &enginev1.GetLiveAttemptsRequest{Uids: []int64{uid}})
	if err != nil {
		return place{}, unavailable(err)
	}
	for _, one := range answer.GetAttempts() {
		// Not the attempt: a controller prepares the next one while the end of the one before is on its way.
		if one.GetUid() == uid && ident.ActionOf(one.GetId()) == ident.ActionOf(ref.GetAction().GetId()) {
			return place{one.GetCluster(), one.GetId().GetRun().GetProject(), one.GetId().GetRun().GetDomain()}, nil
		}
	}
	return place{}, nil
}

func (w Work) app(ctx context.Context, caller string, ref *enginev1.AppRevisionRef) (place, error) {
	answer, err := w.Apps.GetLiveApps(ctx, &enginev1.GetLiveAppsRequest{Uids: []string{ref.GetUid()}})
	if err != nil {
		return place{}, unavailable(err)
	}
	for _, one := range answer.GetApps() {
		id := one.GetId()
		if one.GetUid() == ref.GetUid() && id.GetName() == ref.GetName() && id.GetProject() == ref.GetProject() && id.GetDomain() == ref.GetDomain() {
			cluster := one.GetCluster()
			if slices.Contains(one.GetOthers(), caller) {
				cluster = caller
			}
			return place{cluster, id.GetProject(), id.GetDomain()}, nil
		}
	}
	return place{}, nil
}

func unavailable(err error) error {
	return rpc.Unavailable(err, "where the work runs cannot be looked up now; try again")
}
