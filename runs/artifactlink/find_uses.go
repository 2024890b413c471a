package artifactlink

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// UsesLeaseName is the lease of the loop that finds uses.
const UsesLeaseName = "artifact-uses"

// inputsAtOnce is how many inputs one request names.
const inputsAtOnce = 100

// Finder reads inputs; the client of ArtifactRegistryService is one.
type Finder interface {
	FindUses(ctx context.Context, r *enginev1.FindUsesRequest) (*enginev1.FindUsesResponse, error)
}

// UnreadList is the list of inputs to read; worklists.Unread is one.
type UnreadList interface {
	Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]worklists.UnreadInputs, error)
	Postpone(ctx context.Context, ids []int64, next []time.Time) error
	Read(ctx context.Context, ids []int64, found []worklists.FoundUse) error
}

// UseDeps are the dependencies of the loop that finds uses.
type UseDeps struct {
	List   UnreadList
	Finder Finder
	Leases leased.Leases
	Clock  clock.Clock
	Logger zerolog.Logger
}

// NewUseLoop returns the loop that has the inputs of new actions read for the artifacts among them.
func NewUseLoop(config Config, deps UseDeps) *leased.Loop {
	u := &unread{config, deps}
	return &leased.Loop{
		Leases: deps.Leases, Name: UsesLeaseName, Length: config.Lease, Logger: deps.Logger,
		Work: leased.Every(deps.Clock, config.UsesEvery, u.pass),
	}
}

type unread struct {
	config Config
	deps   UseDeps
}

func (u *unread) pass(ctx context.Context) error {
	_, err := leased.Drain(inputsAtOnce, func(size int) (int, error) { return u.read(ctx, size) })
	return err
}

// read has some inputs read and records what was found. A crash at any point repeats it.
func (u *unread) read(ctx context.Context, size int) (int, error) {
	now := u.deps.Clock.Now()
	pending, err := u.deps.List.Pending(ctx, now, backoff.Longest(u.config.Backoff.Max), size)
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	request := &enginev1.FindUsesRequest{}
	for _, inputs := range pending {
		request.Actions = append(request.Actions, &enginev1.ActionInputs{ActionId: inputs.Action.Proto(), InputUri: inputs.InputURI})
	}
	response, err := u.find(ctx, request)
	if err != nil {
		return 0, err
	}
	var done, later []int64
	var found []worklists.FoundUse
	var next []time.Time
	for i, inputs := range pending {
		answer := response.GetActions()[i]
		if answer.GetUnavailable() {
			later = append(later, inputs.ID)
			next = append(next, now.Add(backoff.After(u.config.Backoff.First, u.config.Backoff.Max, inputs.Tries+1)))
			continue
		}
		done = append(done, inputs.ID)
		for _, id := range answer.GetArtifacts() {
			key := id.GetKey()
			found = append(found, worklists.FoundUse{ActionID: inputs.ID, ArtifactKey: schema.ArtifactKey{
				Project: key.GetProject(), Domain: key.GetDomain(), Name: key.GetName(), Version: id.GetVersion(),
			}})
		}
	}
	failpoint.Here("artifacts.before-uses")
	if len(later) > 0 {
		u.deps.Logger.Warn().Int("actions", len(later)).Msg("reading inputs to find their artifacts failed; retrying")
		if err := u.deps.List.Postpone(ctx, later, next); err != nil {
			return 0, err
		}
	}
	return len(pending), u.deps.List.Read(ctx, done, found)
}

func (u *unread) find(ctx context.Context, request *enginev1.FindUsesRequest) (*enginev1.FindUsesResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, u.config.Timeout)
	defer cancel()
	return u.deps.Finder.FindUses(ctx, request)
}
