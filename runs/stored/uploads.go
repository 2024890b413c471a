package stored

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// Uploads serves what other services ask EngineService about stored bytes.
type Uploads struct{ Guard *Guard }

// AdmitUpload implements enginev1connect.EngineServiceHandler.
func (u *Uploads) AdmitUpload(ctx context.Context, r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error) {
	followed, err := u.Guard.EnterUpload(ctx, r.GetProject(), r.GetBytes(), r.GetArrived())
	if err != nil {
		return nil, err
	}
	return &enginev1.AdmitUploadResponse{Followed: followed}, nil
}

// GetStored implements enginev1connect.EngineServiceHandler.
func (u *Uploads) GetStored(ctx context.Context, r *enginev1.GetStoredRequest) (*enginev1.GetStoredResponse, error) {
	use, measured, err := u.Guard.Use(ctx, r.GetProject())
	if err != nil {
		return nil, err
	}
	if !measured {
		use.Most, use.Setting = u.Guard.config.limit(r.GetProject())
	}
	response := &enginev1.GetStoredResponse{Setting: use.Setting, Most: use.Most, Used: use.Used}
	if !use.MeasuredAt.IsZero() {
		response.MeasuredAt = timestamppb.New(use.MeasuredAt)
	}
	return response, nil
}
