package tools

import (
	"fmt"
	"net/netip"
	"strings"
)

// notPublic are ranges beyond those netip knows: shared and special-purpose addresses of the IANA registries, and
// addresses of cloud providers' own services that look public.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("::/96"), netip.MustParsePrefix("100::/64"), netip.MustParsePrefix("2001::/23"),
	netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("3fff::/20"), netip.MustParsePrefix("5f00::/16"),
	netip.MustParsePrefix("fec0::/10"), netip.MustParsePrefix("64:ff9b:1::/48"),
}

// publicAddress reports whether an address is one of the public internet. An IPv4 address inside an IPv6 one counts by
// the IPv4 address.
func publicAddress(a netip.Addr) bool {
	a, ok := embedded(a)
	if !ok || !a.IsValid() || a.Zone() != "" || !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// embedded unpacks IPv4-mapped, NAT64 and 6to4 addresses. A translated address that itself holds nothing usable is
// not ok.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if a.Is4() || a.Is4In6() {
		return a.Unmap(), true
	}
	b := a.As16()
	switch {
	case netip.MustParsePrefix("64:ff9b::/96").Contains(a.WithZone("")):
		return netip.AddrFrom4([4]byte(b[12:])), a.Zone() == ""
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), a.Zone() == ""
	}
	return a, true
}

// reach decides which addresses may be connected to.
type reach struct {
	prefixes []netip.Prefix
	hosts    map[string]bool
}

// parseReach reads web.allow_private: addresses, ranges, and names of hosts that may be on a private network.
func parseReach(list []string) (reach, error) {
	r := reach{hosts: map[string]bool{}}
	for _, entry := range list {
		if p, err := netip.ParsePrefix(entry); err == nil {
			r.prefixes = append(r.prefixes, p.Masked())
			continue
		}
		if a, err := netip.ParseAddr(entry); err == nil {
			r.prefixes = append(r.prefixes, netip.PrefixFrom(a.Unmap(), a.Unmap().BitLen()))
			continue
		}
		if entry == "" || strings.ContainsAny(entry, "/:*@ ") {
			return reach{}, fmt.Errorf("web.allow_private: %q must be an address, a range like 10.1.0.0/16, or the name of a host without port", entry)
		}
		r.hosts[strings.ToLower(strings.TrimSuffix(entry, "."))] = true
	}
	return r, nil
}

// check says why the address a host has been resolved to may not be connected to.
func (r reach) check(host string, a netip.Addr) error {
	if publicAddress(a) || r.hosts[strings.ToLower(strings.TrimSuffix(host, "."))] {
		return nil
	}
	plain, ok := embedded(a)
	for _, p := range r.prefixes {
		if ok && p.Contains(plain.WithZone("")) {
			return nil
		}
	}
	return fmt.Errorf("%s is at %s, which is not on the public internet; config key web.allow_private can allow it", host, a)
}
