package notifications

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	netmail "net/mail"
	"os"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// mailer sends e-mail.
type mailer struct {
	config  EmailConfig
	options []mail.Option
	from    *netmail.Address
	clock   clock.Clock
}

func newMailer(config Config, clk clock.Clock) (*mailer, error) {
	c := config.Email
	if c.Host == "" {
		return &mailer{}, nil
	}
	from, err := netmail.ParseAddress(c.From)
	if err != nil {
		return nil, fmt.Errorf("from: %w", err)
	}
	settings := &tls.Config{ServerName: c.Host, MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		body, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("caFile: %w", err)
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(body) {
			return nil, errors.New("caFile: has no certificate")
		}
	}
	options := []mail.Option{mail.WithPort(c.Port), mail.WithTimeout(config.Timeout), mail.WithTLSConfig(settings), mail.WithoutNoop()}
	switch c.TLS {
	case tlsFull:
		options = append(options, mail.WithSSL())
	case tlsNone:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if c.Username != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.Username), mail.WithPassword(c.Password))
	}
	return &mailer{config: c, options: options, from: from, clock: clk}, nil
}

func (m *mailer) send(ctx context.Context, d *store.Delivery, template *notification.DeliveryConfigTemplate, data *Data) error {
	if m.from == nil {
		return permanent(errors.New("this server has no mail server (notifications.email.host)"))
	}
	message, err := m.message(d, template.GetEmail(), data)
	if err != nil {
		return permanent(err)
	}
	client, err := mail.NewClient(m.config.Host, m.options...)
	if err != nil {
		return err
	}
	err = client.DialAndSendWithContext(ctx, message)
	var refused *mail.SendError
	if errors.As(err, &refused) && refused.ErrorCode() >= 500 && !refused.IsTemp() {
		return permanent(fmt.Errorf("the mail server refused it with code %d", refused.ErrorCode()))
	}
	if err != nil && ctx.Err() != nil {
		return errors.New("the mail server did not answer in time")
	}
	return err
}

// message is the e-mail for one address. All get the same message; only the envelope differs.
func (m *mailer) message(d *store.Delivery, email *notification.EmailDeliveryTemplate, data *Data) (*mail.Msg, error) {
	if email == nil {
		return nil, errors.New("it is no longer an e-mail")
	}
	message := mail.NewMsg()
	message.FromMailAddress(m.from)
	// The address that it is for is in the envelope alone, and the headers name those of to and cc.
	if err := message.Bcc(d.Recipient); err != nil {
		return nil, fmt.Errorf("%q is not an e-mail address", d.Recipient)
	}
	for header, list := range map[string][]*notification.EmailRecipient{"To": email.GetTo(), "Cc": email.GetCc()} {
		if line := addressLine(list); line != "" {
			message.SetGenHeaderPreformatted(mail.Header(header), line)
		}
	}
	inline := email.GetInline()
	message.Subject(inLine(fill(inline.GetSubject(), data, inLine)))
	message.SetDateWithValue(d.CreatedAt)
	_, domain, _ := strings.Cut(m.from.Address, "@")
	message.SetMessageIDWithValue(d.Key + "@" + domain)
	message.SetGenHeader("X-Flyte-Delivery", d.Key)
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	text, html := fill(inline.GetTextTemplate(), data, asIs), ""
	if inline.GetHtmlTemplate() != noHTML {
		html = fill(inline.GetHtmlTemplate(), data, inHTML)
	}
	switch {
	case html == "":
		message.SetBodyString(mail.TypeTextPlain, text)
	case text == "":
		message.SetBodyString(mail.TypeTextHTML, html)
	default:
		message.SetBodyString(mail.TypeTextPlain, text)
		message.AddAlternativeString(mail.TypeTextHTML, html)
	}
	return message, nil
}

// addressLine is the value of a header with addresses, one per line, as the length of lines is limited.
func addressLine(list []*notification.EmailRecipient) string {
	var texts []string
	for _, one := range list {
		if address, err := addressOf(one); err == nil {
			texts = append(texts, address.String())
		}
	}
	return strings.Join(texts, ",\r\n ")
}
