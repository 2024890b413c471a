package access

import (
	"cmp"
	"net/url"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func (c ProxyConfig) validate() error {
	var found invalid.Fields
	certificate, token := c.ClientCAFile != "", c.Token
	found.If(certificate && token.Header != "", "token.header: must be empty together with clientCAFile")
	found.If(certificate && len(c.ClientNames) == 0, "clientNames: is required with clientCAFile")
	found.If(!certificate && (len(c.ClientNames) > 0 || c.SubjectHeader+c.NameHeader+c.EmailHeader+c.GroupsHeader != ""),
		"clientCAFile: is required with clientNames and the headers: only a proxy that proves who it is may set them")
	if token.Header == "" {
		found.If(token != (ProxyTokenConfig{}), "token.header: is required with the other keys of token")
		return found.Err()
	}
	found.If(token.Issuer == "", "token.issuer: is required with token.header")
	found.If(token.Audience == "", "token.audience: is required with token.header")
	at, err := url.Parse(token.KeysURL)
	found.If(err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "", "token.keysURL: must be a URL such as https://proxy.example.com/keys, got %q", token.KeysURL)
	return found.Err()
}

// ProxyHeaders are the headers in which the proxy says who calls. They are for the installation alone.
func (c Config) ProxyHeaders() []string {
	switch p := c.Proxy.headers(); {
	case c.Proxy.Token.Header != "":
		return []string{c.Proxy.Token.Header}
	case c.Proxy.Enabled():
		return []string{p.Subject, p.Name, p.Email, p.Groups}
	}
	return nil
}

func (c ProxyConfig) headers() providers.ClaimNames {
	return providers.ClaimNames{
		Subject: cmp.Or(c.SubjectHeader, "X-Auth-Request-User"), Name: cmp.Or(c.NameHeader, "X-Auth-Request-Preferred-Username"),
		Email: cmp.Or(c.EmailHeader, "X-Auth-Request-Email"), Groups: cmp.Or(c.GroupsHeader, "X-Auth-Request-Groups"),
	}
}

// proxyPrefix distinguishes the subjects of the proxy from those of others. Without others it is empty.
func (c Config) proxyPrefix() string {
	if len(c.Issuers) > 0 || c.Local.Enabled {
		return "proxy|"
	}
	return ""
}

// proxyOf is the proxy of the configuration, and the authorities of its certificate; both may be nil.
func proxyOf(config Config, clk clock.Clock, log zerolog.Logger) (providers.Proxy, *certfiles.Authorities, error) {
	switch c := config.Proxy; {
	case c.ClientCAFile != "":
		authorities, err := certfiles.NewAuthorities(c.ClientCAFile, clk, log)
		if err != nil {
			return nil, nil, err
		}
		return providers.NewHeaders(c.headers(), config.proxyPrefix(), authorities, c.ClientNames), authorities, nil
	case c.Token.Header != "":
		proxy, err := providers.NewAssertions(providers.AssertionConfig{
			Header: c.Token.Header, Issuer: c.Token.Issuer, Audience: c.Token.Audience, KeysURL: c.Token.KeysURL, Prefix: config.proxyPrefix(),
			Claims: providers.ClaimNames{
				Subject: cmp.Or(c.Token.SubjectClaim, "sub"), Name: cmp.Or(c.Token.NameClaim, "name"),
				Email: cmp.Or(c.Token.EmailClaim, "email"), Groups: cmp.Or(c.Token.GroupsClaim, "groups"),
			},
		}, clk)
		return proxy, nil, err
	}
	return nil, nil, nil
}
