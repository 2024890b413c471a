package manager

import (
	"net"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// policy returns the authenticator and the authoriser with which the chain begins: the given ones, else those of an
// installation that is open to everybody or in which everybody has to sign in. open reports that every caller may do everything.
func policy(c configuration.Config, options Options) (authenticator authz.Authenticator, authoriser authz.Authoriser, open bool) {
	authenticator, authoriser = options.Authenticator, options.Authoriser
	closed := c.Target.API() && c.Access.Authenticates()
	open = authoriser == nil && !closed
	switch {
	case authenticator != nil:
	case closed:
		authenticator = access.SignInRequired{}
	default:
		authenticator = authz.Open{}
	}
	if authoriser == nil {
		authoriser = authz.AllowAll{}
	}
	return authenticator, authoriser, open
}

// warnOpen logs that the API has no authentication, and who can reach it.
func warnOpen(log zerolog.Logger, address net.Addr) {
	reach := "every host that reaches this address"
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsLoopback() {
		reach = "every process on this machine"
	}
	log.Warn().Stringer("address", address).Str("auth.mode", configuration.AuthOpen).
		Msg("the API has no authentication: " + reach + " may read and change everything")
}
