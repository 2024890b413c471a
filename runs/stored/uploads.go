package stored

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// Uploads serves what other services ask EngineService about stored bytes.
type Uploads struct{ Guard *Guard }

// AdmitUpload implements enginev1connect.EngineServiceHandler.
func (u *Uploads) AdmitUpload(ctx context.Context, r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error) {
	arrived := map[string]int64{}
	if r.GetArrived() != 0 {
		arrived[""] = r.GetArrived()
	}
	for _, of := range r.GetArrivedOf() {
		arrived[Owner(of.GetCaller())] += of.GetBytes()
	}
	followed, err := u.Guard.EnterUpload(ctx, Upload{
		Project: r.GetProject(), Caller: Owner(r.GetCaller()), URI: r.GetUri(), Size: r.GetBytes(), Arrived: arrived,
	})
	if err != nil {
		return nil, err
	}
	return &enginev1.AdmitUploadResponse{Followed: followed}, nil
}

// GetStored implements enginev1connect.EngineServiceHandler.
func (u *Uploads) GetStored(ctx context.Context, r *enginev1.GetStoredRequest) (*enginev1.GetStoredResponse, error) {
	if r.GetProject() == "" {
		return u.ofCaller(ctx, r.GetCaller())
	}
	use, measured, err := u.Guard.Use(ctx, r.GetProject())
	if err != nil {
		return nil, err
	}
	if !measured {
		use.Most, use.Setting = u.Guard.config.limit(r.GetProject())
	}
	return answer(use.Setting, use.Most, use.Used, use.MeasuredAt), nil
}

func (u *Uploads) ofCaller(ctx context.Context, caller string) (*enginev1.GetStoredResponse, error) {
	use, _, err := u.Guard.OfCaller(ctx, caller)
	if err != nil {
		return nil, err
	}
	return answer(callerSetting, u.Guard.config.CallerBytes, use.Used, use.MeasuredAt), nil
}

func answer(setting string, most, used int64, measured time.Time) *enginev1.GetStoredResponse {
	response := &enginev1.GetStoredResponse{Setting: setting, Most: most, Used: used}
	if !measured.IsZero() {
		response.MeasuredAt = timestamppb.New(measured)
	}
	return response
}
