// Package find serves RunQueryService: it finds, counts and suggests runs by the language of runs/query.
package find

import (
	"context"
	"errors"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/query"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	maxCount       = 1000 // runs that are counted
	maxSuggestions = 10
	standardLimit  = 50
	maxLimit       = 200
)

// Reader answers queries; queries.Reader is one.
type Reader interface {
	Find(ctx context.Context, ask queries.Ask) (*queries.Page, error)
	Count(ctx context.Context, ask queries.Ask, most int) (count int, more bool, err error)
	Suggest(ctx context.Context, scope schema.Scope, key query.Key, part string, limit int) ([]string, error)
}

// Inputs reads the beginnings of inputs; inputpreview.Reader does.
type Inputs interface {
	Read(ctx context.Context, action int64, uri string) (inputpreview.Preview, error)
}

// Finder serves RunQueryService. All fields but Tracked are required.
type Finder struct {
	// Runs are those of the installation.
	Runs Source
	// Tracked are those that clients report; nil if there are none.
	Tracked *Source
	Clock   clock.Clock
}

// Source is where runs of one kind and their inputs are read.
type Source struct {
	Reader
	Inputs
}

var _ insightv1connect.RunQueryServiceHandler = (*Finder)(nil)

var orders = map[insightv1.RunOrder]queries.Order{
	insightv1.RunOrder_RUN_ORDER_UNSPECIFIED: queries.Newest,
	insightv1.RunOrder_RUN_ORDER_OLDEST:      queries.Oldest,
	insightv1.RunOrder_RUN_ORDER_UPDATED:     queries.Updated,
	insightv1.RunOrder_RUN_ORDER_LONGEST:     queries.Longest,
	insightv1.RunOrder_RUN_ORDER_SHORTEST:    queries.Shortest,
}

// QueryRuns implements insightv1connect.RunQueryServiceHandler.
func (f *Finder) QueryRuns(ctx context.Context, r *insightv1.QueryRunsRequest) (*insightv1.QueryRunsResponse, error) {
	ask, err := f.ask(ctx, r.GetProjectId(), r.GetQuery())
	if err != nil {
		return nil, err
	}
	var known bool
	if ask.Order, known = orders[r.GetOrder()]; !known {
		return nil, rpc.InvalidArgument("order", "there is no order %d", r.GetOrder())
	}
	ask.Limit, ask.Token, ask.Untriggered = r.GetLimit(), r.GetToken(), r.GetUntriggered()
	switch {
	case ask.Limit == 0:
		ask.Limit = standardLimit
	case ask.Limit > maxLimit:
		return nil, rpc.InvalidArgument("limit", "must be at most %d, got %d", maxLimit, ask.Limit)
	}
	source, err := f.source(r.GetTracked())
	if err != nil {
		return nil, err
	}
	page, err := source.find(ctx, ask)
	if err != nil {
		return nil, err
	}
	response := &insightv1.QueryRunsResponse{Token: page.Token, OrderOfNewest: page.Bounded}
	if !page.Until.IsZero() {
		response.LookedUntil = timestamppb.New(page.Until)
	}
	for i := range page.Runs {
		run, err := protomap.Run(&page.Runs[i].Action, page.Runs[i].Labels)
		if err != nil {
			return nil, err
		}
		response.Runs = append(response.Runs, run)
	}
	return response, nil
}

// CountRuns implements insightv1connect.RunQueryServiceHandler.
func (f *Finder) CountRuns(ctx context.Context, r *insightv1.CountRunsRequest) (*insightv1.CountRunsResponse, error) {
	ask, err := f.ask(ctx, r.GetProjectId(), r.GetQuery())
	if err != nil {
		return nil, err
	}
	source, err := f.source(r.GetTracked())
	if err != nil {
		return nil, err
	}
	if len(inputTerms(ask.Query)) > 0 {
		ask.Order, ask.Limit = queries.Newest, maxCount
		page, err := source.find(ctx, ask)
		if err != nil {
			return nil, err
		}
		return &insightv1.CountRunsResponse{Count: uint32(len(page.Runs)), More: page.Token != ""}, nil //nolint:gosec // a count
	}
	count, more, err := source.Count(ctx, ask, maxCount)
	if err != nil {
		return nil, err
	}
	return &insightv1.CountRunsResponse{Count: uint32(count), More: more}, nil //nolint:gosec // a count
}

// SuggestValues implements insightv1connect.RunQueryServiceHandler.
func (f *Finder) SuggestValues(ctx context.Context, r *insightv1.SuggestValuesRequest) (*insightv1.SuggestValuesResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	key, known := query.KeyOf(r.GetKey())
	if !known {
		return nil, rpc.InvalidArgument("key", "there is no key %q", r.GetKey())
	}
	source, err := f.source(r.GetTracked())
	if err != nil {
		return nil, err
	}
	values, err := source.Suggest(ctx, scope, key, r.GetPart(), maxSuggestions)
	if err != nil {
		return nil, err
	}
	return &insightv1.SuggestValuesResponse{Values: values}, nil
}

// source is where runs of a kind are read. A server without tracked runs has none to find.
func (f *Finder) source(tracked bool) (Source, error) {
	switch {
	case !tracked:
		return f.Runs, nil
	case f.Tracked == nil:
		return Source{}, rpc.Unimplemented("this server does not store tracked runs")
	default:
		return *f.Tracked, nil
	}
}

// ask is a query of the caller.
func (f *Finder) ask(ctx context.Context, id *common.ProjectIdentifier, text string) (queries.Ask, error) {
	scope, err := placeOf(id)
	if err != nil {
		return queries.Ask{}, err
	}
	node, err := query.Parse(text)
	var problem *query.SyntaxError
	if errors.As(err, &problem) {
		return queries.Ask{}, rpc.InvalidArgument("query", "%s", problem.Error())
	}
	if err != nil {
		return queries.Ask{}, err
	}
	return queries.Ask{Scope: scope, Query: node, Text: text, Order: queries.Newest, Now: f.Clock.Now(), Me: caller.Subject(ctx)}, nil
}

func placeOf(id *common.ProjectIdentifier) (schema.Scope, error) {
	switch {
	case id.GetName() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.name", "is required")
	case id.GetDomain() == "":
		return schema.Scope{}, rpc.InvalidArgument("project_id.domain", "is required")
	}
	return schema.Scope{Project: id.GetName(), Domain: id.GetDomain()}, nil
}
