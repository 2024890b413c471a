package apps

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// GetLiveApps implements enginev1connect.AppFleetServiceHandler.
func (h *handler) GetLiveApps(ctx context.Context, r *enginev1.GetLiveAppsRequest) (*enginev1.GetLiveAppsResponse, error) {
	live, err := h.store.Live(ctx, r.GetUids(), int16(app.Spec_DESIRED_STATE_STOPPED))
	if err != nil {
		return nil, err
	}
	answer := &enginev1.GetLiveAppsResponse{}
	for _, one := range live {
		answer.Apps = append(answer.Apps, &enginev1.LiveApp{
			Uid: one.UID, Revision: uint64(one.Revision), Id: idOf(one.Key), Cluster: one.Cluster, Others: one.Others, //nolint:gosec // counts from 1
		})
	}
	return answer, nil
}
