package manager

// Routes are the plain routes of the port.
func (s *Server) Routes() []string { return s.mux.Routes() }

// Modules are the names of all modules of a process.
func Modules() []string { return modules().Names() }
