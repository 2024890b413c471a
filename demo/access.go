package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/access"
	"github.com/flyte-binary/flyte-binary/demo/node/pki"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/manager/port"
)

// people are the accounts of a demo with access control, each with what it may do everywhere. The first is the operator.
var people = []struct{ name, role string }{{"admin", ""}, {"contributor", "contributor"}, {"viewer", "viewer"}}

// passwordLength is how much of a secret makes a password that people can copy.
const passwordLength = 16

// password is that of an account. It stays the same as long as the data directory does.
func (d *demo) password(name string) (string, error) {
	secret, err := d.dir.Secret("password-" + name)
	if err != nil {
		return "", err
	}
	return secret[:passwordLength], nil
}

// tls is the directory of the certificate with which the port of a demo with access control speaks to clients.
func (d *demo) tls() string { return filepath.Join(d.dir.Secrets(), "tls") }

// signIn are the settings without which those of --set about accounts are refused.
func (d *demo) signIn() []string {
	if !d.opts.Access {
		return nil
	}
	return []string{"access.local.enabled=true"}
}

// configureAccess lets people sign in, with --access. Clients present their tokens over TLS alone, so that the port has a certificate;
// it speaks plain text too, for tasks and for browsers, to which loopback is safe. Without access control, a port for other
// machines was asked for by --listen.
func (d *demo) configureAccess(config *configuration.Config) error {
	if !d.opts.Access {
		config.Access.Open = !config.Access.Authenticates() && !port.Loopback(d.listener.Addr())
		return nil
	}
	certificates, err := pki.EnsureCertificates(d.tls(), d.host, d.clock)
	if err != nil {
		return err
	}
	config.Server.TLS = configuration.TLSConfig{CertFile: certificates.ServingCertificate, KeyFile: certificates.ServingKey}
	config.Access.PublicURL = d.url()
	config.Access.Local.Enabled = true
	for _, person := range people {
		password, err := d.password(person.name)
		if err != nil {
			return err
		}
		if person.role == "" {
			config.Access.Local.AdminPassword = password
			continue
		}
		config.Access.Local.Accounts = append(config.Access.Local.Accounts, access.AccountConfig{Name: person.name, Password: password})
		config.Access.Bindings = append(config.Access.Bindings, access.BindingConfig{User: person.name, Role: person.role})
	}
	return nil
}

// keepCertificate replaces the certificate of the port before it expires, until the context ends. The port reads it again by itself.
// Clients need nothing new: they know the authority, which stays.
func (d *demo) keepCertificate(ctx context.Context) {
	if !d.opts.Access {
		return
	}
	pki.Renew(ctx, d.tls(), d.host, d.clock, func(_ pki.Certificates, err error) {
		if err != nil {
			d.log.Error().Err(err).Msg("cannot renew the certificate of the port; retrying later")
		}
	})
}

// clientAccess is how the command line reaches and trusts the port.
func (d *demo) clientAccess() string {
	if !d.opts.Access {
		return "insecure: true"
	}
	return fmt.Sprintf("insecure: false, caCertFilePath: %q, authType: Pkce", filepath.Join(d.tls(), "authority.crt"))
}

// toolsConfig is the path of the configuration for the commands that work on the database.
func (d *demo) toolsConfig() string { return filepath.Join(d.dir.Secrets(), "installation.yaml") }

// writeToolsConfig lets flyte-binary access, keys and audit be tried on a demo with access control.
func (d *demo) writeToolsConfig() error {
	if !d.opts.Access {
		return nil
	}
	all, tools := configuration.Redacted(d.config.Access), map[string]any{}
	for _, key := range []string{"publicURL", "ask", "issuers", "keys", "roles", "bindings"} {
		tools[key] = all[key]
	}
	tools["local"] = map[string]any{"enabled": true} // no passwords: the accounts are in the database
	content, err := yaml.Marshal(map[string]any{"database": map[string]any{"url": d.postgres.DSN()}, "access": tools})
	if err != nil {
		return fmt.Errorf("write the configuration for flyte-binary access: %w", err)
	}
	content = append([]byte("# For flyte-binary access, keys and audit, while the demo in this directory runs.\n"), content...)
	if err := os.WriteFile(d.toolsConfig(), content, 0o600); err != nil {
		return fmt.Errorf("write the configuration for flyte-binary access: %w", err)
	}
	return nil
}

// announceAccess says who can sign in, and where.
func (d *demo) announceAccess() {
	if !d.opts.Access {
		return
	}
	d.screen.Line("  sign in     %s/v2, or with the first flyte command; as", d.url())
	for _, person := range people {
		password, err := d.password(person.name)
		if err != nil {
			password = "?" // it was read before
		}
		d.screen.Line("              %-12s password %s", person.name, password)
	}
	d.screen.Line("  administer  flyte-binary access, keys or audit ... --config %s", d.toolsConfig())
}
