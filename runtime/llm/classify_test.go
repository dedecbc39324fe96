package llm

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strings"
	"testing"
)

// TestClassify is the golden table of acceptance case 102: at least one case for each row, and the orderings of L26. The
// rows that no answer of a server shows are those of TestRowsWithoutAnAnswer.
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
		{"auth-permanent", Failure{Status: 403, Message: "This organization has been disabled."}, ReasonAuthPermanent, "f"},
		{"billing-messages", Failure{Status: 400, Type: "invalid_request_error", Message: "Your credit balance is too low to access the Anthropic API."}, ReasonBilling, "kf"},
		{"overloaded-in-stream", Failure{Code: "overloaded_error", Message: "Overloaded"}, ReasonOverloaded, "r"},
		{"server-error-empty-advisory", Failure{Status: 400, Message: "Model output is empty, please retry"}, ReasonServerError, "r"},
		{"server-error-injected-parameter", Failure{Status: 400, Message: "Unknown parameter: unsupported parameter injected by proxy"}, ReasonServerError, "r"},
		{"overflow-bare-400", Failure{Status: 400, Message: "Bad Request", Large: true}, ReasonContextOverflow, "rc"},
		{"format-bare-400-small", Failure{Status: 400, Message: "Bad Request"}, ReasonFormat, "f"},
		{"overflow-disconnect", Failure{Transport: io.ErrUnexpectedEOF, Large: true}, ReasonContextOverflow, "rc"},
		{"L26-disconnect-while-thinking", Failure{Transport: io.ErrUnexpectedEOF, Large: true, Thinks: true}, ReasonTimeout, "r"},
		{"L26-refused-is-no-overflow", Failure{Transport: &net.OpError{Op: "dial", Err: errors.New("connection refused")}, Large: true}, ReasonTimeout, "r"},
		{"overflow-messages", Failure{Status: 400, Message: "input length and `max_tokens` exceed context limit: 199000 + 16384 > 200000"}, ReasonContextOverflow, "rc"},
		{"overflow-messages-prompt", Failure{Status: 400, Message: "prompt is too long: 201000 tokens > 200000 maximum"}, ReasonContextOverflow, "rc"},
		{"payload-messages", Failure{Code: "request_too_large"}, ReasonPayloadTooLarge, "rc"},
		{"image-too-large", Failure{Status: 400, Message: "image exceeds 5 MB maximum: 6291456 bytes"}, ReasonImageTooLarge, "r"},
		{"image-corrupt", Failure{Status: 400, Message: "Could not process image"}, ReasonImageCorrupt, "r"},
		{"invalid-encrypted-content", Failure{Status: 400, Code: "invalid_encrypted_content"}, ReasonEncryptedContent, "r"},
		{"invalid-encrypted-content-field", Failure{Status: 400, Message: "messages.2: property 'reasoning_content' is unsupported"}, ReasonEncryptedContent, "r"},
		{"reasoning-content-missing", Failure{Status: 400, Message: "Missing reasoning_content in message 2"}, ReasonFormat, "f"},
		{"reasoning-mandatory", Failure{Status: 400, Message: "Reasoning is mandatory for this endpoint and cannot be disabled."}, ReasonReasoningMandatory, "r"},
		{"thinking-signature", Failure{Status: 400, Message: "messages.3.content.0: Invalid `signature` in `thinking` block"}, ReasonThinkingSignature, "r"},
		{"thinking-edited", Failure{Status: 400, Message: "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified"}, ReasonThinkingSignature, "r"},
		{"long-context-tier", Failure{Status: 429, Message: "Extra usage is required for long context requests."}, ReasonLongContextTier, "rc"},
		{"oauth-long-context-beta", Failure{Status: 400, Message: "The long context beta is not yet available for this subscription."}, ReasonLongContextBeta, "r"},
		{"auth-permission", Failure{Code: "permission_error"}, ReasonAuth, "f"},
		{"model-not-found-messages", Failure{Status: 404, Type: "not_found_error", Message: "model: claude-9"}, ReasonModelNotFound, "f"},
	} {
		t.Run(c.id, func(t *testing.T) {
			v := Classify(c.f)
			if v.Reason != c.want || actions(v) != c.actions {
				t.Errorf("Classify(%+v) = %s %q, want %s %q", c.f, v.Reason, actions(v), c.want, c.actions)
			}
		})
	}
}

// TestRowsWithoutAnAnswer: the rows that come from what the client saw itself.
func TestRowsWithoutAnAnswer(t *testing.T) {
	for _, c := range []struct {
		id      string
		v       Verdict
		reason  Reason
		actions string
	}{
		{"timeout (breaker)", breakerVerdict(), ReasonTimeout, "f"},
		{"incomplete_response", verdict(ReasonIncomplete), ReasonIncomplete, "f"},
	} {
		if c.v.Reason != c.reason || actions(c.v) != c.actions {
			t.Errorf("%s: %s %q", c.id, c.v.Reason, actions(c.v))
		}
	}
}

// TestL27 tells a bug of ours from what a server or the network garbled.
func TestL27(t *testing.T) {
	_, unsupported := json.Marshal(func() {}) //nolint:staticcheck // the error is what the case is about
	_, infinite := json.Marshal(math.Inf(1))
	var into struct{ A string }
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a value that cannot be sent":      {fmt.Errorf("encode: %w", unsupported), true},
		"a number that cannot be sent":     {infinite, true},
		"an answer that is not JSON":       {json.Unmarshal([]byte("{"), &into), false},
		"an answer with another shape":     {json.Unmarshal([]byte(`{"A":null,"a":5}`), &into), false},
		"a stream that was cut":            {io.ErrUnexpectedEOF, false},
		"not TLS":                          {tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, false},
		"a certificate":                    {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, false},
		"nothing that is known to be ours": {errors.New("?"), false},
		"nothing":                          {nil, false},
	} {
		if got := IsLocal(c.err); got != c.want {
			t.Errorf("L27 %s: %v", name, got)
		}
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
