package insight

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// mostLooked bounds the actions of which a call judges whether a cluster could run them.
const mostLooked = 1000

// clusterCursor is where a page ends: after an action that no cluster has, or after one that the cluster has.
type clusterCursor struct {
	there   bool
	run, id int64
}

func (c clusterCursor) String() string {
	if c.there {
		return fmt.Sprintf("there/%d/%d", c.run, c.id)
	}
	return fmt.Sprintf("held/%d", c.id)
}

func clusterCursorOf(token string) (c clusterCursor, err error) {
	if token == "" {
		return c, nil
	}
	if _, err = fmt.Sscanf(token, "there/%d/%d", &c.run, &c.id); err == nil {
		c.there = true
	} else {
		_, err = fmt.Sscanf(token, "held/%d", &c.id)
	}
	if err != nil || c.String() != token || c.id < 0 || c.run < 0 {
		return clusterCursor{}, rpc.InvalidArgument("token", "invalid page token")
	}
	return c, nil
}

// ListClusterWaits implements insightv1connect.InsightServiceHandler.
func (c *Clusters) ListClusterWaits(ctx context.Context, request *insightv1.ListClusterWaitsRequest) (*insightv1.ListClusterWaitsResponse, error) {
	at, err := clusterCursorOf(request.GetToken())
	if err != nil {
		return nil, err
	}
	response, limit := &insightv1.ListClusterWaitsResponse{}, int(cmp.Or(request.GetLimit(), 20))
	if !at.there {
		var more bool
		if at, more, err = c.held(ctx, request.GetCluster(), at, limit, response); err != nil {
			return nil, err
		}
		if more {
			response.Token = at.String()
			return response, nil
		}
	}
	return response, c.there(ctx, request.GetCluster(), at, limit, response)
}

// held adds the actions that no cluster has and this one could run. It returns where it ended, and whether there may be more.
func (c *Clusters) held(ctx context.Context, cluster string, at clusterCursor, limit int, to *insightv1.ListClusterWaitsResponse) (clusterCursor, bool, error) {
	page, err := c.Reader.HeldWithin(ctx, at.id, mostLooked)
	if err != nil {
		return at, false, err
	}
	asked, err := c.Asks.Of(ctx, idsOf(page))
	if err != nil {
		return at, false, err
	}
	for i := range page {
		if len(to.GetWaits()) == limit {
			return at, true, nil
		}
		at.id = page[i].ID
		r := asked[page[i].ID]
		if r == nil {
			continue // it was deleted meanwhile
		}
		if prospect := c.Places.Prospect(r, cluster); prospect.Possible {
			to.Waits = append(to.Waits, waitOf(&page[i], r, prospect, false))
		}
	}
	if len(page) == mostLooked {
		return at, true, nil
	}
	return clusterCursor{there: true}, len(to.GetWaits()) == limit, nil
}

// there adds the actions that the cluster has and has not begun.
func (c *Clusters) there(ctx context.Context, cluster string, at clusterCursor, limit int, to *insightv1.ListClusterWaitsResponse) error {
	limit -= len(to.GetWaits())
	page, err := c.Reader.PendingOn(ctx, cluster, at.run, at.id, limit+1)
	if err != nil {
		return err
	}
	if len(page) > limit {
		page = page[:limit]
		to.Token = clusterCursor{there: true, run: page[limit-1].RunID, id: page[limit-1].ID}.String()
	}
	asked, err := c.Asks.Of(ctx, idsOf(page))
	if err != nil {
		return err
	}
	for i := range page {
		if r := asked[page[i].ID]; r != nil {
			to.Waits = append(to.Waits, waitOf(&page[i], r, c.Places.Prospect(r, cluster), true))
		}
	}
	return nil
}

func idsOf(actions []worklists.WaitingAction) []int64 {
	ids := make([]int64, len(actions))
	for i := range actions {
		ids[i] = actions[i].ID
	}
	return ids
}

func waitOf(of *worklists.WaitingAction, r *placement.Request, prospect placement.Prospect, there bool) *insightv1.ClusterWait {
	wait := &insightv1.ClusterWait{
		ActionId: of.Action.Proto(), CreatedAt: timestamppb.New(of.CreatedAt), There: there, Resource: prospect.Short, Free: prospect.Free, Asked: positive(r.Resources),
	}
	switch {
	case prospect.Closed != "":
		wait.Message = "the cluster " + prospect.Closed
	case there && prospect.Short == "":
		wait.Message = "about to begin"
	case prospect.Short == "":
		wait.Message = "about to be admitted"
	}
	return wait
}
