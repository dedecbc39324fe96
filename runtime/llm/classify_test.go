package llm

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// TestClassify is the golden table of acceptance case 102: at least one case for each row an OpenAI-compatible server
// can produce, and the orderings of L26.
func TestClassify(t *testing.T) {
	cert := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	alert := &net.OpError{Op: "remote error", Err: tls.AlertError(80)}
	for _, c := range []struct {
		id      string
		f       Failure
		want    Reason
		actions string // r(etryable) c(ompress) k(ey rotation) f(allback)
	}{
		{"auth-401", Failure{Status: 401, Code: "invalid_api_key"}, ReasonAuth, "kf"},
		{"auth-403", Failure{Status: 403, Message: "Forbidden"}, ReasonAuth, "f"},
		{"billing-402", Failure{Status: 402}, ReasonBilling, "kf"},
		{"billing-402-reset-is-rate-limit", Failure{Status: 402, ResetKnown: true}, ReasonRateLimit, "rkf"},
		{"billing-402-reset-wording", Failure{Status: 402, Message: "Usage resets at 12:00"}, ReasonRateLimit, "rkf"},
		{"L26-billing-code-before-429", Failure{Status: 429, Code: "insufficient_quota", Message: "You exceeded your current quota"}, ReasonBilling, "kf"},
		{"L26-billing-code-before-404", Failure{Status: 404, Code: "insufficient_credits"}, ReasonBilling, "kf"},
		{"rate-limit-429", Failure{Status: 429, Code: "rate_limit_exceeded"}, ReasonRateLimit, "rkf"},
		{"rate-limit-in-stream", Failure{Code: "rate_limit_exceeded"}, ReasonRateLimit, "rkf"},
		{"rate-limit-wording", Failure{Message: "Too many requests"}, ReasonRateLimit, "rkf"},
		{"upstream-rate-limit", Failure{Status: 429, Message: "model is temporarily rate-limited upstream"}, ReasonUpstreamRateLimit, "rf"},
		{"upstream-blocked", Failure{Status: 403, HTML: true}, ReasonUpstreamBlocked, "f"},
		{"overloaded-503", Failure{Status: 503}, ReasonOverloaded, "r"},
		{"overloaded-529", Failure{Status: 529}, ReasonOverloaded, "r"},
		{"L26-overload-before-rate-limit", Failure{Status: 429, Message: "The engine is currently overloaded"}, ReasonOverloaded, "r"},
		{"L26-memory-before-usage-limit", Failure{Status: 429, Message: "usage limit: model requires more system memory"}, ReasonOverloaded, "r"},
		{"memory-500", Failure{Status: 500, Message: "CUDA out of memory"}, ReasonOverloaded, "r"},
		{"server-error-500", Failure{Status: 500}, ReasonServerError, "r"},
		{"server-error-502", Failure{Status: 502}, ReasonServerError, "r"},
		{"server-error-in-stream", Failure{Code: "server_error"}, ReasonServerError, "r"},
		{"timeout-408", Failure{Status: 408}, ReasonTimeout, "r"},
		{"timeout-504", Failure{Status: 504}, ReasonTimeout, "r"},
		{"timeout-refused", Failure{Transport: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}, ReasonTimeout, "r"},
		{"timeout-cut", Failure{Transport: io.ErrUnexpectedEOF}, ReasonTimeout, "r"},
		{"timeout-tls-alert", Failure{Transport: alert}, ReasonTimeout, "r"},
		{"certificate", Failure{Transport: fmt.Errorf("post: %w", cert)}, ReasonCertificate, "f"},
		{"L26-certificate-before-tls", Failure{Transport: &net.OpError{Op: "remote error", Err: cert}}, ReasonCertificate, "f"},
		{"overflow-code", Failure{Status: 400, Code: "context_length_exceeded"}, ReasonContextOverflow, "rc"},
		{"overflow-wording", Failure{Status: 400, Message: "This model's maximum context length is 8192 tokens"}, ReasonContextOverflow, "rc"},
		{"L26-validation-before-overflow", Failure{Status: 400, Message: "Invalid value for 'max_tokens': must fit the context window"}, ReasonFormat, "f"},
		{"payload-413", Failure{Status: 413}, ReasonPayloadTooLarge, "rc"},
		{"model-not-found-404", Failure{Status: 404, Code: "model_not_found"}, ReasonModelNotFound, "f"},
		{"model-not-found-400", Failure{Status: 400, Message: "gpt-9 is not a valid model ID"}, ReasonModelNotFound, "f"},
		{"model-entitlement", Failure{Status: 403, Message: "Project does not have access to model gpt-5"}, ReasonModelEntitlement, "kf"},
		{"policy-blocked", Failure{Status: 404, Message: "No endpoints found matching your data policy"}, ReasonProviderPolicy, "f"},
		{"content-policy", Failure{Status: 400, Code: "content_filter"}, ReasonContentPolicy, "f"},
		{"L26-safety-before-status", Failure{Status: 429, Message: "rejected by our safety system"}, ReasonContentPolicy, "f"},
		{"format-400", Failure{Status: 400, Message: "bad"}, ReasonFormat, "f"},
		{"format-422", Failure{Status: 422, Message: "Extra inputs are not permitted"}, ReasonFormat, "f"},
		{"format-redirect", Failure{Status: 307}, ReasonFormat, "f"},
		{"L21-tool-json", Failure{Status: 400, Message: "Failed to parse tool call arguments as JSON"}, ReasonFormat, ""},
		{"role-alternation", Failure{Status: 400, Message: "Conversation roles must alternate user/assistant"}, ReasonRoleAlternation, "f"},
		{"multimodal-tool", Failure{Status: 400, Message: "tool message content must be a string"}, ReasonMultimodalTool, "r"},
		{"grammar", Failure{Status: 400, Message: "failed to parse grammar"}, ReasonGrammarPattern, "r"},
		{"unknown", Failure{Message: "?"}, ReasonUnknown, "r"},
	} {
		t.Run(c.id, func(t *testing.T) {
			v := Classify(c.f)
			if v.Reason != c.want || actions(v) != c.actions {
				t.Errorf("Classify(%+v) = %s %q, want %s %q", c.f, v.Reason, actions(v), c.want, c.actions)
			}
		})
	}
}

func actions(v Verdict) string {
	var b strings.Builder
	for _, a := range []struct {
		on   bool
		name byte
	}{{v.Retryable, 'r'}, {v.Compress, 'c'}, {v.Rotate, 'k'}, {v.Fallback, 'f'}} {
		if a.on {
			b.WriteByte(a.name)
		}
	}
	return b.String()
}

func TestErrorText(t *testing.T) {
	t.Run("L25 names the host", func(t *testing.T) {
		e := &Error{Verdict: verdict(ReasonAuth), Status: 401, Host: "api.example.com", Message: "no"}
		if e.Error() != "auth: 401 from api.example.com: no" {
			t.Error(e)
		}
	})
	t.Run("T5 caps at 2048 without cutting a character", func(t *testing.T) {
		e := &Error{Verdict: verdict(ReasonFormat), Message: strings.Repeat("é", 4000)}
		if s := e.Error(); len(s) > 2048 || len(s) < 2040 || !strings.HasSuffix(s, "é…") {
			t.Errorf("%d bytes ending %q", len(s), s[len(s)-6:])
		}
	})
}

func TestParseErrorBody(t *testing.T) {
	for body, want := range map[string][3]string{
		`{"error":{"message":"m","type":"t","code":"c"}}`: {"c", "t", "m"},
		`{"error":{"message":"m","code":429}}`:            {"429", "", "m"},
		`[{"error":{"message":"m","code":400}}]`:          {"400", "", "m"},
		`{"error":"plain"}`:                               {"", "", "plain"},
		`{"message":"m","type":"t","code":"c"}`:           {"c", "t", "m"},
		`{"detail":"m"}`:                                  {"", "", "m"},
		`{"detail":[{"msg":"x"}]}`:                        {"", "", `[{"msg":"x"}]`},
		`upstream connect error`:                          {"", "", "upstream connect error"},
		``:                                                {"", "", ""},
	} {
		c, ty, m := parseErrorBody([]byte(body))
		if got := [3]string{c, ty, m}; got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
