package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
)

const (
	webFetch = "web_fetch"
	// maxPageBytes is how much of a page is read, after decompression.
	maxPageBytes = 4 << 20
)

type webFetchArgs struct {
	URL string `json:"url"`
	Raw bool   `json:"raw"`
}

func (s *Set) webFetchTool() Tool {
	return Tool{
		Definition: Definition{
			Name:        webFetch,
			Description: "Fetch a page of the public web and return its text; HTML becomes Markdown. Only reading (GET), no log-in.",
			Parameters: object(map[string]any{
				"url": map[string]any{"type": "string", "minLength": 1, "maxLength": 4096, "description": "Address, http or https."},
				"raw": boolean("Return HTML as it is."),
			}, "url"),
		},
		Toolset:  toolsetWeb,
		Approval: ApprovalPerHost,
		Plan: func(c Call) (Plan, error) {
			a, err := decode[webFetchArgs](c)
			if err != nil {
				return Plan{}, err
			}
			u, err := parseWebURL(a.URL)
			if err != nil {
				return Plan{}, err
			}
			return Plan{Summary: "fetch " + oneLine(u.String()), Subject: u.Scheme + "://" + strings.ToLower(u.Host)}, nil
		},
		Handler: s.webFetch,
	}
}

func parseWebURL(raw string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil {
		return nil, fmt.Errorf("%q is no address: write it like https://example.org/page", clip(oneLine(raw), 200))
	}
	u.Scheme = strings.ToLower(u.Scheme)
	u.Fragment = ""
	if err := checkURL(u); err != nil {
		return nil, err
	}
	return u, nil
}

func (s *Set) webFetch(ctx context.Context, c Call) (Result, error) {
	a, err := decode[webFetchArgs](c)
	if err != nil {
		return Result{}, err
	}
	u, err := parseWebURL(a.URL)
	if err != nil {
		return Result{}, err
	}
	client, done, err := s.webClient()
	if err != nil {
		return Result{}, err
	}
	defer done()
	// The network's own time, like that of every other connection.
	ctx, cancel := context.WithTimeout(ctx, webPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return Result{}, err
	}
	req.Header.Set("User-Agent", "hermes-agent/1")
	req.Header.Set("Accept", "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5")
	resp, err := client.Do(req)
	if err != nil {
		return webFailure(ctx, u, err)
	}
	defer resp.Body.Close()
	return s.webResult(resp, a.Raw)
}

// webFailure words why nothing was fetched. A redirection to another site is an answer.
func webFailure(ctx context.Context, u *url.URL, err error) (Result, error) {
	var elsewhere *redirectError
	var ue *url.Error
	switch {
	case errors.As(err, &elsewhere):
		return Result{Content: fmt.Sprintf("[%s redirects to %s; fetch that if it is what you want]", oneLine(u.String()), oneLine(elsewhere.to))}, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Result{}, fmt.Errorf("%s did not answer within %s", u.Host, webPatience)
	case ctx.Err() != nil:
		return Result{}, errors.New("cancelled")
	case errors.As(err, &ue):
		err = ue.Err
	}
	return Result{}, fmt.Errorf("%s could not be fetched: %w", u.Host, err)
}

func (s *Set) webResult(resp *http.Response, raw bool) (Result, error) {
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPageBytes+1))
	if err != nil && len(body) == 0 {
		return Result{}, fmt.Errorf("%s broke off: %w", resp.Request.URL.Host, err)
	}
	cut := len(body) > maxPageBytes || err != nil
	body = body[:min(len(body), maxPageBytes)]
	if kind == "" {
		kind, _, _ = strings.Cut(http.DetectContentType(body), ";")
	}
	page := isHTML(kind)
	if !page && !isText(kind) {
		return Result{}, fmt.Errorf("%s is of type %s, which is not text", oneLine(resp.Request.URL.String()), clip(oneLine(kind), 100))
	}
	content := decodeCharset(body, resp.Header.Get("Content-Type"))
	if page && !raw {
		content = readableHTML(content, resp.Request.URL)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "[%s %s]\n\n%s", resp.Status, oneLine(resp.Request.URL.String()), strings.TrimSpace(sanitize(content)))
	if cut {
		fmt.Fprintf(&out, "\n[cut here: only the first %d bytes were read]", len(body))
	}
	return Result{Content: s.bounded(out.String()), IsError: resp.StatusCode >= http.StatusBadRequest}, nil
}

func isHTML(kind string) bool { return kind == "text/html" || kind == "application/xhtml+xml" }

func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/ld+json", "application/x-ndjson", "application/sql", "application/graphql":
		return true
	}
	return false
}

// decodeCharset makes UTF-8 of what the header, the page or its first bytes say the character set is.
func decodeCharset(body []byte, contentType string) string {
	r, err := charset.NewReader(bytes.NewReader(body), contentType)
	if err != nil {
		return readable(body)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return readable(body)
	}
	return readable(text)
}

// readableHTML makes Markdown of a page. One that the converter cannot read, for example because it is nested without
// end, gives its bare text.
func readableHTML(page string, base *url.URL) string {
	text, err := htmltomarkdown.ConvertString(page, converter.WithDomain(base.Scheme+"://"+base.Host))
	if err != nil {
		text = bareText(page)
	}
	if title := titleOf(page); title != "" && !strings.Contains(text, title) {
		text = "# " + title + "\n\n" + text
	}
	return text
}

// bareText is the text between tags, without scripts and styles.
func bareText(page string) string {
	var out strings.Builder
	skip := false
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return out.String()
		case html.StartTagToken, html.EndTagToken:
			name, _ := z.TagName()
			if tag := string(name); tag == "script" || tag == "style" {
				skip = kind == html.StartTagToken
			}
		case html.TextToken:
			if text := strings.TrimSpace(string(z.Text())); !skip && text != "" {
				out.WriteString(html.UnescapeString(text) + "\n")
			}
		}
	}
}

func titleOf(page string) string {
	for z := html.NewTokenizer(strings.NewReader(page)); ; {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken:
			if name, _ := z.TagName(); string(name) == "title" && z.Next() == html.TextToken {
				return oneLine(strings.TrimSpace(html.UnescapeString(string(z.Text()))))
			} else if string(name) == "body" {
				return ""
			}
		}
	}
}
