package notifications

import (
	"net/mail"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
)

// Config says who is notified of what, and how.
type Config struct {
	// Rules are the rules that runs name (NamedRule in the SDK), and those that apply to all runs. notifications.md
	// describes the fields.
	Rules []Rule `config:"rules"`
	// Deliveries are the receivers that rules name (NamedDelivery in the SDK). notifications.md describes the fields.
	Deliveries []Delivery `config:"deliveries"`
	// Email is the mail server.
	Email EmailConfig `config:"email"`
	// Allow lists address ranges that webhooks may call although they are refused by default: this machine, private
	// networks, and link-local addresses, where clouds keep their metadata. Example: 10.20.0.0/16. Default none.
	Allow []string `config:"allow"`
	// Proxy is the URL of an HTTP proxy for all webhooks; the proxy then decides which addresses may be called. The proxy
	// variables of the environment are ignored. Default none.
	Proxy string `config:"proxy" sensitive:"true"`
	// Timeout bounds one try. Default 10 s.
	Timeout time.Duration `config:"timeout"`
	// MaxTries is how many tries a delivery gets before it is given up. Default 15, which takes some hours.
	MaxTries int `config:"maxTries"`
	// Backoff is the pause before a failed delivery is tried again. It varies by a quarter. Defaults 2 s, at most 30 m.
	Backoff backoff.Config `config:"backoff"`
	// Parallel is how many deliveries each replica makes at once, at most a quarter of them to one host. Default 32.
	Parallel int `config:"parallel"`
	// Poll is how often the outbox and the due deliveries are read when nothing is added: for deliveries that are tried again.
	// Default 2 s.
	Poll time.Duration `config:"poll"`
	// Keep is how long deliveries are listed after they were delivered. Default 7 days.
	Keep time.Duration `config:"keep"`
	// KeepDead is how long deliveries that were given up are listed and can be sent again. Default 30 days.
	KeepDead time.Duration `config:"keepDead"`
	// Lease is how long the replica that reads the outbox may be silent before another takes over. Default 6 s.
	Lease time.Duration `config:"lease"`
}

// EmailConfig is the mail server. Without a host no e-mail is sent.
type EmailConfig struct {
	// Host is the name of the mail server. Default none.
	Host string `config:"host"`
	// Port is its port: usually 587 for starttls and 465 for tls. Default 587.
	Port int `config:"port"`
	// TLS is starttls, tls (from the first byte) or none, which is for mail servers on this machine. Default starttls; a
	// server that does not offer it gets no mail.
	TLS string `config:"tls"`
	// CAFile is a PEM file of the authorities that may sign the server's certificate. Default those of the system.
	CAFile string `config:"caFile"`
	// Username signs in. Default none: without signing in.
	Username string `config:"username"`
	// Password signs in.
	Password string `config:"password" sensitive:"true"`
	// From is the sender, as in "Flyte <flyte@example.com>". Required with a host.
	From string `config:"from"`
}

// Rule says which phases are reported to whom.
type Rule struct {
	// Name is the name by which runs ask for the rule. The name off is taken: a run that asks for it is not reported at all.
	Name string `config:"name"`
	// Phases are some of succeeded, failed, aborted, timed_out and paused.
	Phases []string `config:"phases"`
	// Deliveries are names of the list deliveries.
	Deliveries []string `config:"deliveries"`
	// Everywhere applies the rule to all runs, without being asked for.
	Everywhere bool `config:"everywhere"`
	// Projects restricts the rule to projects, or to their domains, as in project/domain. Default all.
	Projects []string `config:"projects"`
}

// Delivery is a receiver.
type Delivery struct {
	// Name is the name by which rules ask for the delivery.
	Name string `config:"name"`
	// Type is webhook, slack, teams or email.
	Type string `config:"type"`
	// URL is the address of a webhook, of Slack or of Teams. It may hold secrets and is not shown.
	URL string `config:"url" sensitive:"whole"`
	// Method is that of a webhook. Default POST.
	Method string `config:"method"`
	// Headers are those of a webhook. They may hold secrets and are not shown.
	Headers map[string]string `config:"headers" sensitive:"whole"`
	// Body is the template of the body of a webhook. Default a JSON object.
	Body string `config:"body"`
	// To are the receivers of an e-mail, as addresses. Required for an e-mail.
	To []string `config:"to"`
	// CC are receivers of a copy.
	CC []string `config:"cc"`
	// BCC are receivers of a copy whom the others do not see.
	BCC []string `config:"bcc"`
	// Title is the template of the title for Teams, and of the subject of an e-mail. It has a default.
	Title string `config:"title"`
	// Text is the template of the text for Slack and Teams, and of an e-mail. It has a default.
	Text string `config:"text"`
	// HTML is the template of an e-mail's HTML part. Default none.
	HTML string `config:"html"`
}

// DefaultConfig notifies as the rules of runs say, public addresses only.
func DefaultConfig() Config {
	return Config{
		Email:   EmailConfig{Port: 587, TLS: tlsStart},
		Timeout: 10 * time.Second, MaxTries: 15, Backoff: backoff.Config{First: 2 * time.Second, Max: 30 * time.Minute},
		Parallel: 32, Poll: 2 * time.Second, Keep: 7 * 24 * time.Hour, KeepDead: 30 * 24 * time.Hour, Lease: 6 * time.Second,
	}
}

// The values of EmailConfig.TLS.
const (
	tlsStart = "starttls"
	tlsFull  = "tls"
	tlsNone  = "none"
)

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	if u, err := url.Parse(c.Proxy); c.Proxy != "" && (err != nil || u.Host == "" || !strings.HasPrefix(u.Scheme, "http")) {
		found.Add("proxy: must be an http or https URL")
	}
	_, err := outbound.Prefixes(c.Allow)
	found.Section("allow", err)
	found.Section("email", c.Email.validate())
	found.Section("backoff", c.Backoff.Validate())
	for _, field := range []struct {
		name  string
		value time.Duration
	}{{"timeout", c.Timeout}, {"poll", c.Poll}, {"keep", c.Keep}, {"keepDead", c.KeepDead}} {
		found.If(field.value <= 0, "%s: must be positive, got %s", field.name, field.value)
	}
	found.If(c.MaxTries < 1, "maxTries: must be positive, got %d", c.MaxTries)
	found.If(c.Parallel < 1, "parallel: must be positive, got %d", c.Parallel)
	found.If(c.Lease < 3*time.Second, "lease: must be at least 3s, got %s", c.Lease)
	_, err = newBook(c)
	found.Section("", err)
	return found.Err()
}

func (c EmailConfig) validate() error {
	var found invalid.Fields
	found.If(!slices.Contains([]string{tlsStart, tlsFull, tlsNone}, c.TLS), "tls: must be starttls, tls or none, got %q", c.TLS)
	if c.Host == "" {
		return found.Err()
	}
	found.If(c.Port < 1 || c.Port > 65535, "port: must be from 1 to 65535, got %d", c.Port)
	if _, err := mail.ParseAddress(c.From); err != nil {
		found.Add("from: must be an address such as flyte@example.com, got %q", c.From)
	}
	found.If(c.Password != "" && c.TLS == tlsNone, "tls: a password is not sent without TLS")
	if c.CAFile != "" {
		if _, err := os.Stat(c.CAFile); err != nil {
			found.Add("caFile: %w", err)
		}
	}
	return found.Err()
}
