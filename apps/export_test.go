package apps

import "context"

// Passes returns the passes of an autoscaler.
func (s *Service) Passes() func(context.Context) error { return (&pass{handler: s.handler}).run }

// DeleteLogs makes a pass of the deletion of logs.
func (s *Service) DeleteLogs(ctx context.Context) error { return s.cleaner.pass(ctx) }
