package notifications

import (
	"fmt"
	"net/mail"
	"net/textproto"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/notification"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	maxRules      = 50       // of one run
	maxReceivers  = 50       // of one e-mail
	maxTemplate   = 64 << 10 // bytes of one template
	maxSubject    = 1000     // bytes
	noHTML        = "No HTML body"
	maxURL        = 2000
	maxHeaderSize = 4000
)

// checkDelivery refuses a delivery that could never be made. field is its path in the request.
func checkDelivery(field string, template *notification.DeliveryConfigTemplate, paused bool) error {
	if webhook := template.GetWebhook(); webhook != nil {
		if err := checkWebhook(field+".webhook", webhook, paused); err != nil {
			return err
		}
	}
	if email := template.GetEmail(); email != nil {
		return checkEmail(field+".email", email, paused)
	}
	if template.GetWebhook() == nil {
		return rpc.InvalidArgument(field, "requires a webhook or an email")
	}
	return nil
}

func checkWebhook(field string, hook *notification.WebhookDeliveryTemplate, paused bool) error {
	if err := checkText(field+".url", hook.GetUrl(), maxURL, paused); err != nil {
		return err
	}
	plain := placeholder.ReplaceAllString(hook.GetUrl(), "x")
	target, err := url.Parse(plain)
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		return rpc.InvalidArgument(field+".url", "must be an http or https URL with a host")
	}
	if target.User != nil {
		return rpc.InvalidArgument(field+".url", "must not have a user or a password; use a header")
	}
	// Whatever a variable says, the host is the one that was written down.
	if start := placeholder.FindStringIndex(hook.GetUrl()); start != nil {
		if strings.Count(hook.GetUrl()[:start[0]], "/") < 3 && !strings.Contains(hook.GetUrl()[:start[0]], "?") {
			return rpc.InvalidArgument(field+".url", "must not contain a template variable before the path")
		}
	}
	if method, ok := methodName(hook.GetMethod()); !ok {
		return rpc.InvalidArgument(field+".method", "%s is not supported", method)
	}
	seen := map[string]bool{}
	for name, value := range hook.GetHeaders() {
		if err := checkHeader(field+".headers", name, value, paused); err != nil {
			return err
		}
		if canonical := textproto.CanonicalMIMEHeaderKey(name); seen[canonical] {
			return rpc.InvalidArgument(field+".headers", "has header %s more than once", canonical)
		} else {
			seen[canonical] = true
		}
	}
	return checkText(field+".body_template", hook.GetBodyTemplate(), maxTemplate, paused)
}

// methodName is the method on the wire. CONNECT and TRACE do not carry a message to a service.
func methodName(method notification.HttpMethod) (string, bool) {
	name := strings.TrimPrefix(method.String(), "HTTP_METHOD_")
	switch method {
	case notification.HttpMethod_HTTP_METHOD_UNSPECIFIED, notification.HttpMethod_HTTP_METHOD_CONNECT, notification.HttpMethod_HTTP_METHOD_TRACE:
		return name, false
	}
	_, known := notification.HttpMethod_name[int32(method)]
	return name, known
}

// ours are headers that the transport sets, or that tell the receiver who calls.
var ours = map[string]bool{
	"Host": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Upgrade": true, "Te": true, "Trailer": true,
	"Keep-Alive": true, "Proxy-Authorization": true, "Proxy-Connection": true, "Expect": true, "User-Agent": true,
	"Idempotency-Key": true, "X-Flyte-Delivery": true, "Accept-Encoding": true,
}

func checkHeader(field, name, value string, paused bool) error {
	if !httpguts.ValidHeaderFieldName(name) {
		return rpc.InvalidArgument(field, "%q is not the name of a header", name)
	}
	if ours[textproto.CanonicalMIMEHeaderKey(name)] {
		return rpc.InvalidArgument(field, "the header %s is set by the server", name)
	}
	if !httpguts.ValidHeaderFieldValue(value) || len(value) > maxHeaderSize {
		return rpc.InvalidArgument(field, "the value of %s must be one line without control characters", name)
	}
	return checkTemplate(field, value, paused)
}

func checkEmail(field string, email *notification.EmailDeliveryTemplate, paused bool) error {
	receivers := 0
	for name, list := range map[string][]*notification.EmailRecipient{"to": email.GetTo(), "cc": email.GetCc(), "bcc": email.GetBcc()} {
		for i, one := range list {
			if _, err := addressOf(one); err != nil {
				return rpc.InvalidArgument(fmt.Sprintf("%s.%s[%d]", field, name, i), "%s", err.Error())
			}
			receivers++
		}
	}
	if receivers > maxReceivers {
		return rpc.InvalidArgument(field, "has %d receivers; at most %d are allowed", receivers, maxReceivers)
	}
	if email.GetProviderTemplate() != nil {
		return rpc.InvalidArgument(field+".provider_template", "is not supported: this server sends mail itself; use inline")
	}
	inline := email.GetInline()
	if strings.ContainsAny(inline.GetSubject(), "\r\n") {
		return rpc.InvalidArgument(field+".inline.subject", "must be one line")
	}
	for _, part := range []struct {
		name, text string
		limit      int
	}{
		{"subject", inline.GetSubject(), maxSubject}, {"html_template", inline.GetHtmlTemplate(), maxTemplate},
		{"text_template", inline.GetTextTemplate(), maxTemplate},
	} {
		if err := checkText(field+".inline."+part.name, part.text, part.limit, paused); err != nil {
			return err
		}
	}
	return nil
}

// addressOf is the address of a receiver. It allows no second address and no line break, however they are written.
func addressOf(one *notification.EmailRecipient) (*mail.Address, error) {
	parsed, err := mail.ParseAddress(one.GetAddress())
	if err != nil || strings.ContainsAny(one.GetAddress()+one.GetName(), "\r\n\x00") || strings.ContainsAny(parsed.Address, " \t<>,;") {
		return nil, fmt.Errorf("%q is not an e-mail address", one.GetAddress())
	}
	if one.GetName() != "" {
		parsed.Name = one.GetName()
	}
	return parsed, nil
}

func checkText(field, text string, limit int, paused bool) error {
	if len(text) > limit {
		return rpc.InvalidArgument(field, "has %d bytes; at most %d are allowed", len(text), limit)
	}
	return checkTemplate(field, text, paused)
}
