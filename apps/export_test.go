package apps

import "context"

// Passes returns the passes of an autoscaler.
func (s *Service) Passes() func(context.Context) error { return (&pass{handler: s.handler}).run }
