package audit

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/access/store"
	accessv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Handler serves AuditService.
type Handler struct {
	accessv1connect.UnimplementedAuditServiceHandler
	Store *store.Store
	Clock clock.Clock
}

// The sizes of pages.
const (
	pageDefault = 100
	pageMost    = 1000
)

// SearchAudit implements AuditServiceHandler. The authoriser has decided about the scope.
func (h *Handler) SearchAudit(ctx context.Context, request *accessv1.SearchAuditRequest) (*accessv1.SearchAuditResponse, error) {
	limit := pageDefault
	if request.GetLimit() > 0 {
		limit = int(min(request.GetLimit(), pageMost))
	}
	filter := store.AuditFilter{
		Subject: request.GetSubject(), Permission: request.GetPermission(), Outcome: request.GetOutcome(),
		Project: request.GetScope().GetProject(), Domain: request.GetScope().GetDomain(), Limit: limit + 1,
	}
	if from := request.GetFrom(); from != nil {
		filter.From = from.AsTime()
	}
	if until := request.GetUntil(); until != nil {
		filter.Until = until.AsTime()
	}
	if request.After != nil {
		if request.GetToken() != "" {
			return nil, rpc.InvalidArgument("token", "must be empty together with after")
		}
		filter.OldestFirst, filter.After, filter.Limit = true, request.GetAfter(), limit
	}
	if token := request.GetToken(); token != "" {
		before, err := strconv.ParseInt(token, 36, 64)
		if err != nil || before < 1 {
			return nil, rpc.InvalidArgument("token", "is not the token of a page of this list")
		}
		filter.Before = before
	}
	events, err := h.Store.SearchAudit(ctx, filter)
	if err != nil {
		return nil, err
	}
	response := &accessv1.SearchAuditResponse{}
	if len(events) > limit {
		events = events[:limit]
		response.Token = strconv.FormatInt(events[limit-1].Sequence, 36)
	}
	for _, e := range events {
		response.Events = append(response.Events, messageIn(filter, e))
	}
	response.Unfinished, err = h.unfinished(ctx, request, filter)
	return response, err
}

// slow is after how long a change that was begun counts as unfinished. Changes end within seconds.
const slow = time.Minute

// unfinished are the changes of which it is not known whether they were made, on the first page of a list that shows them.
func (h *Handler) unfinished(ctx context.Context, request *accessv1.SearchAuditRequest, filter store.AuditFilter) (all []*accessv1.AuditEvent, err error) {
	if request.GetToken() != "" || request.After != nil || filter.Outcome != "" && filter.Outcome != lost.Outcome {
		return nil, nil
	}
	events, err := h.Store.OpenAudit(ctx, filter, h.Clock.Now().Add(-slow))
	for _, e := range events {
		e.Outcome, e.Error = lost.Outcome, "the call was begun and has not ended: the change may have been made or not"
		all = append(all, messageIn(filter, e))
	}
	return all, err
}

// messageIn is an event in the answer to a search, which may be about one place.
func messageIn(filter store.AuditFilter, e store.AuditEvent) *accessv1.AuditEvent {
	if filter.Project != "" || filter.Domain != "" {
		e = narrow(e, filter.Project, filter.Domain)
	}
	return messageOf(e)
}

func messageOf(e store.AuditEvent) *accessv1.AuditEvent {
	return &accessv1.AuditEvent{
		Sequence: e.Sequence, At: timestamppb.New(e.At), Kind: e.Kind, Subject: e.Subject, Credential: e.Credential, Peer: e.Peer,
		Procedure: e.Procedure, Permission: e.Permission, Resources: e.Resources, Outcome: e.Outcome, Error: e.Error, RequestId: e.RequestID,
		UserAgent: e.UserAgent, Hash: hex.EncodeToString(e.Hash),
	}
}

// VerifyAudit implements AuditServiceHandler.
func (h *Handler) VerifyAudit(ctx context.Context, _ *accessv1.VerifyAuditRequest) (*accessv1.VerifyAuditResponse, error) {
	result, err := Verify(ctx, h.Store)
	if err != nil {
		return nil, err
	}
	return &accessv1.VerifyAuditResponse{
		Checked: result.Checked, BrokenAt: result.BrokenAt, Problem: result.Problem, Last: result.Last, Hash: hex.EncodeToString(result.Hash),
	}, nil
}
