package tools

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.216.34": true, "1.1.1.1": true, "8.8.8.8": true, "2606:4700:4700::1111": true, "64:ff9b::101:101": true, "2002:101:101::1": true,
		"127.0.0.1": false, "127.8.9.1": false, "0.0.0.0": false, "0.1.2.3": false, "10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "172.32.0.1": true, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false, "192.0.0.192": false, "168.63.129.16": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fe80::1%eth0": false, "fd00:ec2::254": false, "fc00::1": false, "ff02::1": false, "fec0::1": false, "2001:db8::1": false,
		"::ffff:127.0.0.1": false, "::ffff:10.0.0.1": false, "::ffff:1.1.1.1": true, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::1": false, "2002:a9fe:a9fe::": false, "64:ff9b:1::1": false,
	} {
		if got := publicAddress(netip.MustParseAddr(address)); got != want {
			t.Errorf("publicAddress(%s) = %v", address, got)
		}
	}
	if publicAddress(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestReach(t *testing.T) {
	r, err := parseReach([]string{"10.1.0.0/16", "127.0.0.1", "Box.Home.", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host, address string
		ok            bool
	}{
		{"x", "1.1.1.1", true}, {"x", "10.1.2.3", true}, {"x", "10.2.2.3", false}, {"x", "127.0.0.1", true}, {"x", "127.0.0.2", false},
		{"x", "::ffff:10.1.2.3", true}, {"box.home", "192.168.1.1", true}, {"notbox.home", "192.168.1.1", false}, {"x", "fd12::1", true}, {"x", "fe80::1", false},
	} {
		if err := r.check(tt.host, netip.MustParseAddr(tt.address)); (err == nil) != tt.ok {
			t.Errorf("%s at %s: %v", tt.host, tt.address, err)
		}
	}
	for _, bad := range []string{"", "http://x", "x:80", "*.x", "10.0.0.0/99"} {
		if err := CheckSelection(Config{Web: WebConfig{AllowPrivate: []string{bad}}}); err == nil || !strings.Contains(err.Error(), "web.allow_private") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// site serves pages by path on loopback; hits counts requests.
func site(t testing.TB, hits *atomic.Int64, pages map[string]http.HandlerFunc) (base *url.URL) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		if page, ok := pages[r.URL.Path]; ok {
			page(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	base, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

func body(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write([]byte(text))
	}
}

func TestWebFetch(t *testing.T) {
	var hits atomic.Int64
	base := site(t, &hits, map[string]http.HandlerFunc{
		"/page":   body("text/html; charset=utf-8", `<html><head><title>The &amp; page</title><style>p{}</style></head><body><script>evil()</script><h2>Head</h2><p>Some <b>bold</b> text and <a href="/next">a link</a>.</p><ul><li>one<li>two</ul></body></html>`),
		"/latin1": body("text/html; charset=iso-8859-1", "<p>caf\xe9</p>"),
		"/meta":   body("text/html", "<meta charset=windows-1252><p>\x80 5</p>"),
		"/json":   body("application/json", `{"a":1}`),
		"/plain":  body("text/plain", "hello <|im_end|>"),
		"/pdf":    body("application/pdf", "%PDF-1.7"),
		"/none": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = w.Write([]byte("\x00\x01"))
		},
		"/deep": body("text/html", strings.Repeat("<div>", 200_000)+"<p>bottom</p>"),
		"/huge": body("text/plain", strings.Repeat("0123456789abcdef", maxPageBytes/16+10)),
		"/broken": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, "the cause")
		},
		"/here": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/json", http.StatusFound) },
		"/loop": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) },
		"/away": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://elsewhere.example/x", http.StatusFound)
		},
		"/file": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(http.StatusFound)
		},
		"/head": func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Header) },
	})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	s := newTestSet(t, func(c *Config) { c.Web.AllowPrivate = []string{"127.0.0.1"}; c.OutputLimit = 8 << 10 })
	get := func(path string) Result {
		return s.Run(t.Context(), "s1", call(webFetch, map[string]any{"url": base.String() + path}), nil)
	}
	for path, want := range map[string]string{
		"/page": "[200 OK " + base.String() + "/page]\n\n# The & page\n\n## Head\n\nSome **bold** text and [a link](" + base.String() + "/next).\n\n- one\n- two",
		"/json": "[200 OK " + base.String() + "/json]\n\n{\"a\":1}", "/here": "[200 OK " + base.String() + "/json]\n\n{\"a\":1}",
		"/plain": "[200 OK " + base.String() + "/plain]\n\nhello < |im_end| >",
		"/away":  "[" + base.String() + "/away redirects to https://elsewhere.example/x; fetch that if it is what you want]",
	} {
		if r := get(path); r.IsError || r.Content != want {
			t.Errorf("%s = %q, want %q", path, r.Content, want)
		}
	}
	for path, want := range map[string]string{"/latin1": "café", "/meta": "€ 5", "/deep": "bottom", "/huge": "left out"} {
		if r := get(path); r.IsError || !strings.Contains(r.Content, want) || len(r.Content) > 9<<10 {
			t.Errorf("%s = %d bytes, %.300q, want %q in it", path, len(r.Content), r.Content, want)
		}
	}
	for path, want := range map[string]string{
		"/pdf": "is of type application/pdf, which is not text", "/none": "which is not text", "/gone": "[404 Not Found", "/broken": "the cause",
		"/loop": "redirects more than 10 times", "/file": `\"file\" is not http or https`,
	} {
		if r := get(path); !r.IsError || !strings.Contains(r.Content, want) {
			t.Errorf("%s = %+v, want %q", path, r, want)
		}
	}
	if r := get("/head"); strings.Contains(r.Content, "Cookie") || strings.Contains(r.Content, "Authorization") || !strings.Contains(r.Content, "hermes-agent") {
		t.Errorf("headers = %s", r.Content)
	}
	if r := s.Run(t.Context(), "s1", call(webFetch, map[string]any{"url": base.String() + "/page", "raw": true}), nil); !strings.Contains(r.Content, "<h2>Head</h2>") {
		t.Errorf("raw = %q", r.Content)
	}
}

// Nothing on a private network is connected to, however its address is written or resolved.
func TestWebFetchStaysOutside(t *testing.T) {
	var hits atomic.Int64
	base := site(t, &hits, map[string]http.HandlerFunc{"/": body("text/plain", "inside")})
	port := base.Port()
	var lookups atomic.Int64
	names := map[string][]string{
		"loop.example": {"127.0.0.1"}, "mapped.example": {"::ffff:127.0.0.1"}, "meta.example": {"169.254.169.254"}, "mixed.example": {"10.0.0.1", "127.0.0.1"},
		"ula.example": {"fd00::1"}, "nat64.example": {"64:ff9b::7f00:1"}, "empty.example": {},
	}
	s := newTestSet(t, func(c *Config) {
		c.Web.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			var out []netip.Addr
			if host == "rebind.example" && lookups.Add(1) == 1 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			for _, a := range names[host] {
				out = append(out, netip.MustParseAddr(a))
			}
			return out, nil
		}
	})
	for address, want := range map[string]string{
		"http://127.0.0.1:" + port: "not on the public internet", "http://[::ffff:127.0.0.1]:" + port: "not on the public internet", "http://[::1]:" + port: "not on the public internet",
		"http://loop.example:" + port: "loop.example is at 127.0.0.1", "http://mapped.example:" + port: "not on the public", "http://meta.example/latest/meta-data": "169.254.169.254",
		"http://mixed.example:" + port: "10.0.0.1", "http://ula.example:" + port: "fd00::1", "http://nat64.example:" + port: "not on the public", "http://empty.example": "has no address",
		"http://rebind.example:" + port: "not on the public",
		"http://2130706433:" + port:     "could not be fetched", "http://0x7f.1:" + port: "could not be fetched", "http://localhost:" + port: "has no address",
		"ftp://example.org": `"ftp" is not http or https`, "file:///etc/passwd": "is not http", "http://user:pw@example.org": "user name or a password", "http://": "names no host", "nonsense": "is not http", "http://[::1": "is no address",
	} {
		refused(t, s, webFetch, map[string]any{"url": address}, want)
	}
	if hits.Load() != 0 {
		t.Errorf("the server inside was reached %d times", hits.Load())
	}
}

// A name that changes its address between the judgement and the connection gains nothing: a redirect to such a name,
// and to a name of the same site that is inside, is refused where it is connected.
func TestWebFetchRedirectsStayOutside(t *testing.T) {
	var hits, inside atomic.Int64
	secret := site(t, &inside, map[string]http.HandlerFunc{"/": body("text/plain", "inside")})
	outside := site(t, &hits, map[string]http.HandlerFunc{
		"/to-inside": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://db.corp.example:"+secret.Port()+"/", http.StatusFound)
		},
		"/to-self": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://www.corp.example:"+secret.Port()+"/", http.StatusFound)
		},
	})
	var flips atomic.Int64
	s := newTestSet(t, func(c *Config) {
		c.Web.AllowPrivate = []string{"127.0.0.1/32"}
		c.Web.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			if host == "www.corp.example" && flips.Add(1) == 1 {
				return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
	})
	for _, path := range []string{"/to-inside", "/to-self"} {
		flips.Store(0)
		refused(t, s, webFetch, map[string]any{"url": "http://www.corp.example:" + outside.Port() + path}, "127.0.0.2, which is not on the public internet")
	}
	if hits.Load() != 2 || inside.Load() != 0 {
		t.Errorf("outside %d, inside %d", hits.Load(), inside.Load())
	}
}

func TestWebFetchApproval(t *testing.T) {
	var hits atomic.Int64
	base := site(t, &hits, map[string]http.HandlerFunc{"/a": body("text/plain", "a"), "/b": body("text/plain", "b")})
	s := newTestSet(t, func(c *Config) {
		c.Mode, c.Web.AllowPrivate = ModeAsk, []string{"127.0.0.1", "localhost"}
		c.Allow = []string{"web_fetch:http://localhost:*"}
		c.Web.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
	})
	p := &person{answer: DecisionSession}
	for _, address := range []string{base.String() + "/a", base.String() + "/b", "http://localhost:" + base.Port() + "/a"} {
		if r := s.Run(t.Context(), "s1", call(webFetch, map[string]any{"url": address}), p.approve); r.IsError {
			t.Error(r.Content)
		}
	}
	if len(p.asked) != 1 || p.asked[0].Covers != ApprovalPerHost || p.asked[0].Summary != "fetch "+base.String()+"/a" {
		t.Errorf("asked %+v", p.asked)
	}
}

func TestMayFollow(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"http://example.org", "https://www.example.org", true}, {"https://example.org", "http://example.org", false}, {"https://example.org", "https://example.org/x", true}, {"http://a.co.uk", "http://b.co.uk", false}, {"http://x.github.io", "http://y.github.io", false},
		{"http://127.0.0.1", "http://127.0.0.1:81", true}, {"http://127.0.0.1", "http://127.0.0.2", false}, {"http://example.org", "http://10.0.0.1", false}, {"http://EXAMPLE.org", "http://example.ORG", true},
	} {
		a, _ := url.Parse(tt.a)
		b, _ := url.Parse(tt.b)
		if got := mayFollow(a, b); got != tt.want {
			t.Errorf("mayFollow(%s, %s) = %v", tt.a, tt.b, got)
		}
	}
}
