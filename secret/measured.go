package secret

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/secret/entry"
)

// newCalls makes the counter of calls of backends.
func newCalls(provider metric.MeterProvider) (metric.Int64Counter, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	const name = "flyte.secrets.calls"
	calls, err := provider.Meter("github.com/flyte-binary/flyte-binary/secret").Int64Counter(name,
		metric.WithDescription("calls of the backends that store secrets, by backend, operation and outcome"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return calls, nil
}

// measured counts the calls of a backend.
type measured struct {
	backend Backend
	name    string
	calls   metric.Int64Counter
}

var _ Backend = measured{}

func (m measured) count(ctx context.Context, operation string, err error) {
	outcome := "error"
	switch {
	case err == nil:
		outcome = "ok"
	case errors.Is(err, entry.ErrNotFound):
		outcome = "not found"
	case answered(err):
		outcome = "refused"
	}
	m.calls.Add(ctx, 1, metric.WithAttributes(
		attribute.String("backend", m.name), attribute.String("operation", operation), attribute.String("outcome", outcome)))
}

// answered reports whether an error is an answer of a backend, and not the lack of one.
func answered(err error) bool {
	var large entry.TooLargeError
	return errors.Is(err, entry.ErrNotFound) || errors.Is(err, entry.ErrExists) || errors.Is(err, entry.ErrConflict) ||
		errors.Is(err, entry.ErrBadToken) || errors.As(err, &large)
}

// Create implements Backend.
func (m measured) Create(ctx context.Context, id entry.ID, content entry.Content) error {
	err := m.backend.Create(ctx, id, content)
	m.count(ctx, "create", err)
	return err
}

// Update implements Backend.
func (m measured) Update(ctx context.Context, id entry.ID, content entry.Content) error {
	err := m.backend.Update(ctx, id, content)
	m.count(ctx, "update", err)
	return err
}

// Describe implements Backend.
func (m measured) Describe(ctx context.Context, id entry.ID) (entry.Metadata, error) {
	about, err := m.backend.Describe(ctx, id)
	m.count(ctx, "describe", err)
	return about, err
}

// Delete implements Backend.
func (m measured) Delete(ctx context.Context, id entry.ID) error {
	err := m.backend.Delete(ctx, id)
	m.count(ctx, "delete", err)
	return err
}

// List implements Backend.
func (m measured) List(ctx context.Context, scope entry.Scope, token string, limit int) (entry.Page, error) {
	page, err := m.backend.List(ctx, scope, token, limit)
	m.count(ctx, "list", err)
	return page, err
}

// Value implements Backend.
func (m measured) Value(ctx context.Context, id entry.ID) (entry.Content, error) {
	content, err := m.backend.Value(ctx, id)
	m.count(ctx, "value", err)
	return content, err
}
