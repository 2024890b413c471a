package rpc

import (
	"net/http"

	"connectrpc.com/connect"
)

// GateLinks are the gate and the intake without the rest of the chain.
type GateLinks struct{ links *links }

// Gates makes them.
func Gates(chain Chain) (GateLinks, error) {
	made, err := chain.make()
	return GateLinks{made}, err
}

// Option is the gate, and the part of the intake that is in the chain.
func (g GateLinks) Option() connect.HandlerOption {
	return connect.WithHandlerOptions(connect.WithRequestGate(g.links.gate.request),
		connect.WithConditionalHandlerOptions(g.links.intake.options), connect.WithInterceptors(decodedInterceptor{}))
}

// Before is the part of the intake that is before the handler.
func (g GateLinks) Before(service string, h http.Handler) http.Handler {
	return g.links.intake.before(service, h)
}

// IsInProcess reports whether a request is trusted as one of this process.
var IsInProcess = isInProcess
