package manager

// Routes are the plain routes of the port.
func (s *Server) Routes() []string { return s.mux.Routes() }
